#include "llm/evolve_settings.h"

#include "base/log.h"
#include "llm/trial_live.h"

#include <math.h>
#include <string.h>

json *evolve_info(const evolve_task_options *o, const char *device_key, int steering)
{
    json *j = json_new_object(), *shapes = json_new_array(), *rungs = json_new_array();
    strb types = STRB_INIT;
    task_types_print(o->task, &o->types, &types);
    json_set_string(j, "task", o->task->name);
    json_set_string(j, "types", strb_text(&types));
    for (size_t i = 0; i < o->n_shapes; i++)
        json_append(shapes, task_shape_to_json(o->task, &o->shapes[i]));
    json_set(j, "shapes", shapes);
    json_set_string(j, "device", device_key);
    json_set_int(j, "seed", (int64_t)o->seed);
    json_set_bool(j, "archive", o->archive);
    json_set_bool(j, "gradient", o->gradient);
    json_set_bool(j, "targets", o->targets);
    json_set_bool(j, "meta", o->meta);
    json_set_number(j, "operators", o->operators);
    json_set_int(j, "repairs", o->repairs < 0 ? 1 : o->repairs);
    for (size_t i = 0; i < TRIAL_RUNGS; i++)
        json_append(rungs, json_new_int((int64_t)(o->rungs[i] ? o->rungs[i] : trial_usual_rungs[i])));
    json_set(j, "rungs", rungs);
    json_set_bool(j, "cold", o->cold);
    json_set_bool(j, "probe", o->probe);
    if (o->independent)
        json_set_bool(j, "independent", true);
    if (steering > 1)
        json_set_int(j, "steering", steering);
    strb_clear(&types);
    return j;
}

/* Journals had these from the fourth rules on. */
static bool is_later(const char *name)
{
    return strcmp(name, "rungs") == 0 || strcmp(name, "cold") == 0 || strcmp(name, "probe") == 0;
}

/* The first member of `a` that `b` has not, or has otherwise; NULL. */
static const char *member_that_differs(const json *a, const json *b)
{
    for (const json *m = json_first(a); m; m = json_next(m)) {
        const json *other = json_get(b, json_key(m));
        if (!json_equal(m, other) && (other || !is_later(json_key(m))))
            return json_key(m);
    }
    return NULL;
}

static void print_member(const json *of, const char *name, strb *out)
{
    if (json_get(of, name))
        json_print(json_get(of, name), out);
    else
        strb_add(out, "not there");
}

kw_code evolve_info_check(const json *then, const json *now, const char *folder, kw_error *err)
{
    const char *name = member_that_differs(then, now);
    if (!name)
        name = member_that_differs(now, then);
    if (!name)
        return KW_OK;
    strb a = STRB_INIT, b = STRB_INIT;
    print_member(then, name, &a);
    print_member(now, name, &b);
    kw_code code = kw_error_set(err, KW_BAD_INPUT,
                                "%s: the run there began with other options: \"%s\" was %.200s, now %.200s; give the "
                                "same again, or another folder",
                                folder, name, strb_text(&a), strb_text(&b));
    strb_clear(&a);
    strb_clear(&b);
    return code;
}

json *evolve_settings(const evolve_options *run, const evolve_task_options *o)
{
    json *j = json_new_object(), *prices = llm_session_prices(run->session);
    json_set_string(j, "llm", o->llm);
    json_set_int(j, "budget", (int64_t)run->budget);
    json_set_int(j, "in_flight", (int64_t)run->in_flight);
    json_set_int(j, "max_prompt", run->prompt.max_tokens);
    json_set_int(j, "max_reply", run->max_reply_tokens);
    json_set_int(j, "max_tokens", o->max_tokens_total);
    json_set_number(j, "max_cost", o->max_cost);
    json_set_number(j, "stop", run->stop_fitness);
    if (isfinite(o->provider.temperature))
        json_set_number(j, "temperature", o->provider.temperature);
    if (prices)
        json_set(j, "prices", prices);
    return j;
}

static void tell(const json *a, const json *b, const char *name)
{
    strb then = STRB_INIT, now = STRB_INIT;
    print_member(a, name, &then);
    print_member(b, name, &now);
    log_warn("the run goes on with another \"%s\": it was %.200s, now %.200s", name, strb_text(&then), strb_text(&now));
    strb_clear(&then);
    strb_clear(&now);
}

void evolve_settings_tell(const json *then, const json *now)
{
    for (const json *m = json_first(then); m; m = json_next(m)) {
        if (!json_equal(m, json_get(now, json_key(m))))
            tell(then, now, json_key(m));
    }
    for (const json *m = json_first(now); m; m = json_next(m)) {
        if (!json_get(then, json_key(m)))
            tell(then, now, json_key(m));
    }
}

void evolve_projection(const evolve_options *run, strb *out)
{
    if (!run->session || run->operators >= 1 || !llm_session_asks(run->session))
        return;
    const int64_t questions = (int64_t)run->budget * (1 + run->repairs), asked = questions * run->prompt.max_tokens,
                  answered = questions * run->max_reply_tokens;
    double cost = llm_session_most_cost(run->session, asked, answered);
    strb_printf(out, "%llu candidates, up to %d repairs each: at most %lld tokens", (unsigned long long)run->budget,
                run->repairs, (long long)asked + (long long)answered);
    if (isfinite(cost))
        strb_printf(out, " and %.4g in money", cost);
    else
        strb_add(out, ", at a price that is not known");
}
