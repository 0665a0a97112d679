/* The search over many shapes: what its parts share. */
#ifndef KERNWRIGHT_TUNER_TUNE_MANY_INTERNAL_H
#define KERNWRIGHT_TUNER_TUNE_MANY_INTERNAL_H

#include "tuner/arms.h"
#include "tuner/many.h"
#include "tuner/rows.h"
#include "tuner/tune_many.h"

#define TOGETHER_HOPELESS 2.0 /* times the shape's best, as in the search of one shape */

/* One text, sizes as arguments. */
typedef struct known {
    const template *p;
    uint32_t *config;
    char *config_json;
    variant *v;
    bool is_kept;
} known;

typedef struct one_shape {
    const task_shape *shape;
    rows rows;
    arms arms; /* none when nothing is valid here */
    bool has_arms;
    double best_ns;
    bool batch;
} one_shape;

/* What a measurement says, for the model and the strategies. */
typedef struct answer {
    outcome outcome;
    bool ok, batch; /* batch: timed in batches */
    double ns;
} answer;

/* A pair that was asked for. known: SIZE_MAX for a text of its own, with sizes as constants. */
typedef struct flight {
    candidate c;
    size_t shape, known;
    variant *special; /* owned; NULL: the known text */
    char *special_json;
    bool again; /* timed a second time, in batches */
    bool late;  /* passed over */
    bool done;
    answer answer;
    int64_t asked_ns;
    struct flight *next;
} flight;

typedef struct together {
    evaluator *e;
    store *s;
    const task *t;
    const tune_options *o;
    size_t n_shapes;
    one_shape *shapes;
    many *model;
    known *known;
    size_t n_known, capacity;
    case_source cases;
    variant *trusted;
    flight *first, *last; /* not told yet, in the order in which they were asked */
    flight *late;         /* passed over, since they kept all others waiting: told when they come */
    size_t n_untold;      /* from first on */
    uint64_t n, limit;    /* evaluations, those of the store included */
    uint64_t asked;
    int64_t start_ns;
    double seconds;
    uint32_t *config; /* scratch */
    tune_many_result *out;
} together;

/* The number of this text; SIZE_MAX when it cannot be expanded. */
size_t together_know(together *g, const template *p, const uint32_t *config);
answer together_answer(const measurement *m);
/* Model, strategy of the shape, and the shape's best hear of it. index: SIZE_MAX for a text with sizes as constants. */
void together_note(together *g, size_t shape, size_t index, const answer *a);
/* What the store has of these shapes. */
kw_code together_reuse(together *g, kw_error *err);

/* Hands f, which is filled up to `again`, to the evaluator; it must have been asked for. */
void together_submit(together *g, flight *f, candidate_kind kind);
/* f is the next one to be told after all before it. */
void together_asked(together *g, flight *f);
/* Submits one more pair; false: there is none that is new. */
bool together_propose(together *g);

#endif
