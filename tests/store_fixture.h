/* What the tests of store, results and dispatch share: a small task with templates, rows with easy numbers, a folder.
 * */
#ifndef KERNWRIGHT_TESTS_STORE_FIXTURE_H
#define KERNWRIGHT_TESTS_STORE_FIXTURE_H

#include "base/fs.h"
#include "base/mem.h"
#include "codegen/task.h"
#include "codegen/template.h"
#include "codegen/variant.h"
#include "tuner/job.h"
#include "tuner/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A number of the program as text, within a literal. */
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define TIMED TEXT_OF(TIMING_VERSION)

#define assert_code(code, expected, err) \
    do { \
        if ((code) != (expected)) \
            fail_msg("code is %d, expected %d: %s", (int)(code), (int)(expected), (err).message); \
    } while (0)

#define assert_has(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" is not in: %s", (part), (text)); \
    } while (0)

/* cmocka's state: a private folder, removed afterwards. */
static inline int make_folder(void **state)
{
    kw_error err;
    *state = fs_temp_folder("kernwright-test-", &err);
    return *state ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    fs_remove_tree(*state);
    free(*state);
    return 0;
}

static inline store *open_store(const char *path)
{
    kw_error err = {0};
    store *s = NULL;
    assert_code(store_open(path, false, &s, &err), KW_OK, err);
    return s;
}

static inline store *memory_store(void)
{
    return open_store(":memory:");
}

/* ---- the task: y = alpha x over M x N ---- */

static inline task *fixture_task(void)
{
    static const char text[] =
        "{\"task\":\"scale\",\"dims\":{\"M\":{\"min\":1},\"N\":{\"min\":1},\"ld\":{\"default\":\"N\",\"key\":false}},"
        "\"types\":{\"T\":[\"f32\",\"f16\"]},"
        "\"tensors\":[{\"name\":\"x\",\"type\":\"T\",\"shape\":[\"M\",\"N\"],\"strides\":[\"ld\",\"1\"],\"access\":"
        "\"in\"},"
        "{\"name\":\"y\",\"type\":\"T\",\"shape\":[\"M\",\"N\"],\"access\":\"out\"}],"
        "\"scalars\":[{\"name\":\"alpha\",\"type\":\"f32\",\"values\":[1,0.5]}]}";
    kw_error err = {0};
    json *j = json_parse(text, strlen(text), "scale", 1, 1, &err);
    task *t = NULL;
    kw_code code = j ? task_from_json(j, "scale", &t, &err) : KW_BAD_INPUT;
    json_free(j);
    assert_code(code, KW_OK, err);
    return t;
}

/* WG selects the text, so each value is a variant with its own source hash; FIX makes N a constant. */
static inline template *fixture_template(const task *t, const char *name, bool fallback)
{
    char text[2048], path[64];
    snprintf(text, sizeof text,
             "/*kernwright {\"task\":\"scale\",\"language\":\"opencl\",%s"
             "\"params\":{\"WG\":{\"values\":[%s]},\"FIX\":{\"values\":[false,true]}},"
             "\"specialize\":{\"N\":\"FIX\"},"
             "\"launches\":[{\"kernel\":\"%s\",\"args\":[\"M\",\"N\",\"ld\",\"alpha\",\"x\",\"y\"],"
             "\"local\":[\"WG\"],\"groups\":[\"ceil_div(M*N, WG)\"]}]} */\n"
             "__kernel void %s(int M, int N_, int ld, float alpha, __global const ${T} *x, __global ${T} *y)\n"
             "{\n    int i = get_global_id(0);\n    if (i < M * N_)\n        y[i] = alpha * x[i / N_ * ld + i %% N_]; "
             "/* %s */\n}\n",
             fallback ? "\"fallback\":true," : "", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,32,64,128,256", name, name,
             name);
    snprintf(path, sizeof path, "%s.cl", name);
    kw_error err = {0};
    template *p = NULL;
    assert_code(template_parse(text, strlen(text), path, t, &p, &err), KW_OK, err);
    return p;
}

static inline variant *fixture_variant(const template *p, int wg, int64_t fixed_n)
{
    char assignment[32];
    uint32_t config[8];
    kw_error err = {0};
    task_types types;
    task_shape shape = {.dims = {1, fixed_n, fixed_n}, .weight = 1};
    assert_code(task_types_parse(p->task, NULL, &types, &err), KW_OK, err);
    template_default(p, config);
    snprintf(assignment, sizeof assignment, "WG=%d", wg);
    assert_code(template_set(p, assignment, config, &err), KW_OK, err);
    if (fixed_n > 0)
        assert_code(template_set(p, "FIX=true", config, &err), KW_OK, err);
    variant *v = NULL;
    assert_code(variant_expand(p, &types, config, &shape, &v, &err), KW_OK, err);
    return v;
}

/* ---- rows ---- */

/* A string literal as a member of a row that is only lent. */
static inline char *lend(const char *text)
{
    union {
        const char *in;
        char *out;
    } u = {text};
    return u.out;
}

/* An ok row of "scale" with everything filled in. `samples` (NULL: none) must live as long. */
static inline measurement fixture_row(const char *task_hash, const char *source_hash, const char *shape,
                                      double *samples, size_t n_samples)
{
    measurement m;
    memset(&m, 0, sizeof m);
    m.task = lend("scale");
    m.task_hash = lend(task_hash);
    m.types = lend("T=f32");
    m.shape = lend(shape);
    m.scalars = lend("{\"alpha\":1}");
    m.device_key = lend("pocl/cpu/test/4");
    m.api = lend("opencl");
    m.mode = lend("cold");
    m.timing_version = TIMING_VERSION;
    m.source_hash = lend(source_hash);
    m.template_name = lend("scale_rows");
    m.config = lend("{\"WG\":64,\"FIX\":false}");
    m.outcome = OUTCOME_OK;
    m.stage = STAGE_DONE;
    m.verified = VERIFIED_EXACT;
    m.method = lend("events");
    m.samples_ns = samples;
    m.n_samples = n_samples;
    m.time = stats_of(samples, n_samples);
    m.compile_ms = 12.5;
    m.verify_ms = 3.25;
    m.time_ms = 1.125;
    m.registers = 32;
    m.spill_bytes = 0;
    m.local_bytes = 4096;
    m.worst_error = 0.25;
    m.device_name = lend("Test CPU");
    m.driver = lend("3.1");
    m.host = lend("alpha");
    m.run = lend("2026-11-30T10:00:00Z-77");
    m.date = lend("2026-11-30T10:00:00Z");
    m.tool_version = lend("0.1.0");
    return m;
}

#define HASH_A "0000000000000000000000000000000a"
#define HASH_B "0000000000000000000000000000000b"
#define HASH_C "0000000000000000000000000000000c"
#define TASK_HASH "00000000000000000000000000007a5c"

static inline void add_row(store *s, const measurement *m)
{
    kw_error err = {0};
    assert_code(store_add(s, m, &err), KW_OK, err);
}

static inline bool count_row(const measurement *m, void *cookie)
{
    (void)m;
    ++*(size_t *)cookie;
    return true;
}

static inline size_t count_rows(store *s, const store_query *q)
{
    static const store_query any;
    kw_error err = {0};
    size_t n = 0;
    assert_code(store_each(s, q ? q : &any, count_row, &n, &err), KW_OK, err);
    return n;
}

/* ---- files ---- */

static inline void write_text(const char *path, const char *text, size_t n)
{
    kw_error err = {0};
    assert_code(fs_write(path, text, n, &err), KW_OK, err);
}

static inline char *read_text(const char *path, size_t *n)
{
    kw_error err = {0};
    strb text = STRB_INIT;
    assert_code(fs_read(path, (size_t)1 << 30, &text, &err), KW_OK, err);
    *n = text.length;
    return strb_take(&text);
}

#endif
