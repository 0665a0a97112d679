/* For tests of the dispatch model: a store with one task, a few variants, and rows as a test wants them. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_WORLD_H
#define KERNWRIGHT_TESTS_SUPPORT_WORLD_H

#include "tests/store_fixture.h"
#include "tuner/dispatch.h"

#define DEVICE_A "pocl/cpu/test/4"
#define DEVICE_B "nvidia/sm_90/h200/132"

enum { NAIVE, WG2, WG4, WG8, FIXED, VARIANTS };

typedef struct world {
    store *s;
    task *t;
    task_types types;
    template *naive, *rows;
    variant *v[VARIANTS];
    const char *device, *mode, *driver, *date, *host, *types_text, *api;
    int timing_version;
    verified level;
} world;

void world_make(world *w);
void world_clear(world *w);
/* Adds an ok row around `ns` nanoseconds (failed: ns 0). */
void world_add_shape(world *w, const variant *v, const char *shape, double ns, outcome o);
void world_add(world *w, int v, int64_t M, int64_t N, double ns);
void world_make_general(world *w, int v);
/* The naive variant on one shape, general: what every header needs. */
void world_add_fallback(world *w);
dispatch *world_build(world *w, store *s, const char *device_key, bool unverified);
void world_fails(world *w, const char *device_key, bool unverified, kw_code code, const char *words);
/* Hash of the variant of the row; "" if there is no row. */
const char *header_row_hash(const header_model *m, const char *key, int64_t M, int64_t N);
const char *header_default_hash(const header_model *m, const char *key);
char *header_text_of(const header_model *m);

#endif
