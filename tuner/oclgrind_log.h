/* What the OpenCL simulator Oclgrind wrote about a run, as an outcome. Pure functions over text.
 *
 * Oclgrind (J. Price and S. McIntosh-Smith, "Oclgrind: an extensible OpenCL device simulator", IWOCL 2015) executes a
 * kernel's LLVM code and checks every access. Its log is a list of messages: a heading, then indented lines. */
#ifndef KERNWRIGHT_TUNER_OCLGRIND_LOG_H
#define KERNWRIGHT_TUNER_OCLGRIND_LOG_H

#include "base/strb.h"
#include "tuner/outcome.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum oclgrind_kind {
    OCLGRIND_ACCESS,        /* outside of every buffer or array, misaligned, or not permitted there */
    OCLGRIND_RACE,          /* two work-items at one place, one of them writing, nothing between them */
    OCLGRIND_DIVERGENCE,    /* a barrier that not all work-items of a group reach */
    OCLGRIND_UNINITIALIZED, /* what was never written decides a result, a branch or an address */
    OCLGRIND_CANNOT,        /* the simulator gave up: says nothing about the kernel */
    OCLGRIND_DOUBTFUL,      /* known to be reported of right kernels as well; counted, not judged */
    OCLGRIND_KINDS
} oclgrind_kind;

typedef struct oclgrind_findings {
    size_t n[OCLGRIND_KINDS];
    char first[OCLGRIND_KINDS][320]; /* heading, kernel, line of the source */
} oclgrind_findings;

/* Adds the messages of `text` to *out, which starts zeroed. */
void oclgrind_log_read(const char *text, size_t length, oclgrind_findings *out);

/* Takes back what cannot be held against a kernel of this text. Oclgrind 21.10 believes that element 11 of a vector of
 * 16 was never written once a shorter vector is made of it (`v.hi`, `v.odd`), as in every sum over its elements. */
void oclgrind_excuse(const char *source, oclgrind_findings *f);

/* false when nothing speaks against the kernel. Otherwise *o is out_of_bounds or nondeterministic (a race, a divergent
 * barrier, a value that was never written), or launch_error when the simulator gave up; `detail` gets one line. The
 * gravest kind decides: what lies outside is also never written. */
bool oclgrind_judge(const oclgrind_findings *f, outcome *o, strb *detail);

#endif
