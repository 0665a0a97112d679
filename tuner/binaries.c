#include "tuner/binaries.h"

#include "base/log.h"
#include "base/mem.h"
#include "tuner/evaluator.h"

#include <stdlib.h>
#include <string.h>

struct binaries {
    header_binary *list;
    candidate *candidates; /* their records hold the bytes; the list borrows them */
    size_t n, n_candidates;
};

static size_t device_number(const header_model *m, const char *key)
{
    size_t i = 0;
    while (i < m->n_devices && strcmp(m->devices[i].key, key) != 0)
        i++;
    return i;
}

/* wanted[v]: may the device run variant v? */
static void mark_wanted(const header_model *m, size_t number, bool *wanted)
{
    wanted[m->default_variant] = true;
    if (number == m->n_devices)
        return;
    const header_device *d = &m->devices[number];
    if (d->default_variant >= 0)
        wanted[d->default_variant] = true;
    for (size_t i = 0; i < m->n_rows; i++)
        if (m->rows[i].device == (int)number)
            wanted[m->rows[i].variant] = true;
    for (size_t i = 0; d->tree && i < d->tree->n_leaves; i++)
        for (size_t k = 0; k < HEADER_TREE_RANKED; k++)
            if (d->tree->leaves[i].variants[k] >= 0)
                wanted[d->tree->leaves[i].variants[k]] = true;
}

/* One after the other; the candidates' cookies are their variants' places in the model. */
static kw_code compile_all(evaluator *e, const header_model *m, const bool *wanted, binaries *b, kw_error *err)
{
    b->candidates = mem_calloc(m->n_variants, sizeof *b->candidates);
    for (size_t i = 0; i < m->n_variants; i++) {
        if (!wanted[i])
            continue;
        candidate *c = &b->candidates[b->n_candidates++];
        c->kind = CANDIDATE_BINARY;
        c->variant = m->variants[i];
        c->cookie = (void *)(uintptr_t)i;
        evaluator_submit(e, c);
    }
    for (size_t left = b->n_candidates; left > 0; left--)
        if (!evaluator_next(e, err)) {
            evaluator_forget(e);
            return err->code != KW_OK ? err->code : kw_error_set(err, KW_FAILED, "the worker gave no answer");
        }
    return KW_OK;
}

static kw_code take(const header_model *m, binaries *b, const char *spec, kw_error *err)
{
    const char *first = "";
    b->list = mem_calloc(b->n_candidates + 1, sizeof *b->list);
    for (size_t i = 0; i < b->n_candidates; i++) {
        const candidate *c = &b->candidates[i];
        const job_record *r = &c->record;
        if (r->outcome == OUTCOME_OK && r->n_binary > 0) {
            b->list[b->n++] = (header_binary){
                .variant = (int)(uintptr_t)c->cookie, .identity = r->identity, .bytes = r->binary, .size = r->n_binary};
            continue;
        }
        const char *why = r->detail ? r->detail : outcome_name(r->outcome);
        if (!*first)
            first = why;
        log_warn("no binary of variant %zu (%s): %.*s", (size_t)(uintptr_t)c->cookie,
                 m->variants[(uintptr_t)c->cookie]->template_name, (int)strcspn(why, "\n"), why);
    }
    if (b->n == 0)
        return kw_error_set(err, KW_FAILED, "--binaries %s: %.*s", spec, (int)strcspn(first, "\n"), first);
    return KW_OK;
}

kw_code binaries_compile(const char *spec, const char *worker_command, const header_model *m, binaries **out,
                         kw_error *err)
{
    evaluator *e = NULL;
    const evaluator_options o = {.device = spec, .worker_command = worker_command};
    *out = NULL;
    kw_code code = evaluator_open(&o, &e, err);
    if (code != KW_OK)
        return code;
    binaries *b = mem_calloc(1, sizeof *b);
    bool *wanted = mem_calloc(m->n_variants, sizeof *wanted);
    const device_info *d = evaluator_device(e);
    const size_t number = device_number(m, d->key);
    if (number == m->n_devices)
        log_warn("no row of the header is of %s (%s): its default variant alone is compiled", d->spec, d->key);
    mark_wanted(m, number, wanted);
    code = compile_all(e, m, wanted, b, err);
    if (code == KW_OK)
        code = take(m, b, d->spec, err);
    free(wanted);
    evaluator_close(e);
    if (code == KW_INTERRUPTED)
        kw_error_set(err, code, "interrupted; nothing was written");
    if (code == KW_OK)
        *out = b;
    else
        binaries_free(b);
    return code;
}

void binaries_add(const binaries *b, header_model *m)
{
    m->binaries = b->list;
    m->n_binaries = b->n;
}

void binaries_free(binaries *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n_candidates; i++)
        job_record_clear(&b->candidates[i].record);
    free(b->candidates);
    free(b->list);
    free(b);
}
