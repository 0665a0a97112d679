#include "tuner/ledger.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* How much slower than the leader a candidate may be for a tie: as far as two timings of the same kernel may differ
 * (probe_noise_of). No machine is trusted to be quieter than LEAST; beyond MOST there is no tie in any case. */
#define UNKNOWN_TIE 0.02
#define LEAST_TIE 0.005
#define MOST_TIE 0.05

static void clear_entry(ledger_entry *e)
{
    free(e->template_name);
    free(e->config);
    free(e->method);
    free(e->samples);
}

void ledger_clear(ledger *l)
{
    for (size_t i = 0; i < l->n; i++)
        clear_entry(&l->entries[i]);
    free(l->entries);
    free(l->slots);
    memset(l, 0, sizeof *l);
}

/* ---- finding ---- */

/* The slot that holds the hash, or the free one where it belongs. There is always a free one. */
static size_t *slot_of(const ledger *l, const char *source_hash)
{
    size_t i = (size_t)hash_u64(source_hash, strlen(source_hash), 0) & (l->n_slots - 1);
    while (l->slots[i] != 0 && strcmp(l->entries[l->slots[i] - 1].source_hash, source_hash) != 0)
        i = (i + 1) & (l->n_slots - 1);
    return &l->slots[i];
}

static void make_slots(ledger *l, size_t n)
{
    free(l->slots);
    l->n_slots = n;
    l->slots = mem_calloc(l->n_slots, sizeof *l->slots);
    for (size_t i = 0; i < l->n; i++)
        *slot_of(l, l->entries[i].source_hash) = i + 1;
}

ledger_entry *ledger_find(const ledger *l, const char *source_hash)
{
    size_t found = l->n > 0 ? *slot_of(l, source_hash) : 0;
    return found ? &l->entries[found - 1] : NULL;
}

static ledger_entry *new_entry(ledger *l, const measurement *m)
{
    if (2 * (l->n + 1) > l->n_slots)
        make_slots(l, l->n_slots ? 2 * l->n_slots : 16);
    l->entries = mem_grow(l->entries, &l->capacity, l->n + 1, sizeof *l->entries);
    ledger_entry *e = &l->entries[l->n++];
    memset(e, 0, sizeof *e);
    strncpy(e->source_hash, m->source_hash, sizeof e->source_hash - 1);
    *slot_of(l, e->source_hash) = l->n;
    e->template_name = mem_strdup(m->template_name ? m->template_name : "");
    e->config = mem_strdup(m->config ? m->config : "{}");
    e->ok = true;
    return e;
}

/* ---- adding ---- */

/* Makes m's method the entry's; false if the entry's goes before it. */
static bool same_method(ledger_entry *e, const char *method)
{
    if (e->method && strcmp(e->method, method) != 0) {
        if (strcmp(e->method, "batch") == 0)
            return false;
        e->n_samples = e->n_rows = 0;
        e->noise = 0;
        memset(&e->time, 0, sizeof e->time);
        free(e->method);
        e->method = NULL;
    }
    if (!e->method)
        e->method = mem_strdup(method);
    return true;
}

/* Of summaries without samples the one made from the most stands; of equals the slower, so that luck does not win. */
static void pool_summary(ledger_entry *e, const measurement *m)
{
    if (e->n_samples > 0)
        return;
    if (m->time.n > e->time.n || (m->time.n == e->time.n && m->time.median > e->time.median)) {
        e->time = m->time;
        e->noise = m->noise;
    }
}

static void pool(ledger_entry *e, const measurement *m)
{
    if (!m->method || (m->n_samples == 0 && m->time.n == 0) || !same_method(e, m->method))
        return;
    if (m->n_samples == 0) {
        pool_summary(e, m);
        return;
    }
    if (e->n_samples == 0 || m->noise > e->noise)
        e->noise = m->noise;
    e->samples = mem_grow(e->samples, &e->capacity, e->n_samples + m->n_samples, sizeof *e->samples);
    memcpy(e->samples + e->n_samples, m->samples_ns, m->n_samples * sizeof *e->samples);
    e->n_samples += m->n_samples;
    e->n_rows++;
    e->time = stats_of(e->samples, e->n_samples);
}

ledger_entry *ledger_add(ledger *l, const measurement *m)
{
    ledger_entry *e = ledger_find(l, m->source_hash);
    if (!e)
        e = new_entry(l, m);
    if (m->outcome != OUTCOME_OK) {
        e->ok = false;
        e->outcome = m->outcome;
    } else {
        pool(e, m);
    }
    if (m->verified > e->verified)
        e->verified = m->verified;
    return e;
}

void ledger_rename(ledger_entry *e, const measurement *m)
{
    free(e->template_name);
    free(e->config);
    e->template_name = mem_strdup(m->template_name ? m->template_name : "");
    e->config = mem_strdup(m->config ? m->config : "{}");
}

void ledger_trim(ledger *l)
{
    size_t n = 2;
    while (n < 2 * l->n)
        n *= 2;
    if (l->n > 0 && n < l->n_slots)
        make_slots(l, n);
    if (l->n > 0 && l->n < l->capacity) {
        l->entries = mem_realloc(l->entries, l->n * sizeof *l->entries);
        l->capacity = l->n;
    }
}

/* ---- the winner ---- */

static bool can_win(const ledger_entry *e, bool (*usable)(const ledger_entry *, void *), void *cookie)
{
    return e->ok && e->time.n > 0 && (!usable || usable(e, cookie));
}

const ledger_entry *ledger_fastest(const ledger *l, bool (*usable)(const ledger_entry *, void *), void *cookie)
{
    const ledger_entry *best = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const ledger_entry *e = &l->entries[i];
        if (can_win(e, usable, cookie) &&
            (!best || e->time.median < best->time.median ||
             (e->time.median == best->time.median && strcmp(e->source_hash, best->source_hash) < 0)))
            best = e;
    }
    return best;
}

static double tie_share(const ledger_entry *leader)
{
    double x = leader->noise;
    return 1 + (!(x > 0) ? UNKNOWN_TIE : x < LEAST_TIE ? LEAST_TIE : x > MOST_TIE ? MOST_TIE : x);
}

const ledger_entry *ledger_winner(const ledger *l, bool (*usable)(const ledger_entry *, void *), void *cookie)
{
    const ledger_entry *fastest = ledger_fastest(l, usable, cookie), *winner = fastest;
    for (size_t i = 0; fastest && i < l->n; i++) {
        const ledger_entry *e = &l->entries[i];
        if (can_win(e, usable, cookie) && e->time.lo <= fastest->time.hi &&
            e->time.median <= tie_share(fastest) * fastest->time.median &&
            strcmp(e->source_hash, winner->source_hash) < 0)
            winner = e;
    }
    return winner;
}

static int by_median(const void *a, const void *b)
{
    const ledger_entry *x = *(const ledger_entry *const *)a, *y = *(const ledger_entry *const *)b;
    if (x->time.median != y->time.median)
        return x->time.median < y->time.median ? -1 : 1;
    return strcmp(x->source_hash, y->source_hash);
}

size_t ledger_contenders(const ledger *l, double share, const ledger_entry **out, size_t capacity)
{
    const ledger_entry **all = mem_alloc(l->n * sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (can_win(&l->entries[i], NULL, NULL))
            all[n++] = &l->entries[i];
    qsort(all, n, sizeof *all, by_median);
    size_t kept = 0;
    while (kept < n && kept < capacity && all[kept]->time.median <= share * all[0]->time.median) {
        out[kept] = all[kept];
        kept++;
    }
    free(all);
    return kept;
}
