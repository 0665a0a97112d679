/* No model: whatever is asked has no answer. The loop's operators work without one. */
#include "llm/provider_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

typedef struct none {
    char (*keys)[EXCHANGE_KEY_SIZE];
    size_t n, capacity;
} none;

static kw_code open_none(const char *rest, const provider_options *o, void **state, kw_error *err)
{
    (void)o;
    if (rest && *rest)
        return kw_error_set(err, KW_BAD_INPUT, "--llm none takes nothing behind it (\"%s\")", rest);
    *state = mem_calloc(1, sizeof(none));
    return KW_OK;
}

static kw_code submit(void *state, const llm_request *q, kw_error *err)
{
    (void)err;
    none *n = state;
    n->keys = mem_grow(n->keys, &n->capacity, n->n + 1, sizeof *n->keys);
    memcpy(n->keys[n->n++], q->key, EXCHANGE_KEY_SIZE);
    return KW_OK;
}

static bool poll_none(void *state, int64_t timeout_ms, llm_reply *out)
{
    (void)timeout_ms;
    none *n = state;
    if (n->n == 0)
        return false;
    *out = reply_failed(n->keys[0], LLM_NO_ANSWER, "there is no model");
    memmove(n->keys, n->keys + 1, --n->n * sizeof *n->keys);
    return true;
}

static void close_none(void *state)
{
    none *n = state;
    free(n->keys);
    free(n);
}

static bool costs_nothing(void *state)
{
    (void)state;
    return true;
}

const provider_ops provider_none = {.name = "none",
                                    .doc = "no model: operators only",
                                    .open = open_none,
                                    .submit = submit,
                                    .poll = poll_none,
                                    .close = close_none,
                                    .has_price = costs_nothing};
