#include "tuner/results_company.h"

#include "base/mem.h"
#include "base/strb.h"
#include "tuner/store_internal.h"

#include <stdlib.h>
#include <string.h>

/* How much of what a contributor measured in a context is outliers. */
typedef struct tally {
    char *key; /* context_of */
    size_t judged, outliers;
} tally;

struct company {
    const trust *trust;
    char *context;  /* the last one's identity, without driver */
    tally *tallies; /* of that context */
    size_t n, capacity;
    char **rejected; /* keys, sorted at the end */
    size_t n_rejected, rejected_capacity;
};

const char *rejection_name(rejection_reason r)
{
    static const char *const names[] = {"weight", "outlier", "company"};
    return names[r];
}

static char *context_of(const measurement *m, const char *who)
{
    strb text = STRB_INIT;
    strb_printf(&text, "%s %s %s %s %s %s %s\n%s", m->task_hash, m->types, m->scalars, m->device_key, m->api, m->mode,
                m->driver ? m->driver : "", who);
    return strb_take(&text);
}

static void count_verdict(company *c, const measurement *m, bool outlier)
{
    char *key = context_of(m, trust_who(m));
    size_t i = 0;
    while (i < c->n && strcmp(c->tallies[i].key, key) != 0)
        i++;
    if (i == c->n) {
        c->tallies = mem_grow(c->tallies, &c->capacity, c->n + 1, sizeof *c->tallies);
        c->tallies[c->n++] = (tally){.key = key};
    } else {
        free(key);
    }
    c->tallies[i].judged++;
    c->tallies[i].outliers += outlier;
}

/* At the end of a context (rows of one follow each other). */
static void close_context(company *c)
{
    for (size_t i = 0; i < c->n; i++) {
        tally *t = &c->tallies[i];
        if (t->outliers < TRUST_COMPANY || 2 * t->outliers <= t->judged) {
            free(t->key);
            continue;
        }
        c->rejected = mem_grow(c->rejected, &c->rejected_capacity, c->n_rejected + 1, sizeof *c->rejected);
        c->rejected[c->n_rejected++] = t->key;
    }
    c->n = 0;
}

static void enter_context(company *c, const measurement *m)
{
    strb text = STRB_INIT;
    strb_printf(&text, "%s %s %s %s %s %s", m->task_hash, m->types, m->scalars, m->device_key, m->api, m->mode);
    if (!c->context || strcmp(c->context, strb_text(&text)) != 0) {
        close_context(c);
        free(c->context);
        c->context = strb_take(&text);
    }
    strb_clear(&text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_rejected(const company *c, const measurement *m)
{
    if (c->n_rejected == 0 || m->outcome != OUTCOME_OK || m->time.n == 0)
        return false;
    char *key = context_of(m, trust_who(m));
    const bool found = bsearch(&key, c->rejected, c->n_rejected, sizeof key, by_text) != NULL;
    free(key);
    return found;
}

static void reject(results_groups *g, measurement *m, rejection_reason reason, double ns)
{
    g->rejections = mem_grow(g->rejections, &g->rejections_capacity, g->n_rejections + 1, sizeof *g->rejections);
    measurement_drop_weight(m);
    g->rejections[g->n_rejections++] = (rejection){.m = *m, .reason = reason, .ns = ns};
    memset(m, 0, sizeof *m);
}

/* Verdicts on the rows that count, in their places. */
static trust_verdict *judge_rows(const company *c, const measurement *rows, size_t n, const bool *counts)
{
    const measurement **some = mem_alloc(n * sizeof *some);
    size_t *places = mem_alloc(n * sizeof *places), n_some = 0;
    for (size_t i = 0; i < n; i++)
        if (counts[i]) {
            places[n_some] = i;
            some[n_some++] = &rows[i];
        }
    trust_verdict *verdicts = mem_calloc(n_some + 1, sizeof *verdicts), *all = mem_calloc(n, sizeof *all);
    trust_judge(c->trust, some, n_some, verdicts);
    for (size_t i = 0; i < n_some; i++)
        all[places[i]] = verdicts[i];
    free(verdicts);
    free(places);
    free(some);
    return all;
}

/* ---- entry points ---- */

company *company_new(const trust *t)
{
    company *c = mem_calloc(1, sizeof *c);
    c->trust = t;
    return c;
}

void company_judge(company *c, const measurement *rows, size_t n, const bool *counts)
{
    trust_verdict *v = judge_rows(c, rows, n, counts);
    enter_context(c, &rows[0]);
    for (size_t i = 0; i < n; i++)
        if (v[i].judged)
            count_verdict(c, &rows[i], v[i].rejected);
    free(v);
}

void company_judged(company *c)
{
    close_context(c);
    if (c->n_rejected > 0)
        qsort(c->rejected, c->n_rejected, sizeof *c->rejected, by_text);
}

void company_reject(company *c, measurement *rows, size_t n, bool *counts, results_groups *out)
{
    trust_verdict *v = judge_rows(c, rows, n, counts);
    for (size_t i = 0; i < n; i++) {
        if (!counts[i])
            continue;
        const bool no_weight = !(trust_weight(c->trust, trust_who(&rows[i])) > 0);
        counts[i] = !no_weight && !v[i].rejected && !is_rejected(c, &rows[i]);
        if (!counts[i])
            reject(out, &rows[i],
                   no_weight       ? REJECTED_WEIGHT
                   : v[i].rejected ? REJECTED_OUTLIER
                                   : REJECTED_COMPANY,
                   v[i].ns);
    }
    free(v);
}

void company_free(company *c)
{
    if (!c)
        return;
    close_context(c);
    for (size_t i = 0; i < c->n_rejected; i++)
        free(c->rejected[i]);
    free(c->rejected);
    free(c->context);
    free(c->tallies);
    free(c);
}
