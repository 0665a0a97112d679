/* What a worker and its runner say to each other. Both are the same program on the same machine, so integers and
 * structs travel as they lie in memory. The worker believes nothing that a runner answers: lengths are checked and
 * texts are cut to their length. */
#ifndef KERNWRIGHT_DEVICE_REMOTE_WIRE_H
#define KERNWRIGHT_DEVICE_REMOTE_WIRE_H

#include "base/strb.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shared memory: a page of notes, then room for transfers. */
#define WINDOW_ROOM ((size_t)4 << 20)
#define WINDOW_START ((size_t)4096)
#define WINDOW_BYTES (WINDOW_START + WINDOW_ROOM)

typedef struct window_notes {
    int32_t is_refused; /* the runner was stopped by its sandbox */
    int32_t system_call;
    char name[32];
} window_notes;

typedef enum remote_op {
    REMOTE_OPEN,         /* spec -> device_info, alignment */
    REMOTE_ALLOC,        /* slot, bytes */
    REMOTE_VIEW,         /* slot, slot of the parent, offset, bytes; no answer */
    REMOTE_FREE,         /* slot; no answer */
    REMOTE_WRITE,        /* slot, offset, bytes: from the window */
    REMOTE_READ,         /* slot, offset, bytes: into the window */
    REMOTE_COPY,         /* slot, offset, slot, offset, bytes; no answer */
    REMOTE_FILL,         /* slot, offset, bytes, byte; no answer */
    REMOTE_BUILD,        /* slot, source, options, n, kernels -> build info, also after a failure */
    REMOTE_FREE_PROGRAM, /* slot; no answer */
    REMOTE_CHECK_ARGS,   /* slot of the program, launch */
    REMOTE_RUN,          /* slot of the program, n, launches */
    REMOTE_TIME_EVENTS,  /* slot of the program, n_launches, n_runs, sets -> ns */
    REMOTE_BINARY,       /* slot of the program -> binary, identity */
    REMOTE_TIME_BATCH    /* slot of the program, n_launches, per_batch, n_batches, sets -> ns */
} remote_op;

/* Every answer costs two changes of process, which is much on a busy machine. What went wrong with a request that has
 * none is the answer to the next one that has. */
static inline bool remote_has_answer(remote_op op)
{
    return op != REMOTE_VIEW && op != REMOTE_FREE && op != REMOTE_FREE_PROGRAM && op != REMOTE_COPY &&
           op != REMOTE_FILL;
}

#define REMOTE_MAX_REQUEST ((uint64_t)1 << 30)
#define REMOTE_MAX_ANSWER ((uint64_t)16 << 20)
#define REMOTE_MAX_LOG ((size_t)2 << 20) /* bytes of a build log that travel */
#define REMOTE_MAX_SETS 4096             /* of launches, in one timed row */

/* ---- encoding ---- */

void wire_u64(strb *s, uint64_t x);
void wire_bytes(strb *s, const void *data, size_t n); /* length and bytes */
void wire_text(strb *s, const char *text);

typedef struct wire_reader {
    const char *at;
    size_t left;
    bool bad; /* something was missing; every later read gives nothing */
} wire_reader;

uint64_t wire_get_u64(wire_reader *r);
/* Borrowed from the message; "" with n = 0 when there is none. Not NUL-terminated. */
const char *wire_get_bytes(wire_reader *r, size_t *n);
char *wire_get_text(wire_reader *r); /* caller frees; NULs inside end it */

/* Launches. Buffers travel as slot + 1, 0 for none; `slot_of` says which. */
typedef uint64_t (*wire_slot_of)(const device_buffer *b);
void wire_launch(strb *s, const device_launch *l, wire_slot_of slot_of);

/* ---- messages: a length, a word (the operation, or nothing), a body ---- */

/* false when the other side is gone. */
bool wire_send(int fd, uint64_t word, const char *body, size_t n);
bool wire_receive(int fd, uint64_t max, uint64_t *word, strb *body);

#endif
