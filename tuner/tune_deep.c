/* The search and the simulator: winners, and with DEEP_ALL every candidate that came out right, run under Oclgrind. */
#include "tuner/tune_internal.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSED "passed"

/* What runs elsewhere than on OpenCL devices is no text for a simulator of them. */
static bool can_simulate(const search *q)
{
    const device_info *d = evaluator_device(q->e);
    return q->o->oclgrind && q->o->deep != DEEP_NONE && strncmp(d->spec, "opencl:", 7) == 0 && !d->simulated;
}

bool search_simulates_all(const search *q)
{
    return can_simulate(q) && q->o->deep == DEEP_ALL;
}

/* Once per text: what was found is a fact of the store. The limits are in it, since the plan follows from them. */
static char *key_of(const search *q, const variant *v)
{
    strb key = STRB_INIT;
    strb_printf(&key, "simulated %s %s %s %s %s", oclgrind_name(q->o->oclgrind), q->t->hash, q->rows.types,
                q->rows.device->key, v->hash);
    return strb_take(&key);
}

static bool known(const search *q, const variant *v, char *text, size_t size)
{
    char *key = q->s ? key_of(q, v) : NULL, *said = NULL;
    kw_error ignored;
    bool found = key && store_fact(q->s, key, &said, &ignored) == KW_OK && said;
    if (found)
        snprintf(text, size, "%s", said);
    free(said);
    free(key);
    return found;
}

static void keep(const search *q, const variant *v, const char *text)
{
    kw_error err;
    char *key = q->s ? key_of(q, v) : NULL;
    if (key && store_set_fact(q->s, key, text, &err) != KW_OK)
        log_debug("what the simulator said is not kept: %s", err.message);
    free(key);
}

/* Only outcome, stage and detail are the simulator's to change. */
static void take_verdict(job_record *to, job_record *from)
{
    to->outcome = from->outcome;
    to->stage = from->stage;
    free(to->detail);
    to->detail = from->detail;
    from->detail = NULL;
}

kw_code search_simulate(search *q, trial *x, bool *failed, char *text, size_t size, kw_error *err)
{
    oclgrind_verdict verdict;
    job_record r;
    *failed = false;
    snprintf(text, size, "%s", "");
    if (!can_simulate(q) || known(q, x->v, text, size))
        return KW_OK;
    log_live("%s: simulating", x->v->template_name);
    kw_code code = oclgrind_check(q->o->oclgrind, x->v, &q->cases, &verdict, &r, err);
    if (code != KW_OK)
        return code;
    if (verdict == OCLGRIND_FAILED) {
        *failed = true;
        snprintf(text, size, "failed");
        take_verdict(&x->c.record, &r);
    } else if (verdict == OCLGRIND_PASSED) {
        snprintf(text, size, PASSED);
        keep(q, x->v, text);
    } else {
        const char *why = r.detail ? r.detail : outcome_name(r.outcome);
        snprintf(text, size, "not checked: %s: %.*s", outcome_name(r.outcome), (int)strcspn(why, "\n"), why);
        log_live_end();
        log_info("%s was not simulated: %.*s", x->v->template_name, (int)strcspn(why, "\n"), why);
        if (verdict != OCLGRIND_ABSENT) /* a simulator that does not run says nothing of this text */
            keep(q, x->v, text);
    }
    job_record_clear(&r);
    return KW_OK;
}

void search_simulate_end(search *q)
{
    oclgrind_cancel(q->o->oclgrind);
    trial_free(q->simulated);
    q->simulated = NULL;
    q->may_simulate = false;
}

void search_simulate_begin(search *q, const ledger_entry *entry)
{
    char ignored[256];
    search_simulate_end(q);
    trial *x = can_simulate(q) && q->t->reference ? search_trial_of_entry(q, entry) : NULL;
    if (!x)
        return;
    q->simulated = x;
    q->may_simulate = !known(q, x->v, ignored, sizeof ignored);
}

/* Its start takes half a second: only when there is something to wait for. */
void search_simulate_beside(search *q)
{
    if (q->may_simulate)
        oclgrind_begin(q->o->oclgrind, q->simulated->v, &q->cases);
    q->may_simulate = false;
    oclgrind_poll(q->o->oclgrind);
}

kw_code search_simulate_entry(search *q, const ledger_entry *entry, char *text, size_t size, kw_error *err)
{
    snprintf(text, size, "%s", "");
    trial *x = q->simulated;
    q->may_simulate = false;
    if (x && strcmp(x->v->hash, entry->source_hash) == 0)
        q->simulated = NULL; /* it may be at work by now */
    else
        x = can_simulate(q) && q->t->reference ? search_trial_of_entry(q, entry) : NULL;
    if (!x)
        return KW_OK;
    x->c.record.registers = x->c.record.spill_bytes = x->c.record.local_bytes = -1;
    bool failed;
    kw_code code = search_simulate(q, x, &failed, text, size, err);
    if (code == KW_OK && failed)
        code = search_record(q, x, "deep", err);
    trial_free(x);
    return code;
}
