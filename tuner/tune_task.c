/* The task itself, before its first candidate. */
#include "tuner/tune_internal.h"

#include "base/log.h"
#include "base/mem.h"
#include "tuner/task_check.h"

#include <stdlib.h>
#include <string.h>

static char *key_of(const search *q)
{
    strb key = STRB_INIT;
    strb_printf(&key, "sound %s %s", q->t->hash, q->rows.types);
    return strb_take(&key);
}

static kw_code check(search *q, kw_error *err)
{
    candidate c;
    memset(&c, 0, sizeof c);
    c.kind = CANDIDATE_TASK;
    c.cases = &q->cases;
    evaluator_submit(q->e, &c);
    if (!evaluator_next(q->e, err))
        return err->code;
    /* One of large shapes only is taken as it is. */
    kw_code code = c.record.outcome == OUTCOME_REJECTED ? KW_OK : task_check_result(q->t, &c.record, err);
    job_record_clear(&c.record);
    return code;
}

kw_code search_check_task(search *q, kw_error *err)
{
    if (!q->t->reference)
        return KW_OK;
    char *key = key_of(q), *known = NULL;
    kw_error ignored;
    kw_code code = KW_OK;
    if (!q->s || store_fact(q->s, key, &known, &ignored) != KW_OK || !known) {
        code = check(q, err);
        if (code == KW_OK && q->s && store_set_fact(q->s, key, "true", &ignored) != KW_OK)
            log_debug("that the task is sound is not kept: %s", ignored.message);
    }
    free(known);
    free(key);
    return code;
}
