/* The two dialects in which language models are asked over HTTP. A new one is a file and a row. */
#ifndef KERNWRIGHT_LLM_DIALECT_H
#define KERNWRIGHT_LLM_DIALECT_H

#include "base/json.h"
#include "llm/wire.h"

typedef enum http_auth { AUTH_NONE, AUTH_BEARER, AUTH_X_API_KEY } http_auth;

/* What becomes a body. */
typedef struct dialect_request {
    const char *model, *system, *prompt; /* system may be "" */
    int64_t max_tokens;
    const char *max_tokens_field;
    double temperature; /* NaN: absent */
    bool stream;
    bool ask_usage;    /* OpenAI's stream_options */
    bool fold_system;  /* the system text opens the user's turn */
    const json *extra; /* members added at the end, replacing what is there; NULL */
} dialect_request;

typedef struct dialect {
    const char *name; /* of the provider and in the configuration */
    const char *path; /* behind the base of the URL */
    const char *base; /* of the vendor, asked when no URL is given */
    const char *key_env;
    http_auth auth;
    const char *header; /* always sent; NULL */
    json *(*body)(const dialect_request *q);
    /* One event of a stream. */
    void (*event)(wire_reply *r, const json *event);
    /* The body of a reply that is no stream. */
    void (*whole)(wire_reply *r, const json *body);
} dialect;

extern const dialect dialect_openai, dialect_anthropic;
/* NULL: there is none of this name. */
const dialect *dialect_find(const char *name);

/* System text and prompt as one turn; the caller frees. */
char *dialect_fold(const dialect_request *q);
void dialect_add_extra(json *body, const json *extra);

#endif
