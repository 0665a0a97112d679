#include "llm/config.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_IN_FLIGHT 32

/* Long: a prompt of thousands of tokens on a processor, or a model that thinks, is silent for minutes and well. */
static const http_limits default_limits = {.connect = 30 * 1000,
                                           .first_byte = 15 * 60 * 1000,
                                           .silence = 5 * 60 * 1000,
                                           .no_content = 15 * 60 * 1000,
                                           .total = 60 * 60 * 1000};

void endpoint_clear(endpoint *e)
{
    free(e->model);
    free(e->url);
    if (e->key)
        explicit_bzero(e->key, strlen(e->key));
    free(e->key);
    free(e->key_env);
    for (size_t i = 0; e->headers && e->headers[i]; i++)
        free(e->headers[i]);
    free(e->headers);
    json_free(e->extra);
    free(e->max_tokens_field);
    free(e->ca_file);
    memset(e, 0, sizeof *e);
}

char *endpoint_url(const char *base, const char *path)
{
    strb url = STRB_INIT;
    size_t query = strcspn(base, "?"), n = query, tail = strlen(path);
    if (n >= tail && strncmp(base + n - tail, path, tail) == 0)
        return mem_strdup(base);
    while (n > 0 && base[n - 1] == '/')
        n--;
    if (n >= tail && strncmp(base + n - tail, path, tail) == 0)
        tail = 0;
    strb_add_n(&url, base, n);
    const char *host = strstr(strb_text(&url), "://");
    if (host && !strchr(host + 3, '/'))
        strb_add(&url, "/v1");
    if (tail)
        strb_add(&url, path);
    strb_add(&url, base + query);
    return strb_take(&url);
}

/* ---- the file ---- */

static kw_code check_url(const char *url, const char *where, kw_error *err)
{
    bool https = strncasecmp(url, "https://", 8) == 0, plain = strncasecmp(url, "http://", 7) == 0;
    const char *host = url + (https ? 8 : 7);
    if ((!https && !plain) || !host[strspn(host, "/?#")])
        return kw_error_set(err, KW_BAD_INPUT, "%s: \"%s\" is no http:// or https:// address", where, url);
    size_t authority = strcspn(host, "/?#");
    if (memchr(host, '@', authority))
        return kw_error_set(err, KW_BAD_INPUT, "%s: an address must not hold a password; name a variable with key_env",
                            where);
    for (const char *p = url; *p; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return kw_error_set(err, KW_BAD_INPUT, "%s: an address must not hold spaces", where);
    }
    const char *query = strchr(url, '?');
    if (query && (strcasestr(query, "key=") || strcasestr(query, "token=")))
        return kw_error_set(err, KW_BAD_INPUT, "%s: an address must not hold a key; name a variable with key_env",
                            where);
    return KW_OK;
}

static kw_code number_in(const json *object, const char *key, const char *where, double *out, kw_error *err)
{
    const json *v = json_get(object, key);
    if (!v)
        return KW_OK;
    if (json_kind_of(v) != JSON_NUMBER || !(json_number(v) >= 0) || json_number(v) > 1e9)
        return kw_error_set(err, KW_BAD_INPUT, "%s.%s: a number from 0 on is wanted", where, key);
    *out = json_number(v);
    return KW_OK;
}

static kw_code read_price(const json *j, const char *where, endpoint_price *p, kw_error *err)
{
    static const char *const keys[] = {"input", "cache_read", "cache_write", "output", NULL};
    double *const places[] = {&p->input, &p->cache_read, &p->cache_write, &p->output};
    kw_code code = j ? json_check_keys(j, keys, where, err) : KW_OK;
    for (size_t i = 0; j && code == KW_OK && keys[i]; i++)
        code = number_in(j, keys[i], where, places[i], err);
    return code;
}

static kw_code read_limits(const json *j, const char *where, http_limits *l, kw_error *err)
{
    static const char *const keys[] = {"connect", "first_byte", "silence", "no_content", "total", NULL};
    int64_t *const places[] = {&l->connect, &l->first_byte, &l->silence, &l->no_content, &l->total};
    kw_code code = j ? json_check_keys(j, keys, where, err) : KW_OK;
    for (size_t i = 0; j && code == KW_OK && keys[i]; i++) {
        double seconds = (double)*places[i] / 1000;
        code = number_in(j, keys[i], where, &seconds, err);
        *places[i] = (int64_t)ceil(seconds * 1000);
    }
    return code;
}

static kw_code read_headers(const json *j, const char *where, endpoint *e, kw_error *err)
{
    size_t n = 0;
    if (!j)
        return KW_OK;
    if (json_kind_of(j) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "%s: an object of names and texts is wanted", where);
    e->headers = mem_calloc(json_count(j) + 1, sizeof(char *));
    for (const json *h = json_first(j); h; h = json_next(h)) {
        const char *name = json_key(h), *value = json_text(h);
        size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
        if (!*name || name[good])
            return kw_error_set(err, KW_BAD_INPUT, "%s: \"%s\" is no name of a header", where, name);
        if (!value || value[strcspn(value, "\r\n")])
            return kw_error_set(err, KW_BAD_INPUT, "%s.%s: a text of one line is wanted", where, name);
        strb line = STRB_INIT;
        strb_printf(&line, "%s: %s", name, value);
        e->headers[n++] = strb_take(&line);
    }
    return KW_OK;
}

static kw_code read_extra(const json *j, const char *where, endpoint *e, kw_error *err)
{
    static const char *const ours[] = {"model", "messages", "system", "stream"};
    if (!j)
        return KW_OK;
    if (json_kind_of(j) != JSON_OBJECT)
        return kw_error_set(err, KW_BAD_INPUT, "%s: an object is wanted", where);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (json_get(j, ours[i]))
            return kw_error_set(err, KW_BAD_INPUT, "%s.%s: this member of the body is not yours to set", where,
                                ours[i]);
    }
    e->extra = json_clone(j);
    return KW_OK;
}

/* One of the words of a list; `out` is its place. */
static kw_code read_word(const json *j, const char *key, const char *where, const char *const *words, int *out,
                         kw_error *err)
{
    const char *text = NULL;
    kw_code code = json_opt_string(j, key, where, NULL, &text, err);
    if (code != KW_OK || !text)
        return code;
    strb all = STRB_INIT;
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            strb_clear(&all);
            return KW_OK;
        }
        strb_printf(&all, "%s%s", i ? ", " : "", words[i]);
    }
    code = kw_error_set(err, KW_BAD_INPUT, "%s.%s: \"%s\" is none of %s", where, key, text, strb_text(&all));
    strb_clear(&all);
    return code;
}

static kw_code read_words(const json *j, const char *where, endpoint *e, kw_error *err)
{
    static const char *const auths[] = {"none", "bearer", "x-api-key", NULL};
    static const char *const versions[] = {"any", "1.1", "2", NULL};
    static const char *const fields[] = {"auto", "max_tokens", "max_completion_tokens", NULL};
    int auth = (int)e->auth, version = (int)e->version, field = 0;
    kw_code code = read_word(j, "auth", where, auths, &auth, err);
    if (code == KW_OK)
        code = read_word(j, "http_version", where, versions, &version, err);
    if (code == KW_OK)
        code = read_word(j, "max_tokens_field", where, fields, &field, err);
    e->auth = (http_auth)auth;
    e->version = (http_version)version;
    if (field > 0)
        e->max_tokens_field = mem_strdup(fields[field]);
    return code;
}

static kw_code read_dialect(const dialect *d, const json *j, const char *where, kw_error *err)
{
    const char *name = d->name;
    kw_code code = json_opt_string(j, "dialect", where, name, &name, err);
    if (code != KW_OK)
        return code;
    if (!dialect_find(name))
        return kw_error_set(err, KW_BAD_INPUT, "%s.dialect: \"%s\" is none of openai, anthropic", where, name);
    if (strcmp(name, d->name) != 0)
        return kw_error_set(err, KW_BAD_INPUT, "%s: its dialect is %s: write %s:MODEL@... instead of %s:MODEL@...",
                            where, name, name, d->name);
    return KW_OK;
}

static bool is_variable(const char *name)
{
    if (!*name || isdigit((unsigned char)*name))
        return false;
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    }
    return true;
}

/* Checks an entry of the file whole, and takes it when it is the one that is asked. */
static kw_code read_endpoint(const json *j, const char *where, endpoint *e, kw_error *err)
{
    static const char *const keys[] = {"url",      "dialect",          "key_env",      "auth",          "headers",
                                       "extra",    "max_tokens_field", "http_version", "ca_file",       "price",
                                       "timeouts", "stream",           "fold_system",  "max_in_flight", NULL};
    const char *text = NULL;
    char place[256];
    int64_t most = DEFAULT_IN_FLIGHT;
    kw_code code = json_check_keys(j, keys, where, err);
    if (code == KW_OK)
        code = json_opt_string(j, "key_env", where, NULL, &text, err);
    if (code == KW_OK && text && !is_variable(text)) /* not told: it may be the key itself */
        code = kw_error_set(err, KW_BAD_INPUT,
                            "%s.key_env: the name of an environment variable is wanted (letters, digits and _), never "
                            "the key itself",
                            where);
    if (code == KW_OK && text)
        e->key_env = mem_strdup(text);
    if (code == KW_OK)
        code = json_opt_string(j, "ca_file", where, NULL, &text, err);
    if (code == KW_OK && text && !fs_is_file(text))
        code = kw_error_set(err, KW_BAD_INPUT, "%s.ca_file: there is no file %s", where, text);
    if (code == KW_OK && text)
        e->ca_file = mem_strdup(text);
    if (code == KW_OK)
        code = read_words(j, where, e, err);
    if (code == KW_OK)
        code = json_opt_bool(j, "stream", where, true, &e->stream, err);
    if (code == KW_OK)
        code = json_opt_bool(j, "fold_system", where, false, &e->fold_system, err);
    if (code == KW_OK)
        code = json_opt_int(j, "max_in_flight", where, most, &most, err);
    if (code == KW_OK && (most < 1 || most > 1000))
        code = kw_error_set(err, KW_BAD_INPUT, "%s.max_in_flight: 1 to 1000", where);
    e->max_in_flight = (int)most;
    snprintf(place, sizeof place, "%.200s.headers", where);
    if (code == KW_OK)
        code = read_headers(json_get(j, "headers"), place, e, err);
    snprintf(place, sizeof place, "%.200s.extra", where);
    if (code == KW_OK)
        code = read_extra(json_get(j, "extra"), place, e, err);
    snprintf(place, sizeof place, "%.200s.price", where);
    if (code == KW_OK)
        code = read_price(json_get(j, "price"), place, &e->price, err);
    snprintf(place, sizeof place, "%.200s.timeouts", where);
    return code == KW_OK ? read_limits(json_get(j, "timeouts"), place, &e->limits, err) : code;
}

static void set_defaults(const dialect *d, endpoint *e)
{
    memset(e, 0, sizeof *e);
    e->dialect = d;
    e->auth = d->auth;
    e->price = (endpoint_price){NAN, NAN, NAN, NAN};
    e->limits = default_limits;
    e->stream = true;
    e->max_in_flight = DEFAULT_IN_FLIGHT;
}

/* Every entry is checked, also those that are not asked: a typing error should not wait for its day. `base` becomes
 * the URL of the one that `at` names, by name or by address; NULL if there is none. */
static kw_code search_file(const json *file, const char *path, const char *at, endpoint *e, char **base, kw_error *err)
{
    static const char *const keys[] = {"endpoints", NULL};
    const dialect *d = e->dialect;
    kw_code code = json_check_keys(file, keys, path, err);
    const json *all = json_get(file, "endpoints");
    if (code == KW_OK && json_kind_of(all) != JSON_OBJECT)
        code = kw_error_set(err, KW_BAD_INPUT, "%s: endpoints: an object is wanted", path);
    for (const json *j = code == KW_OK ? json_first(all) : NULL; j && code == KW_OK; j = json_next(j)) {
        char where[256];
        const char *url = NULL;
        endpoint this_one;
        set_defaults(d, &this_one);
        snprintf(where, sizeof where, "%.120s: endpoints.%.80s", path, json_key(j));
        code = json_get_string(j, "url", where, &url, err);
        if (code == KW_OK)
            code = check_url(url, where, err);
        if (code == KW_OK)
            code = read_endpoint(j, where, &this_one, err);
        char *asked = endpoint_url(at, d->path), *own = endpoint_url(url ? url : "", d->path);
        if (code == KW_OK && !*base && (strcmp(json_key(j), at) == 0 || strcmp(asked, own) == 0)) {
            code = read_dialect(d, j, where, err);
            *base = mem_strdup(url);
            *e = this_one;
        } else {
            endpoint_clear(&this_one);
        }
        free(asked);
        free(own);
    }
    return code;
}

/* ---- the key ---- */

static bool is_loopback(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = strstr(url, "://");
    for (size_t i = 0; host && i < sizeof hosts / sizeof *hosts; i++) {
        size_t n = strlen(hosts[i]);
        if (strncasecmp(host + 3, hosts[i], n) == 0 && strchr(":/?", host[3 + n]))
            return true;
    }
    return false;
}

static kw_code take_key(endpoint *e, kw_error *err)
{
    const dialect *d = e->dialect;
    bool vendor = strncmp(e->url, d->base, strlen(d->base)) == 0, named = e->key_env != NULL;
    const char *variable = named ? e->key_env : d->key_env, *value = getenv(variable);
    if (e->auth == AUTH_NONE)
        return KW_OK;
    if (!value || !*value) {
        if (named || vendor)
            return kw_error_set(err, KW_ENVIRONMENT, "--llm %s: no key for %s: set the environment variable %s",
                                d->name, e->url, variable);
        return KW_OK;
    }
    for (const char *p = value; *p; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return kw_error_set(err, KW_ENVIRONMENT,
                                "--llm %s: the key in %s holds a space or a line break: take it "
                                "out",
                                d->name, variable);
    }
    if (!named && strncmp(e->url, "https:", 6) != 0 && !is_loopback(e->url)) {
        log_warn(
            "--llm %s: the key in %s is not sent to %s, which does not encrypt; name it as key_env of an endpoint to "
            "send it all the same",
            d->name, variable, e->url);
        return KW_OK;
    }
    e->key = mem_strdup(value);
    return KW_OK;
}

/* ---- all together ---- */

static void apply_options(const provider_options *o, http_limits *l)
{
    const int64_t given[] = {o->connect_ms, o->first_byte_ms, o->silence_ms, o->no_content_ms, o->total_ms};
    int64_t *const places[] = {&l->connect, &l->first_byte, &l->silence, &l->no_content, &l->total};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i] > 0)
            *places[i] = given[i];
    }
}

static kw_code unknown_endpoint(const dialect *d, const char *at, const json *file, kw_error *err)
{
    const char *names[64];
    size_t n = 0;
    for (const json *j = json_first(json_get(file, "endpoints")); j && n < sizeof names / sizeof *names;
         j = json_next(j))
        names[n++] = json_key(j);
    const char *near = json_nearest(at, names, n);
    return kw_error_set(
        err, KW_BAD_INPUT,
        "--llm %s: \"%s\" is neither an address (http://...) nor an endpoint of the configuration%s%s%s", d->name, at,
        near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static kw_code find_endpoint(const dialect *d, const char *at, const provider_options *o, endpoint *e, char **base,
                             kw_error *err)
{
    const char *path = o->config_path && *o->config_path ? o->config_path : getenv("KERNWRIGHT_LLM_CONFIG");
    json *file = NULL;
    kw_code code = KW_OK;
    if (path && *path) {
        file = json_parse_file(path, err);
        code = file ? search_file(file, path, at ? at : d->name, e, base, err) : KW_BAD_INPUT;
    }
    if (code == KW_OK && !*base && at && strstr(at, "://")) {
        *base = mem_strdup(at);
        code = check_url(at, "--llm", err);
    } else if (code == KW_OK && !*base && at) {
        code = unknown_endpoint(d, at, file, err);
    } else if (code == KW_OK && !*base) {
        *base = mem_strdup(d->base);
    }
    json_free(file);
    return code;
}

kw_code endpoint_open(const dialect *d, const char *rest, const provider_options *o, endpoint *out, kw_error *err)
{
    char *base = NULL;
    const char *at = strrchr(rest, '@');
    size_t n = at ? (size_t)(at - rest) : strlen(rest);
    set_defaults(d, out);
    if (n == 0)
        return kw_error_set(err, KW_BAD_INPUT, "--llm %s: name a model behind the colon", d->name);
    /* The "@" of a password in an address is not the one: the address is refused, not misread. */
    const char *scheme = strstr(rest, "@http");
    if (scheme && strstr(scheme, "://")) {
        at = scheme;
        n = (size_t)(at - rest);
    }
    kw_code code = find_endpoint(d, at ? at + 1 : NULL, o, out, &base, err);
    if (code == KW_OK) {
        out->model = mem_strndup(rest, n);
        out->url = endpoint_url(base, d->path);
        apply_options(o, &out->limits);
        code = take_key(out, err);
    }
    if (code == KW_OK && isfinite(o->temperature) && json_get(out->extra, "top_p"))
        log_warn("--llm %s: both a temperature and top_p will be sent; some models refuse the two together", d->name);
    free(base);
    if (code != KW_OK)
        endpoint_clear(out);
    return code;
}

double endpoint_cost(const endpoint_price *p, const llm_usage *u)
{
    double read = isfinite(p->cache_read) ? p->cache_read : p->input;
    double write = isfinite(p->cache_write) ? p->cache_write : p->input;
    if (u->input < 0 || u->output < 0)
        return NAN;
    double sum = (double)u->input * p->input + (double)u->output * p->output;
    if (u->cache_read > 0)
        sum += (double)u->cache_read * read;
    if (u->cache_write > 0)
        sum += (double)u->cache_write * write;
    return sum / 1e6;
}
