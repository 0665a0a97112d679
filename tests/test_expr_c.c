/* Holds both back ends of the expression language to the same answers: random expressions over random environments
 * are evaluated here, printed as C, compiled with every warning as C99 and C++11, run, and compared, faults included.
 * $KERNWRIGHT_TEST_SEED picks another sample. */
#include "base/fs.h"
#include "codegen/expr.h"
#include "tests/support_expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_EXPRESSIONS = 300, N_ENVIRONMENTS = 64 };

/* ---- one translation unit ---- */

typedef struct sample {
    arena *memory;
    const expr *tree[N_EXPRESSIONS];
    expr_c_want want[N_EXPRESSIONS];
    bool is_real[N_EXPRESSIONS];
    value env[N_ENVIRONMENTS][RANDOM_SLOTS];
    size_t refused;
    strb program;
} sample;

static const char *slot_text(int slot, void *cookie)
{
    static const char *const texts[] = {"I[e][0]", "I[e][1]", "I[e][2]", "I[e][3]", "X[e][0]", "X[e][1]"};
    (void)cookie;
    return texts[slot];
}

static bool slot_is_real(int slot, void *cookie)
{
    (void)cookie;
    return slot >= RANDOM_INTS;
}

static void print_int64(strb *out, int64_t i)
{
    if (i == INT64_MIN)
        strb_add(out, "(-INT64_C(9223372036854775807) - 1)");
    else
        strb_printf(out, "INT64_C(%" PRId64 ")", i);
}

static void print_environments(sample *s)
{
    strb_printf(&s->program, "static const int64_t I[%d][%d] = {\n", N_ENVIRONMENTS, RANDOM_INTS);
    for (int e = 0; e < N_ENVIRONMENTS; e++) {
        for (int i = 0; i < RANDOM_INTS; i++) {
            strb_add(&s->program, i ? ", " : "{");
            print_int64(&s->program, s->env[e][i].as.integer);
        }
        strb_add(&s->program, "},\n");
    }
    strb_printf(&s->program, "};\nstatic const double X[%d][%d] = {\n", N_ENVIRONMENTS, RANDOM_REALS);
    for (int e = 0; e < N_ENVIRONMENTS; e++)
        strb_printf(&s->program, "{%.17g, %.17g},\n", s->env[e][RANDOM_INTS].as.real,
                    s->env[e][RANDOM_INTS + 1].as.real);
    strb_add(&s->program, "};\n");
}

/* A function that prints the value or "fault" for one environment. */
static bool print_function(sample *s, int i, kw_error *err)
{
    value known[RANDOM_SLOTS] = {{.kind = VALUE_NONE}};
    known[RANDOM_SLOT_P] = value_int(8);
    expr_c_names names = {slot_text, slot_is_real, NULL, "fault", "kw_", s->want[i]};
    strb text = STRB_INIT;
    bool done = expr_print_c(s->tree[i], known, &names, &text, &s->is_real[i], err) == KW_OK;
    if (done) {
        const char *type = s->is_real[i] ? "double" : s->want[i] == EXPR_C_TRUTH ? "int" : "int64_t";
        const char *print = s->is_real[i] ? "printf(\"%a\\n\", v + 0.0)" : "printf(\"%lld\\n\", (long long)v)";
        strb_printf(&s->program, "static void f%d(int e)\n{\n    int fault = 0;\n    %s v = %s;\n    (void)e;\n", i,
                    type, strb_text(&text));
        strb_printf(&s->program, "    if (fault)\n        puts(\"fault\");\n    else\n        %s;\n}\n", print);
    }
    strb_clear(&text);
    return done;
}

static void print_main(sample *s)
{
    strb_add(&s->program, "int main(void)\n{\n    int e;\n");
    for (int i = 0; i < N_EXPRESSIONS; i++)
        strb_printf(&s->program, "    for (e = 0; e < %d; e++)\n        f%d(e);\n", N_ENVIRONMENTS, i);
    strb_add(&s->program, "    return 0;\n}\n");
}

static const expr *parse_one(sample *s, random_source *g, const expr_scope *scope)
{
    strb text = STRB_INIT;
    g->out = &text;
    random_expression(g, 4);
    g->out = NULL;
    kw_error err = {0};
    const expr *e = expr_parse(s->memory, strb_text(&text), scope, (expr_where){0}, &err);
    if (!e)
        fail_msg("%s: %s", strb_text(&text), err.message);
    strb_clear(&text);
    return e;
}

static void make_sample(sample *s, uint64_t seed)
{
    random_source g = {.seed = seed};
    expr_scope *scope = random_scope();
    for (int e = 0; e < N_ENVIRONMENTS; e++)
        random_environment(&g, s->env[e]);
    strb_add(&s->program, "#include \"prelude.h\"\n#include \"prelude.h\"\n#include <stdio.h>\n");
    print_environments(s);
    for (int i = 0; i < N_EXPRESSIONS;) {
        s->tree[i] = parse_one(s, &g, scope);
        s->want[i] = (expr_c_want)(i % 4);
        kw_error err = {0};
        if (print_function(s, i, &err)) {
            i++;
            continue;
        }
        assert_string_not_equal(err.message, "");
        s->refused++;
    }
    print_main(s);
    expr_scope_free(scope);
}

/* What the line for expression i in environment e must be. */
static void expected(const sample *s, int i, int e, char *line, size_t size)
{
    arena *scratch = arena_new();
    value v = value_none();
    bool holds = false;
    kw_code code = KW_OK;
    switch (s->want[i]) {
    case EXPR_C_ANY:
        code = expr_eval(s->tree[i], s->env[e], scratch, &v, NULL);
        if (s->is_real[i] && v.kind == VALUE_INT)
            v = value_real((double)v.as.integer);
        break;
    case EXPR_C_INT:
        v = value_int(0);
        code = expr_eval_int(s->tree[i], s->env[e], &v.as.integer, NULL);
        break;
    case EXPR_C_TRUTH:
        code = expr_eval_truth(s->tree[i], s->env[e], &holds, NULL);
        v = value_bool(holds);
        break;
    case EXPR_C_REAL:
        v = value_real(0);
        code = expr_eval_real(s->tree[i], s->env[e], &v.as.real, NULL);
        break;
    }
    if (code != KW_OK)
        snprintf(line, size, "fault\n");
    else if (s->is_real[i])
        snprintf(line, size, "%a\n", (v.kind == VALUE_BOOL ? v.as.boolean : v.as.real) + 0.0);
    else
        snprintf(line, size, "%" PRId64 "\n", v.kind == VALUE_BOOL ? v.as.boolean : v.as.integer);
    arena_free(scratch);
}

static void compare(const sample *s, FILE *output, const char *compiler, size_t *values)
{
    char got[256], want[256];
    for (int i = 0; i < N_EXPRESSIONS; i++) {
        for (int e = 0; e < N_ENVIRONMENTS; e++) {
            const value *env = s->env[e];
            expected(s, i, e, want, sizeof want);
            if (!fgets(got, sizeof got, output))
                fail_msg("%s: the program stopped before expression %d, environment %d", compiler, i, e);
            if (strcmp(got, want) != 0)
                fail_msg("%s: %s\nwith a=%" PRId64 " b=%" PRId64 " c=%" PRId64 " d=%" PRId64
                         " x=%g y=%g P=8, wanted as %d: C gives %sevaluation gives %s",
                         compiler, expr_text(s->tree[i]), env[0].as.integer, env[1].as.integer, env[2].as.integer,
                         env[3].as.integer, env[4].as.real, env[5].as.real, (int)s->want[i], got, want);
            *values += strcmp(want, "fault\n") != 0;
        }
    }
}

static bool is_installed(const char *program)
{
    char command[300];
    snprintf(command, sizeof command, "command -v '%.200s' >/dev/null 2>&1", program);
    return system(command) == 0;
}

#define STRICT "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -ffp-contract=off"

static void run_compiler(const sample *s, const char *folder, const char *compiler, const char *flags, const char *file,
                         size_t *values)
{
    char command[2000];
    const char *san = getenv("SAN"); /* as in `make asan`: the printed code is watched too */
    bool watched = san && *san;
    snprintf(command, sizeof command, "cd '%s' && %s %s " STRICT "%s%s%s -o program %s", folder, compiler, flags,
             watched ? " -fsanitize=" : "", watched ? san : "", watched ? " -fno-sanitize-recover=all" : "", file);
    if (system(command) != 0)
        fail_msg("%s %s does not compile what was printed", compiler, flags);
    snprintf(command, sizeof command, "'%s/program'", folder);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    compare(s, output, compiler, values);
    assert_int_equal(pclose(output), 0);
}

static void test_back_ends_agree(void **state)
{
    (void)state;
    sample *s = mem_calloc(1, sizeof *s);
    s->memory = arena_new();
    make_sample(s, random_seed());
    /* The sample must be worth something: most expressions can be printed, and many results are values. */
    assert_true(s->refused < N_EXPRESSIONS / 2);
    kw_error err = {0};
    char *folder = fs_temp_folder("kw-expr", &err);
    assert_non_null(folder);
    strb prelude = STRB_INIT;
    expr_c_prelude("kw_", &prelude);
    char *header = fs_join(folder, "prelude.h"), *c = fs_join(folder, "sample.c"), *cpp = fs_join(folder, "sample.cpp");
    assert_int_equal(fs_write(header, strb_text(&prelude), prelude.length, &err), KW_OK);
    assert_int_equal(fs_write(c, s->program.data, s->program.length, &err), KW_OK);
    assert_int_equal(fs_write(cpp, s->program.data, s->program.length, &err), KW_OK);
    const char *cc = getenv("CC"), *cxx = getenv("CXX");
    size_t values = 0;
    run_compiler(s, folder, cc ? cc : "gcc", "-std=c99 -O0", "sample.c", &values);
    assert_true(values > (size_t)N_EXPRESSIONS * N_ENVIRONMENTS / 4);
    run_compiler(s, folder, cxx ? cxx : "g++", "-std=c++11 -O0", "sample.cpp", &values);
    if (is_installed("clang"))
        run_compiler(s, folder, "clang", "-std=c99 -O0", "sample.c", &values);
    if (is_installed("clang++"))
        run_compiler(s, folder, "clang++", "-std=c++11 -O0", "sample.cpp", &values);
    free(header);
    free(c);
    free(cpp);
    strb_clear(&prelude);
    fs_remove_tree(folder);
    free(folder);
    strb_clear(&s->program);
    arena_free(s->memory);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_back_ends_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
