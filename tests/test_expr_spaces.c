/* Every expression of published tuning problems (T1 files) parses and evaluates, and small spaces have the number of
 * valid configurations that their authors published. The files lie outside the repository; without them the tests
 * are skipped. */
#include "base/fs.h"
#include "base/json.h"
#include "codegen/expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEMS "shared/data/spaces/problems"

enum { MAX_PARAMS = 32, MAX_CONDITIONS = 32, COUNTED_UP_TO = 100000 };

typedef struct problem {
    arena *memory;
    expr_scope *scope;
    size_t n;
    value values[MAX_PARAMS]; /* lists */
    value env[MAX_PARAMS + 1];
    const expr *conditions[MAX_CONDITIONS];
    size_t n_conditions;
    size_t n_expressions;
} problem;

static const char *folder(void)
{
    return fs_is_folder("../" PROBLEMS) ? "../" PROBLEMS : fs_is_folder("../../" PROBLEMS) ? "../../" PROBLEMS : NULL;
}

static const expr *parse(problem *p, const char *file, const char *text)
{
    kw_error err = {0};
    const expr *e = expr_parse(p->memory, text, p->scope, (expr_where){.file = file}, &err);
    if (!e)
        fail_msg("%s", err.message);
    p->n_expressions++;
    return e;
}

static void evaluate(problem *p, const char *file, const char *text, value *out)
{
    kw_error err = {0};
    if (expr_eval(parse(p, file, text), p->env, p->memory, out, &err) != KW_OK)
        fail_msg("%s: %s: %s", file, text, err.message);
}

static void read_params(problem *p, const char *file, const json *params)
{
    for (size_t i = 0; i < json_count(params); i++) {
        const json *param = json_at(params, i);
        assert_true(p->n < MAX_PARAMS);
        evaluate(p, file, json_text(json_get(param, "Values")), &p->values[p->n]);
        if (p->values[p->n].kind != VALUE_LIST || p->values[p->n].as.list.n == 0)
            fail_msg("%s: %s has no values", file, json_text(json_get(param, "Name")));
        expr_scope_add(p->scope, json_text(json_get(param, "Name")), EXPR_PARAM);
        p->env[p->n] = p->values[p->n].as.list.items[0];
        p->n++;
    }
}

static void evaluate_sizes(problem *p, const char *file, const json *sizes)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    for (int i = 0; i < 3; i++) {
        const char *text = json_text(json_get(sizes, axes[i]));
        int64_t size = 0;
        kw_error err = {0};
        if (text && strstr(file, "gemm_milo") && strstr(text, "block_size_")) {
            /* names a parameter that this file does not define */
            assert_null(expr_parse(p->memory, text, p->scope, (expr_where){.file = file}, &err));
            continue;
        }
        if (text && expr_eval_int(parse(p, file, text), p->env, &size, &err) != KW_OK)
            fail_msg("%s: %s: %s", file, text, err.message);
        assert_true(!text || size > 0);
    }
}

static void read_problem(problem *p, const char *path)
{
    kw_error err = {0};
    json *j = json_parse_file(path, &err);
    if (!j)
        fail_msg("%s", err.message);
    const json *space = json_get(j, "ConfigurationSpace"), *kernel = json_get(j, "KernelSpecification");
    read_params(p, path, json_get(space, "TuningParameters"));
    const json *conditions = json_get(space, "Conditions");
    for (size_t i = 0; i < json_count(conditions); i++) {
        value v;
        const char *text = json_text(json_get(json_at(conditions, i), "Expression"));
        assert_true(p->n_conditions < MAX_CONDITIONS);
        evaluate(p, path, text, &v);
        p->conditions[p->n_conditions++] = parse(p, path, text);
    }
    evaluate_sizes(p, path, json_get(kernel, "GlobalSize"));
    evaluate_sizes(p, path, json_get(kernel, "LocalSize"));
    json_free(j);
}

static problem *problem_new(void)
{
    problem *p = mem_calloc(1, sizeof *p);
    p->memory = arena_new();
    p->scope = expr_scope_new();
    return p;
}

static void problem_free(problem *p)
{
    expr_scope_free(p->scope);
    arena_free(p->memory);
    free(p);
}

static void test_every_expression(void **state)
{
    (void)state;
    if (!folder()) {
        print_message("no ../" PROBLEMS ": skipped\n");
        skip();
    }
    static const char *const parts[] = {"", "construct"};
    size_t n_expressions = 0, n_files = 0;
    for (int part = 0; part < 2; part++) {
        char *where = fs_join(folder(), parts[part]), **names = NULL;
        size_t n = 0;
        assert_int_equal(fs_list(where, ".T1.json", &names, &n, NULL), KW_OK);
        for (size_t i = 0; i < n; i++) {
            char *path = fs_join(where, names[i]);
            problem *p = problem_new();
            read_problem(p, path);
            n_expressions += p->n_expressions;
            problem_free(p);
            free(path);
            free(names[i]);
        }
        n_files += n;
        free(names);
        free(where);
    }
    assert_true(n_files >= 10 && n_expressions > 200);
}

static bool is_valid(const problem *p)
{
    for (size_t i = 0; i < p->n_conditions; i++) {
        bool holds = false;
        kw_error err = {0};
        if (expr_eval_truth(p->conditions[i], p->env, &holds, &err) != KW_OK)
            fail_msg("%s", err.message);
        if (!holds)
            return false;
    }
    return true;
}

static size_t count_valid(problem *p, size_t param)
{
    if (param == p->n)
        return is_valid(p);
    size_t n = 0;
    for (size_t i = 0; i < p->values[param].as.list.n; i++) {
        p->env[param] = p->values[param].as.list.items[i];
        n += count_valid(p, param + 1);
    }
    return n;
}

/* Lines of COUNTS.tsv: name, parameters, nontrivial, cartesian, constraints, valid, ... */
static void test_published_counts(void **state)
{
    (void)state;
    char *table = folder() ? fs_join(folder(), "construct/COUNTS.tsv") : NULL;
    FILE *f = table ? fopen(table, "r") : NULL;
    free(table);
    if (!f) {
        print_message("no ../" PROBLEMS ": skipped\n");
        skip();
    }
    char line[500], name[100], file[120];
    size_t counted = 0;
    while (fgets(line, sizeof line, f)) {
        double cartesian;
        size_t valid;
        if (sscanf(line, "%99s %*s %*s %lf %*s %zu", name, &cartesian, &valid) != 3 || cartesian > COUNTED_UP_TO)
            continue;
        snprintf(file, sizeof file, "construct/%s.T1.json", name);
        char *path = fs_join(folder(), file);
        problem *p = problem_new();
        read_problem(p, path);
        size_t n = count_valid(p, 0);
        if (n != valid)
            fail_msg("%s: %zu configurations are valid, not %zu", name, n, valid);
        counted++;
        problem_free(p);
        free(path);
    }
    fclose(f);
    assert_true(counted >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_expression),
                                       cmocka_unit_test(test_published_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
