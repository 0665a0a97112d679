/* A problem file: whatever the text, reading it and building its space within small limits ends with a result or with
 * one message; what is sampled is valid, and its neighbours are. */
#include "tuner/problem.h"

#include "base/counter_rng.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_PARAMS = 64, MAX_SIZE = 16384 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static uint64_t next_random(void *cookie)
{
    uint64_t *i = cookie;
    return counter_rng_u64(1, 0, (*i)++);
}

static void check_space(const space *s)
{
    uint32_t config[MAX_PARAMS], near[MAX_PARAMS];
    uint64_t random = 0, rank;
    strb text = STRB_INIT;
    for (int i = 0; i < 4; i++) {
        space_sample(s, next_random, &random, config);
        require(space_contains(s, config) && space_explain(s, config, &text) < 0);
        if (space_random_neighbour(s, config, next_random, &random, near))
            require(space_explain(s, near, &text) < 0);
        if (space_count(s) < UINT64_MAX) {
            require(space_rank(s, config, &rank) && rank < space_count(s));
            space_unrank(s, rank, near);
            for (size_t k = 0; k < space_params(s); k++)
                require(near[k] == config[k]);
        }
    }
    strb_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    problem p;
    kw_error err = {0};
    if (size > MAX_SIZE)
        return 0;
    if (problem_parse((const char *)data, size, "fuzz.json", &p, &err) != KW_OK) {
        require(*err.message != '\0');
        return 0;
    }
    const space_limits limits = {.max_bytes = 4 << 20, .max_seconds = 2};
    space *s = NULL;
    if (space_new(&p.def, &limits, &s, &err) != KW_OK)
        require(s == NULL && *err.message != '\0');
    else if (space_params(s) <= MAX_PARAMS)
        check_space(s);
    space_free(s);
    problem_clear(&p);
    return 0;
}
