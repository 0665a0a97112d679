/* The journal of a run: one JSON object a line, in the order in which things happened. docs/evolution.md lists the
 * events.
 *
 * A run that goes on, or is repeated, first follows the lines that are there: every decision is made anew and must give
 * the recorded line; only what came from outside (replies, measurements) is taken from the journal. Behind the last
 * line it goes on by itself.
 */
#ifndef KERNWRIGHT_LLM_JOURNAL_H
#define KERNWRIGHT_LLM_JOURNAL_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct journal journal;

/* path NULL: nothing is written. read_only: the file must be there and stays as it is; following only. An incomplete
 * last line (a killed run) is dropped. KW_BAD_INPUT names the first line that is no JSON object with an "event";
 * KW_FAILED: another process has it open to write. */
kw_code journal_open(const char *path, bool read_only, journal **out, kw_error *err);
void journal_close(journal *j); /* NULL is fine */

/* The event that comes next, while there are lines to follow; NULL behind the last. Borrowed until it is passed. */
const json *journal_next(const journal *j);
bool journal_following(const journal *j);
size_t journal_line(const journal *j); /* number of the next line, from 1 */
/* The next line cannot be followed: "PATH:LINE: what; what to do". Format as printf. Returns `code`. */
kw_code journal_misfit(const journal *j, kw_code code, kw_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The run has come to this event (freed here). Following: it must be the next line, member by member: KW_FAILED names
 * line, event and the first member that differs. Else it is written. KW_ENVIRONMENT when it cannot be (full disk). */
kw_code journal_event(journal *j, json *event, kw_error *err);
/* Likewise for an event whose contents come from outside: the caller has taken what it needs from journal_next. */
kw_code journal_pass(journal *j, kw_error *err);

#endif
