#include "tuner/results_trust.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TO_SIGMA 1.4826 /* a normal distribution's standard deviation, from its median absolute deviation */
#define MOST_BYTES ((size_t)16 << 20)

const char *trust_who(const measurement *m)
{
    return m->contributor && *m->contributor ? m->contributor : m->host ? m->host : "";
}

/* ---- weights ---- */

typedef struct weighted_name {
    char *name;
    double weight;
} weighted_name;

struct trust {
    weighted_name *items; /* sorted by name */
    size_t n, capacity;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const weighted_name *)a)->name, ((const weighted_name *)b)->name);
}

static kw_code read_weight(trust *t, const char *line, size_t length, const char *path, int number, kw_error *err)
{
    static const char *const keys[] = {"contributor", "weight", NULL};
    char where[512];
    const char *name;
    snprintf(where, sizeof where, "%.480s:%d", path, number);
    json *j = json_parse(line, length, path, number, 1, err);
    if (!j)
        return KW_BAD_INPUT;
    kw_code code = json_check_keys(j, keys, where, err);
    if (code == KW_OK)
        code = json_get_string(j, "contributor", where, &name, err);
    const json *weight = json_get(j, "weight");
    if (code == KW_OK &&
        (json_kind_of(weight) != JSON_NUMBER || !(json_number(weight) >= 0) || !isfinite(json_number(weight))))
        code = kw_error_set(err, KW_BAD_INPUT, "%s: \"weight\" must be a number, 0 or more", where);
    if (code == KW_OK) {
        t->items = mem_grow(t->items, &t->capacity, t->n + 1, sizeof *t->items);
        t->items[t->n++] = (weighted_name){mem_strdup(name), json_number(weight)};
    }
    json_free(j);
    return code;
}

static kw_code read_weights(trust *t, const char *text, const char *path, kw_error *err)
{
    kw_code code = KW_OK;
    int number = 1;
    for (const char *line = text; code == KW_OK && *line; number++) {
        const size_t n = strcspn(line, "\n");
        if (strspn(line, " \t\r") < n)
            code = read_weight(t, line, n, path, number, err);
        line += n + (line[n] == '\n');
    }
    if (t->n > 0)
        qsort(t->items, t->n, sizeof *t->items, by_name);
    for (size_t i = 1; code == KW_OK && i < t->n; i++)
        if (by_name(&t->items[i - 1], &t->items[i]) == 0)
            code = kw_error_set(err, KW_BAD_INPUT, "%s: contributor \"%s\" has more than one weight", path,
                                t->items[i].name);
    return code;
}

kw_code trust_load(const char *path, trust **out, kw_error *err)
{
    strb text = STRB_INIT;
    *out = NULL;
    trust *t = mem_calloc(1, sizeof *t);
    kw_code code = fs_read(path, MOST_BYTES, &text, err);
    if (code == KW_OK && memchr(strb_text(&text), '\0', text.length))
        code = kw_error_set(err, KW_BAD_INPUT, "%s: a NUL byte: this is no list of weights", path);
    if (code == KW_OK)
        code = read_weights(t, strb_text(&text), path, err);
    strb_clear(&text);
    if (code == KW_OK)
        *out = t;
    else
        trust_free(t);
    return code;
}

void trust_free(trust *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        free(t->items[i].name);
    free(t->items);
    free(t);
}

static int compare_name(const void *name, const void *item)
{
    return strcmp(name, ((const weighted_name *)item)->name);
}

double trust_weight(const trust *t, const char *who)
{
    const weighted_name *found = t && t->n > 0 ? bsearch(who, t->items, t->n, sizeof *t->items, compare_name) : NULL;
    return found ? found->weight : 1;
}

/* ---- outliers ---- */

typedef struct candidate {
    const measurement *m;
    const char *who;
    size_t row; /* its place among the rows given */
} candidate;

/* What one contributor says of one source. */
typedef struct opinion {
    double log_ns, weight;
    double deviation;
} opinion;

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_subjects(const measurement *a, const measurement *b)
{
    int c = strcmp(a->source_hash, b->source_hash);
    if (c == 0)
        c = compare_texts(a->driver, b->driver);
    return c == 0 ? compare_texts(a->method, b->method) : c;
}

static int by_subject_and_who(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    int c = compare_subjects(x->m, y->m);
    if (c == 0)
        c = strcmp(x->who, y->who);
    if (c == 0)
        c = (x->m->time.median > y->m->time.median) - (x->m->time.median < y->m->time.median);
    return c == 0 ? (x->row > y->row) - (x->row < y->row) : c;
}

static int by_log(const void *a, const void *b)
{
    const opinion *x = a, *y = b;
    return (x->log_ns > y->log_ns) - (x->log_ns < y->log_ns);
}

static int by_deviation(const void *a, const void *b)
{
    const opinion *x = a, *y = b;
    return (x->deviation > y->deviation) - (x->deviation < y->deviation);
}

/* The first, in the order that they have, at which half of the weight is reached. */
static const opinion *middle(const opinion *o, size_t n)
{
    double all = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        all += o[i].weight;
    for (size_t i = 0; i < n; i++) {
        sum += o[i].weight;
        if (sum >= all / 2)
            return &o[i];
    }
    return &o[n - 1];
}

/* One opinion of each contributor, the median of what he measured; his rows stand together, sorted by time. */
static size_t collect(const trust *t, const candidate *c, size_t n, opinion *out)
{
    size_t found = 0;
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && strcmp(c[k].who, c[i].who) == 0; k++)
            ;
        out[found++] = (opinion){.log_ns = log(c[(i + k - 1) / 2].m->time.median), .weight = trust_weight(t, c[i].who)};
    }
    return found;
}

/* Rows of one source, driver and method. */
static void judge_subject(const trust *t, const candidate *c, size_t n, opinion *o, trust_verdict *out)
{
    const size_t found = collect(t, c, n, o);
    if (found < TRUST_CONTRIBUTORS)
        return;
    qsort(o, found, sizeof *o, by_log);
    const double center = middle(o, found)->log_ns;
    for (size_t i = 0; i < found; i++)
        o[i].deviation = fabs(o[i].log_ns - center);
    qsort(o, found, sizeof *o, by_deviation);
    double share = TRUST_SHARE;
    for (size_t i = 0; i < n; i++)
        share = fmax(share, 3 * c[i].m->noise);
    const double limit = fmax(TRUST_DEVIATIONS * TO_SIGMA * middle(o, found)->deviation, log1p(share));
    for (size_t i = 0; i < n; i++)
        out[c[i].row] = (trust_verdict){
            .judged = true, .rejected = fabs(log(c[i].m->time.median) - center) > limit, .ns = exp(center)};
}

void trust_judge(const trust *t, const measurement *const *rows, size_t n, trust_verdict *out)
{
    candidate *c = mem_alloc(n * sizeof *c);
    opinion *o = mem_alloc(n * sizeof *o);
    size_t found = 0;
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const char *who = trust_who(rows[i]);
        if (rows[i]->outcome == OUTCOME_OK && rows[i]->time.n > 0 && rows[i]->method && trust_weight(t, who) > 0)
            c[found++] = (candidate){rows[i], who, i};
    }
    if (found >= TRUST_CONTRIBUTORS)
        qsort(c, found, sizeof *c, by_subject_and_who);
    for (size_t i = 0, k; found >= TRUST_CONTRIBUTORS && i < found; i = k) {
        for (k = i; k < found && compare_subjects(c[k].m, c[i].m) == 0; k++)
            ;
        judge_subject(t, c + i, k - i, o, out);
    }
    free(c);
    free(o);
}
