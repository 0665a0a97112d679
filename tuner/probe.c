/* The roofline probe, coordinator's side: measured once for a device and a driver, then kept in the store. */
#include "tuner/probe.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the fact ---- */

/* The API is the first part of the device's spec. Caller frees. */
static char *fact_key(const device_info *d)
{
    strb key = STRB_INIT;
    strb_printf(&key, "probe %.*s %s %s", (int)strcspn(d->spec, ":"), d->spec, d->key, d->driver);
    return strb_take(&key);
}

static kw_code keep(store *s, const device_info *d, const probe_fact *p, kw_error *err)
{
    json *o = json_new_object();
    json_set_int(o, "version", PROBE_VERSION);
    json_set_string(o, "date", p->date);
    json_set_string(o, "host", p->host);
    json_set_string(o, "tool_version", KERNWRIGHT_VERSION);
    json_set(o, "figures", probe_figures_to_json(&p->figures));
    strb text = STRB_INIT;
    json_print(o, &text);
    json_free(o);
    char *key = fact_key(d);
    kw_code code = store_set_fact(s, key, strb_text(&text), err);
    free(key);
    strb_clear(&text);
    return code;
}

/* Anything that is not a fact of this version counts as none: it is measured anew. */
static bool read_fact(const char *text, probe_fact *out)
{
    kw_error ignored;
    int64_t version = 0;
    json *o = json_parse(text, strlen(text), "store", 1, 1, &ignored);
    bool good = json_int(json_get(o, "version"), &version) && version == PROBE_VERSION &&
                probe_figures_from_json(json_get(o, "figures"), "store", &out->figures, &ignored) == KW_OK;
    const char *date = json_text(json_get(o, "date")), *host = json_text(json_get(o, "host"));
    snprintf(out->date, sizeof out->date, "%s", date ? date : "");
    snprintf(out->host, sizeof out->host, "%s", host ? host : "");
    json_free(o);
    return good;
}

kw_code probe_find(store *s, const device_info *d, probe_fact *out, bool *found, kw_error *err)
{
    char *key = fact_key(d), *text = NULL;
    memset(out, 0, sizeof *out);
    kw_code code = store_fact(s, key, &text, err);
    *found = code == KW_OK && text && read_fact(text, out);
    free(text);
    free(key);
    return code;
}

/* ---- measuring ---- */

static kw_code measure(evaluator *e, probe_fact *out, kw_error *err)
{
    candidate c;
    memset(&c, 0, sizeof c);
    c.kind = CANDIDATE_PROBE;
    evaluator_submit(e, &c);
    if (!evaluator_next(e, err)) /* interrupted, or no worker left: nothing touches `c` after this */
        return err->code != KW_OK ? err->code : kw_error_set(err, KW_FAILED, "the probe gave no answer");
    const job_record *r = &c.record;
    const char *detail = r->detail ? r->detail : "";
    kw_code code = KW_OK;
    if (r->outcome == OUTCOME_OK && r->probe) {
        out->figures = *r->probe;
        snprintf(out->notes, sizeof out->notes, "%s", detail);
        snprintf(out->host, sizeof out->host, "%s", evaluator_hello(e)->host);
        clock_utc_text(out->date);
        out->fresh = true;
    } else {
        code = kw_error_set(err, KW_FAILED, "%s in stage %s: %.*s", outcome_name(r->outcome), stage_name(r->stage),
                            (int)strcspn(detail, "\n"), detail);
    }
    job_record_clear(&c.record);
    return code;
}

kw_code probe_obtain(evaluator *e, store *s, bool again, probe_fact *out, kw_error *err)
{
    const device_info *d = evaluator_device(e);
    bool found = false;
    memset(out, 0, sizeof *out);
    if (d->simulated)
        return kw_error_set(err, KW_FAILED, "%s is a simulator: its times mean nothing", d->name);
    kw_code code = s && !again ? probe_find(s, d, out, &found, err) : KW_OK;
    if (code != KW_OK || found)
        return code;
    code = measure(e, out, err);
    if (code == KW_OK && s)
        code = keep(s, d, out, err);
    if (code == KW_OK && s) /* what older figures said of them no longer holds */
        code = store_forget(s, OUTCOME_IMPLAUSIBLE, d->key, d->driver, err);
    return code;
}
