/* Cases that threads make ahead: the same as those that are made when they are needed, whatever was asked for when. */
#include "base/mem.h"
#include "tests/support_worker.h"
#include "tuner/reference.h"
#include "tuner/worker_cases.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define CASES 12
#define NO_LIMIT ((uint64_t)1 << 40)

static void no_progress(void *cookie)
{
    (void)cookie;
}

/* Products of many shapes and distributions; the last one is so large that it is compared by samples. */
typedef struct rig {
    test_job tj;
    job_case cases[CASES];
    case_request requests[CASES];
    reference_cache *references;
    device *d;
} rig;

static int rig_open(void **state)
{
    rig *r = mem_calloc(1, sizeof *r);
    kw_error err;
    kw_reference_fn *reference;
    setenv("KERNWRIGHT_FAKE", "1", 1);
    test_job_make(&r->tj, "gemm", "");
    r->references = reference_cache_new();
    if (device_open("fake:0", &r->d, &err) != KW_OK || reference_get(r->references, r->tj.t, &reference, &err) != KW_OK)
        return -1;
    for (size_t i = 0; i < CASES; i++) {
        job_case *c = &r->cases[i];
        c->shape.dims[0] = i + 1 == CASES ? 600 : 3 + 7 * (int64_t)i;
        c->shape.dims[1] = i + 1 == CASES ? 500 : 70 - 5 * (int64_t)i;
        c->shape.dims[2] = i == 4 ? 0 : 1 + 9 * (int64_t)i; /* no input has an element, or many have */
        c->scalars[0] = 1;
        c->scalars[1] = i % 3 == 0;
        c->dist = (distribution)(i % DIST_ROUND);
        c->sampled = i + 1 == CASES;
        r->requests[i] =
            (case_request){.job = &r->tj.j, .c = c, .seed = 77 + i, .reference = reference, .progress = no_progress};
    }
    *state = r;
    return 0;
}

static int rig_close(void **state)
{
    rig *r = *state;
    device_close(r->d);
    reference_cache_free(r->references);
    test_job_clear(&r->tj);
    free(r);
    return 0;
}

static void assert_same_bytes(device *d, device_buffer *a, device_buffer *b, size_t bytes)
{
    kw_error err;
    unsigned char *x = mem_alloc(bytes), *y = mem_alloc(bytes);
    assert_int_equal(device_read(d, a, 0, x, bytes, &err), KW_OK);
    assert_int_equal(device_read(d, b, 0, y, bytes, &err), KW_OK);
    assert_memory_equal(x, y, bytes);
    free(x);
    free(y);
}

static void assert_same(device *d, const case_data *a, const case_data *b)
{
    assert_int_equal(a->n_tensors, b->n_tensors);
    assert_int_equal(a->host_bytes, b->host_bytes);
    assert_int_equal(a->device_bytes, b->device_bytes);
    for (size_t i = 0; i < a->n_tensors; i++) {
        const expected *x = &a->expected[i], *y = &b->expected[i];
        assert_int_equal(a->pristine[i] != NULL, b->pristine[i] != NULL);
        if (a->pristine[i])
            assert_same_bytes(d, a->pristine[i], b->pristine[i], a->layout[i].bytes);
        assert_true(!a->native[i] && !a->values[i] && !b->native[i] && !b->values[i]);
        assert_int_equal(a->overwritten[i], b->overwritten[i]);
        assert_int_equal(x->known, y->known);
        assert_int_equal(x->n, y->n);
        if (!x->known)
            continue;
        assert_memory_equal(x->value, y->value, x->n * sizeof *x->value);
        assert_memory_equal(x->scale, y->scale, x->n * sizeof *x->scale);
        assert_int_equal(x->logical != NULL, y->logical != NULL);
        if (x->logical)
            assert_memory_equal(x->logical, y->logical, x->n * sizeof *x->logical);
        assert_int_equal(x->rule.exact, y->rule.exact);
        assert_true(x->max_scale == y->max_scale);
    }
}

/* All cases with threads, in this order, against all cases without. Returns how many the threads made. */
static size_t compare_all(rig *r, size_t n_threads, uint64_t most_bytes, bool backwards)
{
    case_cache *with = case_cache_new(r->d, 0), *without = case_cache_new(r->d, 0);
    case_ahead *ahead = case_ahead_start(r->requests, CASES, n_threads, most_bytes);
    kw_error err;
    for (size_t k = 0; k < CASES; k++) {
        const case_request *q = &r->requests[backwards ? CASES - 1 - k : k];
        case_data *a, *b;
        assert_int_equal(case_cache_get(with, q, ahead, &a, &err), KW_OK);
        assert_int_equal(case_cache_get(without, q, NULL, &b, &err), KW_OK);
        assert_same(r->d, a, b);
        assert_true(case_cache_has(with, q));
    }
    const size_t made = case_ahead_made(ahead);
    case_ahead_stop(ahead);
    case_cache_free(with);
    case_cache_free(without);
    return made;
}

static void test_same_as_without(void **state)
{
    assert_int_equal(compare_all(*state, 0, NO_LIMIT, false), 0);
    for (size_t n_threads = 1; n_threads <= AHEAD_MOST_THREADS; n_threads++) {
        compare_all(*state, n_threads, NO_LIMIT, false);
        compare_all(*state, n_threads, NO_LIMIT, true);
    }
}

/* With little room threads wait until something is taken, or leave all to the caller. */
static void test_little_room(void **state)
{
    rig *r = *state;
    uint64_t largest = 0;
    for (size_t i = 0; i < CASES; i++)
        largest = case_inputs_bytes(&r->requests[i]) > largest ? case_inputs_bytes(&r->requests[i]) : largest;
    assert_true(largest >= (uint64_t)600 * 500 * (4 + 2 * 8));
    compare_all(r, 3, largest, false);
    compare_all(r, 3, largest, true);
    compare_all(r, 3, largest / 8, false);
    assert_int_equal(compare_all(r, 3, 0, false), 0);
}

/* What a thread has made is there to be taken, once, and nothing else is. */
static void test_taken_once(void **state)
{
    rig *r = *state;
    char key[HASH_HEX_SIZE], other[HASH_HEX_SIZE];
    case_ahead *ahead = case_ahead_start(r->requests, 1, 1, NO_LIMIT);
    case_key(&r->requests[0], key);
    case_key(&r->requests[1], other);
    for (int i = 0; i < 60000 && case_ahead_made(ahead) == 0; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_null(case_ahead_take(ahead, other, no_progress, NULL));
    case_data *data = case_ahead_take(ahead, key, no_progress, NULL);
    assert_non_null(data);
    assert_true(data->reference_asked);
    assert_string_equal(data->key, key);
    assert_null(case_ahead_take(ahead, key, no_progress, NULL));
    case_data_free(data);
    case_ahead_stop(ahead);
}

/* A job may end in the middle. */
static void test_stopped(void **state)
{
    rig *r = *state;
    case_ahead_stop(NULL);
    for (size_t i = 0; i < 20; i++) {
        case_ahead *ahead = case_ahead_start(r->requests, CASES, 1 + i % AHEAD_MOST_THREADS, NO_LIMIT);
        for (size_t k = 0; k < i % 4; k++) {
            char key[HASH_HEX_SIZE];
            case_key(&r->requests[k], key);
            case_data_free(case_ahead_take(ahead, key, no_progress, NULL));
        }
        case_ahead_stop(ahead);
    }
}

/* ---- references that look at who asks ---- */

static sem_t has_begun, may_end;
static pthread_t job_thread;
static size_t asked_elsewhere, asked_here;

static void some_values(size_t n, double *wanted, double *scale)
{
    for (size_t i = 0; i < n; i++)
        wanted[i] = scale[i] = 1;
}

static void wait_for(sem_t *s)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    int got;
    do
        got = sem_timedwait(s, &until);
    while (got != 0 && errno == EINTR);
    assert_int_equal(got, 0);
}

static void slow_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *wanted,
                           double *scale)
{
    (void)r;
    (void)tensor;
    (void)elements;
    sem_post(&has_begun);
    while (sem_wait(&may_end) != 0)
        continue;
    sem_post(&may_end);
    some_values(n, wanted, scale);
}

static void let_it_end(void *cookie)
{
    ++*(int *)cookie;
    sem_post(&may_end);
}

/* Who needs what a thread is making waits for it, and says meanwhile that it lives. */
static void test_waits_for_what_is_begun(void **state)
{
    rig *r = *state;
    case_request q = r->requests[1];
    char key[HASH_HEX_SIZE];
    int calls = 0;
    sem_init(&has_begun, 0, 0);
    sem_init(&may_end, 0, 0);
    q.reference = slow_reference;
    case_key(&q, key);
    case_ahead *ahead = case_ahead_start(&q, 1, 1, NO_LIMIT);
    wait_for(&has_begun);
    case_data *data = case_ahead_take(ahead, key, let_it_end, &calls);
    assert_true(calls > 0);
    assert_non_null(data);
    assert_true(data->expected[2].value[0] == 1);
    case_data_free(data);
    case_ahead_stop(ahead);
    sem_destroy(&has_begun);
    sem_destroy(&may_end);
}

static void watching_reference(const kw_ref *r, int tensor, size_t n, const uint64_t *elements, double *wanted,
                               double *scale)
{
    (void)r;
    (void)tensor;
    (void)elements;
    if (pthread_equal(pthread_self(), job_thread))
        asked_here++;
    else
        asked_elsewhere++;
    some_values(n, wanted, scale);
}

/* A user's reference may keep state, and is named when it crashes: no other thread asks it. */
static void test_own_reference_stays(void **state)
{
    rig *r = *state;
    char text[] = "void own(void);";
    job_thread = pthread_self();
    asked_here = asked_elsewhere = 0;
    for (size_t i = 0; i < CASES; i++)
        r->requests[i].reference = watching_reference;
    r->tj.t->reference_source = text;
    compare_all(r, 2, NO_LIMIT, false);
    compare_all(r, AHEAD_MOST_THREADS, NO_LIMIT, true);
    r->tj.t->reference_source = NULL;
    assert_int_equal(asked_elsewhere, 0);
    assert_true(asked_here > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_as_without, rig_open, rig_close),
        cmocka_unit_test_setup_teardown(test_little_room, rig_open, rig_close),
        cmocka_unit_test_setup_teardown(test_taken_once, rig_open, rig_close),
        cmocka_unit_test_setup_teardown(test_stopped, rig_open, rig_close),
        cmocka_unit_test_setup_teardown(test_waits_for_what_is_begun, rig_open, rig_close),
        cmocka_unit_test_setup_teardown(test_own_reference_stays, rig_open, rig_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
