#include "tuner/rows.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *json_line(json *j)
{
    strb text = STRB_INIT;
    json_print(j, &text);
    json_free(j);
    return strb_take(&text);
}

void rows_init(rows *r, const evaluator *e, const task *t, const task_types *types, const task_shape *shape, bool cold)
{
    memset(r, 0, sizeof *r);
    r->task = t;
    r->device = evaluator_device(e);
    r->mode = cold ? "cold" : "warm";
    strb text = STRB_INIT, name = STRB_INIT;
    task_types_print(t, types, &text);
    r->types = strb_take(&text);
    r->shape = json_line(task_shape_to_json(t, shape));
    json *scalars = json_new_object();
    for (size_t i = 0; i < t->n_scalars; i++)
        json_set_number(scalars, t->scalars[i].name, t->scalars[i].values[0]);
    r->scalars = json_line(scalars);
    size_t n = strcspn(r->device->spec, ":");
    snprintf(r->api, sizeof r->api, "%.*s", (int)n, r->device->spec);
    snprintf(r->host, sizeof r->host, "%s", evaluator_hello(e)->host);
    char date[21];
    clock_utc_text(date);
    snprintf(r->run, sizeof r->run, "%s-%ld", date, (long)getpid());
    const char *who = getenv("KERNWRIGHT_CONTRIBUTOR");
    if (who && *who) {
        utf8_add_valid(&name, who, strlen(who));
        r->contributor = strb_take(&name);
    }
    r->judged = (probe_case){.limits = &r->device->limits, .t = t, .types = types, .shape = shape, .cold = cold};
}

void rows_use_probe(rows *r, const probe_figures *figures)
{
    r->judged.figures = figures;
}

/* No kernel that does the work can be so fast: it does not, in a way that its results do not show. */
void rows_judge(const rows *r, const variant *v, job_record *record)
{
    if (record->outcome != OUTCOME_OK || record->n_samples == 0 || !r->judged.figures)
        return;
    double median = stats_of(record->samples_ns, record->n_samples).median;
    probe_limit floor = probe_floor_of(&r->judged, v->source);
    if (!(median < floor.ns))
        return;
    strb text = STRB_INIT;
    strb_printf(&text,
                "%.6g us, but a run of this shape takes at least %.6g us on this device (%s); if its figures are too "
                "low: `kernwright probe --again`",
                median / 1e3, floor.ns / 1e3, floor.by);
    record->outcome = OUTCOME_IMPLAUSIBLE;
    record->stage = STAGE_TIME;
    free(record->detail);
    record->detail = strb_take(&text);
}

void rows_clear(rows *r)
{
    free(r->types);
    free(r->shape);
    free(r->scalars);
    free(r->contributor);
    memset(r, 0, sizeof *r);
}

store_query rows_query(const rows *r)
{
    store_query q;
    memset(&q, 0, sizeof q);
    q.task = r->task->name;
    q.task_hash = r->task->hash;
    q.types = r->types;
    q.shape = r->shape;
    q.scalars = r->scalars;
    q.device_key = r->device->key;
    q.api = r->api;
    q.mode = r->mode;
    q.driver = r->device->driver;
    q.timing_version = TIMING_VERSION;
    return q;
}

/* measurement has plain pointers, since rows from the store own theirs; a borrowed row is never written to. */
static char *lend(const char *text)
{
    union {
        const char *in;
        char *out;
    } u = {text};
    return u.out;
}

/* What the device could do at best, and how sure the time is. */
static void add_limit(const rows *r, measurement *m)
{
    if (!r->judged.figures || m->time.n == 0)
        return;
    probe_limit limit = probe_limit_of(&r->judged, m->method);
    double noise = probe_noise_of(r->judged.figures, m->time.median);
    m->limit_ns = limit.by ? limit.ns : 0;
    m->limited_by = lend(limit.by);
    m->noise = noise > 0 ? noise : 0;
}

measurement rows_make(const rows *r, const variant *v, char *config, const job_record *record, verified verified_level,
                      char date[21])
{
    measurement m;
    memset(&m, 0, sizeof m);
    clock_utc_text(date);
    m.task = lend(r->task->name);
    m.task_hash = lend(r->task->hash);
    m.types = r->types;
    m.shape = r->shape;
    m.scalars = r->scalars;
    m.device_key = lend(r->device->key);
    m.api = lend(r->api);
    m.mode = lend(r->mode);
    m.timing_version = TIMING_VERSION;
    m.source_hash = lend(v->hash);
    m.template_name = lend(v->template_name);
    m.config = config;
    m.outcome = record->outcome;
    m.stage = record->stage;
    m.detail = record->detail;
    m.verified = record->outcome == OUTCOME_OK ? verified_level : VERIFIED_NOT;
    m.method = lend(record->method);
    m.samples_ns = record->samples_ns;
    m.n_samples = record->n_samples;
    m.time = stats_of(record->samples_ns, record->n_samples);
    m.compile_ms = record->compile_ms;
    m.verify_ms = record->verify_ms;
    m.time_ms = record->time_ms;
    m.registers = record->registers;
    m.spill_bytes = record->spill_bytes;
    m.local_bytes = record->local_bytes;
    m.extra = record->extra;
    m.worst_error = record->worst_error;
    add_limit(r, &m);
    m.device_name = lend(r->device->name);
    m.driver = lend(r->device->driver);
    m.host = lend(r->host);
    m.run = lend(r->run);
    m.date = date;
    m.tool_version = lend(KERNWRIGHT_VERSION);
    m.contributor = r->contributor;
    return m;
}

bool rows_is_batch(const measurement *m)
{
    return m->method && strcmp(m->method, timing_method_name(TIMING_BATCH)) == 0;
}
