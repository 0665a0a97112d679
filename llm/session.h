/* What the loop talks to: an ensemble of providers with budgets, recording every exchange. */
#ifndef KERNWRIGHT_LLM_SESSION_H
#define KERNWRIGHT_LLM_SESSION_H

#include "base/error.h"
#include "base/json.h"
#include "llm/exchange.h"
#include "llm/provider.h"

typedef struct llm_session llm_session;

typedef struct llm_session_options {
    provider_options provider;
    const char *spec;         /* "openai:gpt-x@http://host/v1*2,anthropic:m", "folder:DIR", ... */
    const char *record;       /* folder for exchanges; NULL: not recorded (folder: and replay: record in their own) */
    int64_t max_tokens_total; /* 0: no limit */
    double max_cost;          /* 0: no limit; > 0 with an unknown price is KW_BAD_INPUT at opening */
} llm_session_options;

/* KW_BAD_INPUT: unknown provider (suggests), unreadable specification; KW_ENVIRONMENT: no key in the environment (names
 * the variable), no such program or folder. */
kw_code llm_session_open(const llm_session_options *o, llm_session **out, kw_error *err);
void llm_session_close(llm_session *s); /* NULL is fine */

/* KW_FAILED once a budget is spent (what is in flight counts by its largest possible size), and once every provider has
 * stopped for good: the message says which and why. KW_ENVIRONMENT when an exchange cannot be recorded. */
kw_code llm_submit(llm_session *s, const llm_request *q, kw_error *err);
/* true: `out` holds a reply (llm_reply_clear it). Waits at most timeout_ms; 0 only lets things progress. */
bool llm_poll(llm_session *s, int64_t timeout_ms, llm_reply *out);
/* A reply of an earlier part of the run, as its record has it: budgets are of the whole run. */
void llm_session_spent(llm_session *s, const llm_reply *r);
/* KW_ENVIRONMENT: a reply could not be kept (a full disk): the message names the file. */
kw_code llm_session_trouble(const llm_session *s, kw_error *err);
bool llm_nobody_left(const llm_session *s); /* every provider has stopped for good */
size_t llm_in_flight(const llm_session *s);
bool llm_session_asks(const llm_session *s); /* somebody is asked anew: not only records, or nobody */
/* {"openai:m": {"input", "cache_read", "cache_write", "output"}}, for a million tokens, of those whose price is known;
 * NULL: of nobody's. The caller frees. */
json *llm_session_prices(const llm_session *s);
/* What this many tokens cost at the dearest of those who may answer; NaN: not known. */
double llm_session_most_cost(const llm_session *s, int64_t input, int64_t output);
/* For a prompt's budget: the least of the models that may answer, as learnt from what they report. */
double llm_bytes_per_token(const llm_session *s);

typedef struct llm_totals {
    int64_t requests, replies, failed;
    llm_usage usage;
    double cost;                         /* of what has a price */
    int64_t unpriced;                    /* replies without one */
    int64_t same_prompts, other_prompts; /* replay: */
} llm_totals;
int64_t llm_tokens_used(const llm_usage *u); /* all that are known, thinking within output */
llm_totals llm_session_totals(const llm_session *s);

#endif
