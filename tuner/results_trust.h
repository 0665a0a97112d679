/* Whom to believe where several people measured the same: weights, and outliers among contributors. */
#ifndef KERNWRIGHT_TUNER_RESULTS_TRUST_H
#define KERNWRIGHT_TUNER_RESULTS_TRUST_H

#include "base/error.h"
#include "tuner/store.h"

#include <stdbool.h>
#include <stddef.h>

/* Fewer contributors have no majority: two that differ are both believed. */
#define TRUST_CONTRIBUTORS 3
/* Robust z-scores over this are outliers (Iglewicz and Hoaglin 1993: median, 1.4826 times the median absolute
 * deviation). Here of logarithms of times. */
#define TRUST_DEVIATIONS 3.5
/* But nobody is one for less than this share, or three times the noise under which was measured: boards of one model
 * differ in clocks and cooling. */
#define TRUST_SHARE 0.10
/* With so many outliers on a device, and more of them than not, a contributor's other times there are not believed. */
#define TRUST_COMPANY 3

/* Who measured: the contributor, else the host; "" if neither is known. */
const char *trust_who(const measurement *m);

/* ---- weights ---- */

typedef struct trust trust;
/* Lines {"contributor":"NAME","weight":0.5}, each name once: 0 or more, 1 is what others have. KW_BAD_INPUT says
 * FILE:LINE: what. */
kw_code trust_load(const char *path, trust **out, kw_error *err);
void trust_free(trust *t);                            /* NULL is fine */
double trust_weight(const trust *t, const char *who); /* t NULL: 1 */

/* ---- outliers ---- */

typedef struct trust_verdict {
    bool judged;   /* there was a majority to compare with */
    bool rejected; /* too far from it */
    double ns;     /* what the majority says: the weighted median of the contributors' medians; 0: not judged */
} trust_verdict;

/* Rows of one identity but for the source (a results_group), in any order. Each is compared with those of the same
 * source, driver and method; those without a time and those of weight 0 are not judged, and judge nobody. */
void trust_judge(const trust *t, const measurement *const *rows, size_t n, trust_verdict *out);

#endif
