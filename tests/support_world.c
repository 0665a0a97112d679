#include "tests/support_world.h"

#include "tuner/store_internal.h"

void world_make(world *w)
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

void world_clear(world *w)
{
    for (int i = 0; i < VARIANTS; i++)
        variant_free(w->v[i]);
    template_free(w->naive);
    template_free(w->rows);
    task_free(w->t);
    store_close(w->s);
}

void world_add_shape(world *w, const variant *v, const char *shape, double ns, outcome o)
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

void world_add(world *w, int v, int64_t M, int64_t N, double ns)
{
    char shape[64];
    snprintf(shape, sizeof shape, "{\"M\":%lld,\"N\":%lld}", (long long)M, (long long)N);
    world_add_shape(w, w->v[v], shape, ns, OUTCOME_OK);
}

void world_make_general(world *w, int v)
{
    kw_error err = {0};
    assert_code(store_set_verified(w->s, w->t->hash, w->device, w->v[v]->hash, VERIFIED_GENERAL, &err), KW_OK, err);
}

void world_add_fallback(world *w)
{
    world_add(w, NAIVE, 1, 1, 5000);
    world_make_general(w, NAIVE);
}

dispatch *world_build(world *w, store *s, const char *device_key, bool unverified)
{
    kw_error err = {0};
    dispatch *d = NULL;
    const dispatch_options o = {device_key, unverified, "kw_", DISPATCH_VARIANTS, NULL, 0};
    assert_code(dispatch_build(s, w->t, &w->types, &o, &d, &err), KW_OK, err);
    return d;
}

void world_fails(world *w, const char *device_key, bool unverified, kw_code code, const char *words)
{
    kw_error err = {0};
    dispatch *d = NULL;
    const dispatch_options o = {device_key, unverified, "kw_", DISPATCH_VARIANTS, NULL, 0};
    assert_code(dispatch_build(w->s, w->t, &w->types, &o, &d, &err), code, err);
    assert_null(d);
    assert_has(err.message, words);
    assert_null(strchr(err.message, '\n'));
}

const char *header_row_hash(const header_model *m, const char *key, int64_t M, int64_t N)
{
    for (size_t i = 0; i < m->n_rows; i++) {
        const header_row *r = &m->rows[i];
        if (strcmp(m->devices[r->device].key, key) == 0 && r->dims[0] == M && r->dims[1] == N)
            return m->variants[r->variant]->hash;
    }
    return "";
}

const char *header_default_hash(const header_model *m, const char *key)
{
    for (size_t i = 0; i < m->n_devices; i++)
        if (strcmp(m->devices[i].key, key) == 0)
            return m->devices[i].default_variant < 0 ? "" : m->variants[m->devices[i].default_variant]->hash;
    return "no such device";
}

char *header_text_of(const header_model *m)
{
    strb out = STRB_INIT;
    kw_error err = {0};
    assert_code(header_write(m, &out, &err), KW_OK, err);
    return strb_take(&out);
}
