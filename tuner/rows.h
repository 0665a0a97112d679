/* Measurements as they are made: the fields that are the same for a whole run, and a record turned into a row. */
#ifndef KERNWRIGHT_TUNER_ROWS_H
#define KERNWRIGHT_TUNER_ROWS_H

#include "codegen/template.h"
#include "tuner/evaluator.h"
#include "tuner/probe.h"
#include "tuner/store.h"

typedef struct rows {
    const task *task;
    char *types, *shape, *scalars; /* canonical texts */
    const char *mode;
    const device_info *device;
    char api[16];
    char host[128], run[48];
    char *contributor; /* $KERNWRIGHT_CONTRIBUTOR; NULL: not said */
    probe_case judged; /* figures NULL: not known */
} rows;

/* Borrows types and shape. */
void rows_init(rows *r, const evaluator *e, const task *t, const task_types *types, const task_shape *shape, bool cold);
/* The device's figures, borrowed, which give rows their limit and their noise; NULL: not known. */
void rows_use_probe(rows *r, const probe_figures *figures);
/* Makes a time that is below what the device can do at best an implausible one. Nothing without figures. */
void rows_judge(const rows *r, const variant *v, job_record *record);
void rows_clear(rows *r);
/* The identity part as a query: everything but template and source. Borrows from r. */
store_query rows_query(const rows *r);
/* A row that borrows from r, v and record; `date` is a buffer that must live as long. */
measurement rows_make(const rows *r, const variant *v, char *config, const job_record *record, verified verified,
                      char date[21]);
/* Was this timed in batches? */
bool rows_is_batch(const measurement *m);

#endif
