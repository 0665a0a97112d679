#include "llm/http.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/mem.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LOOK_MS 100          /* how often limits and Ctrl-C are looked at */
#define HELP_NS 500000000LL  /* for a request that is not sent yet */
#define AWAY_NS 1000000000LL /* between two calls of http_poll: somebody did something else */

struct http_transfer {
    http *owner;
    CURL *easy;
    struct curl_slist *headers;
    http_request q;                           /* of its pointers, only body_part and user are used */
    int64_t started, last_byte, last_content; /* ns */
    int64_t away;                             /* ns since the start in which nobody polled */
    bool wanted_end, begun;
    char error[CURL_ERROR_SIZE];
    http_result result;
};

struct http {
    CURLM *multi;
    http_transfer **all;
    size_t n, capacity;
    int64_t left; /* when http_poll returned last; 0: never */
};

kw_code http_open(http **out, kw_error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return kw_error_set(err, KW_ENVIRONMENT, "libcurl cannot be initialised");
    CURLM *multi = curl_multi_init();
    if (!multi) {
        curl_global_cleanup();
        return kw_error_set(err, KW_ENVIRONMENT, "libcurl has no memory");
    }
    *out = mem_calloc(1, sizeof **out);
    (*out)->multi = multi;
    return KW_OK;
}

static void end_transfer(http_transfer *t)
{
    http *h = t->owner;
    if (t->begun)
        curl_multi_remove_handle(h->multi, t->easy);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    for (size_t i = 0; i < h->n; i++) {
        if (h->all[i] == t) {
            memmove(h->all + i, h->all + i + 1, (--h->n - i) * sizeof *h->all);
            break;
        }
    }
    free(t);
}

void http_close(http *h)
{
    if (!h)
        return;
    while (h->n > 0)
        end_transfer(h->all[h->n - 1]);
    curl_multi_cleanup(h->multi);
    curl_global_cleanup();
    free(h->all);
    free(h);
}

size_t http_in_flight(const http *h)
{
    return h->n;
}

int64_t http_date(const char *text)
{
    time_t t = curl_getdate(text, NULL);
    return t == (time_t)-1 ? -1 : (int64_t)t;
}

/* Where systems keep their trusted certificates; libcurl knows only the place of the system that it was built for,
 * which need not be this one. */
static const char *system_ca(void)
{
    static const char *const places[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (access(places[i], R_OK) == 0)
            return places[i];
    }
    return NULL;
}

/* The command-line tool reads these variables, the library does not. */
const char *http_ca_file(const char *configured, const char **from)
{
    static const char *const names[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    *from = "ca_file";
    if (configured && *configured)
        return configured;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        *from = names[i];
        if (value && *value)
            return value;
    }
    *from = "the system's";
    return system_ca();
}

/* "NAME: VALUE" into `out` if the line is of this name. */
static void take_header(const char *line, size_t n, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);
    if (n <= length || strncasecmp(line, name, length) != 0 || line[length] != ':')
        return;
    const char *at = line + length + 1, *end = line + n;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && strchr(" \t\r\n", end[-1]))
        end--;
    snprintf(out, size, "%.*s", (int)(end - at), at);
}

static size_t on_header(char *line, size_t size, size_t count, void *user)
{
    http_transfer *t = user;
    http_result *r = &t->result;
    size_t n = size * count;
    if (n > 5 && strncmp(line, "HTTP/", 5) == 0) /* the final answer behind a 100 or a proxy's own */
        r->content_type[0] = r->retry_after_ms[0] = r->retry_after[0] = r->date[0] = r->location[0] = 0;
    take_header(line, n, "content-type", r->content_type, sizeof r->content_type);
    take_header(line, n, "retry-after-ms", r->retry_after_ms, sizeof r->retry_after_ms);
    take_header(line, n, "retry-after", r->retry_after, sizeof r->retry_after);
    take_header(line, n, "date", r->date, sizeof r->date);
    take_header(line, n, "location", r->location, sizeof r->location);
    return n;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    http_transfer *t = user;
    size_t n = size * count;
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    t->last_byte = clock_now_ns();
    t->result.bytes += n;
    if (t->q.body_part(t->q.user, (int)status, t->result.content_type, bytes, n))
        return n;
    t->wanted_end = true;
    return 0;
}

void http_content_came(http_transfer *t)
{
    t->last_content = clock_now_ns();
}

static long version_of(const http_request *q)
{
    switch (q->version) {
    case HTTP_1_1:
        return CURL_HTTP_VERSION_1_1;
    case HTTP_2:
        return strncmp(q->url, "https:", 6) == 0 ? CURL_HTTP_VERSION_2_0 : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
    case HTTP_ANY:
        break;
    }
    return CURL_HTTP_VERSION_NONE;
}

static void set_protocols(CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* closing does not wait for a name server */
#endif
}

/* CURLOPT_NOSIGNAL stays off: with it libcurl would leave SIGPIPE to us. Proxies come from the environment by
 * themselves. Redirections are not followed: they would carry the key to another host. */
static void set_options(http_transfer *t, const http_request *q)
{
    CURL *e = t->easy;
    const char *from, *ca = http_ca_file(q->ca_file, &from);
    curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    curl_easy_setopt(e, CURLOPT_URL, q->url);
    set_protocols(e);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->length);
    curl_easy_setopt(e, CURLOPT_COPYPOSTFIELDS, q->body);
    curl_easy_setopt(e, CURLOPT_USERAGENT, "kernwright/" KERNWRIGHT_VERSION);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, version_of(q));
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)q->limits.connect);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, q->fresh ? 1L : 0L);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    if (ca) {
        curl_easy_setopt(e, CURLOPT_CAINFO, ca);
        curl_easy_setopt(e, CURLOPT_PROXY_CAINFO, ca);
    }
}

http_transfer *http_start(http *h, const http_request *q)
{
    http_transfer *t = mem_calloc(1, sizeof *t);
    t->owner = h;
    t->q = *q;
    t->result.user = q->user;
    t->started = t->last_content = clock_now_ns();
    t->easy = curl_easy_init();
    h->all = mem_grow(h->all, &h->capacity, h->n + 1, sizeof(http_transfer *));
    h->all[h->n++] = t;
    if (!t->easy)
        return t;
    t->headers = curl_slist_append(NULL, "Expect:"); /* no waiting for 100 Continue */
    t->headers = curl_slist_append(t->headers, "Content-Type: application/json");
    for (size_t i = 0; q->headers && q->headers[i]; i++)
        t->headers = curl_slist_append(t->headers, q->headers[i]);
    set_options(t, q);
    t->q.url = t->q.body = t->q.ca_file = NULL;
    t->q.headers = NULL;
    t->begun = curl_multi_add_handle(h->multi, t->easy) == CURLM_OK;
    return t;
}

static http_end kind_of(CURLcode code)
{
    switch ((int)code) {
    case CURLE_OK:
        return HTTP_COMPLETE;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return HTTP_NO_NAME;
    case CURLE_COULDNT_CONNECT:
        return HTTP_REFUSED;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CACERT_BADFILE:
        return HTTP_UNTRUSTED;
    case CURLE_URL_MALFORMAT:
        return HTTP_UNUSABLE;
    case CURLE_OPERATION_TIMEDOUT:
        return HTTP_LATE;
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return HTTP_H2_RESET;
    default:
        return HTTP_BROKEN;
    }
}

static void say(http_transfer *t, CURLcode code)
{
    http_result *r = &t->result;
    if (code == CURLE_OPERATION_TIMEDOUT)
        snprintf(r->error, sizeof r->error, "no connection within %g s (timeouts.connect)",
                 (double)t->q.limits.connect / 1000);
    else
        snprintf(r->error, sizeof r->error, "%s", t->error[0] ? t->error : curl_easy_strerror(code));
}

static void finish(http_transfer *t, CURLcode code, http_result *out)
{
    http_result *r = &t->result;
    long status = 0;
    if (code == CURLE_WRITE_ERROR && t->wanted_end)
        code = CURLE_OK;
    if (t->easy)
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    r->status = (int)status;
    r->end = kind_of(code);
    if (code == CURLE_OPERATION_TIMEDOUT && t->away > 0 &&
        clock_now_ns() - t->started - t->away < t->q.limits.connect * 1000000)
        r->end = HTTP_AWAY;
    if (r->end != HTTP_COMPLETE)
        say(t, code);
    *out = *r;
    end_transfer(t);
}

static bool take_done(http *h, http_result *out)
{
    int left;
    CURLMsg *m;
    while ((m = curl_multi_info_read(h->multi, &left))) {
        http_transfer *t = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        CURLcode code = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        finish(t, code, out);
        return true;
    }
    for (size_t i = 0; i < h->n; i++) {
        if (!h->all[i]->begun) {
            finish(h->all[i], CURLE_OUT_OF_MEMORY, out);
            return true;
        }
    }
    return false;
}

static bool over(int64_t now, int64_t since, int64_t limit_ms)
{
    return limit_ms > 0 && now - since > limit_ms * 1000000;
}

/* The limit that has passed, as a message; false: none. */
static bool is_late(const http_transfer *t, int64_t now, char *out, size_t size)
{
    const http_limits *l = &t->q.limits;
    if (t->result.bytes == 0 && over(now, t->started, l->first_byte))
        snprintf(out, size, "not a byte within %g s (timeouts.first_byte)", (double)l->first_byte / 1000);
    else if (t->result.bytes > 0 && over(now, t->last_byte, l->silence))
        snprintf(out, size, "silent for %g s (timeouts.silence)", (double)l->silence / 1000);
    else if (over(now, t->last_content, l->no_content))
        snprintf(out, size, "nothing of the answer for %g s, though the server is alive (timeouts.no_content)",
                 (double)l->no_content / 1000);
    else if (over(now, t->started, l->total))
        snprintf(out, size, "not done within %g s (timeouts.total)", (double)l->total / 1000);
    else
        return false;
    return true;
}

static bool take_late(http *h, http_result *out)
{
    int64_t now = clock_now_ns();
    for (size_t i = 0; i < h->n; i++) {
        http_transfer *t = h->all[i];
        if (!is_late(t, now, t->result.error, sizeof t->result.error))
            continue;
        long status = 0;
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        t->result.status = (int)status;
        t->result.end = HTTP_LATE;
        *out = t->result;
        end_transfer(t);
        return true;
    }
    return false;
}

static void note_absence(http *h)
{
    int64_t gone = h->left ? clock_now_ns() - h->left : 0;
    for (size_t i = 0; i < h->n && gone > AWAY_NS; i++)
        h->all[i]->away += h->all[i]->started < h->left ? gone : 0;
}

/* Is there a request that has just been started and is not sent yet? */
static bool is_setting_out(const http *h)
{
    int64_t now = clock_now_ns();
    for (size_t i = 0; i < h->n; i++) {
        const http_transfer *t = h->all[i];
        curl_off_t sent = 0;
        if (!t->begun || now - t->started > HELP_NS)
            continue;
        curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        if (sent < (curl_off_t)t->q.length)
            return true;
    }
    return false;
}

static bool poll_until(http *h, int64_t until, http_result *out)
{
    for (;;) {
        int running;
        curl_multi_perform(h->multi, &running);
        if (take_done(h, out) || take_late(h, out))
            return true;
        int64_t left = (until - clock_now_ns() + 999999) / 1000000;
        if (left <= 0 && is_setting_out(h))
            left = 5;
        if (left <= 0 || interrupt_arrived())
            return false;
        curl_multi_poll(h->multi, NULL, 0, (int)(left < LOOK_MS ? left : LOOK_MS), NULL);
    }
}

bool http_poll(http *h, int64_t timeout_ms, http_result *out)
{
    note_absence(h);
    bool ended = poll_until(h, clock_now_ns() + timeout_ms * 1000000, out);
    h->left = clock_now_ns();
    return ended;
}
