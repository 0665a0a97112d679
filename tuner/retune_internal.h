/* What the files of the retune share: retune.c (plan, run), retune_rows.c (what was measured, as lessons),
 * retune_guide.c (one shape's search), retune_validate.c (old rows timed again). */
#ifndef KERNWRIGHT_TUNER_RETUNE_INTERNAL_H
#define KERNWRIGHT_TUNER_RETUNE_INTERNAL_H

#include "tuner/arms.h"
#include "tuner/ledger.h"
#include "tuner/lessons.h"
#include "tuner/retune.h"
#include "tuner/rows.h"

/* What was measured of one shape on one device, by one driver where it is this device. */
typedef struct context {
    char *device_key, *driver, *mode, *date; /* date: the latest */
    task_shape shape;
    int timing_version;
    bool from_store;
    ledger ledger;
    lesson *lesson; /* in the book; NULL: nothing of it can be used */
} context;
void context_clear(context *c); /* but for the lesson, which is the book's */

struct retune {
    evaluator *e;
    store *s;
    const task *t;
    const retune_options *o;
    const device_info *device;
    const char *mode;
    retune_shape *shapes;
    size_t n_shapes;
    context *contexts;
    size_t n_contexts, capacity;
    size_t n_key_dims;
    lessons *book;
    retune_drivers drivers;
    strb notes;
};

/* The logarithms of the key dims; `out` has TASK_MAX_DIMS. */
void retune_dims(const task *t, const task_shape *shape, double *out);
bool retune_same_shape(const task *t, const task_shape *a, const task_shape *b);
/* Reads one store into contexts. *n_used: rows that were taken. */
kw_code retune_read(retune *r, store *s, const char *name, size_t *n_used, kw_error *err);
/* Makes a lesson of each context that has none. */
void retune_learn(retune *r);
/* Of this device, mode, timing version and driver, from the store; NULL if there is none. */
const context *retune_here(const retune *r, const task_shape *shape);
/* The same of the latest other driver. */
const context *retune_before(const retune *r, const task_shape *shape);
/* Reads this shape's rows of this device again. */
kw_code retune_reread(retune *r, const task_shape *shape, kw_error *err);
/* Index of a template, SIZE_MAX if it is not here. */
size_t retune_template(const retune *r, const char *name);
/* The configuration of an entry; false if its template is gone or does not have these values. `config` must hold
 * the longest template's parameters. */
bool retune_config(const retune *r, const ledger_entry *e, size_t *family, uint32_t *config);
size_t retune_longest(const retune *r);

/* One shape's search. */
typedef struct guide {
    retune *r;
    retune_shape *shape;
    informed *x;
    const arms *arms;
    size_t *family_of;    /* of each arm */
    size_t *arm_of;       /* of each family; SIZE_MAX */
    const space **spaces; /* of each family; NULL */
    bool *asked;          /* of each arm: its default was */
    arms_guide hooks;
} guide;

void guide_init(guide *g, retune *r, retune_shape *shape);
void guide_clear(guide *g);
/* Of the rows of this driver: those whose text is still what their template expands to are told. Returns how many. */
size_t guide_tell_known(guide *g, const context *here, size_t *n_changed);

/* The verdict of an earlier run on the driver before, if there is one. */
void retune_recall_verdict(retune *r);
/* Times the sample, if one is called for, and judges. */
kw_code retune_time_sample(retune *r, bool *sampled, kw_error *err);

#endif
