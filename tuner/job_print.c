/* The worker protocol, writing side of the coordinator: a job as one line. */
#include "tuner/job.h"

#include "tuner/job_names.h"

#include <inttypes.h>
#include <stdio.h>

/* 64 bits do not fit a JSON number, so seeds are 16 hex digits. */
static void set_seed(json *object, const char *key, uint64_t seed)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, seed);
    json_set_string(object, key, text);
}

static json *case_to_json(const job *j, const job_case *c)
{
    json *o = json_new_object();
    json_set(o, "shape", task_shape_to_json(j->task, &c->shape));
    json *scalars = json_new_array();
    for (size_t i = 0; i < j->task->n_scalars; i++)
        json_append(scalars, json_new_number(c->scalars[i]));
    json_set(o, "scalars", scalars);
    json_set_string(o, "distribution", distribution_name(c->dist));
    set_seed(o, "seed", c->seed);
    json_set_bool(o, "sampled", c->sampled);
    json_set(o, "plan", plan_to_json(&c->plan));
    if (j->trusted_source && c->trusted_plan.n_launches > 0)
        json_set(o, "trusted_plan", plan_to_json(&c->trusted_plan));
    return o;
}

static json *timing_to_json(const job_timing *t)
{
    json *o = json_new_object();
    json_set_string(o, "method", timing_method_name(t->method));
    json_set_bool(o, "cold", t->cold);
    json_set_int(o, "min_samples", t->min_samples);
    json_set_int(o, "max_ns", t->max_ns);
    json_set_number(o, "hopeless_ns", t->hopeless_ns);
    return o;
}

static json *program_to_json(const char *source, const char *options)
{
    json *o = json_new_object();
    json_set_string(o, "source", source);
    json_set_string(o, "options", options ? options : "");
    return o;
}

static void add_candidate(json *o, const job *j)
{
    json_set_string(o, "language", language_name(j->lang));
    json_set(o, "program", program_to_json(j->source, j->options));
    if (j->mode == JOB_BINARY)
        return;
    if (j->trusted_source)
        json_set(o, "trusted", program_to_json(j->trusted_source, j->trusted_options));
    json_set(o, "task", task_to_json(j->task));
    strb types = STRB_INIT;
    task_types_print(j->task, &j->types, &types);
    json_set_string(o, "types", strb_text(&types));
    strb_clear(&types);
    json *cases = json_new_array();
    for (size_t i = 0; i < j->n_cases; i++)
        json_append(cases, case_to_json(j, &j->cases[i]));
    json_set(o, "cases", cases);
    json_set(o, "timing", timing_to_json(&j->timing));
}

void job_print(const job *j, strb *out)
{
    json *o = json_new_object();
    json_set_string(o, "type", "job");
    json_set_int(o, "id", j->id);
    json_set_string(o, "device", j->device);
    json_set_string(o, "mode", job_mode_name(j->mode));
    if (j->turns != TURNS_NONE)
        json_set_string(o, "turns", job_turns_name(j->turns));
    if (j->prepare)
        json_set_bool(o, "prepare", true);
    if (j->mode != JOB_PROBE)
        add_candidate(o, j);
    json *limits = json_new_object();
    json_set_int(limits, "compile_ms", j->limits.compile_ms);
    json_set_int(limits, "run_ms", j->limits.run_ms);
    if (j->verify_ms > 0)
        json_set_int(limits, "verify_ms", j->verify_ms);
    json_set(o, "limits", limits);
    json_print(o, out);
    strb_add_char(out, '\n');
    json_free(o);
}
