/* Meta-prompts: the sections of the prompt that are about how to write kernels, and their evolution.
 *
 * A set of sections is worth the mean gain of its children over their parents, shrunk towards the mean of all sets: not
 * the best child ever, which would favour what is used often.
 */
#ifndef KERNWRIGHT_LLM_META_H
#define KERNWRIGHT_LLM_META_H

#include "base/json.h"
#include "base/strb.h"
#include "llm/prompt.h"

#include <stdbool.h>
#include <stdint.h>

#define META_MAX 16 /* sets that are kept; the worst gives way */

typedef struct meta meta;

meta *meta_new(uint64_t seed); /* with one set, ours */
void meta_free(meta *m);

/* Which set the next prompt uses; deterministic in (seed, ordinal, what was learnt). */
int meta_choose(const meta *m, uint64_t ordinal);
prompt_sections meta_sections(const meta *m, int id);
/* A child of this set: its gain in fitness over its parent (a failed child has that of its stage). `note` is one line
 * about what happened, kept for the next meta-prompt; failures too. */
void meta_learn(meta *m, int id, double gain, bool right, const char *note);
double meta_value(const meta *m, int id);

/* Is it time for a better set? After `every` children since the last one. */
bool meta_due(const meta *m);
/* The prompt that asks for a better set than `id` (the most used of the good ones): sections, mean gains, the latest
 * successes and failures. Returns the set that it shows. */
int meta_prompt(meta *m, strb *out);
/* Applies search/replace edits, each named by a line "SECTION: philosophy" before it, or whole sections. Returns the
 * id of the new set; -1 when nothing could be applied or it is there already; `problem` says why. */
int meta_apply(meta *m, int parent, const char *reply, strb *problem);

#endif
