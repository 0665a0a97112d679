/* Encoding of requests and answers. */
#include "device/remote_wire.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void wire_u64(strb *s, uint64_t x)
{
    char bytes[sizeof x];
    memcpy(bytes, &x, sizeof x);
    strb_add_n(s, bytes, sizeof x);
}

void wire_bytes(strb *s, const void *data, size_t n)
{
    wire_u64(s, n);
    if (n > 0)
        strb_add_n(s, data, n);
}

void wire_text(strb *s, const char *text)
{
    wire_bytes(s, text, strlen(text));
}

uint64_t wire_get_u64(wire_reader *r)
{
    uint64_t x = 0;
    if (r->bad || r->left < sizeof x) {
        r->bad = true;
        return 0;
    }
    memcpy(&x, r->at, sizeof x);
    r->at += sizeof x;
    r->left -= sizeof x;
    return x;
}

const char *wire_get_bytes(wire_reader *r, size_t *n)
{
    uint64_t length = wire_get_u64(r);
    *n = 0;
    if (r->bad || length > r->left) {
        r->bad = true;
        return "";
    }
    const char *data = r->at;
    r->at += length;
    r->left -= (size_t)length;
    *n = (size_t)length;
    return data;
}

char *wire_get_text(wire_reader *r)
{
    size_t n;
    const char *text = wire_get_bytes(r, &n);
    return mem_strndup(text, n);
}

void wire_launch(strb *s, const device_launch *l, wire_slot_of slot_of)
{
    wire_text(s, l->kernel);
    wire_u64(s, l->rank);
    wire_u64(s, l->fenced);
    for (size_t i = 0; i < 3; i++) {
        wire_u64(s, l->local[i]);
        wire_u64(s, l->groups[i]);
    }
    wire_u64(s, l->n_args);
    for (size_t i = 0; i < l->n_args; i++) {
        const device_arg *a = &l->args[i];
        wire_u64(s, a->kind);
        wire_u64(s, a->kind == DEVICE_ARG_BUFFER && a->buffer ? slot_of(a->buffer) + 1 : 0);
        wire_bytes(s, a->bytes, sizeof a->bytes);
        wire_u64(s, a->n);
        wire_u64(s, (uint64_t)a->type);
    }
}

/* ---- messages ---- */

static bool send_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        data += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, char *data, size_t n)
{
    while (n > 0) {
        ssize_t got = recv(fd, data, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        data += got;
        n -= (size_t)got;
    }
    return true;
}

bool wire_send(int fd, uint64_t word, const char *body, size_t n)
{
    const uint64_t head[2] = {n, word};
    char bytes[sizeof head];
    memcpy(bytes, head, sizeof head);
    return send_all(fd, bytes, sizeof bytes) && send_all(fd, body, n);
}

bool wire_receive(int fd, uint64_t max, uint64_t *word, strb *body)
{
    uint64_t head[2];
    char bytes[sizeof head], chunk[65536];
    strb_reset(body);
    if (!receive_all(fd, bytes, sizeof bytes))
        return false;
    memcpy(head, bytes, sizeof head);
    if (head[0] > max)
        return false;
    *word = head[1];
    for (uint64_t left = head[0]; left > 0;) {
        size_t n = left < sizeof chunk ? (size_t)left : sizeof chunk;
        if (!receive_all(fd, chunk, n))
            return false;
        strb_add_n(body, chunk, n);
        left -= n;
    }
    return true;
}
