/* Recorded spaces: what is accepted is a space whose ranks and times agree; what is not has a message. */
#include "tuner/recorded.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_space(const recorded *r)
{
    uint32_t *config = malloc((r->n_params + 1) * sizeof *config);
    require(config && space_count(r->space) == r->n && r->n_ok > 0 && r->n_ok + r->n_failed == r->n);
    size_t n_ok = 0;
    for (size_t i = 0; i < r->n; i++) {
        double time_ns = 0;
        space_unrank(r->space, i, config);
        for (size_t k = 0; k < r->n_params; k++)
            require(config[k] < r->params[k].n_values);
        require(recorded_time(r, config, &time_ns));
        require(isnan(time_ns) || (time_ns >= r->best_ns && time_ns <= r->worst_ns && time_ns > 0));
        n_ok += !isnan(time_ns);
    }
    require(n_ok == r->n_ok);
    free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const recorded_options as_stated;
    recorded_list list = {0};
    kw_error err = {0};
    kw_code code = recorded_parse((const char *)data, size, "file", &as_stated, &list, &err);
    if (code == KW_OK)
        require(list.n > 0);
    else
        require(code == KW_BAD_INPUT && err.message[0] && !strchr(err.message, '\n'));
    for (size_t i = 0; i < list.n; i++)
        check_space(list.items[i]);
    recorded_list_clear(&list);
    return 0;
}
