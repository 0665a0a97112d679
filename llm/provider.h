/* Where replies come from: one table of providers, asynchronous, several requests in flight.
 *
 *     openai:MODEL[@URL]     OpenAI-compatible chat completions (vLLM, llama.cpp, Ollama, OpenRouter, gateways)
 *     anthropic:MODEL[@URL]  Anthropic messages
 *     command:PROG ARGS      prompt on standard input, reply on standard output
 *     folder:DIR             prompts leave as files, replies come back as files
 *     replay:DIR             recorded exchanges
 *     none                   no model: operators only
 *
 * Several, joined by commas, each with "*WEIGHT" behind it, are an ensemble. Keys come from the environment and appear
 * nowhere else. No threads: a provider makes progress while llm_poll runs, and otherwise the sockets and pipes wait.
 */
#ifndef KERNWRIGHT_LLM_PROVIDER_H
#define KERNWRIGHT_LLM_PROVIDER_H

#include "base/error.h"
#include "llm/exchange.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct provider_options {
    const char *config_path; /* endpoints, headers, prices: docs/providers.md; NULL: $KERNWRIGHT_LLM_CONFIG or none */
    double temperature;      /* NaN: not sent */
    int64_t connect_ms, first_byte_ms, silence_ms, no_content_ms, total_ms; /* 0: the defaults of docs/providers.md */
    int max_tries;                                                          /* 0: 6 */
    uint64_t seed;                                                          /* of the jitter */
    int64_t backoff_ms; /* the first wait before another try is up to this long; 0: 1000 */
} provider_options;

/* For a million tokens, in whatever unit the file's author counts. NaN: not known. */
typedef struct endpoint_price {
    double input, cache_read, cache_write, output;
} endpoint_price;

typedef struct provider_ops {
    const char *name; /* what stands before ':' */
    const char *doc;  /* one line, for --help */
    /* `rest` is what stands behind the colon. Checks what can be checked without asking anybody. */
    kw_code (*open)(const char *rest, const provider_options *o, void **state, kw_error *err);
    /* Takes the request (copies what it keeps). */
    kw_code (*submit)(void *state, const llm_request *q, kw_error *err);
    /* Makes progress for at most `timeout_ms` (0: what can be done at once); true when `out` holds a finished reply. */
    bool (*poll)(void *state, int64_t timeout_ms, llm_reply *out);
    void (*close)(void *state);                      /* ends what is in flight within two seconds */
    bool (*has_price)(void *state);                  /* what replies cost is known; NULL: it is not */
    bool (*price)(void *state, endpoint_price *out); /* where tokens have one; NULL: they have none */
    double (*bytes_per_token)(void *state); /* of this model, as far as it was learnt; NULL: nothing is known */
} provider_ops;

extern const provider_ops *const provider_table[]; /* NULL-terminated */

#endif
