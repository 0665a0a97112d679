/* Expanded text against tests/golden/expected: of the examples in tests/golden, and of every template in templates/ at
 * its default and at one more configuration. `make golden` writes what it finds instead. */
#include "base/counter_rng.h"
#include "base/fs.h"
#include "codegen/variant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EXPECTED "tests/golden/expected"

static bool update;

/* A fixed device, so that the configurations chosen are the same everywhere. */
static const device_limits limits = {.max_work_group_size = 1024,
                                     .max_work_item_size = {1024, 1024, 64},
                                     .local_mem_bytes = 48 << 10,
                                     .max_alloc_bytes = (int64_t)1 << 30,
                                     .global_mem_bytes = (int64_t)1 << 32,
                                     .compute_units = 16,
                                     .preferred_multiple = 32,
                                     .is_gpu = 1};

static void must(kw_code code, const kw_error *err)
{
    if (code != KW_OK)
        fail_msg("%s", err->message);
}

/* ---- comparing ---- */

static int first_difference(const char *a, const char *b)
{
    int line = 1;
    for (; *a != '\0' && *a == *b; a++, b++)
        line += *a == '\n';
    return line;
}

static void compare(const char *name, const char *text)
{
    kw_error err = {0};
    char *path = fs_join(EXPECTED, name);
    if (update) {
        must(fs_write(path, text, strlen(text), &err), &err);
        free(path);
        return;
    }
    const char *build = getenv("BUILD");
    char *folder = fs_join(build != NULL ? build : "build", "golden"), *found = fs_join(folder, name);
    strb expected = STRB_INIT;
    bool same = fs_read(path, 0, &expected, NULL) == KW_OK && strcmp(strb_text(&expected), text) == 0;
    if (!same) {
        must(fs_make_folders(folder, &err), &err);
        must(fs_write(found, text, strlen(text), &err), &err);
        fail_msg("%s:%d: differs from %s; if that is meant, run make golden", path,
                 first_difference(strb_text(&expected), text), found);
    }
    strb_clear(&expected);
    free(found);
    free(folder);
    free(path);
}

static void compare_variant(const template *p, const task_types *types, const uint32_t *config, const task_shape *s,
                            const char *which)
{
    variant *v = NULL;
    kw_error err = {0};
    strb name = STRB_INIT;
    must(variant_expand(p, types, config, s, &v, &err), &err);
    strb_printf(&name, "%s.%s%s", p->name, which, p->lang == LANGUAGE_CUDA ? ".cu" : ".cl");
    compare(strb_text(&name), v->source);
    strb_clear(&name);
    variant_free(v);
}

/* ---- the examples ---- */

static void check_example(const char *task_path, const char *path, const char *which, const char *const *settings,
                          const char *dims)
{
    kw_error err = {0};
    task *t = NULL;
    template *p = NULL;
    task_types types;
    task_shape s;
    uint32_t config[16];
    must(task_load(task_path, &t, &err), &err);
    must(template_load(path, t, &p, &err), &err);
    must(task_types_parse(t, NULL, &types, &err), &err);
    must(task_shape_parse(t, dims, &s, &err), &err);
    template_default(p, config);
    for (size_t i = 0; settings[i] != NULL; i++)
        must(template_set(p, settings[i], config, &err), &err);
    compare_variant(p, &types, config, &s, which);
    template_free(p);
    task_free(t);
}

static void examples_expand(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const char *const constant[] = {"SPECN=true", "GROUPS=1", "VEC=1", "UNROLL=1", "WG=64", NULL};
    static const char *const narrow[] = {"WIDTH=1", "WG=256", NULL};
    const char *task_path = "tests/golden/tasks/reduce_sum", *path = "tests/golden/reduce_sum_slices.cl";
    check_example(task_path, path, "default", none, "N=4096");
    check_example(task_path, path, "other", constant, "N=1000");
    task_path = "tests/golden/tasks/saxpy";
    static const char *const staged[] = {"STAGE=true", "PAD=2", NULL};
    path = "tests/golden/saxpy_staged.cl"; /* its PAD exists only with STAGE */
    check_example(task_path, path, "default", none, "N=4096");
    check_example(task_path, path, "other", staged, "N=4096");
    path = "tests/golden/sidecar/scale_add.kw.json";
    check_example(task_path, path, "default", none, "N=4096");
    check_example(task_path, path, "other", narrow, "N=4097");
}

/* ---- the documentation ---- */

/* The fenced block after a line "<!-- golden: FILE -->". */
typedef struct shown {
    const char *begin, *end; /* of the block's text */
    char file[128];
} shown;

static shown find_block(const char *mark, const char *document)
{
    shown s;
    const char *fence = strstr(mark, "\n```");
    if (sscanf(mark, "<!-- golden: %127[^ ] -->", s.file) != 1 || fence == NULL)
        fail_msg("%s: bad golden mark", document);
    s.begin = strchr(fence + 1, '\n') + 1;
    s.end = strstr(s.begin - 1, "\n```");
    assert_non_null(s.end);
    s.end++;
    return s;
}

/* The document with every block replaced by the file it shows. */
static int renew(const char *document, const char *text, strb *out)
{
    int n = 0;
    const char *from = text;
    for (const char *at; (at = strstr(from, "<!-- golden: ")) != NULL; n++) {
        kw_error err = {0};
        shown s = find_block(at, document);
        strb_add_n(out, from, (size_t)(s.begin - from));
        must(fs_read(s.file, 0, out, &err), &err);
        from = s.end;
    }
    strb_add(out, from);
    return n;
}

static const char format[] = "templates/FORMAT.md";

static void documentation_shows_the_examples(void **state)
{
    (void)state;
    strb text = STRB_INIT, renewed = STRB_INIT;
    kw_error err = {0};
    must(fs_read(format, 0, &text, &err), &err);
    assert_true(renew(format, strb_text(&text), &renewed) > 0);
    if (update)
        must(fs_write(format, renewed.data, renewed.length, &err), &err);
    else if (strcmp(strb_text(&text), strb_text(&renewed)) != 0)
        fail_msg("%s:%d: an example is not what its file says; run make golden", format,
                 first_difference(strb_text(&text), strb_text(&renewed)));
    strb_clear(&text);
    strb_clear(&renewed);
}

/* Every template in the documentation is one: it loads and its default configuration expands. */
static void documentation_examples_work(void **state)
{
    (void)state;
    strb text = STRB_INIT;
    kw_error err = {0};
    int n = 0;
    must(fs_read(format, 0, &text, &err), &err);
    for (const char *at = strb_text(&text); (at = strstr(at, "```\n/*kernwright {")) != NULL; n++) {
        char name[32];
        const char *end = strstr(at + 4, "\n```");
        assert_int_equal(sscanf(strstr(at, "\"task\""), "\"task\": \"%31[a-z_]\"", name), 1);
        strb folder = STRB_INIT;
        strb_printf(&folder, "tests/golden/tasks/%s", name);
        task *t = NULL;
        template *p = NULL;
        variant *v = NULL;
        task_types types;
        uint32_t config[16];
        must(task_load(strb_text(&folder), &t, &err), &err);
        must(template_parse(at + 4, (size_t)(end + 1 - at - 4), "FORMAT.md", t, &p, &err), &err);
        must(task_types_parse(t, NULL, &types, &err), &err);
        template_default(p, config);
        must(variant_expand(p, &types, config, NULL, &v, &err), &err);
        variant_free(v);
        template_free(p);
        task_free(t);
        strb_clear(&folder);
        at = end;
    }
    assert_int_equal(n, 2);
    strb_clear(&text);
}

/* ---- every template ---- */

static bool is_valid(const template *p, const task_types *types, const uint32_t *config, const task_shape *s)
{
    value *env = mem_calloc((size_t)expr_scope_size(p->scope), sizeof *env);
    template_fill(p, types, &limits, s, config, env);
    bool valid = template_rejects(p, env, true, NULL) == NULL;
    free(env);
    return valid;
}

static const task_shape *fitting_shape(const template *p, const task_types *types, const uint32_t *config,
                                       const task_shape *shapes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_valid(p, types, config, &shapes[i]))
            return &shapes[i];
    return NULL;
}

/* A valid configuration that differs from the default in at least half of the parameters; false if none was found. */
static bool other_config(const template *p, const task_types *types, const task_shape *shapes, size_t n,
                         uint32_t *config)
{
    for (uint64_t round = 0; round < 200000; round++) {
        size_t different = 0;
        for (size_t i = 0; i < p->n_params; i++) {
            config[i] = (uint32_t)(counter_rng_u64(0, round, i) % p->params[i].n_values);
            different += config[i] != p->params[i].default_index;
        }
        if (different * 2 >= p->n_params && fitting_shape(p, types, config, shapes, n) != NULL)
            return true;
    }
    return false;
}

static void check_template(const char *path)
{
    kw_error err = {0};
    char *task_name = NULL;
    task *t = NULL;
    template *p = NULL;
    task_types types;
    task_shape *shapes = NULL;
    size_t n = 0;
    must(template_task_name(path, &task_name, &err), &err);
    must(task_load(task_name, &t, &err), &err);
    must(template_load(path, t, &p, &err), &err);
    must(task_types_parse(t, NULL, &types, &err), &err);
    must(task_shapes_load(t, t->shapes_file, &shapes, &n, &err), &err);
    uint32_t *config = mem_calloc(p->n_params + 1, sizeof *config);
    template_default(p, config);
    const task_shape *s = fitting_shape(p, &types, config, shapes, n);
    if (s == NULL)
        fail_msg("%s: the default configuration fits none of the task's default shapes", path);
    compare_variant(p, &types, config, s, "default");
    if (other_config(p, &types, shapes, n, config))
        compare_variant(p, &types, config, fitting_shape(p, &types, config, shapes, n), "other");
    free(config);
    free(shapes);
    template_free(p);
    task_free(t);
    free(task_name);
}

static void templates_expand(void **state)
{
    (void)state;
    char **names;
    size_t n;
    kw_error err = {0};
    must(fs_list("templates", NULL, &names, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(names[i]);
        char *path = fs_join("templates", names[i]);
        if (length > 3 && (strcmp(names[i] + length - 3, ".cl") == 0 || strcmp(names[i] + length - 3, ".cu") == 0))
            check_template(path);
        free(path);
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    update = argc == 2 && strcmp(argv[1], "--update") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_expand),
        cmocka_unit_test(documentation_shows_the_examples),
        cmocka_unit_test(documentation_examples_work),
        cmocka_unit_test(templates_expand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
