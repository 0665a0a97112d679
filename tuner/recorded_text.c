/* The text of a recorded space: unpacked, and its format told by its content. */
#include "tuner/recorded_internal.h"

#include "base/fs.h"

#include <string.h>
#include <zlib.h>

#define MAX_BYTES ((size_t)1 << 30)
#define GZIP_WINDOW (15 + 16) /* the largest, with a gzip header */

/* ---- gzip ---- */

static const char no_text[] = "a NUL byte in it: this is no text";

/* All members of the file, one after the other. Returns NULL or what is wrong. */
static const char *unpack(z_stream *z, strb *out)
{
    static const char cut[] = "the gzip data end early: the file was cut off; get it again";
    unsigned char block[1 << 16];
    int state = Z_OK;
    while (state != Z_STREAM_END || z->avail_in > 0) {
        if (state == Z_STREAM_END && inflateReset(z) != Z_OK)
            return "the gzip data are damaged";
        z->next_out = block;
        z->avail_out = sizeof block;
        state = inflate(z, Z_NO_FLUSH);
        if (state == Z_MEM_ERROR)
            return "no memory to unpack it";
        if (state == Z_BUF_ERROR)
            return cut;
        if (state != Z_OK && state != Z_STREAM_END)
            return "the gzip data are damaged; get the file again";
        strb_add_n(out, (const char *)block, sizeof block - z->avail_out);
        if (memchr(block, '\0', sizeof block - z->avail_out)) /* at once: zeros pack a thousand to one */
            return no_text;
        if (out->length > MAX_BYTES)
            return "it unpacks to more than 1 GiB";
        if (state == Z_OK && z->avail_in == 0 && z->avail_out > 0)
            return cut;
    }
    return NULL;
}

kw_code recorded_unpack(strb *text, const char *name, kw_error *err)
{
    if (text->length < 2 || memcmp(text->data, "\x1f\x8b", 2) != 0)
        return text->length > 0 && memchr(text->data, '\0', text->length)
                   ? kw_error_set(err, KW_BAD_INPUT, "%s: %s", name, no_text)
                   : KW_OK;
    z_stream z;
    memset(&z, 0, sizeof z);
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return kw_error_set(err, KW_ENVIRONMENT, "%s: zlib does not start", name);
    strb plain = STRB_INIT;
    z.next_in = (unsigned char *)text->data;
    z.avail_in = (unsigned)text->length;
    const char *fault = unpack(&z, &plain);
    inflateEnd(&z);
    strb_clear(text);
    *text = plain;
    return fault ? kw_error_set(err, KW_BAD_INPUT, "%s: %s", name, fault) : KW_OK;
}

kw_code recorded_load(const char *path, strb *out, kw_error *err)
{
    kw_code code = fs_read(path, MAX_BYTES, out, err);
    return code == KW_OK ? recorded_unpack(out, path, err) : code;
}

/* ---- the format ---- */

static const char *end_of_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at : end;
}

typedef struct outermost {
    unsigned found; /* a bit per name of interest */
    size_t n;
} outermost;

static const char *const names_of_interest[] = {
    "tune_params_keys", "cache",      "results",       "schema_version",     "metadata", "Results",
    "Metadata",         "kernwright", "kernel_family", "ConfigurationSpace", "launches", "clblast_device_name"};
enum {
    IS_KEYS,
    IS_CACHE,
    IS_RESULTS,
    IS_SCHEMA,
    IS_METADATA,
    IS_KTT_RESULTS,
    IS_KTT_METADATA,
    IS_OWN,
    IS_FAMILY,
    IS_T1,
    IS_LAUNCHES,
    IS_CLBLAST_DEVICE,
    N_NAMES
};

static void note_member(outermost *o, const char *name, size_t length)
{
    o->n++;
    for (int i = 0; i < N_NAMES; i++)
        if (strlen(names_of_interest[i]) == length && memcmp(names_of_interest[i], name, length) == 0)
            o->found |= 1u << i;
}

/* The names of the members of the outermost object. Forgiving: faults are found, and named, by the reader. */
static outermost scan_members(const char *text, const char *end)
{
    outermost o = {0};
    int depth = 0;
    bool at_name = false;
    for (const char *at = text; at < end; at++) {
        if (*at == '"') {
            const char *close = end_of_string(at, end);
            if (depth == 1 && at_name)
                note_member(&o, at + 1, (size_t)(close - at - 1));
            at_name = false;
            at = close;
        } else if (*at == '{' || *at == '[') {
            depth++;
            at_name = *at == '{';
        } else if (*at == '}' || *at == ']') {
            if (--depth <= 0)
                break;
        } else if (*at == ',') {
            at_name = true;
        }
    }
    return o;
}

static bool has(const outermost *o, int name)
{
    return (o->found >> name & 1u) != 0;
}

recorded_format recorded_format_of(const char *text, size_t length, const char **other)
{
    const char *end = text + length;
    while (text < end && strchr(" \t\r\n", *text))
        text++;
    *other = "no JSON";
    if (text == end || *text != '{') {
        *other = text == end ? "empty" : *text == '[' ? "a JSON array" : *other;
        return RECORDED_UNKNOWN;
    }
    outermost o = scan_members(text, end);
    if (has(&o, IS_OWN))
        return RECORDED_RESULTS;
    if (has(&o, IS_KEYS) || has(&o, IS_CACHE))
        return RECORDED_KERNEL_TUNER;
    if (has(&o, IS_KTT_RESULTS) || has(&o, IS_KTT_METADATA))
        return RECORDED_KTT;
    if (has(&o, IS_FAMILY) || has(&o, IS_CLBLAST_DEVICE))
        return RECORDED_CLBLAST;
    if (has(&o, IS_RESULTS))
        return RECORDED_T4;
    *other = has(&o, IS_T1)         ? "a T1 problem, which holds no measurements"
             : has(&o, IS_LAUNCHES) ? "a template, which holds no measurements"
                                    : "JSON of another kind";
    return RECORDED_UNKNOWN;
}

void recorded_mend_numbers(char *text, size_t length)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    const char *end = text + length;
    for (char *at = text; at < end; at++) {
        if (*at == '"')
            at += end_of_string(at, end) - at;
        for (size_t i = 0; i < 3 && at < end && strchr("NI-", *at) != NULL; i++) {
            size_t n = strlen(words[i]);
            if ((size_t)(end - at) >= n && memcmp(at, words[i], n) == 0) {
                memset(at, ' ', n);
                *at = '0';
            }
        }
    }
}
