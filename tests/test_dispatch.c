/* The dispatch model: who wins which shape, who serves the rest, and that nothing but the rows decides. */
#include "tests/store_fixture.h"

#include "base/clock.h"
#include "tuner/dispatch.h"
#include "tuner/store_internal.h"

#define DEVICE_A "pocl/cpu/test/4"
#define DEVICE_B "nvidia/sm_90/h200/132"

/* ---- a world to fill ---- */

enum { NAIVE, WG2, WG4, WG8, FIXED, VARIANTS };

typedef struct world {
    store *s;
    task *t;
    task_types types;
    template *naive, *rows;
    variant *v[VARIANTS];
    const char *device, *mode, *driver, *date, *host, *types_text, *api;
    int timing_version;
    verified level;
} world;

static void make_world(world *w)
{
    kw_error err = {0};
    memset(w, 0, sizeof *w);
    w->s = memory_store();
    w->t = fixture_task();
    assert_code(task_types_parse(w->t, NULL, &w->types, &err), KW_OK, err);
    w->naive = fixture_template(w->t, "scale_naive", true);
    w->rows = fixture_template(w->t, "scale_rows", false);
    w->v[NAIVE] = fixture_variant(w->naive, 1, 0);
    w->v[WG2] = fixture_variant(w->rows, 2, 0);
    w->v[WG4] = fixture_variant(w->rows, 4, 0);
    w->v[WG8] = fixture_variant(w->rows, 8, 0);
    w->v[FIXED] = fixture_variant(w->rows, 64, 7);
    for (int i = 0; i < VARIANTS; i++)
        assert_code(store_add_variant(w->s, w->v[i], &err), KW_OK, err);
    w->device = DEVICE_A;
    w->mode = "cold";
    w->driver = "3.1";
    w->date = "2026-11-30T10:00:00Z";
    w->host = "alpha";
    w->types_text = "T=f32";
    w->api = "opencl";
    w->timing_version = TIMING_VERSION;
    w->level = VERIFIED_EXACT;
}

static void clear_world(world *w)
{
    for (int i = 0; i < VARIANTS; i++)
        variant_free(w->v[i]);
    template_free(w->naive);
    template_free(w->rows);
    task_free(w->t);
    store_close(w->s);
}

/* Adds an ok row around `ns` nanoseconds (failed: ns 0). */
static void add_shape(world *w, const variant *v, const char *shape, double ns, outcome o)
{
    double samples[] = {ns * 0.999, ns, ns * 1.001};
    measurement m = fixture_row(w->t->hash, v->hash, shape, samples, o == OUTCOME_OK ? 3 : 0);
    m.template_name = lend(v->template_name);
    m.types = lend(w->types_text);
    m.device_key = lend(w->device);
    m.device_name = lend(strcmp(w->device, DEVICE_A) == 0 ? "Test CPU" : "Big GPU");
    m.api = lend(w->api);
    m.mode = lend(w->mode);
    m.driver = lend(w->driver);
    m.date = lend(w->date);
    m.host = lend(w->host);
    m.timing_version = w->timing_version;
    m.outcome = o;
    m.verified = o == OUTCOME_OK ? w->level : VERIFIED_NOT;
    if (o != OUTCOME_OK) {
        m.samples_ns = NULL;
        m.method = NULL;
    }
    add_row(w->s, &m);
}

static void add(world *w, int v, int64_t M, int64_t N, double ns)
{
    char shape[64];
    snprintf(shape, sizeof shape, "{\"M\":%lld,\"N\":%lld}", (long long)M, (long long)N);
    add_shape(w, w->v[v], shape, ns, OUTCOME_OK);
}

static void make_general(world *w, int v)
{
    kw_error err = {0};
    assert_code(store_set_verified(w->s, w->t->hash, w->device, w->v[v]->hash, VERIFIED_GENERAL, &err), KW_OK, err);
}

/* The naive variant on one shape, general: what every header needs. */
static void add_fallback(world *w)
{
    add(w, NAIVE, 1, 1, 5000);
    make_general(w, NAIVE);
}

static dispatch *build(world *w, store *s, const char *device_key, bool unverified)
{
    kw_error err = {0};
    dispatch *d = NULL;
    const dispatch_options o = {device_key, unverified, "kw_", DISPATCH_VARIANTS, NULL, 0};
    assert_code(dispatch_build(s, w->t, &w->types, &o, &d, &err), KW_OK, err);
    return d;
}

static void fails(world *w, const char *device_key, bool unverified, kw_code code, const char *words)
{
    kw_error err = {0};
    dispatch *d = NULL;
    const dispatch_options o = {device_key, unverified, "kw_", DISPATCH_VARIANTS, NULL, 0};
    assert_code(dispatch_build(w->s, w->t, &w->types, &o, &d, &err), code, err);
    assert_null(d);
    assert_has(err.message, words);
    assert_null(strchr(err.message, '\n'));
}

/* Hash of the variant of the row; "" if there is no row. */
static const char *row_hash(const header_model *m, const char *key, int64_t M, int64_t N)
{
    for (size_t i = 0; i < m->n_rows; i++) {
        const header_row *r = &m->rows[i];
        if (strcmp(m->devices[r->device].key, key) == 0 && r->dims[0] == M && r->dims[1] == N)
            return m->variants[r->variant]->hash;
    }
    return "";
}

static const char *default_hash(const header_model *m, const char *key)
{
    for (size_t i = 0; i < m->n_devices; i++)
        if (strcmp(m->devices[i].key, key) == 0)
            return m->devices[i].default_variant < 0 ? "" : m->variants[m->devices[i].default_variant]->hash;
    return "no such device";
}

static char *header_text(const header_model *m)
{
    strb out = STRB_INIT;
    kw_error err = {0};
    assert_code(header_write(m, &out, &err), KW_OK, err);
    return strb_take(&out);
}

/* ---- layers ---- */

static void winners_and_defaults(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    static const double times[3][3] = {{900, 100, 300}, {800, 400, 200}, {700, 500, 650}};
    for (int shape = 0; shape < 3; shape++) {
        add(&w, NAIVE, 10 + shape, 5, times[shape][0]);
        add(&w, WG2, 10 + shape, 5, times[shape][1]);
        add(&w, WG4, 10 + shape, 5, times[shape][2]);
    }
    make_general(&w, NAIVE);
    make_general(&w, WG2);
    make_general(&w, WG4);
    w.device = DEVICE_B;
    add(&w, NAIVE, 10, 5, 50);
    add(&w, FIXED, 10, 7, 40);
    dispatch *d = build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_int_equal(m->n_devices, 2);
    assert_string_equal(m->devices[0].key, DEVICE_B); /* sorted */
    assert_int_equal(m->n_rows, 5);
    assert_string_equal(row_hash(m, DEVICE_A, 10, 5), w.v[WG2]->hash);
    assert_string_equal(row_hash(m, DEVICE_A, 11, 5), w.v[WG4]->hash);
    assert_string_equal(row_hash(m, DEVICE_A, 12, 5), w.v[WG2]->hash);
    assert_string_equal(row_hash(m, DEVICE_B, 10, 5), w.v[NAIVE]->hash);
    assert_string_equal(row_hash(m, DEVICE_B, 10, 7), w.v[FIXED]->hash);
    for (size_t i = 0; i < m->n_rows; i++)
        assert_true(m->rows[i].expected_regret == 1);
    /* 9 * 2 * 1.4 over 3 * 4 * 1.08 */
    assert_string_equal(default_hash(m, DEVICE_A), w.v[WG2]->hash);
    assert_string_equal(default_hash(m, DEVICE_B), ""); /* nothing is general there */
    assert_string_equal(m->variants[m->default_variant]->hash, w.v[NAIVE]->hash);
    assert_int_equal(m->n_variants, 4);
    assert_string_equal(m->variants[0]->template_name, "scale_naive");
    for (size_t i = 1; i < m->n_variants; i++)
        assert_string_equal(m->variants[i]->template_name, "scale_rows");
    assert_string_equal(m->devices[1].provenance,
                        "Test CPU, driver 3.1, 2026-11-30, 3 shapes, 3 measurements, 9 samples");
    assert_string_equal(m->variant_notes[0],
                        "verified: exact; fastest for 1 shape"); /* on the one device that names it */
    assert_string_equal(m->prefix, "kw_");
    assert_ptr_equal(m->task, w.t);
    char *text = header_text(m);
    assert_has(text, "3 shapes, 3 measurements, 9 samples");
    free(text);
    dispatch_free(d);

    d = build(&w, w.s, DEVICE_A, false);
    assert_int_equal(dispatch_model(d)->n_devices, 1);
    assert_int_equal(dispatch_model(d)->n_rows, 3);
    dispatch_free(d);
    dispatch_free(NULL);

    /* a table of a device that never ran the fallback takes it from another */
    w.device = "intel/xe/arc/32";
    add(&w, WG2, 10, 5, 70);
    d = build(&w, w.s, w.device, false);
    m = dispatch_model(d);
    assert_int_equal(m->n_devices, 1);
    assert_string_equal(m->variants[m->default_variant]->hash, w.v[NAIVE]->hash);
    assert_string_equal(m->variant_notes[m->default_variant], "verified: general");
    dispatch_free(d);
    clear_world(&w);
}

/* A variant that is good on all shapes beats one that is best on a single one, however good it is there; a shape on
 * which a variant was not measured counts as the slowest general time. */
static void default_of_a_device(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    for (int shape = 0; shape < 4; shape++) {
        add(&w, NAIVE, 10 + shape, 5, 1000);
        add(&w, WG2, 10 + shape, 5, 250);
    }
    add(&w, WG4, 10, 5, 10); /* 100 times, once */
    add(&w, WG8, 11, 5, 1);  /* the fastest, not general */
    make_general(&w, NAIVE);
    make_general(&w, WG2);
    make_general(&w, WG4);
    dispatch *d = build(&w, w.s, NULL, false);
    assert_string_equal(default_hash(dispatch_model(d), DEVICE_A), w.v[WG2]->hash); /* 4^4 = 256 over 100 */
    dispatch_free(d);
    add(&w, WG4, 12, 5, 100); /* now 1000 */
    d = build(&w, w.s, NULL, false);
    assert_string_equal(default_hash(dispatch_model(d), DEVICE_A), w.v[WG4]->hash);
    dispatch_free(d);
    clear_world(&w);
}

/* The level is stored for the rows that were there when the variant was verified; it holds for later ones. */
static void general_for_later_rows(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add_fallback(&w);
    add(&w, NAIVE, 2, 2, 900);
    dispatch *d = build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_string_equal(m->variant_notes[0], "verified: general; fastest for 2 shapes");
    dispatch_free(d);
    clear_world(&w);
}

static void constants_serve_their_shape_only(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add_fallback(&w);
    add(&w, FIXED, 1, 7, 10);
    make_general(&w, FIXED); /* whoever said so */
    dispatch *d = build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_string_equal(row_hash(m, DEVICE_A, 1, 7), w.v[FIXED]->hash);
    assert_string_equal(default_hash(m, DEVICE_A), w.v[NAIVE]->hash);
    dispatch_free(d);
    clear_world(&w);
}

static void default_of_the_header(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add(&w, WG2, 1, 1, 100);
    make_general(&w, WG2);
    fails(&w, NULL, false, KW_FAILED, "no checked result of a fallback template of scale");
    /* checked for its shapes only: better than nothing */
    add(&w, NAIVE, 1, 1, 5000);
    dispatch *d = build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_string_equal(m->variants[m->default_variant]->hash, w.v[NAIVE]->hash);
    assert_string_equal(m->variant_notes[m->default_variant], "verified: exact");
    dispatch_free(d);
    /* another configuration of it, general: preferred although it was measured less */
    variant *other = fixture_variant(w.naive, 16, 0);
    kw_error err = {0};
    assert_code(store_add_variant(w.s, other, &err), KW_OK, err);
    add(&w, NAIVE, 2, 1, 5000);
    w.level = VERIFIED_GENERAL;
    add_shape(&w, other, "{\"M\":2,\"N\":1}", 6000, OUTCOME_OK);
    d = build(&w, w.s, NULL, false);
    m = dispatch_model(d);
    assert_string_equal(m->variants[m->default_variant]->hash, other->hash);
    assert_string_equal(m->variant_notes[m->default_variant], "verified: general");
    dispatch_free(d);
    variant_free(other);
    clear_world(&w);
}

/* ---- which rows count ---- */

static void unverified_rows(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    w.level = VERIFIED_NOT;
    add(&w, NAIVE, 1, 1, 500);
    add(&w, WG2, 1, 1, 100);
    fails(&w, NULL, false, KW_FAILED, "was checked against a reference");
    dispatch *d = build(&w, w.s, NULL, true);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG2]->hash);
    assert_string_equal(dispatch_model(d)->variant_notes[1], "verified: no; fastest for 1 shape");
    dispatch_free(d);
    w.level = VERIFIED_EXACT;
    add(&w, NAIVE, 1, 1, 500);
    d = build(&w, w.s, NULL, false);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[NAIVE]->hash);
    dispatch_free(d);
    clear_world(&w);
}

static void cold_before_warm(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    w.mode = "warm";
    add(&w, NAIVE, 1, 1, 500);
    make_general(&w, NAIVE);
    add(&w, WG2, 1, 1, 100);
    dispatch *d = build(&w, w.s, NULL, false);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG2]->hash);
    assert_has(dispatch_model(d)->devices[0].provenance, "caches warm");
    dispatch_free(d);
    w.mode = "cold";
    add(&w, WG4, 1, 1, 300);
    add(&w, NAIVE, 1, 1, 800);
    d = build(&w, w.s, NULL, false);
    assert_int_equal(dispatch_model(d)->n_rows, 1);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG4]->hash);
    dispatch_free(d);
    clear_world(&w);
}

static void other_interfaces(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add_fallback(&w);
    w.api = "cuda";
    add(&w, WG2, 1, 1, 100);
    dispatch *d = build(&w, w.s, NULL, false);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[NAIVE]->hash);
    dispatch_free(d);
    clear_world(&w);
}

static void stale_rows(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add_fallback(&w);
    add(&w, WG2, 1, 1, 100);
    add(&w, WG2, 2, 2, 100);
    w.driver = "4.0";
    w.date = "2026-12-05T00:00:00Z";
    add(&w, WG4, 1, 1, 300);
    dispatch *d = build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_string_equal(row_hash(m, DEVICE_A, 1, 1), w.v[WG4]->hash); /* with the driver that is there now */
    assert_string_equal(row_hash(m, DEVICE_A, 2, 2), w.v[WG2]->hash); /* nothing newer is known */
    assert_string_equal(m->variants[m->default_variant]->hash, w.v[NAIVE]->hash); /* stale, but there must be one */
    assert_string_equal(m->devices[0].provenance,
                        "Test CPU, driver 4.0 / 3.1, 2026-11-30 to 2026-12-05, 2 shapes, 2 measurements, 6 samples");
    dispatch_free(d);
    /* a host that never had the new driver */
    w.driver = "3.1";
    w.host = "beta";
    add(&w, WG8, 1, 1, 50);
    d = build(&w, w.s, NULL, false);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG8]->hash);
    dispatch_free(d);
    clear_world(&w);
}

static void wrong_variants(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add_fallback(&w);
    add(&w, WG2, 1, 1, 100);
    add(&w, WG4, 1, 1, 200);
    add(&w, WG8, 1, 1, 300);
    add_shape(&w, w.v[WG2], "{\"M\":9,\"N\":9}", 0, OUTCOME_OUT_OF_BOUNDS); /* on another shape */
    add_shape(&w, w.v[WG4], "{\"M\":1,\"N\":1}", 0, OUTCOME_CRASH);         /* once, here */
    add_shape(&w, w.v[WG8], "{\"M\":9,\"N\":9}", 0, OUTCOME_TIMEOUT);       /* slow elsewhere: no harm */
    dispatch *d = build(&w, w.s, NULL, false);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG8]->hash);
    assert_int_equal(dispatch_model(d)->n_rows, 1);
    dispatch_free(d);
    clear_world(&w);
}

/* One row can be kept for key dims: the one that was measured without strides. */
static void strides_are_no_key(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add_fallback(&w);
    add_shape(&w, w.v[WG2], "{\"M\":4,\"N\":4,\"ld\":16}", 100, OUTCOME_OK);
    dispatch *d = build(&w, w.s, NULL, false);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 4, 4), w.v[WG2]->hash);
    dispatch_free(d);
    add(&w, WG4, 4, 4, 200);
    add_shape(&w, w.v[WG8], "{\"M\":4,\"N\":4,\"ld\":8}", 50, OUTCOME_OK);
    add_shape(&w, w.v[WG8], "{\"M\":4,\"N\":4,\"ld\":1}", 50, OUTCOME_OK);
    d = build(&w, w.s, NULL, false);
    assert_int_equal(dispatch_model(d)->n_rows, 2);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 4, 4), w.v[WG4]->hash);
    free(header_text(dispatch_model(d)));
    dispatch_free(d);
    clear_world(&w);
}

/* ---- what is missing is said ---- */

static void nothing_to_emit(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    fails(&w, NULL, false, KW_FAILED, ":memory: holds nothing for task scale: run `kernwright tune scale` first");
    add_shape(&w, w.v[WG2], "{\"M\":1,\"N\":1}", 0, OUTCOME_COMPILE_ERROR);
    fails(&w, NULL, false, KW_FAILED, "no configuration of scale came out ok");
    clear_world(&w);

    make_world(&w);
    add_fallback(&w);
    fails(&w, DEVICE_B, false, KW_FAILED, "nothing for scale on nvidia/sm_90/h200/132: `kernwright devices`");
    kw_error err = {0};
    assert_code(task_types_parse(w.t, "f16", &w.types, &err), KW_OK, err);
    fails(&w, NULL, false, KW_FAILED, "nothing for scale with T=f16");
    clear_world(&w);

    make_world(&w);
    w.timing_version = TIMING_VERSION + 1;
    add(&w, NAIVE, 1, 1, 100);
    fails(&w, NULL, false, KW_FAILED, "older or newer kernwright timed it");
    clear_world(&w);

    make_world(&w);
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":1,\"N\":1}", samples, 2);
    add_row(w.s, &m);
    fails(&w, NULL, false, KW_FAILED, "before its definition changed");
    m = fixture_row(w.t->hash, HASH_A, "{\"M\":1,\"N\":1}", samples, 2);
    add_row(w.s, &m);
    fails(&w, NULL, false, KW_FAILED, "no OpenCL source of a measured variant");
    clear_world(&w);
}

/* The source text of the winner is not there: the next one, not nothing. */
static void missing_text(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add_fallback(&w);
    double samples[] = {1, 1, 1};
    measurement m = fixture_row(w.t->hash, HASH_A, "{\"M\":1,\"N\":1}", samples, 3);
    add_row(w.s, &m);
    dispatch *d = build(&w, w.s, NULL, false);
    assert_string_equal(row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[NAIVE]->hash);
    dispatch_free(d);
    clear_world(&w);
}

/* A text that was changed by hand is not shipped under the name of the one that was measured. */
static void changed_text(void **state)
{
    (void)state;
    world w;
    make_world(&w);
    add_fallback(&w);
    assert_int_equal(
        sqlite3_exec(w.s->db, "UPDATE variant SET json=replace(json, 'alpha * x', 'alpha + x')", NULL, NULL, NULL),
        SQLITE_OK);
    fails(&w, NULL, false, KW_BAD_INPUT, w.v[NAIVE]->hash);
    assert_int_equal(sqlite3_exec(w.s->db, "UPDATE variant SET json='{\"source\":'", NULL, NULL, NULL), SQLITE_OK);
    fails(&w, NULL, false, KW_BAD_INPUT, w.v[NAIVE]->hash);
    clear_world(&w);
}

/* ---- the rows alone decide ---- */

static void fill(world *w, bool backwards)
{
    static const struct {
        int v;
        int64_t M;
        double ns;
        const char *device, *date;
        verified level;
    } rows[] = {
        {NAIVE, 1, 900, DEVICE_A, "2026-11-30T10:00:00Z", VERIFIED_GENERAL},
        {NAIVE, 2, 950, DEVICE_A, "2026-11-30T10:00:01Z", VERIFIED_EXACT},
        {WG2, 1, 100, DEVICE_A, "2026-11-30T10:00:02Z", VERIFIED_EXACT},
        {WG2, 1, 102, DEVICE_A, "2026-12-01T10:00:00Z", VERIFIED_EXACT},
        {WG4, 1, 100.1, DEVICE_A, "2026-11-30T10:00:03Z", VERIFIED_EXACT}, /* a tie with WG2 */
        {WG4, 2, 300, DEVICE_A, "2026-11-30T10:00:03Z", VERIFIED_EXACT},
        {WG8, 2, 120, DEVICE_A, "2026-11-30T10:00:04Z", VERIFIED_GENERAL},
        {NAIVE, 1, 90, DEVICE_B, "2026-11-30T10:00:05Z", VERIFIED_GENERAL},
        {FIXED, 1, 9, DEVICE_B, "2026-11-30T10:00:06Z", VERIFIED_EXACT},
        {WG2, 3, 50, DEVICE_B, "2026-11-30T10:00:07Z", VERIFIED_EXACT},
    };
    size_t n = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < n; i++) {
        size_t k = backwards ? n - 1 - i : i;
        w->device = rows[k].device;
        w->date = rows[k].date;
        w->level = rows[k].level;
        add(w, rows[k].v, rows[k].M, 7, rows[k].ns);
    }
}

static void order_does_not_matter(void **state)
{
    (void)state;
    world w, x;
    make_world(&w);
    make_world(&x);
    fill(&w, false);
    fill(&x, true);
    dispatch *d = build(&w, w.s, NULL, false), *e = build(&x, x.s, NULL, false);
    char *a = header_text(dispatch_model(d)), *b = header_text(dispatch_model(e));
    assert_string_equal(a, b);
    free(a);
    free(b);
    dispatch_free(d);
    dispatch_free(e);
    clear_world(&w);
    clear_world(&x);
}

/* Exported winners are enough for a machine that has neither the store nor a device: the same header, byte for byte. */
static void from_a_file(void **state)
{
    world w;
    make_world(&w);
    fill(&w, false);
    dispatch *d = build(&w, w.s, NULL, false);
    char *expected = header_text(dispatch_model(d)), *path = fs_join(*state, "winners.jsonl");
    dispatch_free(d);
    for (int samples = 0; samples < 2; samples++) {
        strb text = STRB_INIT;
        kw_error err = {0};
        size_t n;
        assert_code(results_export(w.s, "scale", false, samples, &text, &err), KW_OK, err);
        write_text(path, strb_text(&text), text.length);
        strb_clear(&text);
        store *s = memory_store();
        assert_code(results_import(s, path, &n, &err), KW_OK, err);
        d = build(&w, s, NULL, false);
        char *got = header_text(dispatch_model(d));
        assert_string_equal(got, expected);
        free(got);
        dispatch_free(d);
        store_close(s);
    }
    free(path);
    free(expected);
    clear_world(&w);
}

/* ---- size ---- */

/* 1,000 rows, then 1,000 rows with a variant each; the times are printed, and decide nothing. */
static void thousand_rows(void **state)
{
    (void)state;
    enum { SHAPES = 1000 };
    world w;
    make_world(&w);
    kw_error err = {0};
    for (int own = 0; own < 2; own++) {
        assert_code(store_run(w.s, "BEGIN", "testing", &err), KW_OK, err);
        for (int i = 0; i < SHAPES; i++) {
            char shape[64];
            snprintf(shape, sizeof shape, "{\"M\":64,\"N\":%d}", i + 1);
            variant *v = own ? fixture_variant(w.rows, 32, i + 1) : NULL;
            add_shape(&w, w.v[NAIVE], shape, 2000 + i, OUTCOME_OK);
            add_shape(&w, own ? v : w.v[WG2 + i % 3], shape, 1000 - 500 * own + i, OUTCOME_OK);
            if (own)
                assert_code(store_add_variant(w.s, v, &err), KW_OK, err);
            variant_free(v);
        }
        make_general(&w, NAIVE);
        make_general(&w, WG2);
        assert_code(store_run(w.s, "COMMIT", "testing", &err), KW_OK, err);
        int64_t start = clock_now_ns();
        dispatch *d = build(&w, w.s, NULL, false);
        int64_t built = clock_now_ns();
        char *text = header_text(dispatch_model(d));
        int64_t end = clock_now_ns();
        print_message("1,000 rows of %zu variants: model %.3f s, text %.3f s, %.0f KiB\n",
                      dispatch_model(d)->n_variants, (double)(built - start) / 1e9, (double)(end - built) / 1e9,
                      (double)strlen(text) / 1024);
        assert_int_equal(dispatch_model(d)->n_rows, SHAPES);
        assert_int_equal(dispatch_model(d)->n_variants, own ? SHAPES + 2 : 4);
        free(text);
        dispatch_free(d);
    }
    clear_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(winners_and_defaults),
        cmocka_unit_test(default_of_a_device),
        cmocka_unit_test(general_for_later_rows),
        cmocka_unit_test(constants_serve_their_shape_only),
        cmocka_unit_test(default_of_the_header),
        cmocka_unit_test(unverified_rows),
        cmocka_unit_test(cold_before_warm),
        cmocka_unit_test(other_interfaces),
        cmocka_unit_test(stale_rows),
        cmocka_unit_test(wrong_variants),
        cmocka_unit_test(strides_are_no_key),
        cmocka_unit_test(nothing_to_emit),
        cmocka_unit_test(missing_text),
        cmocka_unit_test(changed_text),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(from_a_file),
        cmocka_unit_test(thousand_rows),
    };
    return cmocka_run_group_tests_name("dispatch", tests, make_folder, remove_folder);
}
