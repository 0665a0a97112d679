/* One line of results text: a measurement or a variant. For results*.c only. */
#ifndef KERNWRIGHT_TUNER_RESULTS_TEXT_H
#define KERNWRIGHT_TUNER_RESULTS_TEXT_H

#include "base/error.h"
#include "base/json.h"
#include "base/strb.h"
#include "tuner/store_internal.h"

/* Lines are made by results_row_print and results_pooled_print (results_groups.h), and for variants by: */
void results_variant_print(const store_variant_row *v, strb *out);

/* `j` is the value of "measurement"; `where` ("FILE:LINE") prefixes messages. Unknown members go to m->extra. The
 * caller clears m with measurement_clear, on failure too. */
kw_code results_row_read(const json *j, const char *where, measurement *m, kw_error *err);
/* What holds between members: those that are required were seen, times go together. */
kw_code results_row_check(const measurement *m, const bool *seen, const char *where, kw_error *err);
/* `j` is the value of "variant". row->json_text is made in `text`, the other strings are borrowed from j. */
kw_code results_variant_read(const json *j, const char *where, strb *text, store_variant_row *row, kw_error *err);

#endif
