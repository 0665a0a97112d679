/* What changed between two texts, by lines. */
#ifndef KERNWRIGHT_LLM_LINE_DIFF_H
#define KERNWRIGHT_LLM_LINE_DIFF_H

#include "base/strb.h"

/* Appends the changed lines, "-" in front of those of `from` and "+" of those of `to`, each group below a line "@@ N"
 * with where it begins in `from`; at most about `room` bytes, then a line says how much was left out. Longest common
 * subsequence (Hunt and McIlroy 1976 have the problem; here by the plain table, so texts of more than 2000 lines give
 * a line that says so). Nothing is appended where the texts are equal. */
void line_diff(const char *from, const char *to, size_t room, strb *out);

#endif
