/* The worker on a real OpenCL device (the first CPU one: PoCL): right kernels pass, wrong ones are told apart. Skipped
 * where there is none. */
#include "tests/support_worker.h"

#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    test_worker w;
    char spec[32];
} fixture;

static int start(void **state)
{
    fixture *f = mem_calloc(1, sizeof *f);
    message hello;
    test_worker_start(&f->w);
    test_worker_read(&f->w, &hello);
    for (size_t i = 0; i < hello.n_devices && !f->spec[0]; i++)
        if (strncmp(hello.devices[i].spec, "opencl:", 7) == 0 && hello.devices[i].limits.is_cpu &&
            !hello.devices[i].simulated)
            memcpy(f->spec, hello.devices[i].spec, sizeof f->spec);
    message_clear(&hello);
    *state = f;
    return 0;
}

/* The same with the comparisons on the device, as on a GPU. */
static int start_on_device(void **state)
{
    setenv("KERNWRIGHT_COMPARE", "device", 1);
    setenv("KERNWRIGHT_RUNNER", "never", 1);
    int result = start(state);
    unsetenv("KERNWRIGHT_COMPARE");
    unsetenv("KERNWRIGHT_RUNNER");
    return result;
}

static int end(void **state)
{
    fixture *f = *state;
    int status = test_worker_end(&f->w);
    free(f);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* A product, one work-item an element; BODY decides what is written. */
static const char product[] = "__kernel void fake_gemm(int M, int N, int K, float alpha, __global %s float *A, "
                              "__global const float *B, float beta,\n"
                              "                        __global float *C)\n"
                              "{\n"
                              "    int i = get_global_id(0) / N, j = get_global_id(0) %% N;\n"
                              "    if (i >= M) return;\n"
                              "    float sum = 0;\n"
                              "    %s\n"
                              "}\n";

#define SUM "for (int k = 0; k < K; k++) sum += A[i * K + k] * B[k * N + j]; "
#define STORE "C[i * N + j] = beta != 0 ? alpha * sum + beta * C[i * N + j] : alpha * sum; "

static bool evaluate(fixture *f, const char *qualifier, const char *body, bool sampled, job_record *r)
{
    char source[4096], trusted[4096];
    test_job tj;
    if (!f->spec[0]) {
        print_message("skipped: no OpenCL device\n");
        skip();
    }
    snprintf(source, sizeof source, product, qualifier, body);
    snprintf(trusted, sizeof trusted, product, "const", SUM STORE);
    test_job_make(&tj, "gemm", "");
    tj.j.device = f->spec;
    tj.j.source = source;
    tj.j.trusted_source = sampled ? trusted : NULL;
    tj.j.trusted_options = sampled ? "" : NULL;
    for (size_t i = 0; i < 3; i++) {
        static const char *const shapes[] = {"M=9,N=7,K=5", "M=17,N=33,K=19", "M=96,N=100,K=70"};
        static const int64_t groups[] = {1, 9, 150};
        job_case *c = test_job_add(&tj, shapes[i], (distribution)(i % DIST_COUNT), 100 + i);
        c->plan.launches[0].groups[0] = (uint64_t)groups[i];
        c->scalars[1] = c->plan.launches[0].args[6].real = i == 1;
        c->sampled = sampled;
        if (sampled)
            c->trusted_plan = c->plan;
    }
    bool answered = test_worker_do(&f->w, &tj.j, r);
    test_job_clear(&tj);
    return answered;
}

static void expect(void **state, const char *qualifier, const char *body, outcome o, const char *part)
{
    job_record r;
    assert_true(evaluate(*state, qualifier, body, false, &r));
    if (r.outcome != o || (part && (!r.detail || !strstr(r.detail, part))))
        fail_msg("%s, not %s: %s", outcome_name(r.outcome), outcome_name(o), r.detail ? r.detail : "(no detail)");
    job_record_clear(&r);
}

/* Local memory holds zeros after a start, and what an earlier kernel left later: here it is NaN before every run. */
static void test_unwritten_local_memory(void **state)
{
    expect(state, "const", "__local float t[100]; sum = t[get_local_id(0)] * 0; " SUM STORE, OUTCOME_WRONG, "is nan");
    expect(state, "const",
           "__local float t[100]; t[get_local_id(0)] = 0; "
           "sum = t[get_local_id(0)] * 0; " SUM STORE,
           OUTCOME_OK, NULL);
}

static void test_right(void **state)
{
    fixture *f = *state;
    job_record r;
    for (int sampled = 0; sampled < 2; sampled++) {
        assert_true(evaluate(f, "const", SUM STORE, sampled == 1, &r));
        if (r.outcome != OUTCOME_OK)
            fail_msg("%s", r.detail);
        assert_int_equal(r.cases_passed, 3);
        assert_true(r.n_samples >= 3 && r.samples_ns[0] > 0);
        assert_true(r.worst_error <= 1);
        assert_true(f->w.stages[0] == STAGE_COMPILE && r.compile_ms > 0);
        job_record_clear(&r);
    }
}

static void test_right_in_another_order(void **state)
{
    job_record r;
    const char *backwards = "for (int k = K; k-- > 0;) sum += A[i * K + k] * B[k * N + j]; " STORE;
    assert_true(evaluate(*state, "const", backwards, true, &r));
    if (r.outcome != OUTCOME_OK)
        fail_msg("%s", r.detail);
    job_record_clear(&r);
}

static void test_does_not_compile(void **state)
{
    expect(state, "const", "sum = no_such_name; " STORE, OUTCOME_COMPILE_ERROR, "no_such_name");
    expect(state, "const", "A[0] = 1; " SUM STORE, OUTCOME_COMPILE_ERROR, "   7      A[0] = 1;");
}

static void test_wrong(void **state)
{
    expect(state, "const", "for (int k = 0; k < K - 1; k++) sum += A[i * K + k] * B[k * N + j]; " STORE, OUTCOME_WRONG,
           "C[0][0]");
    expect(state, "const", SUM "if (j < N - 1) " STORE, OUTCOME_WRONG,
           "never written, all at the last index of dimension 2");
    expect(state, "const", SUM "C[i * N + j] = alpha * sum;", OUTCOME_WRONG, "M=17,N=33,K=19"); /* ignores beta */
    expect(state, "const", SUM "C[i * N + j] = alpha * sum + beta * C[i * N + j];", OUTCOME_WRONG,
           "is nan"); /* 0 * NaN */
    expect(state, "const", "for (int k = 0; k <= K; k++) sum += A[i * K + k] * B[k * N + j]; " STORE, OUTCOME_WRONG,
           NULL);
    expect(state, "const", "sum = 3; " STORE, OUTCOME_WRONG, NULL);
    /* Halves inside: tolerable for the normal distribution at a glance, not for whole numbers beyond 2048. */
    expect(state, "const",
           "for (int k = 0; k < K; k++) sum += (float)(((int)(A[i * K + k] * 256)) / 256.0f) * B[k * N + j]; " STORE,
           OUTCOME_WRONG, NULL);
}

static void test_surroundings(void **state)
{
    expect(state, "const", SUM STORE "C[M * N] = 1;", OUTCOME_OUT_OF_BOUNDS, "past the end of C");
    expect(state, "const", SUM STORE "C[-1] = 1;", OUTCOME_OUT_OF_BOUNDS, "before the start of C");
    expect(state, "const", SUM STORE "((__global float *)B)[K * N + 2] = 1;", OUTCOME_OUT_OF_BOUNDS,
           "past the end of B");
    expect(state, "", SUM STORE "if (i + j == 0) A[3] += 1;", OUTCOME_INPUT_MODIFIED, "the input A");
}

/* AddressSanitizer takes the signal, reports, and ends the process. */
#ifdef __SANITIZE_ADDRESS__
#define SEGFAULT "ended with status 1"
#else
#define SEGFAULT "Segmentation fault"
#endif

/* Reads that no result shows: fences are up in the third run of the smoke shape. */
static void test_fences(void **state)
{
    expect(state, "const", SUM "if (A[M * K + 100] == 1e30f) sum = 0; " STORE, OUTCOME_CRASH, "a third time");
    /* A page before B: the first byte of its buffer, in a page that is closed however B lies. */
    expect(state, "const", SUM "if (B[-1024] == 1e30f) sum = 0; " STORE, OUTCOME_CRASH, SEGFAULT);
    expect(state, "const", SUM "if (A[M * K - 1] == 1e30f || B[0] == 1e30f) sum = 0; " STORE, OUTCOME_OK, NULL);
}

static void test_nondeterministic(void **state)
{
    /* Reads what lies behind A, and hides it from the first run, in which that is NaN. */
    expect(state, "const", SUM "float x = A[M * K]; if (x == x) sum += 1; " STORE, OUTCOME_NONDETERMINISTIC, "differ");
}

static void test_one_element_against_the_trusted_output(void **state)
{
    job_record r;
    assert_true(evaluate(*state, "const", SUM "if (M == 96 && i == 50 && j == 60) sum = 1e7f; " STORE, true, &r));
    assert_int_equal(r.outcome, OUTCOME_WRONG);
    assert_non_null(strstr(r.detail, "C[50][60] is "));
    job_record_clear(&r);
}

/* Buffers come back from the candidate before, with its right results in them. */
static void test_nothing_is_left_from_the_candidate_before(void **state)
{
    for (int sampled = 0; sampled < 2; sampled++) {
        job_record r;
        for (int i = 0; i < 2; i++) {
            assert_true(evaluate(*state, "const", SUM STORE, sampled == 1, &r));
            assert_int_equal(r.outcome, OUTCOME_OK);
            job_record_clear(&r);
        }
        assert_true(evaluate(*state, "const", "if (M > 1000) " STORE, sampled == 1, &r));
        assert_int_equal(r.outcome, OUTCOME_WRONG);
        assert_non_null(strstr(r.detail, "63 of 63 compared elements wrong, 63 of them never written"));
        job_record_clear(&r);
        assert_true(evaluate(*state, "const", SUM "if (M < 90 || i != 50 || j != 60) " STORE, sampled == 1, &r));
        assert_int_equal(r.outcome, OUTCOME_WRONG);
        assert_non_null(strstr(r.detail, " compared elements wrong, 1 of them never written"));
        job_record_clear(&r);
    }
}

static void test_crash(void **state)
{
    job_record r;
    /* It dies in the runner, of which the worker starts another one. */
    expect(state, "const", SUM STORE "C[(size_t)1 << 40] = 1;", OUTCOME_CRASH, "the process that runs kernels");
    assert_true(evaluate(*state, "const", SUM STORE, false, &r));
    assert_int_equal(r.outcome, OUTCOME_OK);
    job_record_clear(&r);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return test_worker_main(argc, argv);
#define WITH_WORKER(test) cmocka_unit_test_setup_teardown(test, start, end)
#define ON_DEVICE(test) \
    { \
#test " on the device", test, start_on_device, end, NULL \
    }
    const struct CMUnitTest tests[] = {
        WITH_WORKER(test_right),
        WITH_WORKER(test_right_in_another_order),
        WITH_WORKER(test_does_not_compile),
        WITH_WORKER(test_wrong),
        WITH_WORKER(test_surroundings),
        WITH_WORKER(test_fences),
        WITH_WORKER(test_nondeterministic),
        WITH_WORKER(test_one_element_against_the_trusted_output),
        WITH_WORKER(test_nothing_is_left_from_the_candidate_before),
        ON_DEVICE(test_right),
        ON_DEVICE(test_right_in_another_order),
        ON_DEVICE(test_wrong),
        ON_DEVICE(test_surroundings),
        ON_DEVICE(test_nondeterministic),
        ON_DEVICE(test_one_element_against_the_trusted_output),
        ON_DEVICE(test_nothing_is_left_from_the_candidate_before),
        WITH_WORKER(test_unwritten_local_memory),
        ON_DEVICE(test_unwritten_local_memory),
        WITH_WORKER(test_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
