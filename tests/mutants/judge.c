/* Kernels before the evaluator, as `kernwright tune` puts them there. */
#include "tests/mutants/mutants.h"

#include "base/clock.h"
#include "base/counter_rng.h"
#include "base/mem.h"
#include "tuner/cases.h"
#include "tuner/oclgrind.h"
#include "tuner/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A moderate shape is verified and timed within a second on two cores; a large one needs some of memory. */
#define MODERATE_OPERATIONS 1e8
#define MODERATE_ELEMENTS (1 << 21)
#define LARGE_OPERATIONS 3e8
#define LARGE_ELEMENTS 20e6
#define EXACT_ELEMENTS 70e6 /* not timed there */
#define COMPILE_MS 30000
#define RUN_MS 15000
#define DEEP_MS 10000
#define DRAWS 400
#define SEED 1

typedef struct bench_task {
    task *t;
    task_types types;
    template **templates;
    size_t n_templates;
    variant *trusted;
    case_source cases;
    task_shape *shapes;
    size_t n_shapes;
    struct bench_task *next;
} bench_task;

struct judge {
    evaluator *e;
    oclgrind *simulator; /* NULL: not asked for */
    bench_task *tasks;
};

kw_code judge_open(const char *spec, bool with_deep, judge **out, kw_error *err)
{
    judge *j = mem_calloc(1, sizeof *j);
    const evaluator_options o = {.device = spec, .cold = true, .compile_ms = COMPILE_MS, .run_ms = RUN_MS};
    *out = j;
    kw_code code = evaluator_open(&o, &j->e, err);
    if (code == KW_OK && with_deep && !(j->simulator = oclgrind_new(DEEP_MS)))
        code = kw_error_set(err, KW_ENVIRONMENT,
                            "Oclgrind is not there: install it (apt-get install oclgrind), or "
                            "give --no-deep");
    if (code != KW_OK) {
        judge_close(j);
        *out = NULL;
    }
    return code;
}

static void free_task(bench_task *b)
{
    case_source_clear(&b->cases);
    variant_free(b->trusted);
    for (size_t i = 0; i < b->n_templates; i++)
        template_free(b->templates[i]);
    free(b->templates);
    free(b->shapes);
    task_free(b->t);
    free(b);
}

void judge_close(judge *j)
{
    if (!j)
        return;
    evaluator_close(j->e);
    oclgrind_free(j->simulator);
    while (j->tasks) {
        bench_task *b = j->tasks;
        j->tasks = b->next;
        free_task(b);
    }
    free(j);
}

static const device_limits *limits_of(const judge *j)
{
    return &evaluator_device(j->e)->limits;
}

/* ---- tasks ---- */

/* The fallback at its default configuration, which large outputs are held against. */
static kw_code expand_trusted(bench_task *b, kw_error *err)
{
    kw_code code = template_find(b->t, NULL, 0, &b->templates, &b->n_templates, err);
    for (size_t i = 0; code == KW_OK && !b->trusted && i < b->n_templates; i++) {
        const template *p = b->templates[i];
        if (!p->is_fallback)
            continue;
        uint32_t *config = mem_calloc(p->n_params + 1, sizeof *config);
        template_default(p, config);
        code = variant_expand(p, &b->types, config, NULL, &b->trusted, err);
        free(config);
    }
    return code;
}

static kw_code load_task(judge *j, const char *name, bench_task **out, kw_error *err)
{
    for (*out = j->tasks; *out; *out = (*out)->next)
        if (strcmp((*out)->t->name, name) == 0)
            return KW_OK;
    bench_task *b = mem_calloc(1, sizeof *b);
    kw_code code = task_load(name, &b->t, err);
    if (code == KW_OK)
        code = task_types_parse(b->t, NULL, &b->types, err);
    if (code == KW_OK)
        code = expand_trusted(b, err);
    if (code == KW_OK)
        code = case_source_init(&b->cases, b->t, &b->types, limits_of(j), b->trusted, SEED, err);
    if (code == KW_OK && b->t->shapes_file)
        code = task_shapes_load(b->t, b->t->shapes_file, &b->shapes, &b->n_shapes, err);
    if (code != KW_OK) {
        free_task(b);
        return code;
    }
    b->next = j->tasks;
    j->tasks = *out = b;
    return KW_OK;
}

static double elements_of(const bench_task *b, const task_shape *s)
{
    double sum = 0;
    for (size_t i = 0; i < b->t->n_tensors; i++) {
        uint64_t n;
        if (task_tensor_elements(b->t, &b->types, s, i, &n, NULL) != KW_OK)
            return INFINITY;
        sum += (double)n;
    }
    return sum;
}

/* The largest of the task's shapes, or if none will do of its edge shapes, that the configuration takes. */
static const task_shape *largest(const bench_task *b, const template *p, const uint32_t *config,
                                 const device_limits *limits, double operations, double elements)
{
    const task_shape *best = NULL;
    value *env = mem_calloc((size_t)expr_scope_size(p->scope) + 1, sizeof *env);
    for (size_t i = 0; i < b->n_shapes + b->cases.n_edges; i++) {
        if (i >= b->n_shapes && best)
            break;
        const task_shape *s = i < b->n_shapes ? &b->shapes[i] : &b->cases.edges[i - b->n_shapes];
        double flops = task_flops(b->t, &b->types, s), n = elements_of(b, s);
        template_fill(p, &b->types, limits, s, config, env);
        if (n <= elements && !(flops > operations) && (!best || n > elements_of(b, best)) &&
            !template_rejects(p, env, true, NULL))
            best = s;
    }
    free(env);
    return best;
}

/* ---- one candidate ---- */

static void take(verdict *v, const job_record *r, judged_in in)
{
    v->outcome = r->outcome;
    v->stage = r->stage;
    if (r->outcome == OUTCOME_OK)
        return;
    v->in = in;
    snprintf(v->detail, sizeof v->detail, "%s", r->detail ? r->detail : "");
    v->detail[strcspn(v->detail, "\n")] = '\0';
}

static kw_code run(judge *j, const bench_task *b, const variant *x, candidate_kind kind, const task_shape *target,
                   judged_in in, verdict *v, kw_error *err)
{
    candidate c = {.kind = kind, .variant = x, .cases = &b->cases};
    if (target)
        c.target = *target;
    evaluator_submit(j->e, &c);
    if (!evaluator_next(j->e, err)) {
        evaluator_forget(j->e);
        return err->code;
    }
    take(v, &c.record, in);
    job_record_clear(&c.record);
    return KW_OK;
}

static kw_code run_deep(judge *j, const bench_task *b, const variant *x, verdict *v, kw_error *err)
{
    job_record r;
    oclgrind_verdict said = OCLGRIND_NOT_CHECKED;
    memset(&r, 0, sizeof r);
    kw_code code = oclgrind_check(j->simulator, x, &b->cases, &said, &r, err);
    v->deep_ran = code == KW_OK && said != OCLGRIND_NOT_CHECKED && said != OCLGRIND_ABSENT;
    if (code == KW_OK && said == OCLGRIND_FAILED)
        take(v, &r, IN_DEEP);
    else if (code == KW_OK && !v->deep_ran)
        snprintf(v->detail, sizeof v->detail, "not simulated: %s", r.detail ? r.detail : "");
    job_record_clear(&r);
    return code;
}

/* ---- mutants ---- */

typedef struct subject {
    const bench_task *b;
    template *p;
    uint32_t *config;
    const task_shape *moderate, *large, *exact; /* NULL: there is none */
    task_shape given;
} subject;

static kw_code set_config(subject *s, const mutant *m, kw_error *err)
{
    char list[sizeof m->set];
    memcpy(list, m->set, sizeof list);
    kw_code code = KW_OK;
    for (char *rest = list, *one; code == KW_OK && (one = strtok_r(rest, " ", &rest));)
        code = template_set(s->p, one, s->config, err);
    return code;
}

static kw_code prepare(judge *j, const mutant *m, subject *s, kw_error *err)
{
    bench_task *b = NULL;
    kw_code code = load_task(j, m->task, &b, err);
    if (code == KW_OK)
        code = template_load(m->path, b->t, &s->p, err);
    if (code != KW_OK)
        return code;
    s->b = b;
    s->config = mem_calloc(s->p->n_params + 1, sizeof *s->config);
    template_default(s->p, s->config);
    code = set_config(s, m, err);
    s->moderate = largest(b, s->p, s->config, limits_of(j), MODERATE_OPERATIONS, MODERATE_ELEMENTS);
    s->large = largest(b, s->p, s->config, limits_of(j), LARGE_OPERATIONS, LARGE_ELEMENTS);
    s->exact = largest(b, s->p, s->config, limits_of(j), LARGE_OPERATIONS, EXACT_ELEMENTS);
    if (code == KW_OK && m->dims[0]) {
        code = task_shape_parse(b->t, m->dims, &s->given, err);
        s->moderate = &s->given;
    }
    if (code == KW_OK && !s->moderate)
        code = kw_error_set(err, KW_BAD_INPUT, "it takes none of the task's shapes: give dims= after \"mutant:\"");
    return code;
}

static kw_code pass(judge *j, const subject *s, candidate_kind kind, const task_shape *target, judged_in in, verdict *v,
                    kw_error *err)
{
    variant *x;
    kw_code code = variant_expand(s->p, &s->b->types, s->config, target ? target : s->moderate, &x, err);
    if (code != KW_OK)
        return code;
    code = in == IN_DEEP ? run_deep(j, s->b, x, v, err) : run(j, s->b, x, kind, target, in, v, err);
    variant_free(x);
    return code;
}

kw_code judge_mutant(judge *j, const mutant *m, verdict *v, kw_error *err)
{
    subject s = {0};
    int64_t start = clock_now_ns();
    kw_code code = prepare(j, m, &s, err);
    if (code == KW_OK)
        code = pass(j, &s, CANDIDATE_TARGET, s.moderate, IN_TARGET, v, err);
    if (code == KW_OK && v->outcome == OUTCOME_OK && s.large && s.large != s.moderate)
        code = pass(j, &s, CANDIDATE_TARGET, s.large, IN_LARGE, v, err);
    if (code == KW_OK && v->outcome == OUTCOME_OK)
        code = pass(j, &s, CANDIDATE_GENERAL, s.exact ? s.exact : s.moderate, IN_GENERAL, v, err);
    if (code == KW_OK && v->outcome == OUTCOME_OK && j->simulator)
        code = pass(j, &s, CANDIDATE_TARGET, NULL, IN_DEEP, v, err);
    template_free(s.p);
    free(s.config);
    v->seconds = (double)(clock_now_ns() - start) / 1e9;
    return code != KW_OK ? kw_error_prefix(err, "%s", m->path) : KW_OK;
}

/* ---- right kernels ---- */

typedef struct dice {
    uint64_t stream, i;
} dice;

static uint64_t throw_dice(void *cookie)
{
    dice *d = cookie;
    return counter_rng_u64(SEED, d->stream, d->i++);
}

static bool takes(const bench_task *b, const template *p, const uint32_t *config, const device_limits *limits,
                  size_t edge)
{
    value *env = mem_calloc((size_t)expr_scope_size(p->scope) + 1, sizeof *env);
    template_fill(p, &b->types, limits, &b->cases.edges[edge], config, env);
    bool fits = !template_rejects(p, env, true, NULL);
    free(env);
    return fits;
}

static size_t count_edges(const bench_task *b, const template *p, const uint32_t *config, const device_limits *limits)
{
    size_t n = 0;
    for (size_t i = 0; i < b->cases.n_edges; i++)
        n += takes(b, p, config, limits, i);
    return n;
}

/* The first is the default configuration, the others are drawn from all valid ones, each of which takes an edge shape
 * at least and is none of those before. */
static kw_code draw(const judge *j, const bench_task *b, const template *p, uint32_t index, uint32_t *config,
                    kw_error *err)
{
    space *all;
    const size_t size = (p->n_params + 1) * sizeof *config;
    kw_code code = space_of_template(p, &b->types, limits_of(j), NULL, &all, err);
    if (code != KW_OK)
        return code;
    uint32_t *seen = mem_calloc(index + 1, size), n = 0;
    dice d = {.stream = 11};
    for (size_t round = 0; round < DRAWS && n <= index; round++) {
        if (round == 0)
            template_default(p, config);
        else
            space_sample(all, throw_dice, &d, config);
        bool is_new = count_edges(b, p, config, limits_of(j)) > 0;
        for (uint32_t k = 0; is_new && k < n; k++)
            is_new = memcmp(seen + k * (p->n_params + 1), config, p->n_params * sizeof *config) != 0;
        if (is_new)
            memcpy(seen + n++ * (p->n_params + 1), config, p->n_params * sizeof *config);
    }
    free(seen);
    space_free(all);
    return n > index ? KW_OK : kw_error_set(err, KW_FAILED, "no configuration %u", index);
}

static bool has_constants(const variant *x)
{
    for (size_t d = 0; d < x->task->n_dims; d++)
        if (x->fixed_dims[d] >= 0)
            return true;
    return false;
}

/* A variant with sizes as constants is another text for every edge shape. Each such configuration is tried on one of
 * them, and they take turns. */
static kw_code on_edges(judge *j, const bench_task *b, const template *p, const uint32_t *config, uint32_t index,
                        verdict *v, kw_error *err)
{
    const size_t n = count_edges(b, p, config, limits_of(j));
    const task_shape *shape = NULL;
    for (size_t i = 0, k = 0; i < b->cases.n_edges; i++)
        if (takes(b, p, config, limits_of(j), i) && k++ == index % n)
            shape = &b->cases.edges[i];
    variant *x;
    kw_code code = variant_expand(p, &b->types, config, shape, &x, err);
    if (code != KW_OK)
        return code;
    const bool constants = has_constants(x);
    code = run(j, b, x, constants ? CANDIDATE_TARGET : CANDIDATE_GENERAL, shape, IN_GENERAL, v, err);
    v->checks = constants ? 1 : (uint32_t)n;
    if (code == KW_OK && v->outcome == OUTCOME_OK && index == 0 && j->simulator)
        code = run_deep(j, b, x, v, err);
    variant_free(x);
    return code;
}

kw_code judge_template(judge *j, const char *path, uint32_t index, verdict *v, kw_error *err)
{
    char *name = NULL;
    template *p = NULL;
    bench_task *b = NULL;
    int64_t start = clock_now_ns();
    kw_code code = template_task_name(path, &name, err);
    if (code == KW_OK)
        code = load_task(j, name, &b, err);
    if (code == KW_OK)
        code = template_load(path, b->t, &p, err);
    uint32_t *config = p ? mem_calloc(p->n_params + 1, sizeof *config) : NULL;
    if (code == KW_OK && draw(j, b, p, index, config, NULL) == KW_OK)
        code = on_edges(j, b, p, config, index, v, err);
    if (p && v->outcome != OUTCOME_OK) {
        strb text = STRB_INIT;
        template_config_print(p, config, &text);
        strb_printf(&text, ": %s", v->detail);
        snprintf(v->detail, sizeof v->detail, "%s", strb_text(&text));
        strb_clear(&text);
    }
    free(config);
    template_free(p);
    free(name);
    v->seconds = (double)(clock_now_ns() - start) / 1e9;
    return code != KW_OK ? kw_error_prefix(err, "%s", path) : KW_OK;
}
