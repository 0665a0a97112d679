/* The HTTP providers from inside: questions at one endpoint, with what was learnt about it. */
#ifndef KERNWRIGHT_LLM_ASKER_INTERNAL_H
#define KERNWRIGHT_LLM_ASKER_INTERNAL_H

#include "llm/config.h"
#include "llm/exchange.h"
#include "llm/http.h"
#include "llm/provider.h"
#include "llm/sse.h"
#include "llm/tokens.h"
#include "llm/wire.h"

/* What about requests is found out by asking. */
typedef struct asker_traits {
    const char *max_tokens_field;
    bool no_temperature, no_usage, fold_system;
} asker_traits;

/* How the body of an answer is read. */
typedef enum body_kind { BODY_UNKNOWN, BODY_STREAM, BODY_WHOLE, BODY_OTHER } body_kind;

/* A question: waits for its turn, or is in flight. */
typedef struct question {
    struct asker *asker;
    char key[EXCHANGE_KEY_SIZE];
    char *system, *prompt;
    int64_t max_tokens;
    http_transfer *transfer; /* NULL: waits */
    int64_t first_ns;        /* of the first try; 0 */
    int64_t not_before_ns;
    int64_t waits_since_ns;           /* rate limit or loading; 0: not */
    int sent, failures, waits, mends; /* requests; those that count as tries; that waited long; in another form */
    int aways;                        /* without a connection while nobody polled */
    bool fresh;                       /* on a connection of its own */
    bool whole;                       /* not as a stream */
    asker_traits traits;              /* as sent */
    /* the answer so far */
    body_kind kind;
    strb body; /* of what is no stream */
    sse events;
    bool at_end; /* half an event may come */
    wire_reply reply;
    llm_usage spent; /* by tries that failed */
} question;

typedef struct asker {
    endpoint e;
    http *http;
    question **all;
    size_t n, capacity;
    double cap;         /* how many may be in flight */
    int64_t cap_cut_ns; /* when it last fell */
    asker_traits traits;
    int h2_faults;
    bool answered; /* it has, at least once */
    bool said_loading, said_cut;
    char *stopped; /* why nothing more is asked; NULL */
    token_ratio ratio;
    double temperature;
    int max_tries;
    int64_t backoff_ms;
    uint64_t seed, drawn; /* of the jitter */
} asker;

/* ---- asker_send.c: questions become requests, and their answers are read ---- */
void asker_send(asker *a, question *q);
/* Reads what is left when the answer has ended. */
void asker_read_end(question *q);
void asker_forget_answer(question *q);

/* ---- asker_end.c: what an answer means ---- */
/* true: `out` is the reply, and the question is done; false: it will be sent again. */
bool asker_ended(asker *a, question *q, const http_result *r, llm_reply *out);

#endif
