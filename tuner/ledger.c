#include "tuner/ledger.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define TIE_SHARE 1.02

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
    memset(l, 0, sizeof *l);
}

ledger_entry *ledger_find(const ledger *l, const char *source_hash)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->entries[i].source_hash, source_hash) == 0)
            return &l->entries[i];
    return NULL;
}

static void pool_samples(ledger_entry *e, const measurement *m)
{
    if (m->n_samples == 0) {
        /* A row of an export without samples: its summary stands until samples come. */
        if (m->time.n > 0 && e->n_samples == 0 && (e->time.n == 0 || m->time.median < e->time.median))
            e->time = m->time;
        return;
    }
    if (!m->method)
        return;
    if (e->method && strcmp(e->method, m->method) != 0) {
        if (strcmp(e->method, "batch") == 0)
            return;
        e->n_samples = e->n_rows = 0;
        free(e->method);
        e->method = NULL;
    }
    if (!e->method)
        e->method = mem_strdup(m->method);
    e->samples = mem_grow(e->samples, &e->capacity, e->n_samples + m->n_samples, sizeof *e->samples);
    memcpy(e->samples + e->n_samples, m->samples_ns, m->n_samples * sizeof *e->samples);
    e->n_samples += m->n_samples;
    e->n_rows++;
    e->time = stats_of(e->samples, e->n_samples);
}

ledger_entry *ledger_add(ledger *l, const measurement *m)
{
    ledger_entry *e = ledger_find(l, m->source_hash);
    if (!e) {
        l->entries = mem_grow(l->entries, &l->capacity, l->n + 1, sizeof *l->entries);
        e = &l->entries[l->n++];
        memset(e, 0, sizeof *e);
        strncpy(e->source_hash, m->source_hash, sizeof e->source_hash - 1);
        e->template_name = mem_strdup(m->template_name ? m->template_name : "");
        e->config = mem_strdup(m->config ? m->config : "{}");
        e->ok = true;
    }
    if (m->outcome != OUTCOME_OK) {
        e->ok = false;
        e->outcome = m->outcome;
    } else {
        pool_samples(e, m);
    }
    if (m->verified > e->verified)
        e->verified = m->verified;
    return e;
}

static bool can_win(const ledger_entry *e, bool (*usable)(const ledger_entry *, void *), void *cookie)
{
    return e->ok && e->time.n > 0 && (!usable || usable(e, cookie));
}

const ledger_entry *ledger_winner(const ledger *l, bool (*usable)(const ledger_entry *, void *), void *cookie)
{
    const ledger_entry *leader = NULL;
    for (size_t i = 0; i < l->n; i++)
        if (can_win(&l->entries[i], usable, cookie) && (!leader || l->entries[i].time.median < leader->time.median))
            leader = &l->entries[i];
    const ledger_entry *winner = leader;
    for (size_t i = 0; leader && i < l->n; i++) {
        const ledger_entry *e = &l->entries[i];
        if (can_win(e, usable, cookie) && e->time.lo <= leader->time.hi &&
            e->time.median <= TIE_SHARE * leader->time.median && strcmp(e->source_hash, winner->source_hash) < 0)
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
