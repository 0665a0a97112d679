/* What is known of each variant for one shape on one device: measurements pooled by source hash, and the rule that
 * names a winner. The tuning loop fills it as it goes, the dispatch model from the store, so both agree. */
#ifndef KERNWRIGHT_TUNER_LEDGER_H
#define KERNWRIGHT_TUNER_LEDGER_H

#include "base/hash.h"
#include "tuner/outcome.h"
#include "tuner/stats.h"
#include "tuner/store.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ledger_entry {
    char source_hash[HASH_HEX_SIZE];
    char *template_name, *config; /* config: canonical JSON */
    bool ok;                      /* every measurement so far came out ok */
    outcome outcome;              /* of the latest that did not, else ok */
    verified verified;            /* the highest seen */
    /* Timing method of the pooled samples; NULL if none. Samples of another method are not pooled: "batch" wins over
     * "events" where both exist. Rows without a method were not timed. */
    char *method;
    double *samples; /* ns, pooled */
    size_t n_samples, capacity;
    size_t n_rows;      /* measurements that brought samples */
    double noise;       /* the largest A/A noise that a measurement behind the time was made under; 0: not known */
    stats_summary time; /* of the samples; without any (an import of summaries), the summary made from the most */
} ledger_entry;

typedef struct ledger {
    ledger_entry *entries;
    size_t n, capacity;
    size_t *slots; /* hash table over the source hashes: 1 + index of the entry, 0: free */
    size_t n_slots;
} ledger;

#define LEDGER_INIT \
    { \
        0, 0, 0, 0, 0 \
    }

void ledger_clear(ledger *l);
/* Adds a measurement to the entry of its source hash (made if absent); returns the entry, valid until the next add. */
ledger_entry *ledger_add(ledger *l, const measurement *m);
/* The entry is from now on of m's template and configuration: one text may be expanded from several. */
void ledger_rename(ledger_entry *e, const measurement *m);
ledger_entry *ledger_find(const ledger *l, const char *source_hash);
/* Gives back what was allocated for entries to come. */
void ledger_trim(ledger *l);
/* The winner: lowest median; among those whose interval overlaps the leader's and whose median is so near that
 * noise may be the difference, the lowest source hash. Near is the leader's noise, but 0.5% to 5%; 2% where it is
 * not known. `usable` limits the choice (NULL: any); entries that are not ok or have no time never win. NULL if
 * there is none. */
const ledger_entry *ledger_winner(const ledger *l, bool (*usable)(const ledger_entry *e, void *cookie), void *cookie);
/* The entry with the lowest median alone, of equals the lowest source hash. */
const ledger_entry *ledger_fastest(const ledger *l, bool (*usable)(const ledger_entry *e, void *cookie), void *cookie);
/* The entries to time again before a winner is named: within `share` (1.05) of the leader's median, best first, at most
 * `capacity`. */
size_t ledger_contenders(const ledger *l, double share, const ledger_entry **out, size_t capacity);

#endif
