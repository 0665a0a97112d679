/* Lines of the worker protocol: jobs that are accepted print to a line that reads back and prints the same; messages
 * never do harm. */
#include "tuner/job.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_job(const char *line, size_t length)
{
    arena *a = arena_new(), *b = arena_new();
    job j, again;
    task *t, *t_again;
    kw_error err = {0};
    strb once = STRB_INIT, twice = STRB_INIT;
    if (job_parse(line, length, a, &j, &t, &err) == KW_OK) {
        job_print(&j, &once);
        require(job_parse(once.data, once.length - 1, b, &again, &t_again, &err) == KW_OK);
        job_print(&again, &twice);
        require(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
        task_free(t);
        task_free(t_again);
    } else {
        require(err.code != KW_OK && err.message[0] && !t);
    }
    strb_clear(&once);
    strb_clear(&twice);
    arena_free(a);
    arena_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    message m;
    kw_error err = {0};
    if (message_parse((const char *)data, size, &m, &err) == KW_OK)
        message_clear(&m);
    else
        require(err.code != KW_OK && err.message[0]);
    try_job((const char *)data, size);
    return 0;
}
