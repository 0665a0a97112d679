/* A server for tests that answers by a script, in a process of its own: the n-th request gets the n-th answer, later
 * ones the last. What it was asked can be read while it runs. */
#ifndef KERNWRIGHT_TESTS_SUPPORT_HTTP_H
#define KERNWRIGHT_TESTS_SUPPORT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum after_answer {
    THEN_CLOSE,
    THEN_RESET, /* as a crash does */
    THEN_HOLD,  /* keeps the connection and says nothing more */
    THEN_PING,  /* sends comments of the event stream until the client goes */
    THEN_FLOOD, /* sends the answer again and again until the client goes */
    THEN_KEEP,  /* the next request may come over this connection */
} after_answer;

typedef struct http_answer {
    const char *bytes; /* the whole answer, status line and all; NULL: none */
    size_t length;     /* 0: to the end of the text */
    size_t piece;      /* bytes at a time; 0: all at once */
    int pause_ms;      /* between pieces */
    after_answer then;
} http_answer;

typedef struct test_server {
    pid_t pid;
    int port;
    struct server_log *log;
    char url[64]; /* "http://127.0.0.1:PORT" */
} test_server;

/* `script` must stay until the end. Ends the test when it cannot start. */
void server_start(test_server *s, const http_answer *script, size_t n);
void server_stop(test_server *s);
size_t server_asked(const test_server *s);                  /* requests so far */
const char *server_request(const test_server *s, size_t i); /* the i-th, headers and body; "" if there is none */
/* How many answers were being given when the i-th request came, it included. */
size_t server_busy_at(const test_server *s, size_t i);

/* The texts of answers; valid until server_texts_free. */
const char *answer_plain(int status, const char *headers, const char *content_type, const char *body);
const char *answer_stream(const char *events);
void server_texts_free(void);

#endif
