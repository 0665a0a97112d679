/* All lessons that there are for a task: one for each device and shape that was measured. Chooses what a search on some
 * device and shape is taught, and how much is expected of it. */
#ifndef KERNWRIGHT_TUNER_LESSONS_H
#define KERNWRIGHT_TUNER_LESSONS_H

#include "tuner/informed.h"

typedef struct lessons lessons;

/* log2_dims below: n_dims numbers, log2(1 + dim), of the key dims. */
lessons *lessons_new(size_t n_families, size_t n_dims);
void lessons_free(lessons *b);
/* A new, empty one: of this device (a device key) and shape. The caller fills it with lesson_add. */
lesson *lessons_add(lessons *b, const char *device_key, const double *log2_dims);
/* Takes one out again, and frees it; NULL is fine. Nobody may be taught by it any more. */
void lessons_remove(lessons *b, const lesson *l);
size_t lessons_count(const lessons *b);

/* Teaches x: of each device a pool of all shapes, weighted by likeness to this one, and the lessons of the shapes most
 * like it. Likeness falls with the distance of the shapes and is largest for this device, larger for others of its
 * architecture than for the rest. `except` (NULL: none) is left out: what the search will be told as its own results. x
 * must be freed before the next call and before b. Returns how many lessons, pools aside. */
size_t lessons_teach(lessons *b, const char *device_key, const double *log2_dims, const lesson *except, informed *x);
/* Which of n shapes (log2_dims, n_dims each, one after another) is searched next: the farthest from those taken, so
 * that those that come late have close lessons of their own device; the most central one to begin with. SIZE_MAX: all
 * are taken. */
size_t lessons_next_shape(const double *log2_dims, size_t n, size_t n_dims, const bool *taken);

#endif
