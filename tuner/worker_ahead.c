#include "tuner/worker_ahead.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_NS 100000000 /* between two calls of `progress` */

typedef enum state { WAITING, MAKING, MADE, GONE } state;

typedef struct item {
    case_request request;
    char key[HASH_HEX_SIZE];
    uint64_t bytes; /* of its inputs */
    state state;
    case_data *data; /* MADE; NULL: that failed, and who takes it finds out why */
} item;

struct case_ahead {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for all: there is room, something is made, or it is over */
    item *items;
    size_t n, next, made;
    uint64_t bytes, most_bytes; /* made or being made, and not taken */
    bool is_over;
    pthread_t threads[AHEAD_MOST_THREADS];
    size_t n_threads;
};

/* ---- threads ---- */

static void no_progress(void *cookie)
{
    (void)cookie;
}

static case_data *make(const case_request *q)
{
    case_data *data = NULL;
    kw_error ignored;
    kw_code code = case_data_new(q, &data, &ignored);
    for (size_t i = 0; i < data->n_tensors && code == KW_OK; i++)
        if (case_is_input(q, data, i))
            code = case_draw(q, data, i, &ignored);
    if (code == KW_OK && !q->job->task->reference_source)
        code = case_expect(q, data, &ignored);
    if (code == KW_OK)
        return data;
    case_data_free(data);
    return NULL;
}

/* The next one that nobody has begun with, when there is room for it; NULL: there is none any more. Called locked. */
static item *begin_next(case_ahead *a)
{
    while (!a->is_over && a->next < a->n) {
        item *x = &a->items[a->next];
        if (x->state != WAITING) {
            a->next++;
        } else if (x->bytes <= a->most_bytes - a->bytes) {
            a->next++;
            a->bytes += x->bytes;
            x->state = MAKING;
            return x;
        } else {
            pthread_cond_wait(&a->changed, &a->lock);
        }
    }
    return NULL;
}

static void *work(void *cookie)
{
    case_ahead *a = cookie;
    pthread_mutex_lock(&a->lock);
    for (item *x; (x = begin_next(a)) != NULL;) {
        pthread_mutex_unlock(&a->lock);
        case_data *data = make(&x->request);
        pthread_mutex_lock(&a->lock);
        x->data = data;
        x->state = MADE;
        a->made++;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---- from outside ---- */

case_ahead *case_ahead_start(const case_request *requests, size_t n, size_t n_threads, uint64_t most_bytes)
{
    case_ahead *a = mem_calloc(1, sizeof *a);
    pthread_condattr_t attributes;
    a->items = mem_calloc(n + 1, sizeof *a->items);
    a->n = n;
    a->most_bytes = most_bytes;
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&a->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    for (size_t i = 0; i < n; i++) {
        item *x = &a->items[i];
        x->request = requests[i];
        x->request.progress = no_progress;
        case_key(&x->request, x->key);
        x->bytes = case_inputs_bytes(&x->request);
        x->state = x->bytes > most_bytes ? GONE : WAITING;
    }
    /* One that cannot be had is done without. */
    while (a->n_threads < n_threads && a->n_threads < AHEAD_MOST_THREADS &&
           pthread_create(&a->threads[a->n_threads], NULL, work, a) == 0)
        a->n_threads++;
    return a;
}

static void wait_a_little(case_ahead *a)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAIT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&a->changed, &a->lock, &until);
}

case_data *case_ahead_take(case_ahead *a, const char *key, case_progress progress, void *cookie)
{
    item *x = NULL;
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->n && !x; i++)
        if (a->items[i].state != GONE && strcmp(a->items[i].key, key) == 0)
            x = &a->items[i];
    while (x && x->state == MAKING) {
        wait_a_little(a);
        pthread_mutex_unlock(&a->lock);
        progress(cookie);
        pthread_mutex_lock(&a->lock);
    }
    case_data *data = x ? x->data : NULL;
    if (x) {
        a->bytes -= x->state == MADE ? x->bytes : 0;
        x->state = GONE;
        x->data = NULL;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return data;
}

size_t case_ahead_made(case_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    const size_t made = a->made;
    pthread_mutex_unlock(&a->lock);
    return made;
}

void case_ahead_stop(case_ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_over = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < a->n_threads; i++)
        pthread_join(a->threads[i], NULL);
    for (size_t i = 0; i < a->n; i++)
        case_data_free(a->items[i].data);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a->items);
    free(a);
}
