/* Making a space from its definition, and saying why it is empty. */
#include "tuner/space_build.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAX_BYTES ((size_t)1 << 30)
#define DEFAULT_MAX_SECONDS 300

/* The constraints that the search for a culprit counts. */
typedef struct trial {
    const space_def *def;
    const bool *use; /* NULL: all */
    space_tally *tally;
    const space_watch *watch;
} trial;

static space_tally *new_tally(const space_def *def)
{
    return mem_calloc(def->n_constraints, sizeof(space_tally));
}

static void free_tally(space_tally *tally, const space_def *def)
{
    for (size_t i = 0; i < def->n_constraints; i++)
        free(tally[i].first_error);
    free(tally);
}

static void free_parts(space *s)
{
    for (size_t i = 0; i < s->n_parts; i++)
        space_part_free(&s->parts[i]);
    free(s->parts);
    free(s->fixed);
    s->parts = NULL;
    s->fixed = NULL;
    s->n_parts = 0;
}

static void take_fixed(space *s, const space_problem *p)
{
    s->fixed = mem_alloc(p->def->n_params * sizeof *s->fixed);
    for (size_t i = 0; i < p->def->n_params; i++)
        s->fixed[i] = p->n_domain[i] == 1 ? p->domain[i][0] : SPACE_VARIES;
}

static void measure(space *s)
{
    s->count = 1;
    s->bytes = sizeof *s + s->n_parts * sizeof *s->parts;
    s->bytes += s->def.n_params * (sizeof *s->fixed + sizeof *s->def.params);
    for (size_t i = 0; i < s->n_parts; i++) {
        s->count = saturating_mul(s->count, s->parts[i].count);
        s->bytes += space_part_bytes(&s->parts[i]);
    }
}

/* Fills parts, fixed, count and bytes. KW_FAILED if nothing is valid. */
static kw_code build(const trial *t, space *s, kw_error *err)
{
    space_problem *p;
    kw_code code = space_problem_new(t->def, t->use, t->watch, t->tally, &p, err);
    if (code != KW_OK)
        return code;
    s->parts = mem_calloc(p->n_groups, sizeof *s->parts);
    take_fixed(s, p);
    size_t left = t->watch->limits.max_bytes;
    for (; s->n_parts < p->n_groups && code == KW_OK; s->n_parts++) {
        code = space_build_part(p, s->n_parts, left, &s->parts[s->n_parts], err);
        if (code == KW_OK) {
            space_part_index(&s->parts[s->n_parts], t->def, left);
            size_t bytes = space_part_bytes(&s->parts[s->n_parts]);
            left -= bytes < left ? bytes : left;
        }
    }
    space_problem_free(p);
    if (code == KW_OK)
        measure(s);
    else
        free_parts(s);
    return code;
}

/* ---- why is it empty? ---- */

/* Is it certain that these constraints leave nothing? */
static bool is_empty(const space_def *def, const bool *use, const space_watch *watch)
{
    space s = {0};
    trial t = {def, use, new_tally(def), watch};
    kw_code code = build(&t, &s, NULL);
    if (code == KW_OK)
        free_parts(&s);
    free_tally(t.tally, def);
    return code == KW_FAILED;
}

static void use_first(bool *use, size_t n, size_t of)
{
    for (size_t i = 0; i < of; i++)
        use[i] = i < n;
}

/* A set of constraints that leaves nothing while each proper subset that was tried leaves something: the shortest
 * beginning of the list that leaves nothing, less what it does not need. */
static void find_culprits(const space_def *def, const space_watch *watch, bool *use)
{
    size_t lo = 1, hi = def->n_constraints;
    while (lo < hi) {
        size_t half = lo + (hi - lo) / 2;
        use_first(use, half, def->n_constraints);
        if (is_empty(def, use, watch))
            hi = half;
        else
            lo = half + 1;
    }
    use_first(use, lo, def->n_constraints);
    for (size_t i = lo - 1; i-- > 0;) {
        use[i] = false;
        use[i] = !is_empty(def, use, watch);
    }
}

/* All evaluations of the only culprit failed: its error is the message. */
static bool only_errors(const space_def *def, const bool *use, size_t culprit, const space_watch *watch, kw_error *err)
{
    space s = {0};
    trial t = {def, use, new_tally(def), watch};
    if (build(&t, &s, NULL) == KW_OK)
        free_parts(&s);
    const space_tally *tally = &t.tally[culprit];
    bool yes = tally->errors > 0 && tally->passed == 0 && tally->failed == 0;
    if (yes)
        kw_error_set(err, KW_FAILED, "no configuration is valid: the constraint '%s' fails for every combination: %s",
                     def->constraints[culprit].text, tally->first_error);
    free_tally(t.tally, def);
    return yes;
}

static kw_code say_why_empty(const space_def *def, const space_watch *watch, kw_error *err)
{
    bool *use = mem_calloc(def->n_constraints + 1, sizeof *use);
    find_culprits(def, watch, use);
    kw_code over = space_watch_check(watch, err);
    if (over != KW_OK) { /* trials that were cut short say nothing */
        free(use);
        return over == KW_INTERRUPTED ? over
                                      : kw_error_set(err, KW_FAILED,
                                                     "no configuration is valid, and finding out which "
                                                     "constraints exclude each other takes more than %g s",
                                                     watch->limits.max_seconds);
    }
    size_t n = 0, last = 0;
    for (size_t i = 0; i < def->n_constraints; i++) {
        if (use[i]) {
            n++;
            last = i;
        }
    }
    if (n == 1 && only_errors(def, use, last, watch, err)) {
        free(use);
        return KW_FAILED;
    }
    strb names = STRB_INIT;
    for (size_t i = 0, k = 0; i < def->n_constraints; i++)
        if (use[i])
            strb_printf(&names, "%s'%s'", k++ == 0 ? "" : k == n ? " and " : ", ", def->constraints[i].text);
    free(use);
    const char *why = n == 1 ? def->constraints[last].why : NULL;
    kw_error_set(err, KW_FAILED, "no configuration is valid: %s %s%s%s%s",
                 n == 1 ? "the constraint" : "the constraints", strb_text(&names),
                 n == 1 ? " rejects every combination" : " exclude each other", why ? ": " : "",
                 why      ? why
                 : n == 1 ? "; list more values or relax it"
                          : "; list more values or relax one");
    strb_clear(&names);
    return KW_FAILED;
}

/* ---- the public constructor ---- */

static void mark_switches(space *s, const expr *when)
{
    if (!s->is_switch)
        s->is_switch = mem_calloc(s->def.n_params, sizeof *s->is_switch);
    for (size_t i = 0; i < s->def.n_params; i++)
        s->is_switch[i] |= expr_uses(when, s->def.params[i].slot);
}

static void copy_definition(space *s, const space_def *def)
{
    s->def = *def;
    s->params = mem_alloc(def->n_params * sizeof *s->params);
    s->constraints = mem_alloc(def->n_constraints * sizeof *s->constraints);
    s->env = mem_alloc(def->scope_size * sizeof *s->env);
    if (def->n_params)
        memcpy(s->params, def->params, def->n_params * sizeof *s->params);
    if (def->n_constraints)
        memcpy(s->constraints, def->constraints, def->n_constraints * sizeof *s->constraints);
    if (def->scope_size)
        memcpy(s->env, def->env, def->scope_size * sizeof *s->env);
    for (size_t i = 0; i < def->n_params; i++)
        if (def->params[i].when)
            mark_switches(s, def->params[i].when);
    s->def.params = s->params;
    s->def.constraints = s->constraints;
    s->def.env = s->env;
}

/* The limits, with what is usual where they say nothing. */
static space_watch start_watch(const space_limits *limits)
{
    space_watch w = {.started = (double)clock_now_ns() / 1e9};
    if (limits)
        w.limits = *limits;
    if (w.limits.max_bytes == 0)
        w.limits.max_bytes = DEFAULT_MAX_BYTES;
    if (w.limits.max_seconds <= 0)
        w.limits.max_seconds = DEFAULT_MAX_SECONDS;
    return w;
}

kw_code space_watch_check(const space_watch *w, kw_error *err)
{
    if (w->limits.stopped && w->limits.stopped(w->limits.cookie))
        return kw_error_set(err, KW_INTERRUPTED, "interrupted while the search space was being built");
    if ((double)clock_now_ns() / 1e9 - w->started > w->limits.max_seconds)
        return kw_error_set(err, KW_BAD_INPUT,
                            "building the search space takes more than %g s; list fewer values, or write constraints "
                            "with parts that take fewer values (products, remainders)",
                            w->limits.max_seconds);
    return KW_OK;
}

kw_code space_new(const space_def *def, const space_limits *limits, space **out, kw_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < def->n_params; i++) {
        if (def->params[i].n_values == 0)
            return kw_error_set(err, KW_BAD_INPUT, "the parameter '%s' has no values; list at least one",
                                def->params[i].name);
        if (def->params[i].n_values >= SPACE_VARIES)
            return kw_error_set(err, KW_BAD_INPUT, "the parameter '%s' has too many values", def->params[i].name);
    }
    space *s = mem_calloc(1, sizeof *s);
    copy_definition(s, def);
    space_watch watch = start_watch(limits);
    trial t = {&s->def, NULL, new_tally(def), &watch};
    kw_code code = build(&t, s, err);
    free_tally(t.tally, def);
    if (code == KW_OK) {
        *out = s;
        return KW_OK;
    }
    if (code == KW_FAILED)
        code = say_why_empty(&s->def, &watch, err);
    space_free(s);
    return code;
}

void space_free(space *s)
{
    if (!s)
        return;
    free_parts(s);
    free(s->is_switch);
    free(s->params);
    free(s->constraints);
    free(s->env);
    free(s);
}
