/* Requests over HTTP: several at once, their answers read as they come, without threads. Only this module's files know
 * libcurl.
 */
#ifndef KERNWRIGHT_LLM_HTTP_H
#define KERNWRIGHT_LLM_HTTP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http http; /* the requests in flight and the connections kept for the next */
typedef struct http_transfer http_transfer;

/* All in ms; 0: no limit. */
typedef struct http_limits {
    int64_t connect;    /* name, TCP and TLS */
    int64_t first_byte; /* from the start to the first byte of the body */
    int64_t silence;    /* between bytes of the body */
    int64_t no_content; /* since the start, or since http_content_came was last called */
    int64_t total;
} http_limits;

typedef enum http_version {
    HTTP_ANY,
    HTTP_1_1,
    HTTP_2
} http_version; /* HTTP_2: without asking first, also without TLS */

typedef struct http_request {
    const char *url;
    const char *const *headers; /* "Name: value"; NULL at the end */
    const char *body;           /* POST, as JSON */
    size_t length;
    const char *ca_file; /* of origin and proxy; NULL: $CURL_CA_BUNDLE, $SSL_CERT_FILE, else the system's */
    http_version version;
    bool fresh; /* on a new connection */
    http_limits limits;
    /* A part of the body, `status` and the content type ("" if there is none) being known. false: read no further,
     * which counts as an end in order. */
    bool (*body_part)(void *user, int status, const char *content_type, const char *bytes, size_t n);
    void *user;
} http_request;

typedef enum http_end {
    HTTP_COMPLETE,  /* all of the body, or as much as was wanted */
    HTTP_BROKEN,    /* the connection broke, closed early, or was reset */
    HTTP_H2_RESET,  /* the same, as a fault of HTTP/2 */
    HTTP_REFUSED,   /* nobody listens, unreachable */
    HTTP_NO_NAME,   /* the name of the host or of the proxy is not known */
    HTTP_UNTRUSTED, /* the certificate does not hold, or no file of trusted ones can be read: final */
    HTTP_LATE,      /* one of the limits */
    HTTP_AWAY,      /* no connection, but nobody called http_poll for most of that time */
    HTTP_UNUSABLE   /* the URL cannot be used at all */
} http_end;

typedef struct http_result {
    void *user; /* the request's */
    http_end end;
    int status;      /* 0: none came */
    size_t bytes;    /* of the body */
    char error[512]; /* what happened, unless HTTP_COMPLETE; for HTTP_LATE it names the limit */
    char content_type[128];
    char retry_after_ms[64], retry_after[64], date[64]; /* headers; "" if absent */
    char location[512];                                 /* where a redirection leads; "" */
} http_result;

/* KW_ENVIRONMENT if libcurl cannot be used. */
kw_code http_open(http **out, kw_error *err);
/* Ends what is in flight, without waiting for anybody. NULL is fine. */
void http_close(http *h);
/* Copies what it keeps. NULL never. A connection that was kept and has died is replaced at once (libcurl does). A
 * request that cannot even be begun gives a result at the next http_poll. */
http_transfer *http_start(http *h, const http_request *q);
/* Content came: the limit without content begins anew. To be called within body_part. */
void http_content_came(http_transfer *t);
/* Lets everything progress for at most `timeout_ms`; true when a request ended. A request that has just been started is
 * helped on its way for up to half a second all the same: a connection takes several steps, and the next call
 * may be long in coming while a kernel is being tuned. */
bool http_poll(http *h, int64_t timeout_ms, http_result *out);
size_t http_in_flight(const http *h);

/* The file of trusted certificates that is used, and where its name comes from; NULL: whatever libcurl was built
 * with. */
const char *http_ca_file(const char *configured, const char **from);
/* Seconds since 1970 of a date in one of HTTP's forms; -1 if it is none. */
int64_t http_date(const char *text);

#endif
