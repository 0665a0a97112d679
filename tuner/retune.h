/* Retuning: what a device still lacks is measured, from what other devices and shapes taught.
 *
 * Opening it reads the store and the other sources and says what is lacking (nothing is measured for that); then the
 * rows of an earlier driver are judged by a sample; then each shape that lacks something is searched until going on is
 * not worth it (tuner/informed.h). Everything measured is in the store at once, so that an interrupted retune goes on
 * with the same command. */
#ifndef KERNWRIGHT_TUNER_RETUNE_H
#define KERNWRIGHT_TUNER_RETUNE_H

#include "tuner/tune.h"

typedef enum retune_state {
    RETUNE_NEW,     /* never measured on this device */
    RETUNE_OPEN,    /* measured, but more is expected of going on */
    RETUNE_CHANGED, /* its templates changed since, or there are others */
    RETUNE_EARLIER, /* measured with another driver, which was not judged yet */
    RETUNE_STALE,   /* measured with another driver, and times have moved since */
    RETUNE_DONE,
    RETUNE_UNFIT /* no template has a valid configuration here */
} retune_state;
const char *retune_state_name(retune_state s); /* "new", "open", .. */

typedef struct retune_shape {
    task_shape shape;
    retune_state state;
    size_t n_here, n_before; /* configurations measured with this driver; with earlier ones */
    size_t n_changed;        /* rows of this driver whose template expands to another text now, or is gone */
    size_t n_changed_before; /* the same of the driver before, where its times hold */
    size_t n_lessons;        /* that bear on it */
    double gain;             /* by which the best is expected to improve, 0.01: 1%; infinite where nothing is known */
    double agreement;        /* rank correlation of the lessons with what was measured here; NaN: not known */
    char lacks[256];         /* templates that were never measured here, "a, b"; "" */
} retune_shape;

/* What became of the rows of the driver before. */
typedef struct retune_drivers {
    char before[128], now[128]; /* before: "" when all rows are of the driver of now */
    size_t n_timed, n_moved;    /* of the sample */
    double shift;               /* median of new over old time; NaN without a sample */
    bool judged, stale;
    bool known; /* judged by an earlier run */
} retune_drivers;

typedef struct retune_options {
    tune_options tune;  /* budget: of each shape, at most. guide: not used */
    double threshold;   /* expected gain that is not worth going on for, 0.01: 1% */
    size_t sample;      /* rows that are timed again to judge a driver; 0: none, they are taken as stale */
    bool sample_always; /* with the driver of now as well */
    store *const *sources;
    const char *const *source_names; /* for messages */
    size_t n_sources;
    /* A shape is done; r NULL when it failed, and `why` says how. */
    void (*on_shape)(const retune_shape *shape, const tune_result *r, const kw_error *why, void *cookie);
    void *cookie;
} retune_options;

typedef struct retune retune;

/* Reads everything, and plans. KW_BAD_INPUT when a source has nothing that this task and these templates can use. The
 * pointers in `o` are borrowed. `shapes` is copied. */
kw_code retune_open(evaluator *e, store *s, const task *t, const retune_options *o, const task_shape *shapes,
                    size_t n_shapes, retune **out, kw_error *err);
void retune_close(retune *r); /* NULL is fine */
size_t retune_count(const retune *r);
const retune_shape *retune_at(const retune *r, size_t i);
/* Shapes that lack something. */
size_t retune_lacking(const retune *r);
const retune_drivers *retune_judged(const retune *r);
size_t retune_lessons(const retune *r);    /* pairs of device and shape that something was learnt from */
const char *retune_notes(const retune *r); /* rows that could not be used and why, lines; "" */

/* Times a sample of old rows again, interleaved, where that is called for, and brings the states up to date. */
kw_code retune_validate(retune *r, kw_error *err);
/* Measures what is lacking. KW_INTERRUPTED with everything measured stored; KW_FAILED when shapes failed: the others
 * were done. */
kw_code retune_run(retune *r, kw_error *err);

#endif
