#include "cli/results_merge.h"

#include "base/interrupt.h"
#include "base/log.h"
#include "tuner/results_merge.h"

kw_code cli_results_merge(const char *const *files, size_t n, const char *base, const char *out, kw_error *err)
{
    const results_merge_options o = {
        .paths = files, .n = n, .base = base, .out = out ? out : "-", .stop = interrupt_arrived};
    results_merge_report r;
    interrupt_watch();
    kw_code code = results_merge(&o, &r, err);
    interrupt_ignore();
    if (code != KW_OK)
        return code;
    if (n > 1)
        log_info("%zu lines, %zu of them in more than one of %zu files", r.lines, r.common, n);
    else
        log_info("%zu lines", r.lines);
    if (base)
        log_info("%zu lines of the base stay away: a file lacks them", r.removed);
    if (r.sorted > 0)
        log_info("%zu of the files were not in order and had to be sorted; what `results export` or `merge` writes is",
                 r.sorted);
    return KW_OK;
}
