/* For tests that speak to a worker: jobs for the scripted device, and the other end of a worker's pipes. A test program
 * that uses this starts its main() with
 *     if (argc > 1 && strcmp(argv[1], "worker") == 0)
 *         return test_worker_main(argc, argv);
 */
#ifndef KERNWRIGHT_TESTS_SUPPORT_WORKER_H
#define KERNWRIGHT_TESTS_SUPPORT_WORKER_H

#include "tests/support_limits.h"
#include "tuner/job.h"

#include <stdbool.h>
#include <sys/types.h>

/* ---- jobs ---- */

typedef struct test_job {
    job j;
    task *t;
    job_case cases[8];
    char source[4096];
} test_job;

/* An EVALUATE job of one of the built-in tasks saxpy, gemm, reduce_sum on fake:0 without cases. `directives`: what
 * follows //fake: in the source. */
void test_job_make(test_job *tj, const char *task_name, const char *directives);
void test_job_clear(test_job *tj);
/* Adds a case with the plan of the one kernel; returns it. */
job_case *test_job_add(test_job *tj, const char *shape, distribution d, uint64_t seed);

/* ---- a worker ---- */

typedef struct test_worker {
    pid_t pid;
    int to, from;
    strb line;         /* read so far, beyond the last line */
    stage stages[256]; /* of the last job */
    size_t n_stages;
} test_worker;

int test_worker_main(int argc, char **argv); /* worker, or the runner that a worker starts */
/* It leads a session of its own: see test_session_size. */
void test_worker_start(test_worker *w);
/* The next line without its newline, or NULL at the end of the output. Fails the test after 20 s of silence. Caller
 * frees. */
char *test_worker_line(test_worker *w);
void test_worker_read(test_worker *w, message *out); /* the next message; must be one */
void test_worker_send(test_worker *w, const char *text, size_t length);
/* Sends a job and reads up to its result. false when the worker ended before it. */
bool test_worker_do(test_worker *w, const job *j, job_record *out);
/* How many processes, zombies left out, are in the session of a worker. */
size_t test_session_size(pid_t leader);
/* Closes its input, waits, returns the status as waitpid gives it. */
int test_worker_end(test_worker *w);
/* Sends a job that every candidate would fail for the same reason: the worker must say so, with `part` in the
 * message, and end with `code`. */
void test_worker_refuses(test_worker *w, const job *j, kw_code code, const char *part);

#endif
