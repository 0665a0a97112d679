#include "llm/exchange.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A reply is text that a person could have typed; more than this is an accident or an attack. */
#define MAX_REPLY_BYTES ((size_t)16 << 20)

static const char *const status_names[] = {"ok", "cut", "no_answer", "failed", "stopped"};

const char *llm_status_name(llm_status s)
{
    return status_names[s];
}

bool llm_status_from_name(const char *name, llm_status *out)
{
    for (size_t i = 0; i < sizeof status_names / sizeof *status_names; i++) {
        if (strcmp(name, status_names[i]) == 0) {
            *out = (llm_status)i;
            return true;
        }
    }
    return false;
}

llm_usage llm_usage_unknown(void)
{
    return (llm_usage){-1, -1, -1, -1, -1, false};
}

void llm_reply_clear(llm_reply *r)
{
    free(r->text);
    free(r->thinking);
    free(r->model);
    free(r->finish);
    free(r->detail);
    memset(r, 0, sizeof *r);
}

/* FOLDER/KEY.SUFFIX; caller frees. */
static char *path_of(const char *folder, const char *key, const char *suffix)
{
    strb name = STRB_INIT;
    strb_printf(&name, "%s.%s", key, suffix);
    char *path = fs_join(folder, strb_text(&name));
    strb_clear(&name);
    return path;
}

static kw_code write_file(const char *folder, const char *key, const char *suffix, const strb *text, kw_error *err)
{
    char *path = path_of(folder, key, suffix);
    /* Whoever answers writes in the folder too. */
    kw_code code = fs_check_plain(path, err);
    if (code == KW_OK)
        code = fs_write(path, strb_text(text), text->length, err);
    free(path);
    return code;
}

kw_code exchange_write_candidate(const char *folder, const char *key, const char *text, kw_error *err)
{
    strb copy = STRB_INIT;
    strb_add(&copy, text);
    kw_code code = write_file(folder, key, "template.cl", &copy, err);
    strb_clear(&copy);
    return code;
}

static void prompt_text(const llm_request *q, strb *out)
{
    if (q->system && *q->system)
        strb_printf(out, "%s\n\n---\n\n", q->system);
    strb_add(out, q->prompt);
}

/* "generate-000012-r1": component "generate", ordinal 12. */
static void split_key(const char *key, char *component, size_t size, int64_t *ordinal)
{
    const char *dash = strchr(key, '-');
    size_t n = dash ? (size_t)(dash - key) : strlen(key);
    snprintf(component, size, "%.*s", (int)n, key);
    *ordinal = dash ? strtoll(dash + 1, NULL, 10) : 0;
}

static void add_date(json *j)
{
    char text[21];
    clock_utc_text(text);
    json_set_string(j, "date", text);
}

static kw_code write_json(const char *folder, const char *key, const char *suffix, json *j, kw_error *err)
{
    strb text = STRB_INIT;
    json_print(j, &text);
    strb_add_char(&text, '\n');
    kw_code code = write_file(folder, key, suffix, &text, err);
    strb_clear(&text);
    json_free(j);
    return code;
}

kw_code exchange_write_request(const char *folder, const llm_request *q, kw_error *err)
{
    strb text = STRB_INIT;
    char component[EXCHANGE_KEY_SIZE];
    int64_t ordinal;
    kw_code code = fs_make_folders(folder, err);
    if (code == KW_OK) {
        json *j = json_new_object();
        split_key(q->key, component, sizeof component, &ordinal);
        json_set_string(j, "key", q->key);
        json_set_string(j, "component", component);
        json_set_int(j, "ordinal", ordinal);
        json_set_string(j, "kind", q->kind);
        json_set_int(j, "max_tokens", q->max_tokens);
        add_date(j);
        code = write_json(folder, q->key, "json", j, err);
    }
    /* The prompt last: whoever waits for it finds the rest there. */
    if (code == KW_OK) {
        prompt_text(q, &text);
        code = write_file(folder, q->key, "prompt.md", &text, err);
    }
    strb_clear(&text);
    return code;
}

static json *usage_to_json(const llm_usage *u)
{
    json *j = json_new_object();
    const struct {
        const char *name;
        int64_t value;
    } members[] = {{"input", u->input},
                   {"cache_read", u->cache_read},
                   {"cache_write", u->cache_write},
                   {"output", u->output},
                   {"reasoning", u->reasoning}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (members[i].value >= 0)
            json_set_int(j, members[i].name, members[i].value);
    }
    if (u->estimated)
        json_set_bool(j, "estimated", true);
    return j;
}

static int64_t tokens_from_json(const json *j)
{
    int64_t n = 0;
    return json_int(j, &n) && n >= 0 && n <= LLM_MOST_TOKENS ? n : -1;
}

static llm_usage usage_from_json(const json *j)
{
    llm_usage u = llm_usage_unknown();
    u.input = tokens_from_json(json_get(j, "input"));
    u.cache_read = tokens_from_json(json_get(j, "cache_read"));
    u.cache_write = tokens_from_json(json_get(j, "cache_write"));
    u.output = tokens_from_json(json_get(j, "output"));
    u.reasoning = tokens_from_json(json_get(j, "reasoning"));
    u.estimated = json_truth(json_get(j, "estimated"));
    return u;
}

kw_code exchange_write_meta(const char *folder, const llm_reply *r, kw_error *err)
{
    json *j = json_new_object();
    json_set_string(j, "status", llm_status_name(r->status));
    json_set_string(j, "finish", r->finish);
    json_set_string(j, "model", r->model);
    json_set(j, "tokens", usage_to_json(&r->usage));
    if (isfinite(r->cost))
        json_set_number(j, "cost", r->cost);
    json_set_int(j, "ms", r->ms);
    json_set_int(j, "tries", r->tries);
    json_set_string(j, "detail", r->detail);
    return write_json(folder, r->key, "meta.json", j, err);
}

kw_code exchange_write_reply(const char *folder, const llm_reply *r, kw_error *err)
{
    kw_code code = fs_make_folders(folder, err);
    if (code == KW_OK)
        code = exchange_write_meta(folder, r, err);
    if (code == KW_OK) {
        strb text = STRB_INIT;
        strb_add(&text, r->text ? r->text : "");
        code = write_file(folder, r->key, "reply.md", &text, err);
        strb_clear(&text);
    }
    return code;
}

static kw_code read_meta(const char *path, llm_reply *out, kw_error *err)
{
    const char *text = NULL;
    json *j = json_parse_file(path, err);
    if (!j)
        return err ? err->code : KW_BAD_INPUT;
    kw_code code = json_get_string(j, "status", path, &text, err);
    if (code == KW_OK && !llm_status_from_name(text, &out->status))
        code = kw_error_set(err, KW_BAD_INPUT, "%s: status \"%s\" is none of ok, cut, no_answer, failed, stopped", path,
                            text);
    if (code == KW_OK) {
        const char *finish = json_text(json_get(j, "finish")), *model = json_text(json_get(j, "model")),
                   *detail = json_text(json_get(j, "detail"));
        int64_t tries = 1;
        out->finish = finish ? mem_strdup(finish) : NULL;
        out->model = model ? mem_strdup(model) : NULL;
        out->detail = detail ? mem_strdup(detail) : NULL;
        out->usage = usage_from_json(json_get(j, "tokens"));
        out->cost = json_kind_of(json_get(j, "cost")) == JSON_NUMBER ? json_number(json_get(j, "cost")) : NAN;
        if (out->cost < 0) /* nobody is paid for asking */
            out->cost = NAN;
        json_int(json_get(j, "ms"), &out->ms);
        json_int(json_get(j, "tries"), &tries);
        out->tries = (int)tries;
    }
    json_free(j);
    return code;
}

kw_code exchange_check_reply(const char *folder, const char *key, kw_error *err)
{
    char *reply = path_of(folder, key, "reply.md");
    kw_code code = fs_check_plain(reply, err);
    free(reply);
    return code;
}

kw_code exchange_read_reply(const char *folder, const char *key, llm_reply *out, kw_error *err)
{
    strb raw = STRB_INIT, text = STRB_INIT;
    char *reply = path_of(folder, key, "reply.md"), *meta = path_of(folder, key, "meta.json");
    memset(out, 0, sizeof *out);
    snprintf(out->key, sizeof out->key, "%s", key);
    out->usage = llm_usage_unknown();
    out->cost = NAN;
    out->tries = 1;
    struct stat st;
    kw_code code = stat(reply, &st) != 0 || S_ISREG(st.st_mode) ? KW_OK : fs_check_plain(reply, err);
    if (code == KW_OK)
        code = fs_read(reply, MAX_REPLY_BYTES, &raw, err);
    if (code == KW_OK) {
        /* Bytes that are no text are kept as marks, a NUL too: the reader of replies sees all of it. */
        for (size_t i = 0; i < raw.length; i++)
            raw.data[i] = raw.data[i] ? raw.data[i] : '\x01';
        utf8_add_valid(&text, strb_text(&raw), raw.length);
        out->text = mem_strdup(strb_text(&text));
        if (fs_is_file(meta))
            code = read_meta(meta, out, err);
    }
    if (code != KW_OK)
        llm_reply_clear(out);
    strb_clear(&raw);
    strb_clear(&text);
    free(reply);
    free(meta);
    return code;
}

bool exchange_same_prompt(const char *folder, const llm_request *q)
{
    strb there = STRB_INIT, here = STRB_INIT;
    char *path = path_of(folder, q->key, "prompt.md");
    prompt_text(q, &here);
    bool same = fs_is_file(path) && fs_read(path, 0, &there, NULL) == KW_OK && there.length == here.length &&
                memcmp(strb_text(&there), strb_text(&here), here.length) == 0;
    free(path);
    strb_clear(&there);
    strb_clear(&here);
    return same;
}
