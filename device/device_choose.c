/* Which of the listed devices is meant. */
#include "device/device.h"

#include "base/strb.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "0 opencl:0:0 NAME, 1 ...": what there is, for messages. */
static void add_devices(strb *out, const device_info *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strb_printf(out, "%s%zu = %s \"%s\"", i ? ", " : "", i, list[i].spec, list[i].name);
}

/* `what` and then the list. */
static kw_code refuse(const char *what, const device_info *list, size_t n, kw_error *err)
{
    strb text = STRB_INIT;
    strb_printf(&text, "%s; there %s: ", what, n == 1 ? "is one device" : "are");
    add_devices(&text, list, n);
    kw_error_set(err, KW_BAD_INPUT, "%s", strb_text(&text));
    strb_clear(&text);
    return KW_BAD_INPUT;
}

static bool contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return false;
}

static bool matches_whole(const device_info *d, const char *wanted)
{
    return strcasecmp(d->name, wanted) == 0 || strcasecmp(d->key, wanted) == 0;
}

static bool matches_part(const device_info *d, const char *wanted)
{
    return contains(d->name, wanted) || contains(d->platform, wanted) || contains(d->key, wanted);
}

/* Number of devices that match; *index is the first of them. */
static size_t count_matches(const device_info *list, size_t n, const char *wanted,
                            bool (*match)(const device_info *, const char *), size_t *index)
{
    size_t found = 0;
    for (size_t i = n; i-- > 0;)
        if (match(&list[i], wanted)) {
            *index = i;
            found++;
        }
    return found;
}

static bool is_number(const char *text)
{
    if (!*text || strlen(text) > 6)
        return false;
    for (; *text; text++)
        if (!isdigit((unsigned char)*text))
            return false;
    return true;
}

/* Has it the form of a spec: "opencl:0:1", "fake:7"? */
static bool is_spec(const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon || colon == text || !colon[1])
        return false;
    for (const char *p = colon; *p; p++)
        if (*p != ':' && !isdigit((unsigned char)*p))
            return false;
    return true;
}

static kw_code choose_named(const device_info *list, size_t n, const char *wanted, size_t *index, kw_error *err)
{
    char what[256];
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].spec, wanted) == 0) {
            *index = i;
            return KW_OK;
        }
    if (is_number(wanted)) {
        *index = (size_t)strtoul(wanted, NULL, 10);
        if (*index < n)
            return KW_OK;
        snprintf(what, sizeof what, "device index %s is out of range", wanted);
        return refuse(what, list, n, err);
    }
    if (is_spec(wanted)) {
        snprintf(what, sizeof what, "there is no device %.80s", wanted);
        return refuse(what, list, n, err);
    }
    size_t found = count_matches(list, n, wanted, matches_whole, index);
    if (found == 0)
        found = count_matches(list, n, wanted, matches_part, index);
    if (found == 1)
        return KW_OK;
    snprintf(what, sizeof what, "\"%.80s\" %s", wanted,
             found ? "fits more than one device" : "is part of no device's name");
    return refuse(what, list, n, err);
}

static size_t choose_default(const device_info *list, size_t n)
{
    for (int simulated = 0; simulated < 2; simulated++) {
        for (size_t i = 0; i < n; i++)
            if (list[i].limits.is_gpu && list[i].simulated == (simulated != 0))
                return i;
        for (size_t i = 0; i < n; i++)
            if (list[i].limits.is_cpu && list[i].simulated == (simulated != 0))
                return i;
    }
    return 0;
}

kw_code device_choose(const device_info *list, size_t n, const char *wanted, size_t *index, kw_error *err)
{
    const char *variable = getenv("KERNWRIGHT_DEVICE");
    bool from_variable = (!wanted || !*wanted) && variable && *variable;
    *index = 0;
    if (n == 0)
        return kw_error_set(err, KW_ENVIRONMENT,
                            "there is no device: install a GPU driver with OpenCL, or PoCL for the CPU "
                            "(apt-get install pocl-opencl-icd); `kernwright doctor` says what was tried");
    if (from_variable)
        wanted = variable;
    if (!wanted || !*wanted) {
        *index = choose_default(list, n);
        return KW_OK;
    }
    kw_code code = choose_named(list, n, wanted, index, err);
    return code != KW_OK && from_variable ? kw_error_prefix(err, "KERNWRIGHT_DEVICE") : code;
}
