/* Lines of results text, written. */
#include "tuner/results_groups.h"
#include "tuner/results_text.h"

#include <stdlib.h>
#include <string.h>

static void add_json(strb *out, json *j)
{
    json_print(j, out);
    json_free(j);
}

static void add_name(strb *out, const char *name)
{
    if (out->data[out->length - 1] != '{')
        strb_add_char(out, ',');
    strb_printf(out, "\"%s\":", name);
}

static void add_text(strb *out, const char *name, const char *text)
{
    if (!text)
        return;
    add_name(out, name);
    add_json(out, json_new_string(text));
}

static void add_samples(strb *out, const char *name, const measurement *m)
{
    add_name(out, name);
    for (size_t i = 0; i < m->n_samples; i++) {
        strb_add_char(out, i > 0 ? ',' : '[');
        add_json(out, json_new_number(m->samples_ns[i]));
    }
    strb_add_char(out, ']');
}

static void add_column(strb *out, const store_column *c, const measurement *m, bool with_samples)
{
    const void *field = (const char *)m + c->offset;
    json *j = NULL;
    switch (c->kind) {
    case STORE_TEXT:
        add_text(out, c->name, *(char *const *)field);
        break;
    case STORE_JSON:
        if (*(char *const *)field) {
            add_name(out, c->name);
            strb_add(out, *(char *const *)field);
        }
        break;
    case STORE_VERSION:
        j = json_new_int(*(const int *)field);
        break;
    case STORE_INT: /* -1: unknown */
        if (*(const int64_t *)field != -1)
            j = json_new_int(*(const int64_t *)field);
        break;
    case STORE_REAL: /* infinity: null */
        j = json_new_number(*(const double *)field);
        break;
    case STORE_POSITIVE:
        if (*(const double *)field > 0)
            j = json_new_number(*(const double *)field);
        break;
    case STORE_COUNT:
        if (m->time.n > 0)
            j = json_new_int((int64_t)m->time.n);
        break;
    case STORE_TIME:
        if (m->time.n > 0)
            j = json_new_number(*(const double *)field);
        break;
    case STORE_SAMPLES:
        if (with_samples && m->n_samples > 0)
            add_samples(out, c->name, m);
        break;
    case STORE_OUTCOME:
        add_text(out, c->name, outcome_name(m->outcome));
        break;
    case STORE_STAGE:
        add_text(out, c->name, stage_name(m->stage));
        break;
    case STORE_VERIFIED:
        add_text(out, c->name, verified_name(m->verified));
        break;
    }
    if (j) {
        add_name(out, c->name);
        add_json(out, j);
    }
}

/* Members of an object's text, behind those that are there. */
static void splice(strb *out, const char *object)
{
    size_t n = object ? strlen(object) : 0;
    if (n <= 2)
        return;
    if (out->data[out->length - 1] != '{')
        strb_add_char(out, ',');
    strb_add_n(out, object + 1, n - 2);
}

static void add_row(strb *out, const measurement *m, bool with_samples)
{
    strb_add(out, "{\"measurement\":{");
    for (int i = 0; i < STORE_COLUMNS; i++)
        add_column(out, &store_columns[i], m, with_samples);
}

void results_row_print(const measurement *m, bool with_samples, strb *out)
{
    add_row(out, m, with_samples);
    splice(out, m->extra);
    strb_add(out, "}}");
}

void results_pooled_print(const group_source *s, strb *out)
{
    const measurement *m = &s->newest;
    add_row(out, m, false);
    json *extra = m->extra ? json_parse(m->extra, strlen(m->extra), "extra", 1, 1, NULL) : NULL;
    for (const json *member = json_first(extra); member; member = json_next(member)) {
        if (strcmp(json_key(member), "rows") == 0 || strcmp(json_key(member), "first_date") == 0)
            continue;
        strb_add_char(out, ',');
        add_json(out, json_new_string(json_key(member)));
        strb_add_char(out, ':');
        json_print(member, out);
    }
    json_free(extra);
    if (s->n_rows > 1) {
        add_name(out, "rows");
        add_json(out, json_new_int((int64_t)s->n_rows));
        if (s->first_date[0])
            add_text(out, "first_date", s->first_date);
    }
    strb_add(out, "}}");
}

void results_variant_print(const store_variant_row *v, strb *out)
{
    strb_add(out, "{\"variant\":{");
    add_text(out, "task", v->task);
    add_text(out, "task_hash", v->task_hash);
    add_text(out, "source_hash", v->source_hash);
    splice(out, v->json_text);
    strb_add(out, "}}");
}
