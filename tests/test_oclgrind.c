/* Oclgrind: what its log says of a kernel, from recorded logs; and kernels under it, where it is installed. */
#include "tests/support_tune.h"
#include "tuner/oclgrind.h"
#include "tuner/oclgrind_log.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tests/support_worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the log ---- */

static bool judge(const char *text, outcome *o, strb *detail)
{
    oclgrind_findings f;
    memset(&f, 0, sizeof f);
    oclgrind_log_read(text, strlen(text), &f);
    return oclgrind_judge(&f, o, detail);
}

static void expect_log(const char *name, outcome expected, const char *part)
{
    strb path = STRB_INIT, text = STRB_INIT, detail = STRB_INIT;
    kw_error err;
    outcome o;
    strb_printf(&path, "tests/recorded/oclgrind/%s.log", name);
    if (fs_read(strb_text(&path), 0, &text, &err) != KW_OK)
        fail_msg("%s", err.message);
    assert_true(judge(strb_text(&text), &o, &detail));
    if (o != expected || !strstr(strb_text(&detail), part))
        fail_msg("%s: %s, %s", name, outcome_name(o), strb_text(&detail));
    strb_clear(&path);
    strb_clear(&text);
    strb_clear(&detail);
}

static void recorded(void **state)
{
    (void)state;
    expect_log("read_past", OUTCOME_OUT_OF_BOUNDS,
               "Invalid read of size 4 at global memory address 0x1000000000020: kernel read_past, line 4");
    expect_log("write_past", OUTCOME_OUT_OF_BOUNDS, "Invalid write");
    expect_log("misaligned", OUTCOME_OUT_OF_BOUNDS, "not aligned");
    expect_log("race", OUTCOME_NONDETERMINISTIC, "race");
    expect_log("diverge", OUTCOME_NONDETERMINISTIC, "barrier");
    expect_log("unwritten", OUTCOME_NONDETERMINISTIC, "never written");
    expect_log("branch", OUTCOME_NONDETERMINISTIC, "never written");
}

/* Of right kernels as well: a flat walk over an array of arrays, the fourth element of a vector of three. */
static void no_findings(void **state)
{
    (void)state;
    strb text = STRB_INIT, detail = STRB_INIT;
    kw_error err;
    outcome o;
    assert_int_equal(fs_read("tests/recorded/oclgrind/flat.log", 0, &text, &err), KW_OK);
    assert_false(judge(strb_text(&text), &o, &detail));
    assert_false(judge("\nUninitialized value written to global memory address 0x10\n\tKernel: k\n"
                       "\t  store <4 x i32> %extractVec5, <4 x i32> addrspace(1)* %p, align 16\n\t\n",
                       &o, &detail));
    assert_false(judge("", &o, &detail));
    assert_false(judge("\n\n\tInvalid read: not a heading\n", &o, &detail));
    assert_false(judge("Some other remark of the simulator\n", &o, &detail));
    assert_int_equal(detail.length, 0);
    strb_clear(&text);
    strb_clear(&detail);
}

/* Oclgrind errs about vectors of 16, and about these only in what was never written. */
static void vectors_of_16(void **state)
{
    (void)state;
    oclgrind_findings f = {.n = {[OCLGRIND_UNINITIALIZED] = 3}};
    outcome o;
    strb detail = STRB_INIT;
    oclgrind_excuse("float8 v = x[16]; int my16 = 0; float16x w;", &f);
    assert_int_equal(f.n[OCLGRIND_UNINITIALIZED], 3);
    oclgrind_excuse("float16 v = 0;", &f);
    assert_int_equal(f.n[OCLGRIND_UNINITIALIZED], 0);
    assert_int_equal(f.n[OCLGRIND_DOUBTFUL], 3);
    assert_false(oclgrind_judge(&f, &o, &detail));
    f.n[OCLGRIND_RACE] = 1;
    oclgrind_excuse("s += vload16(0, x);", &f);
    assert_true(oclgrind_judge(&f, &o, &detail));
    strb_clear(&detail);
}

/* What it cannot run is no fault of the kernel, and says so; a finding before that stands. */
static void gives_up(void **state)
{
    (void)state;
    strb detail = STRB_INIT;
    outcome o;
    assert_true(judge("\nOCLGRIND FATAL ERROR (./src/plugins/Uninitialized.cpp:1805)\nUnsupported instruction: freeze\n"
                      "\tKernel: gemm\n",
                      &o, &detail));
    assert_int_equal(o, OUTCOME_LAUNCH_ERROR);
    assert_non_null(strstr(strb_text(&detail), "Unsupported instruction: freeze"));
    strb_reset(&detail);
    assert_true(
        judge("\nInvalid read of size 4 at global memory address 0x0\n\tKernel: k\n\nUnsupported instruction: x\n", &o,
              &detail));
    assert_int_equal(o, OUTCOME_OUT_OF_BOUNDS);
    strb_clear(&detail);
}

/* Cut off, or as long as it may be: nothing but what is there is read. */
static void cut_off(void **state)
{
    (void)state;
    static const char text[] =
        "\nInvalid read of size 4 at global memory address 0x10\n\tKernel: some_kernel\n\tAt line 5 "
        "(column 2) of input.cl:\n\t  b[i] = a[i];\n";
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = mem_alloc(n + 1); /* its own allocation, so that a sanitizer sees a read past its end */
        memcpy(copy, text, n);
        oclgrind_findings f;
        memset(&f, 0, sizeof f);
        oclgrind_log_read(copy, n, &f);
        assert_true(f.n[OCLGRIND_ACCESS] == (n >= 13));
        free(copy);
    }
    strb many = STRB_INIT;
    for (int i = 0; i < 1000; i++)
        strb_add(&many, text);
    oclgrind_findings f;
    memset(&f, 0, sizeof f);
    oclgrind_log_read(strb_text(&many), many.length, &f);
    assert_int_equal(f.n[OCLGRIND_ACCESS], 1000);
    strb_clear(&many);
}

/* ---- kernels ---- */

typedef struct setting {
    task *t;
    task_types types;
    case_source source;
    oclgrind *g;
} setting;

static int begin(void **state)
{
    setting *s = mem_calloc(1, sizeof *s);
    kw_error err;
    s->t = saxpy_task();
    s->types = default_types(s->t);
    assert_int_equal(case_source_init(&s->source, s->t, &s->types, fake_limits(), NULL, 0, &err), KW_OK);
    s->g = oclgrind_new(0);
    *state = s;
    return 0;
}

static int end(void **state)
{
    setting *s = *state;
    oclgrind_free(s->g);
    case_source_clear(&s->source);
    task_free(s->t);
    free(s);
    return 0;
}

/* saxpy with groups of 64; `body` sees i, l, n, a, x, y. */
static variant *variant_of(setting *s, const char *body)
{
    strb text = STRB_INIT;
    kw_error err = {0};
    template *p;
    variant *v;
    strb_printf(&text,
                "/*kernwright {\"task\": \"saxpy\", \"language\": \"opencl\",\n"
                "  \"launches\": [{\"kernel\": \"k\", \"args\": [\"N\", \"a\", \"x\", \"y\"],\n"
                "                \"local\": [64], \"groups\": [\"ceil_div(N, 64)\"]}]\n"
                "} */\n"
                "kernel void k(int n, float a, global const float *x, global float *y)\n"
                "{\n"
                "    local float t[65];\n"
                "    int i = get_global_id(0), l = get_local_id(0);\n"
                "    t[l] = 0;\n"
                "    %s\n"
                "}\n",
                body);
    if (template_parse(strb_text(&text), text.length, "k.cl", s->t, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    const task_shape shape = shape_of(s->t, "N=1000");
    uint32_t config[1];
    if (variant_expand(p, &s->types, config, &shape, &v, &err) != KW_OK)
        fail_msg("%s", err.message);
    template_free(p);
    strb_clear(&text);
    return v;
}

static void simulate(void **state, const char *body, oclgrind_verdict expected, outcome o, const char *part)
{
    setting *s = *state;
    kw_error err = {0};
    oclgrind_verdict verdict;
    job_record r;
    if (!s->g) {
        print_message("skipped: Oclgrind is not installed\n");
        skip();
    }
    variant *v = variant_of(s, body);
    if (oclgrind_check(s->g, v, &s->source, &verdict, &r, &err) != KW_OK)
        fail_msg("%s", err.message);
    if (verdict != expected || r.outcome != o || (part && (!r.detail || !strstr(r.detail, part))))
        fail_msg("%s: %d, %s: %s", body, (int)verdict, outcome_name(r.outcome), r.detail ? r.detail : "(no detail)");
    if (expected == OCLGRIND_PASSED)
        assert_true(r.cases_passed >= 3);
    job_record_clear(&r);
    variant_free(v);
}

#define RIGHT "if (i < n) y[i] = a * x[i] + y[i];"

static void right_ones(void **state)
{
    simulate(state, RIGHT, OCLGRIND_PASSED, OUTCOME_OK, NULL);
    simulate(state, "t[l] = i < n ? x[i] : 0; barrier(CLK_LOCAL_MEM_FENCE); if (i < n) y[i] = a * t[l] + y[i];",
             OCLGRIND_PASSED, OUTCOME_OK, NULL);
}

/* None of them shows in a result: what was read goes nowhere, what is written is the same, the race is won. */
static void hidden_faults(void **state)
{
    simulate(state, "float z = x[i] * 0; " RIGHT " t[l] = z;", OCLGRIND_FAILED, OUTCOME_OUT_OF_BOUNDS, "Invalid read");
    simulate(state, RIGHT " if (i == n - 1) y[n] = y[n];", OCLGRIND_FAILED, OUTCOME_OUT_OF_BOUNDS, "Invalid");
    simulate(state, "if (l == 0) t[64] = a; if (i < n) y[i] = (l == 1 ? t[64] * 0 + a : a) * x[i] + y[i];",
             OCLGRIND_FAILED, OUTCOME_NONDETERMINISTIC, "race");
    simulate(state, "if (l & 1) barrier(CLK_LOCAL_MEM_FENCE); " RIGHT, OCLGRIND_FAILED, OUTCOME_NONDETERMINISTIC,
             "barrier");
    simulate(state, "float z[2]; z[l & 1] = 1; if (i < n && z[1] == 2) y[i] = 0; " RIGHT, OCLGRIND_FAILED,
             OUTCOME_NONDETERMINISTIC, "never written");
}

static void wrong_results(void **state)
{
    simulate(state, "if (i < n && i != 63) y[i] = a * x[i] + y[i];", OCLGRIND_FAILED, OUTCOME_WRONG, "y[63]");
}

/* The next one is judged by itself, and what the simulator does not know is not held against a kernel. */
static void not_checked(void **state)
{
    simulate(state, RIGHT " unknown_function_of_a_vendor();", OCLGRIND_NOT_CHECKED, OUTCOME_COMPILE_ERROR, NULL);
    simulate(state, "if (l & 1) barrier(CLK_LOCAL_MEM_FENCE); " RIGHT, OCLGRIND_FAILED, OUTCOME_NONDETERMINISTIC,
             "barrier");
    simulate(state, RIGHT, OCLGRIND_PASSED, OUTCOME_OK, NULL);
}

static void not_installed(void **state)
{
    (void)state;
    kw_error err;
    setenv("KERNWRIGHT_OCLGRIND", "/no/such/program", 1);
    assert_null(oclgrind_find());
    assert_null(oclgrind_new(0));
    unsetenv("KERNWRIGHT_OCLGRIND");
    assert_int_equal(oclgrind_missing(&err), KW_ENVIRONMENT);
    assert_non_null(strstr(err.message, "apt-get install oclgrind"));
}

/* Something of that name that is no simulator: the first opinion stands. */
static void does_not_run(void **state)
{
    setting *s = *state;
    kw_error err = {0};
    oclgrind_verdict verdict;
    job_record r;
    setenv("KERNWRIGHT_OCLGRIND", "/bin/false", 1);
    oclgrind *g = oclgrind_new(0);
    unsetenv("KERNWRIGHT_OCLGRIND");
    assert_non_null(g);
    variant *v = variant_of(s, RIGHT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(oclgrind_check(g, v, &s->source, &verdict, &r, &err), KW_OK);
        assert_int_equal(verdict, OCLGRIND_ABSENT);
        assert_non_null(strstr(r.detail, "does not run here"));
        assert_non_null(strstr(r.detail, "worker --stdio")); /* the whole message */
        job_record_clear(&r);
    }
    variant_free(v);
    oclgrind_free(g);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return test_worker_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded),      cmocka_unit_test(no_findings),   cmocka_unit_test(vectors_of_16),
        cmocka_unit_test(gives_up),      cmocka_unit_test(cut_off),       cmocka_unit_test(right_ones),
        cmocka_unit_test(hidden_faults), cmocka_unit_test(wrong_results), cmocka_unit_test(not_checked),
        cmocka_unit_test(not_installed), cmocka_unit_test(does_not_run),
    };
    return cmocka_run_group_tests_name("oclgrind", tests, begin, end);
}
