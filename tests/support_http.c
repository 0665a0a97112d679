#include "support_http.h"

#include "base/mem.h"
#include "base/strb.h"
#include "support_limits.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_REQUESTS 64
#define MAX_REQUEST 8192 /* bytes kept of each */
#define PING_MS 5

/* Shared with the server and its connections. */
struct server_log {
    atomic_size_t asked, busy;
    size_t busy_at[MAX_REQUESTS];
    char text[MAX_REQUESTS][MAX_REQUEST];
};

/* ---- texts ---- */

static char *texts[64];
static size_t n_texts;

static const char *keep(strb *text)
{
    assert_true(n_texts < sizeof texts / sizeof *texts);
    texts[n_texts] = strb_take(text);
    return texts[n_texts++];
}

const char *answer_plain(int status, const char *headers, const char *content_type, const char *body)
{
    strb text = STRB_INIT;
    strb_printf(&text, "HTTP/1.1 %d Said\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n%s", status, content_type,
                strlen(body), headers, body);
    return keep(&text);
}

const char *answer_stream(const char *events)
{
    strb text = STRB_INIT;
    strb_printf(&text, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n%s", events);
    return keep(&text);
}

void server_texts_free(void)
{
    while (n_texts > 0)
        free(texts[--n_texts]);
}

/* ---- the server ---- */

static void nap(int ms)
{
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

static size_t body_length(const char *head)
{
    const char *field = strcasestr(head, "\r\ncontent-length:");
    return field ? strtoul(field + 17, NULL, 10) : 0;
}

/* A whole request, into `out`; false at the end of the connection. Of HTTP/2 the preface is enough. */
static bool read_request(int fd, strb *out)
{
    char chunk[65536];
    for (;;) {
        const char *text = strb_text(out), *end = strstr(text, "\r\n\r\n");
        if (strncmp(text, "PRI * HTTP/2", 12) == 0 && end)
            return true;
        if (end && out->length >= (size_t)(end - text) + 4 + body_length(text))
            return true;
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n <= 0)
            return false;
        strb_add_n(out, chunk, (size_t)n);
    }
}

static bool send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Busy until the last piece: what the client does when it has that is none of this answer. */
static bool send_answer(int fd, const http_answer *a, struct server_log *log)
{
    bool counted = true;
    size_t sent = 0;
    size_t length = a->length ? a->length : a->bytes ? strlen(a->bytes) : 0, piece = a->piece ? a->piece : length;
    for (size_t at = 0; at < length; at += piece) {
        size_t n = length - at < piece ? length - at : piece;
        if (at + n == length && counted) {
            atomic_fetch_sub(&log->busy, 1);
            counted = false;
        }
        if (!send_all(fd, a->bytes + at, n))
            break;
        if (a->pause_ms)
            nap(a->pause_ms);
        sent = at + n;
    }
    if (counted)
        atomic_fetch_sub(&log->busy, 1);
    return sent == length;
}

static void wait_for_client(int fd)
{
    char byte;
    while (read(fd, &byte, 1) > 0)
        ;
}

/* Bytes that lie unread in the client's socket; -1: nobody can tell (no /proc, or the client is gone). */
static int unread_by_client(int fd)
{
    struct sockaddr_in own, peer;
    socklen_t size = sizeof own;
    char line[256];
    unsigned local, remote, local_port, remote_port, state, to_send, unread;
    int found = -1;
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0 || getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
        return -1;
    FILE *f = fopen("/proc/net/tcp", "r");
    while (f && found < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "%*d: %x:%x %x:%x %x %x:%x", &local, &local_port, &remote, &remote_port, &state, &to_send,
                   &unread) == 7 &&
            local_port == ntohs(peer.sin_port) && remote_port == ntohs(own.sin_port))
            found = (int)unread;
    if (f)
        fclose(f);
    return found;
}

/* A reset throws away what the client has not read yet: first it reads all of it. */
static void reset_connection(int fd)
{
    const struct linger at_once = {1, 0};
    int on_the_way = 0;
    for (int i = 0; i < TEST_PATIENCE_MS / 10; i++) {
        if ((ioctl(fd, SIOCOUTQ, &on_the_way) != 0 || on_the_way == 0) && unread_by_client(fd) <= 0)
            break;
        nap(10);
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* true: the next request over the same connection. */
static bool after(int fd, const http_answer *a)
{
    switch (a->then) {
    case THEN_KEEP:
        return true;
    case THEN_HOLD:
        wait_for_client(fd);
        break;
    case THEN_PING:
        while (send_all(fd, ": ping\n\n", 8))
            nap(PING_MS);
        break;
    case THEN_FLOOD: {
        const char *body = strstr(a->bytes, "\r\n\r\n") + 4;
        while (send_all(fd, body, strlen(body)))
            ;
        break;
    }
    case THEN_RESET:
        reset_connection(fd);
        break;
    case THEN_CLOSE:
        break;
    }
    return false;
}

static void serve(int fd, struct server_log *log, const http_answer *script, size_t n)
{
    strb request = STRB_INIT;
    while (read_request(fd, &request)) {
        size_t i = atomic_fetch_add(&log->asked, 1), busy = atomic_fetch_add(&log->busy, 1) + 1;
        if (i < MAX_REQUESTS)
            log->busy_at[i] = busy;
        if (i < MAX_REQUESTS)
            snprintf(log->text[i], MAX_REQUEST, "%s", strb_text(&request));
        strb_reset(&request);
        const http_answer *a = &script[i < n ? i : n - 1];
        if (!send_answer(fd, a, log) || !after(fd, a))
            break;
    }
    close(fd);
}

static void accept_all(int listener, struct server_log *log, const http_answer *script, size_t n)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            _exit(1);
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(listener);
            serve(fd, log, script, n);
            _exit(0);
        }
        close(fd);
    }
}

void server_start(test_server *s, const http_answer *script, size_t n)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 64), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    s->port = ntohs(address.sin_port);
    s->log = mmap(NULL, sizeof *s->log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s->log != MAP_FAILED);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", s->port);
    fflush(NULL);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0)
        accept_all(listener, s->log, script, n);
    close(listener);
}

void server_stop(test_server *s)
{
    kill(s->pid, SIGKILL); /* its connections end with it */
    waitpid(s->pid, NULL, 0);
    munmap(s->log, sizeof *s->log);
}

size_t server_asked(const test_server *s)
{
    return atomic_load(&s->log->asked);
}

const char *server_request(const test_server *s, size_t i)
{
    return i < MAX_REQUESTS ? s->log->text[i] : "";
}

size_t server_busy_at(const test_server *s, size_t i)
{
    return i < MAX_REQUESTS ? s->log->busy_at[i] : 0;
}
