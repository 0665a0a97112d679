/* One prompt to a language model and its reply; folders of such exchanges. docs/evolution.md has the layout.
 *
 * The same folder layout serves recording, asking through files (folder:) and replay (replay:).
 */
#ifndef KERNWRIGHT_LLM_EXCHANGE_H
#define KERNWRIGHT_LLM_EXCHANGE_H

#include "base/error.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stdint.h>

#define EXCHANGE_KEY_SIZE 64

/* How an exchange ended. Order matters: everything before LLM_FAILED left a text. */
typedef enum llm_status {
    LLM_OK,        /* the model said that it was done */
    LLM_CUT,       /* the model's limit of tokens ended it, or the stream broke off: the text is there, in part */
    LLM_NO_ANSWER, /* an answer without text: thinking used the limit, a refusal */
    LLM_FAILED,    /* this exchange failed for good (bad request, retries used up); others may succeed */
    LLM_STOPPED    /* none will succeed: no key, wrong key, unknown model, quota or budget spent */
} llm_status;
const char *llm_status_name(llm_status s); /* "ok", "cut", "no_answer", "failed", "stopped" */
bool llm_status_from_name(const char *name, llm_status *out);

/* Tokens by how they are priced. -1: not known. */
typedef struct llm_usage {
    int64_t input; /* not from a cache */
    int64_t cache_read, cache_write;
    int64_t output; /* reasoning included */
    int64_t reasoning;
    bool estimated; /* counted by us from bytes */
} llm_usage;

typedef struct llm_request {
    char key[EXCHANGE_KEY_SIZE]; /* "generate-000012", "generate-000012-r1", "meta-000003" */
    const char *kind;            /* "generate", "repair", "meta": routes to a model of the ensemble */
    const char *system;          /* "" if none */
    const char *prompt;
    int64_t max_tokens;
} llm_request;

typedef struct llm_reply {
    char key[EXCHANGE_KEY_SIZE];
    llm_status status;
    char *text;     /* without thinking; "" if there is none. Owned */
    char *thinking; /* kept apart, never read for code; NULL if none. Owned */
    char *model;    /* as the server named it, else as asked for. Owned */
    char *finish;   /* the server's own word; NULL. Owned */
    char *detail;   /* why not LLM_OK, one line, no secrets; NULL. Owned */
    llm_usage usage;
    double cost; /* in the unit of the price table; NaN: price not known */
    int64_t ms;  /* from the first try to the end */
    int tries;
} llm_reply;
#define LLM_MOST_TOKENS 1000000000000 /* of one reply: a larger count is none, and sums of them have room */
llm_usage llm_usage_unknown(void);
void llm_reply_clear(llm_reply *r);

/* Writes KEY.prompt.md and KEY.json, KEY.reply.md and KEY.meta.json. KW_ENVIRONMENT when the folder cannot be written
 * (full disk): the message names the file. */
kw_code exchange_write_request(const char *folder, const llm_request *q, kw_error *err);
kw_code exchange_write_reply(const char *folder, const llm_reply *r, kw_error *err);
/* KEY.meta.json alone: the reply is there already. */
kw_code exchange_write_meta(const char *folder, const llm_reply *r, kw_error *err);
/* KEY.template.cl: the candidate that was read from the reply. */
kw_code exchange_write_candidate(const char *folder, const char *key, const char *text, kw_error *err);
/* KW_BAD_INPUT when there is no reply of that key or it cannot be read. KEY.meta.json may be absent: LLM_OK then. */
kw_code exchange_read_reply(const char *folder, const char *key, llm_reply *out, kw_error *err);
/* As fs_check_plain, for KEY.reply.md: before a reply is read whose text may leave in a prompt. */
kw_code exchange_check_reply(const char *folder, const char *key, kw_error *err);
/* Is KEY.prompt.md there, byte for byte the same? */
bool exchange_same_prompt(const char *folder, const llm_request *q);

#endif
