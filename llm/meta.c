#include "llm/meta.h"

#include "base/counter_rng.h"
#include "base/hash.h"
#include "base/mem.h"
#include "llm/reply_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTIONS = 4, NOTES = 12, EVERY = 10 };
/* Children after which a set's own mean weighs as much as that of all. */
static const double PRIOR = 4;
static const double EXPLORE = 0.2;

static const char *const section_names[SECTIONS] = {"philosophy", "strategies", "pitfalls", "analysis"};

typedef struct set {
    bool used;
    int id;
    char *text[SECTIONS];
    double sum;
    uint64_t n;
} set;

struct meta {
    uint64_t seed;
    set sets[META_MAX];
    int next_id;
    uint64_t children;  /* since the last new set */
    char *notes[NOTES]; /* the latest first */
};

static const char *const first_texts[SECTIONS] = {
    "Find out what limits this task on this device before you write: bytes that must move, arithmetic, latency of "
    "dependent "
    "steps, or the launch itself. Spend the complexity there and nowhere else. Leave numbers to the tuner: every size "
    "is a "
    "parameter.\n",
    "- Memory-bound tasks: move each byte once, in the widest accesses that alignment allows, with enough work-items "
    "in flight.\n"
    "- Reductions: several elements per work-item in registers first, then a tree in local memory, few barriers.\n"
    "- Compute-bound tasks: reuse in registers before reuse in local memory; unroll so that indices are constants.\n"
    "- Few large rows and many small rows want different numbers of work-items per row: make it a parameter.\n",
    "- Barriers inside a branch that not all work-items of the group take.\n"
    "- Local memory read before every writer has passed a barrier, or written again while others still read.\n"
    "- Vector accesses where the row length is no multiple of the vector: put it into requires, or handle the tail.\n"
    "- exp of large numbers: subtract the maximum first.\n"
    "- Integer overflow in M * N * 4.\n",
    "In a few lines: what limits the parent, what your change does about it, what it costs in registers and local "
    "memory.\n"};

meta *meta_new(uint64_t seed)
{
    meta *m = mem_calloc(1, sizeof *m);
    m->seed = seed;
    m->sets[0].used = true;
    for (int i = 0; i < SECTIONS; i++)
        m->sets[0].text[i] = mem_strdup(first_texts[i]);
    m->next_id = 1;
    return m;
}

static void set_clear(set *s)
{
    for (int i = 0; i < SECTIONS; i++)
        free(s->text[i]);
    memset(s, 0, sizeof *s);
}

void meta_free(meta *m)
{
    if (!m)
        return;
    for (int i = 0; i < META_MAX; i++)
        set_clear(&m->sets[i]);
    for (int i = 0; i < NOTES; i++)
        free(m->notes[i]);
    free(m);
}

static const set *find(const meta *m, int id)
{
    for (int i = 0; i < META_MAX; i++) {
        if (m->sets[i].used && m->sets[i].id == id)
            return &m->sets[i];
    }
    return NULL;
}

static double mean_of_all(const meta *m)
{
    double sum = 0;
    uint64_t n = 0;
    for (int i = 0; i < META_MAX; i++) {
        sum += m->sets[i].sum;
        n += m->sets[i].n;
    }
    return n ? sum / (double)n : 0;
}

static double value_of(const meta *m, const set *s)
{
    return (s->sum + PRIOR * mean_of_all(m)) / ((double)s->n + PRIOR);
}

double meta_value(const meta *m, int id)
{
    const set *s = find(m, id);
    return s ? value_of(m, s) : 0;
}

/* Mostly a set drawn by its value and by how little is known of it, sometimes any. */
int meta_choose(const meta *m, uint64_t ordinal)
{
    double weights[META_MAX] = {0}, sum = 0, u = counter_rng_unit(m->seed + 3, ordinal, 0);
    bool any = counter_rng_unit(m->seed + 3, ordinal, 1) < EXPLORE;
    for (int i = 0; i < META_MAX; i++) {
        if (!m->sets[i].used)
            continue;
        double bonus = 0.1 / sqrt(1 + (double)m->sets[i].n);
        weights[i] = any ? 1 : exp((value_of(m, &m->sets[i]) + bonus) / 0.1);
        sum += weights[i];
    }
    int last = 0;
    for (int i = 0; i < META_MAX; i++) {
        if (!(weights[i] > 0))
            continue;
        last = m->sets[i].id;
        u -= weights[i] / sum;
        if (u < 0)
            break;
    }
    return last;
}

prompt_sections meta_sections(const meta *m, int id)
{
    const set *s = find(m, id);
    s = s ? s : &m->sets[0];
    return (prompt_sections){s->text[0], s->text[1], s->text[2], s->text[3]};
}

void meta_learn(meta *m, int id, double gain, bool right, const char *note)
{
    for (int i = 0; i < META_MAX; i++) {
        if (m->sets[i].used && m->sets[i].id == id && isfinite(gain)) {
            m->sets[i].sum += gain;
            m->sets[i].n++;
        }
    }
    m->children++;
    strb text = STRB_INIT;
    strb_printf(&text, "%s (%+.3f): %.300s", right ? "right" : "failed", gain, note ? note : "");
    free(m->notes[NOTES - 1]);
    memmove(m->notes + 1, m->notes, (NOTES - 1) * sizeof *m->notes);
    m->notes[0] = strb_take(&text);
}

bool meta_due(const meta *m)
{
    return m->children >= EVERY;
}

int meta_prompt(meta *m, strb *out)
{
    const set *best = NULL;
    for (int i = 0; i < META_MAX; i++) {
        const set *s = &m->sets[i];
        if (s->used &&
            (!best || value_of(m, s) + 0.01 * (double)(s->n > 0) > value_of(m, best) + 0.01 * (double)(best->n > 0)))
            best = s;
    }
    m->children = 0;
    strb_add(out, "A language model writes GPU kernels from prompts that hold the four sections below. Its kernels are "
                  "measured; a "
                  "child's gain is its fitness minus its parent's. Improve the sections: make guidance that was "
                  "missing, misleading "
                  "or vague precise, and take out what does not help. Prefer small, concrete changes.\n\n");
    strb_printf(out, "Mean gain of %llu children: %+.3f (all prompts together: %+.3f).\n\n",
                (unsigned long long)best->n, best->n ? best->sum / (double)best->n : 0.0, mean_of_all(m));
    for (int i = 0; i < SECTIONS; i++)
        strb_printf(out, "## SECTION: %s\n\n%s\n", section_names[i], best->text[i]);
    strb_add(out, "## The latest children, failures included\n\n");
    for (int i = 0; i < NOTES && m->notes[i]; i++)
        strb_printf(out, "- %s\n", m->notes[i]);
    strb_add(out, "\n## Answer\n\nFirst what went wrong and which guidance caused it, in a few lines. Then edits, each "
                  "behind a line that "
                  "names its section:\n\nSECTION: pitfalls\n<<<<<<< SEARCH\ntext that is there\n=======\ntext "
                  "instead\n>>>>>>> REPLACE\n");
    return best->id;
}

static int section_at(const char *line)
{
    const char *mark = strstr(line, "SECTION:"), *end = strchr(line, '\n');
    if (!mark || (end && mark > end))
        return -1;
    mark += strlen("SECTION:");
    mark += strspn(mark, " \t*`#");
    for (int i = 0; i < SECTIONS; i++) {
        if (strncmp(mark, section_names[i], strlen(section_names[i])) == 0)
            return i;
    }
    return -1;
}

static bool is_known(const meta *m, char *const *text)
{
    for (int i = 0; i < META_MAX; i++) {
        bool same = m->sets[i].used;
        for (int k = 0; k < SECTIONS && same; k++)
            same = strcmp(m->sets[i].text[k], text[k]) == 0;
        if (same)
            return true;
    }
    return false;
}

/* The place of a new set: a free one, or that of the worst with enough children; the first is never given up. */
static set *place_for(meta *m)
{
    set *worst = NULL;
    for (int i = 0; i < META_MAX; i++) {
        if (!m->sets[i].used)
            return &m->sets[i];
        if (i > 0 && (!worst || value_of(m, &m->sets[i]) < value_of(m, worst)))
            worst = &m->sets[i];
    }
    set_clear(worst);
    return worst;
}

/* Most that a section may grow to: it stands in every prompt. */
#define MAX_SECTION 4000

int meta_apply(meta *m, int parent, const char *reply, strb *problem)
{
    const set *from = find(m, parent);
    char *text[SECTIONS];
    size_t applied = 0;
    if (!from) {
        strb_add(problem, "the set that it changes is gone\n");
        return -1;
    }
    for (int i = 0; i < SECTIONS; i++)
        text[i] = mem_strdup(from->text[i]);
    const char *at = reply;
    for (int current = -1; *at;) {
        const char *end = strchr(at, '\n');
        int named = section_at(at);
        current = named >= 0 ? named : current;
        if (strncmp(at + strspn(at, " \t"), "<<<<<", 5) == 0 && current >= 0) {
            const char *close = strstr(at, ">>>>>");
            const char *stop = close ? strchr(close, '\n') : NULL;
            char *edit = close ? mem_strndup(at, (size_t)((stop ? stop + 1 : close + strlen(close)) - at)) : NULL;
            strb changed = STRB_INIT;
            size_t failed = 0;
            if (edit && edits_apply(edit, text[current], &changed, &failed, problem) == 1 && failed == 0 &&
                changed.length <= MAX_SECTION) {
                free(text[current]);
                text[current] = strb_take(&changed);
                applied++;
            }
            strb_clear(&changed);
            free(edit);
            if (!stop)
                break;
            end = stop;
        }
        if (!end)
            break;
        at = end + 1;
    }
    bool taken = applied > 0 && !is_known(m, text);
    if (!taken)
        strb_add(problem, applied ? "the sections are there already\n" : "no edit could be applied\n");
    set *place = taken ? place_for(m) : NULL;
    if (place)
        *place = (set){.used = true, .id = m->next_id++};
    for (int i = 0; i < SECTIONS; i++) {
        if (place)
            place->text[i] = text[i];
        else
            free(text[i]);
    }
    return place ? place->id : -1;
}
