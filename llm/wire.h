/* What comes over the wire, whatever the dialect: the pieces of a reply and the errors. Internal to the HTTP
 * provider. */
#ifndef KERNWRIGHT_LLM_WIRE_H
#define KERNWRIGHT_LLM_WIRE_H

#include "base/json.h"
#include "base/strb.h"
#include "llm/exchange.h"

#include <stdbool.h>
#include <stdint.h>

/* A failure as the server told it, in any of the shapes that are about. */
typedef struct wire_error {
    bool is_set;
    int status; /* of HTTP, or the code in the body of a 200; 0 */
    char type[64], code[64], param[64];
    char message[600]; /* one line, bounded, nothing unprintable */
} wire_error;

/* What a failure means for what is sent next. */
typedef enum wire_verdict {
    WIRE_RETRY,       /* later */
    WIRE_RATE,        /* later, and fewer at once */
    WIRE_LOADING,     /* the server loads its model: wait for it */
    WIRE_OVERFLOW,    /* the prompt is too long for the model */
    WIRE_BAD_REQUEST, /* this request never, others may */
    WIRE_STOP         /* none will: key, quota, model, address */
} wire_verdict;

/* A reply that is being read. */
typedef struct wire_reply {
    strb text, thinking;
    char *finish, *model; /* owned */
    llm_usage usage;      /* as last reported, normalised */
    bool refused;         /* the server's own word for "will not answer" */
    bool complete;        /* a finish reason or the terminal event was seen */
    bool terminal;        /* nothing follows that matters */
    bool content_came;    /* since the flag was last taken: text or thinking */
    bool too_long;        /* more than WIRE_MAX_TEXT */
    wire_error error;
} wire_reply;

#define WIRE_MAX_TEXT ((size_t)16 << 20)

void wire_reply_init(wire_reply *r);
void wire_reply_clear(wire_reply *r);
void wire_add_text(wire_reply *r, const json *text);     /* anything but a string is ignored */
void wire_add_thinking(wire_reply *r, const json *text); /* the same */
void wire_set(char **place, const json *text);           /* replaces, if it is a string that is not empty */
void wire_count(int64_t *place, const json *number);     /* replaces, if it is an integer that is not negative */

/* What a server's word for the end means; an unknown one is an end in order. */
typedef enum wire_finish { WIRE_DONE, WIRE_LENGTH, WIRE_REFUSED, WIRE_BROKEN } wire_finish;
wire_finish wire_finish_of(const char *word);

/* JSON of a server: bytes that are no characters, \u0000, half surrogates and integers over 2^53 are made harmless
 * before the strict reader sees the text. NULL: no JSON even so. */
json *wire_parse(const char *text, size_t length);

/* Takes the error out of a body of a failed request, or out of a body or event of a successful one: "error" an object
 * or a text, {"object":"error","message"}, {"detail"}, {"message"}, {"type":"error"}; `j` may be an array of one
 * (Gemini). false: there is none, and `out` is as it was. */
bool wire_error_of_json(const json *j, bool failed, wire_error *out);
/* The same from text of any kind; always leaves a message: the first line of text, or the size. */
void wire_error_of_body(const char *body, size_t length, const char *content_type, int status, wire_error *out);
/* `wait_ms`: what the server asks to wait, -1 if it does not say. */
wire_verdict wire_judge(const wire_error *e, int64_t wait_ms);
/* Does the server refuse the field of this name as such (not its value)? */
bool wire_refuses_field(const wire_error *e, const char *field);
/* Does the chat template know no system messages, or want turns to alternate? */
bool wire_refuses_system(const wire_error *e);

#endif
