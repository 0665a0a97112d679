#include "tuner/tune_internal.h"

#include "base/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_EVERY_SECONDS 1.0

/* A stored row counts only if its template, as it is now, still expands to the source that was measured. */
static bool still_current(const search *q, const template *p, const uint32_t *config, const measurement *m)
{
    variant *v;
    if (variant_expand(p, &q->o->types, config, q->shape, &v, NULL) != KW_OK)
        return m->outcome == OUTCOME_EXPAND_ERROR || m->outcome == OUTCOME_REJECTED;
    bool same = strcmp(v->hash, m->source_hash) == 0;
    /* What a template requires of shapes is not part of the hash: a header must see its present form. */
    kw_error why;
    if (same && m->outcome == OUTCOME_OK && store_add_variant(q->s, v, &why) != KW_OK)
        log_debug("the variant is not renewed: %s", why.message);
    variant_free(v);
    return same;
}

static bool reuse_row(const measurement *m, void *cookie)
{
    search *q = cookie;
    arm *a = m->template_name && m->config ? arms_find(&q->arms, m->template_name) : NULL;
    if (!a) {
        if (q->trusted && strcmp(m->source_hash, q->trusted->hash) == 0)
            search_note(q, m); /* the fallback, which is measured but not searched */
        return true;
    }
    kw_error ignored;
    json *j = json_parse(m->config, strlen(m->config), "store", 1, 1, &ignored);
    bool current = j && template_config_recall(a->template, j, q->config) &&
                   (ledger_find(&q->ledger, m->source_hash) || still_current(q, a->template, q->config, m));
    json_free(j);
    if (!current)
        return true;
    bool first = ledger_find(&q->ledger, m->source_hash) == NULL;
    search_note(q, m);
    if (!q->knows_seconds) /* imported rows: an estimate, since compiling overlaps with the rest */
        q->spent_seconds += (m->compile_ms + m->verify_ms + m->time_ms) / 1e3;
    if (first) {
        q->reused++;
        q->proposed++;
        search_report(q, m, true, "search");
    }
    return true;
}

/* The strategies hear of the pooled times. */
static void tell_known(search *q)
{
    for (size_t i = 0; i < q->ledger.n; i++) {
        const ledger_entry *e = &q->ledger.entries[i];
        arm *a = arms_find(&q->arms, e->template_name);
        kw_error ignored;
        json *j = json_parse(e->config, strlen(e->config), "store", 1, 1, &ignored);
        if (a && j && template_config_recall(a->template, j, q->config))
            arms_known(a, q->config, e->ok, e->time.median);
        json_free(j);
    }
}

/* The seconds that a search took are not what its rows add up to, so they are kept too: a fact of this shape, device
 * and choice of templates. */
static char *seconds_key(const search *q)
{
    strb key = STRB_INIT;
    const rows *r = &q->rows;
    strb_printf(&key, "seconds %s %s %s %s %s %s %s %s", q->t->name, q->t->hash, r->types, r->shape, r->scalars,
                r->device->key, r->device->driver, r->mode);
    for (size_t i = 0; i < q->arms.n; i++)
        strb_printf(&key, " %s", q->arms.items[i].template->name);
    return strb_take(&key);
}

static double seconds_before(const search *q)
{
    char *key = seconds_key(q), *text = NULL;
    kw_error ignored;
    double seconds = store_fact(q->s, key, &text, &ignored) == KW_OK && text ? strtod(text, NULL) : 0;
    free(text);
    free(key);
    return seconds > 0 && isfinite(seconds) ? seconds : 0;
}

void search_keep_seconds(search *q, bool now)
{
    if (!q->s || q->measured == 0 || (!now && search_seconds(q) - q->kept_seconds < KEEP_EVERY_SECONDS))
        return;
    q->kept_seconds = search_seconds(q);
    char *key = seconds_key(q), text[32];
    kw_error err;
    snprintf(text, sizeof text, "%.3f", search_seconds(q));
    if (store_set_fact(q->s, key, text, &err) != KW_OK)
        log_debug("the time spent is not kept: %s", err.message);
    free(key);
}

kw_code search_reuse(search *q, kw_error *err)
{
    if (!q->s)
        return KW_OK;
    store_query query = rows_query(&q->rows);
    q->spent_seconds = seconds_before(q);
    q->knows_seconds = q->spent_seconds > 0;
    kw_code code = store_each(q->s, &query, reuse_row, q, err);
    tell_known(q);
    if (q->reused == 0) /* they were spent on templates that have changed since */
        q->spent_seconds = 0;
    return code;
}
