/* The dispatch model: which rows count, what is said of those that are missing, and that the rows alone decide. */
#include "tests/support_world.h"

#include "base/clock.h"
#include "tuner/dispatch.h"
#include "tuner/store_internal.h"

/* ---- which rows count ---- */

static void unverified_rows(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    w.level = VERIFIED_NOT;
    world_add(&w, NAIVE, 1, 1, 500);
    world_add(&w, WG2, 1, 1, 100);
    world_fails(&w, NULL, false, KW_FAILED, "was checked against a reference");
    dispatch *d = world_build(&w, w.s, NULL, true);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG2]->hash);
    assert_string_equal(dispatch_model(d)->variant_notes[1], "verified: no; fastest for 1 shape");
    dispatch_free(d);
    w.level = VERIFIED_EXACT;
    world_add(&w, NAIVE, 1, 1, 500);
    d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[NAIVE]->hash);
    dispatch_free(d);
    world_clear(&w);
}

static void cold_before_warm(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    w.mode = "warm";
    world_add(&w, NAIVE, 1, 1, 500);
    world_make_general(&w, NAIVE);
    world_add(&w, WG2, 1, 1, 100);
    dispatch *d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG2]->hash);
    assert_has(dispatch_model(d)->devices[0].provenance, "caches warm");
    dispatch_free(d);
    w.mode = "cold";
    world_add(&w, WG4, 1, 1, 300);
    world_add(&w, NAIVE, 1, 1, 800);
    d = world_build(&w, w.s, NULL, false);
    assert_int_equal(dispatch_model(d)->n_rows, 1);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG4]->hash);
    dispatch_free(d);
    world_clear(&w);
}

static void other_interfaces(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add_fallback(&w);
    w.api = "cuda";
    world_add(&w, WG2, 1, 1, 100);
    dispatch *d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[NAIVE]->hash);
    dispatch_free(d);
    world_clear(&w);
}

static void stale_rows(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add_fallback(&w);
    world_add(&w, WG2, 1, 1, 100);
    world_add(&w, WG2, 2, 2, 100);
    w.driver = "4.0";
    w.date = "2026-12-05T00:00:00Z";
    world_add(&w, WG4, 1, 1, 300);
    dispatch *d = world_build(&w, w.s, NULL, false);
    const header_model *m = dispatch_model(d);
    assert_string_equal(header_row_hash(m, DEVICE_A, 1, 1), w.v[WG4]->hash); /* with the driver that is there now */
    assert_string_equal(header_row_hash(m, DEVICE_A, 2, 2), w.v[WG2]->hash); /* nothing newer is known */
    assert_string_equal(m->variants[m->default_variant]->hash, w.v[NAIVE]->hash); /* stale, but there must be one */
    assert_string_equal(m->devices[0].provenance,
                        "Test CPU, driver 4.0 / 3.1, 2026-11-30 to 2026-12-05, 2 shapes, 2 measurements, 6 samples");
    dispatch_free(d);
    /* a host that never had the new driver */
    w.driver = "3.1";
    w.host = "beta";
    world_add(&w, WG8, 1, 1, 50);
    d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG8]->hash);
    dispatch_free(d);
    world_clear(&w);
}

static void wrong_variants(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add_fallback(&w);
    world_add(&w, WG2, 1, 1, 100);
    world_add(&w, WG4, 1, 1, 200);
    world_add(&w, WG8, 1, 1, 300);
    world_add_shape(&w, w.v[WG2], "{\"M\":9,\"N\":9}", 0, OUTCOME_OUT_OF_BOUNDS); /* on another shape */
    world_add_shape(&w, w.v[WG4], "{\"M\":1,\"N\":1}", 0, OUTCOME_CRASH);         /* once, here */
    world_add_shape(&w, w.v[WG8], "{\"M\":9,\"N\":9}", 0, OUTCOME_TIMEOUT);       /* slow elsewhere: no harm */
    dispatch *d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG8]->hash);
    assert_int_equal(dispatch_model(d)->n_rows, 1);
    dispatch_free(d);
    world_clear(&w);
}

/* One row can be kept for key dims: the one that was measured without strides. */
static void strides_are_no_key(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add_fallback(&w);
    world_add_shape(&w, w.v[WG2], "{\"M\":4,\"N\":4,\"ld\":16}", 100, OUTCOME_OK);
    dispatch *d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 4, 4), w.v[WG2]->hash);
    dispatch_free(d);
    world_add(&w, WG4, 4, 4, 200);
    world_add_shape(&w, w.v[WG8], "{\"M\":4,\"N\":4,\"ld\":8}", 50, OUTCOME_OK);
    world_add_shape(&w, w.v[WG8], "{\"M\":4,\"N\":4,\"ld\":1}", 50, OUTCOME_OK);
    d = world_build(&w, w.s, NULL, false);
    assert_int_equal(dispatch_model(d)->n_rows, 2);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 4, 4), w.v[WG4]->hash);
    free(header_text_of(dispatch_model(d)));
    dispatch_free(d);
    world_clear(&w);
}

/* ---- what is missing is said ---- */

static void nothing_to_emit(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_fails(&w, NULL, false, KW_FAILED, ":memory: holds nothing for task scale: run `kernwright tune scale` first");
    world_add_shape(&w, w.v[WG2], "{\"M\":1,\"N\":1}", 0, OUTCOME_COMPILE_ERROR);
    world_fails(&w, NULL, false, KW_FAILED, "no configuration of scale came out ok");
    world_clear(&w);

    world_make(&w);
    world_add_fallback(&w);
    world_fails(&w, DEVICE_B, false, KW_FAILED, "nothing for scale on nvidia/sm_90/h200/132: `kernwright devices`");
    kw_error err = {0};
    assert_code(task_types_parse(w.t, "f16", &w.types, &err), KW_OK, err);
    world_fails(&w, NULL, false, KW_FAILED, "nothing for scale with T=f16");
    world_clear(&w);

    world_make(&w);
    w.timing_version = TIMING_VERSION + 1;
    world_add(&w, NAIVE, 1, 1, 100);
    world_fails(&w, NULL, false, KW_FAILED, "only as a newer kernwright timed it");
    world_clear(&w);

    /* Times of before are as good as they were, one with another. */
    world_make(&w);
    w.timing_version = TIMING_VERSION - 1;
    world_add_fallback(&w);
    world_add(&w, WG2, 1, 1, 50);
    dispatch *d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[WG2]->hash);
    dispatch_free(d);
    world_clear(&w);

    world_make(&w);
    double samples[] = {10, 11};
    measurement m = fixture_row(TASK_HASH, HASH_A, "{\"M\":1,\"N\":1}", samples, 2);
    add_row(w.s, &m);
    world_fails(&w, NULL, false, KW_FAILED, "before its definition changed");
    m = fixture_row(w.t->hash, HASH_A, "{\"M\":1,\"N\":1}", samples, 2);
    add_row(w.s, &m);
    world_fails(&w, NULL, false, KW_FAILED, "no OpenCL source of a measured variant");
    world_clear(&w);
}

/* The source text of the winner is not there: the next one, not nothing. */
static void missing_text(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add_fallback(&w);
    double samples[] = {1, 1, 1};
    measurement m = fixture_row(w.t->hash, HASH_A, "{\"M\":1,\"N\":1}", samples, 3);
    add_row(w.s, &m);
    dispatch *d = world_build(&w, w.s, NULL, false);
    assert_string_equal(header_row_hash(dispatch_model(d), DEVICE_A, 1, 1), w.v[NAIVE]->hash);
    dispatch_free(d);
    world_clear(&w);
}

/* A text that was changed by hand is not shipped under the name of the one that was measured. */
static void changed_text(void **state)
{
    (void)state;
    world w;
    world_make(&w);
    world_add_fallback(&w);
    assert_int_equal(
        sqlite3_exec(w.s->db, "UPDATE variant SET json=replace(json, 'alpha * x', 'alpha + x')", NULL, NULL, NULL),
        SQLITE_OK);
    world_fails(&w, NULL, false, KW_BAD_INPUT, w.v[NAIVE]->hash);
    assert_int_equal(sqlite3_exec(w.s->db, "UPDATE variant SET json='{\"source\":'", NULL, NULL, NULL), SQLITE_OK);
    world_fails(&w, NULL, false, KW_BAD_INPUT, w.v[NAIVE]->hash);
    world_clear(&w);
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
        world_add(w, rows[k].v, rows[k].M, 7, rows[k].ns);
    }
}

static void order_does_not_matter(void **state)
{
    (void)state;
    world w, x;
    world_make(&w);
    world_make(&x);
    fill(&w, false);
    fill(&x, true);
    dispatch *d = world_build(&w, w.s, NULL, false), *e = world_build(&x, x.s, NULL, false);
    char *a = header_text_of(dispatch_model(d)), *b = header_text_of(dispatch_model(e));
    assert_string_equal(a, b);
    free(a);
    free(b);
    dispatch_free(d);
    dispatch_free(e);
    world_clear(&w);
    world_clear(&x);
}

/* Exported winners are enough for a machine that has neither the store nor a device: the same header, byte for byte. */
static void from_a_file(void **state)
{
    world w;
    world_make(&w);
    fill(&w, false);
    dispatch *d = world_build(&w, w.s, NULL, false);
    char *expected = header_text_of(dispatch_model(d)), *path = fs_join(*state, "winners.jsonl");
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
        d = world_build(&w, s, NULL, false);
        char *got = header_text_of(dispatch_model(d));
        assert_string_equal(got, expected);
        free(got);
        dispatch_free(d);
        store_close(s);
    }
    free(path);
    free(expected);
    world_clear(&w);
}

/* ---- size ---- */

/* 1,000 rows, then 1,000 rows with a variant each; the times are printed, and decide nothing. */
static void thousand_rows(void **state)
{
    (void)state;
    enum { SHAPES = 1000 };
    world w;
    world_make(&w);
    kw_error err = {0};
    for (int own = 0; own < 2; own++) {
        assert_code(store_run(w.s, "BEGIN", "testing", &err), KW_OK, err);
        for (int i = 0; i < SHAPES; i++) {
            char shape[64];
            snprintf(shape, sizeof shape, "{\"M\":64,\"N\":%d}", i + 1);
            variant *v = own ? fixture_variant(w.rows, 32, i + 1) : NULL;
            world_add_shape(&w, w.v[NAIVE], shape, 2000 + i, OUTCOME_OK);
            world_add_shape(&w, own ? v : w.v[WG2 + i % 3], shape, 1000 - 500 * own + i, OUTCOME_OK);
            if (own)
                assert_code(store_add_variant(w.s, v, &err), KW_OK, err);
            variant_free(v);
        }
        world_make_general(&w, NAIVE);
        world_make_general(&w, WG2);
        assert_code(store_run(w.s, "COMMIT", "testing", &err), KW_OK, err);
        int64_t start = clock_now_ns();
        dispatch *d = world_build(&w, w.s, NULL, false);
        int64_t built = clock_now_ns();
        char *text = header_text_of(dispatch_model(d));
        int64_t end = clock_now_ns();
        print_message("1,000 rows of %zu variants: model %.3f s, text %.3f s, %.0f KiB\n",
                      dispatch_model(d)->n_variants, (double)(built - start) / 1e9, (double)(end - built) / 1e9,
                      (double)strlen(text) / 1024);
        assert_int_equal(dispatch_model(d)->n_rows, SHAPES);
        assert_int_equal(dispatch_model(d)->n_variants, own ? SHAPES + 2 : 4);
        free(text);
        dispatch_free(d);
    }
    world_clear(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unverified_rows),  cmocka_unit_test(cold_before_warm),
        cmocka_unit_test(other_interfaces), cmocka_unit_test(stale_rows),
        cmocka_unit_test(wrong_variants),   cmocka_unit_test(strides_are_no_key),
        cmocka_unit_test(nothing_to_emit),  cmocka_unit_test(missing_text),
        cmocka_unit_test(changed_text),     cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(from_a_file),      cmocka_unit_test(thousand_rows),
    };
    return cmocka_run_group_tests_name("dispatch", tests, make_folder, remove_folder);
}
