/* The loop: asks for candidates, tries them, keeps the best of every kind, and asks for better ones.
 *
 * Asynchronous and steady: up to `in_flight` requests are out at any time, and what has come back waits for the device.
 * Every decision and everything from outside is an event in the journal (llm/journal.h), so that a run goes on where it
 * was stopped and can be repeated.
 */
#ifndef KERNWRIGHT_LLM_EVOLVE_H
#define KERNWRIGHT_LLM_EVOLVE_H

#include "base/error.h"
#include "codegen/task.h"
#include "llm/archive.h"
#include "llm/journal.h"
#include "llm/prompt.h"
#include "llm/session.h"
#include "llm/steer.h"
#include "llm/trial.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct evolve_progress {
    uint64_t asked, answered, tried, right, budget;
    size_t in_flight, waiting; /* requests out; candidates that wait for the device */
    const archive *archive;
    const char *last; /* what happened last, one line */
    llm_totals totals;
} evolve_progress;

typedef struct evolve_options {
    prompt_context prompt;    /* task, types, shapes, device, probe, texts; candidates and choice are filled in */
    const char *const *seeds; /* texts of templates to begin with, in order; the plain one first */
    size_t n_seeds;
    llm_session *session;
    const char *folder;   /* of the exchanges and candidates; NULL: none is kept */
    const char *asked_in; /* folder whose replies are waited for, for messages; NULL: `folder` */
    journal *journal;
    bool recorded_only; /* follow the journal to its end and stop: no device, no model */
    const trial_ops *trial;
    void *trial_state;
    uint64_t budget; /* attempts asked for, seeds apart */
    size_t in_flight;
    bool leave_when_waiting;               /* end with KW_OK once only replies are waited for; goes on when run again */
    int repairs;                           /* how often an error is sent back for one attempt */
    bool archive, gradient, targets, meta; /* --without */
    int steering;                          /* rules of llm/steer.h; 0: the latest */
    double operators;                      /* share of attempts made by operators instead of the model, 0..1 */
    double stop_fitness;                   /* end when the best reaches it; 0: never */
    bool independent; /* every question shows the first seed alone: what asking N times brings without evolution */
    int64_t max_reply_tokens;
    uint64_t seed;
    const json *settings; /* what may change when it goes on: an event when it does; NULL: none is made */
    const char *run_info; /* JSON object for the first event: what the run depends on */
    void (*on_progress)(const evolve_progress *p, void *cookie);
    bool (*interrupted)(void *cookie);
    void *cookie;
} evolve_options;

/* What a model's replies were good for as replies: what is in them is another matter. */
typedef struct evolve_model {
    char name[64]; /* as the server said; "" if nobody said */
    uint64_t replies, with_template, edits, edits_failed;
} evolve_model;

/* What was asked for, in the words of steering ("raise memory"), and what came of it. */
typedef struct evolve_move {
    char name[48];
    uint64_t asked, right, better; /* right: also after repairs; better than its parent */
    double best_gain;              /* in fitness, of the right ones over their parents; NaN: none was right */
} evolve_move;

/* A template on the way from a seed to the best. */
typedef struct evolve_step {
    char key[EXCHANGE_KEY_SIZE], move[48]; /* move: "" for a seed */
    double fitness;
} evolve_step;
enum { EVOLVE_MOST_STEPS = 32 };

/* What became of the attempts: all that are counted here but `repaired` and `better_than_parent` make up `attempts`. */
typedef struct evolve_result {
    uint64_t attempts, no_code, unchanged, duplicate, unread, no_compile, failed, wrong, right, better_than_parent;
    uint64_t not_asked, pending; /* a budget was spent before; without an end when the run was left or interrupted */
    uint64_t repaired;           /* attempts that came right through a repair */
    evolve_model models[8];      /* what more models wrote is not counted */
    size_t n_models;
    uint64_t same_kernel;    /* right candidates whose best configuration is the very kernel of another one */
    uint64_t kinds, of_most; /* right candidates by kind (of their best configuration): kinds, and most in one */
    int most_cell;           /* that one; -1: none was right */
    steer_report steering;
    evolve_move moves[24]; /* in the order in which they were first asked for */
    size_t n_moves;
    evolve_step lineage[EVOLVE_MOST_STEPS]; /* from the seed to the best; of a longer one its beginning */
    size_t n_lineage;
    double base_fitness, best_fitness;
    double best_speed_up; /* times of the plain kernel's default over the best's, geometric mean over shapes; NaN */
    char *best_text;      /* of the best template. Owned */
    char best_hash[HASH_HEX_SIZE];
    char *best_config; /* Owned */
    archive *archive;  /* Owned */
    llm_totals totals;
    size_t waiting;      /* prompts without a reply that the run left behind (leave_when_waiting) */
    bool abandoned;      /* it ended since nobody was left to ask */
    uint64_t no_answer;  /* of no_code: attempts whose question was answered with nothing */
    char *no_answer_why; /* of the last of them; NULL. Owned */
    char *why;           /* why it ended. Owned */
} evolve_result;
void evolve_result_clear(evolve_result *r);

/* KW_OK at the end of the budget (also when a limit of the session or the stop rule ended it: `why`), or
 * when it was left (`waiting`). KW_INTERRUPTED
 * with everything kept; KW_FAILED when a followed journal differs; KW_ENVIRONMENT when device or disk fail. The
 * result is filled in all cases. */
kw_code evolve_run(const evolve_options *o, evolve_result *out, kw_error *err);

#endif
