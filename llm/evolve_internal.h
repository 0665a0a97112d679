/* State of a run, shared by the files of the loop. */
#ifndef KERNWRIGHT_LLM_EVOLVE_INTERNAL_H
#define KERNWRIGHT_LLM_EVOLVE_INTERNAL_H

#include "llm/evolve.h"
#include "llm/meta.h"
#include "llm/reply.h"

/* A template that was tried, once for each text. */
typedef struct candidate_kept {
    char hash[HASH_HEX_SIZE], essence[HASH_HEX_SIZE];
    char parent_hash[HASH_HEX_SIZE]; /* "": a seed */
    char key[EXCHANGE_KEY_SIZE];
    const char *move; /* what was asked for; NULL: a seed */
    char *text;
    trial_result result;
} candidate_kept;

typedef enum attempt_state {
    ATTEMPT_ASKED, /* the request is out */
    ATTEMPT_READY, /* there is a text to be tried */
    ATTEMPT_DONE
} attempt_state;

typedef struct attempt {
    char key[EXCHANGE_KEY_SIZE]; /* of the last exchange: with -rN while it is repaired */
    uint64_t ordinal;
    attempt_state state;
    int repairs;
    steer_choice choice;
    char parent_hash[HASH_HEX_SIZE]; /* "" if none */
    char tried_hash[HASH_HEX_SIZE];  /* of its last text that was tried; "" if none was */
    double parent_fitness;
    int meta; /* which set of sections its prompt had */
    bool by_operator;
    bool nobody;                        /* followed: nobody was left to ask, or its question was not sent */
    int shrinks;                        /* how often the prompt was too long for the server */
    char *prompt;                       /* while ASKED: sent again by a run that goes on */
    char *repair_text, *repair_problem; /* while a repair is asked for: what its prompt was made of */
    char *text;                         /* while READY */
    char essence[HASH_HEX_SIZE];        /* of it */
} attempt;

typedef struct evolution {
    const evolve_options *o;
    archive *archive;
    steer *steer;
    meta *meta;
    candidate_kept *kept;
    size_t n_kept, kept_capacity;
    attempt *attempts; /* [ordinal - 1] */
    size_t n_attempts, attempts_capacity;
    int meta_parent; /* the set that is to be improved; -1: no meta-prompt is out */
    char meta_key[EXCHANGE_KEY_SIZE], *meta_prompt;
    uint64_t n_meta;
    uint64_t n_lost;      /* attempts of an earlier part that nobody was left to answer: the budget is not for them.
                           * Counted by evolve_finish alone */
    size_t n_answered;    /* replies taken in this process */
    size_t prompt_bytes;  /* a prompt longer than this was too long for a server; 0: none was */
    bool following;       /* what is asked now was asked before: evolve.c asks again what has no answer */
    bool ended;           /* the last event followed was an end of the run, or of a batch */
    const json *settings; /* the last that the journal has; borrowed from it */
    bool closed;          /* no more questions: budget or session */
    char *why;
    evolve_result *result;
    kw_error *err;
    kw_code code; /* of an event that failed inside the pump */
    strb last;
    char *told; /* the last failure of a model that was warned of */
} evolution;

const candidate_kept *evolve_find(const evolution *e, const char *hash);
/* Emits {"event": name, "key": key}, to which the caller adds members: evolve_emit frees it. */
json *evolve_event(const char *name, const char *key);
kw_code evolve_emit(evolution *e, json *event);

/* evolve.c: lets requests progress, takes what has come back, asks for more. */
kw_code evolve_pump(evolution *e, int64_t timeout_ms);

/* evolve_ask.c: questions. */
kw_code evolve_ask(evolution *e); /* the next attempt: a question to a model, or an operator's child */
kw_code evolve_ask_repair(evolution *e, attempt *a, const char *text, const char *problem);
kw_code evolve_ask_meta(evolution *e);    /* for better sections */
kw_code evolve_submit_meta(evolution *e); /* the question of the last evolve_ask_meta, given to the session */
/* The attempt's question once more, shorter: the server said that it is too long. *asked false: it gets no shorter, or
 * was tried often enough. */
kw_code evolve_ask_shorter(evolution *e, attempt *a, bool *asked);
/* Gives a question to the session; nothing while a journal is followed. KW_FAILED: the session takes no more, the run
 * is closed (no error of the run). KW_ENVIRONMENT: it cannot be written; nobody will answer it. */
kw_code evolve_submit(evolution *e, const char *key, const char *kind, const char *text);

/* evolve_take.c: what comes back. */
#define EVOLVE_NO_REPAIR "no repair came: "
kw_code evolve_take(evolution *e, const llm_reply *r);
/* Is a question of that key out? */
bool evolve_waits_for(const evolution *e, const char *key);
/* Of the reply's text as a file keeps it: "text" of the event "reply". Returns `out`. */
const char *evolve_text_hash(const llm_reply *r, char out[HASH_HEX_SIZE]);
/* A text that was read, or a reason why there is none, for an attempt. */
kw_code evolve_ready(evolution *e, attempt *a, char *text);
void evolve_forget_texts(attempt *a);
/* Hash of what makes a text another one: a candidate is tried once. */
void evolve_essence(const evolution *e, const char *text, char out[HASH_HEX_SIZE]);
kw_code evolve_finish(evolution *e, attempt *a, const char *outcome, const trial_result *r, const char *detail);

int evolve_cell(const trial_result *r); /* of its best configuration; -1: none is right */

/* evolve_try.c: trials. */
kw_code evolve_try(evolution *e, attempt *a);
const char *evolve_outcome(const trial_result *r); /* a name for the journal */
kw_code evolve_seeds(evolution *e);

/* evolve_learnt.c: for the end. */
void evolve_note_move(evolution *e, const attempt *a,
                      const trial_result *r); /* an attempt has ended; r NULL: no trial */
void evolve_trace_best(const evolution *e, const char *hash, evolve_result *r); /* fills r's lineage */
double evolve_speed_up(const trial_result *r);

/* evolve_json.c: trials as events. */
json *trial_to_json(const trial_result *r);
kw_code trial_from_json(const json *j, size_t n_shapes, trial_result *out, kw_error *err);

#endif
