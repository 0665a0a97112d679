/* Trials as events of the journal, and back. */
#include "llm/evolve_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FITNESS 1e6 /* of a trial that happened: the logarithm of a speed-up */

static json *shape_to_json(const trial_shape *s)
{
    json *j = json_new_array();
    const double all[] = {s->best_ns, s->lo_ns, s->hi_ns, s->base_ns, s->limit_ns};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_append(j, json_new_number(all[i])); /* NaN: null */
    if (s->config)
        json_append(j, json_new_string(s->config));
    return j;
}

static json *cell_to_json(const behaviour *b)
{
    json *j = json_new_array();
    for (int d = 0; d < BEHAVIOUR_DIMS; d++)
        json_append(j, json_new_int(b->level[d]));
    return j;
}

json *trial_to_json(const trial_result *r)
{
    json *j = json_new_object(), *shapes = json_new_array(), *offers = json_new_array();
    json_set_string(j, "hash", r->template_hash);
    json_set_number(j, "fitness", r->fitness);
    json_set_bool(j, "read", r->read);
    json_set_string(j, "outcome", outcome_name(r->outcome));
    json_set_string(j, "stage", stage_name(r->stage));
    json_set_int(j, "measured", (int64_t)r->measured);
    for (size_t i = 0; i < r->n_shapes; i++)
        json_append(shapes, shape_to_json(&r->shapes[i]));
    json_set(j, "shapes", shapes);
    for (size_t i = 0; i < r->n_offers; i++) {
        const offer *o = &r->offers[i];
        json *one = json_new_object();
        json_set(one, "cell", cell_to_json(&o->where));
        json_set_bool(one, "from_artefact", o->where.from_artefact);
        json_set_number(one, "fitness", o->fitness);
        json_set_number(one, "noise", o->rel_noise);
        json_set_string(one, "source", o->source_hash);
        json_set_string(one, "config", o->config);
        json_append(offers, one);
    }
    json_set(j, "offers", offers);
    json_set_string(j, "importance", r->importance);
    json_set_string(j, "artefact", r->artefact);
    json_set_string(j, "detail", r->detail);
    return j;
}

static char *copy_or_null(const json *j)
{
    const char *text = json_text(j);
    return text ? mem_strdup(text) : NULL;
}

/* null and what is not there are no number, and are not wrong. */
static double number_or_nan(const json *j)
{
    return json_kind_of(j) == JSON_NUMBER ? json_number(j) : NAN;
}

static bool is_number_or_null(const json *j)
{
    return !j || json_kind_of(j) == JSON_NUMBER || json_kind_of(j) == JSON_NULL;
}

static bool read_fitness(const json *j, double *out)
{
    *out = number_or_nan(j);
    return *out >= 0 && *out <= MOST_FITNESS;
}

static bool read_shape(const json *j, trial_shape *out)
{
    for (size_t i = 0; i < 5; i++) {
        if (!is_number_or_null(json_at(j, i)))
            return false;
    }
    *out = (trial_shape){.best_ns = number_or_nan(json_at(j, 0)),
                         .lo_ns = number_or_nan(json_at(j, 1)),
                         .hi_ns = number_or_nan(json_at(j, 2)),
                         .base_ns = number_or_nan(json_at(j, 3)),
                         .limit_ns = number_or_nan(json_at(j, 4)),
                         .config = copy_or_null(json_at(j, 5))};
    return json_kind_of(j) == JSON_ARRAY;
}

static bool read_cell(const json *j, behaviour *out)
{
    if (json_count(j) != BEHAVIOUR_DIMS)
        return false;
    int d = 0;
    for (const json *level = json_first(j); level; level = json_next(level), d++) {
        int64_t n;
        if (!json_int(level, &n) || n < 0 || n >= BEHAVIOUR_LEVELS)
            return false;
        out->level[d] = (int)n;
    }
    return true;
}

static bool read_offer(const json *j, const char *template_hash, offer *out)
{
    const char *source = json_text(json_get(j, "source")), *config = json_text(json_get(j, "config"));
    if (!source || !config || !read_cell(json_get(j, "cell"), &out->where))
        return false;
    out->where.from_artefact = json_truth(json_get(j, "from_artefact"));
    if (!read_fitness(json_get(j, "fitness"), &out->fitness) || !is_number_or_null(json_get(j, "noise")))
        return false;
    out->rel_noise = number_or_nan(json_get(j, "noise"));
    (void)snprintf(out->template_hash, sizeof out->template_hash, "%s", template_hash);
    (void)snprintf(out->source_hash, sizeof out->source_hash, "%s", source);
    out->config = mem_strdup(config);
    return true;
}

kw_code trial_from_json(const json *j, size_t n_shapes, trial_result *out, kw_error *err)
{
    const char *hash = json_text(json_get(j, "hash")), *result = json_text(json_get(j, "outcome")),
               *at = json_text(json_get(j, "stage"));
    const json *shapes = json_get(j, "shapes"), *offers = json_get(j, "offers");
    int64_t measured = 0;
    memset(out, 0, sizeof *out);
    if (!hash || !result || !at || !outcome_from_name(result, &out->outcome) || !stage_from_name(at, &out->stage))
        return kw_error_set(err, KW_BAD_INPUT, "a trial without a hash, or with an outcome or a stage that is none");
    if (!read_fitness(json_get(j, "fitness"), &out->fitness))
        return kw_error_set(err, KW_BAD_INPUT, "a trial whose fitness is none");
    if (!json_int(json_get(j, "measured"), &measured) || measured < 0)
        return kw_error_set(err, KW_BAD_INPUT, "a trial whose count of measurements is none");
    if (json_kind_of(shapes) != JSON_ARRAY || json_count(shapes) != n_shapes || json_kind_of(offers) != JSON_ARRAY)
        return kw_error_set(err, KW_BAD_INPUT, "a trial whose shapes are not those of the run, or without offers");
    (void)snprintf(out->template_hash, sizeof out->template_hash, "%s", hash);
    out->read = json_truth(json_get(j, "read"));
    out->measured = (size_t)measured;
    out->shapes = mem_calloc(n_shapes + 1, sizeof *out->shapes);
    for (const json *s = json_first(shapes); s; s = json_next(s)) {
        if (!read_shape(s, &out->shapes[out->n_shapes++])) {
            trial_result_clear(out);
            return kw_error_set(err, KW_BAD_INPUT, "a trial with times of a shape that are none");
        }
    }
    out->offers = mem_calloc(json_count(offers) + 1, sizeof *out->offers);
    for (const json *o = json_first(offers); o; o = json_next(o)) {
        if (!read_offer(o, hash, &out->offers[out->n_offers])) {
            trial_result_clear(out);
            return kw_error_set(err, KW_BAD_INPUT, "a trial with an offer that cannot be read");
        }
        out->n_offers++;
    }
    out->importance = copy_or_null(json_get(j, "importance"));
    out->artefact = copy_or_null(json_get(j, "artefact"));
    out->detail = copy_or_null(json_get(j, "detail"));
    return KW_OK;
}
