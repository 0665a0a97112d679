/* KERNWRIGHT_ variables whose value is one of a few words. */
#ifndef KERNWRIGHT_TUNER_ENVIRONMENT_H
#define KERNWRIGHT_TUNER_ENVIRONMENT_H

#include "base/error.h"

/* KW_BAD_INPUT when one of them has another word: what reads it would take it for its default without a sound, and
 * times would be of another kind than was asked for. An empty one is as if unset. Asked when the program starts;
 * workers, which inherit the variables, take what they do not know for the default. */
kw_code environment_check(kw_error *err);

#endif
