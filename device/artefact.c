#include "device/artefact.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct line {
    const char *text;
    size_t length;
} line;

/* The next line without blanks at both ends; false at the end. */
static bool next_line(const char **at, const char *end, line *out)
{
    if (*at >= end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    stop = stop ? stop : end;
    const char *from = *at, *to = stop;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    *out = (line){from, (size_t)(to - from)};
    *at = stop < end ? stop + 1 : end;
    return true;
}

static bool begins(line l, const char *word)
{
    size_t n = strlen(word);
    return l.length >= n && memcmp(l.text, word, n) == 0;
}

/* Does the opcode (text up to the first blank) hold this part, between dots? */
static bool has_part(line opcode, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= opcode.length; i++) {
        if (memcmp(opcode.text + i, part, n) == 0 && (i == 0 || opcode.text[i - 1] == '.') &&
            (i + n == opcode.length || opcode.text[i + n] == '.' || opcode.text[i + n] == ':'))
            return true;
    }
    return false;
}

bool artefact_is_ptx(const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    line l;
    while (next_line(&at, end, &l)) {
        if (l.length == 0 || begins(l, "//"))
            continue;
        return begins(l, ".version ");
    }
    return false;
}

/* ".shared .align 4 .b8 name[4096];" */
static int64_t declared_bytes(line l)
{
    static const struct {
        const char *type;
        int64_t bytes;
    } types[] = {{".b8", 1},  {".b16", 2}, {".b32", 4}, {".b64", 8}, {".f16", 2}, {".f32", 4}, {".f64", 8}, {".u8", 1},
                 {".u16", 2}, {".u32", 4}, {".u64", 8}, {".s8", 1},  {".s16", 2}, {".s32", 4}, {".s64", 8}, {".v4", 0}};
    const char *bracket = memchr(l.text, '[', l.length);
    int64_t n = bracket ? strtoll(bracket + 1, NULL, 10) : 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *dot = l.text;
        size_t w = strlen(types[i].type);
        for (; dot + w < l.text + l.length; dot++) {
            if (memcmp(dot, types[i].type, w) == 0 && isspace((unsigned char)dot[w]))
                return n > 0 ? n * types[i].bytes : 0;
        }
    }
    return 0;
}

static int64_t lanes_of(line opcode)
{
    return has_part(opcode, "v8") ? 8 : has_part(opcode, "v4") ? 4 : has_part(opcode, "v2") ? 2 : 1;
}

static void count_access(line op, artefact *out)
{
    int64_t lanes = lanes_of(op);
    bool load = begins(op, "ld");
    if (has_part(op, "global")) {
        *(load ? &out->global_loads : &out->global_stores) += lanes;
        /* Wide scalars (b64 holding two floats, b128) are vectors too. */
        out->vector_accesses += lanes > 1 || has_part(op, "b64") || has_part(op, "b128") || has_part(op, "u64");
    } else if (has_part(op, "shared")) {
        *(load ? &out->shared_loads : &out->shared_stores) += lanes;
    }
}

/* What the basic block has shown so far. */
typedef struct block {
    bool max, exp;
} block;

static void count_instruction(line op, artefact *out, block *b)
{
    static const char *const specials[] = {"ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"};
    out->instructions++;
    if (begins(op, "ld.") || begins(op, "st.")) {
        count_access(op, out);
    } else if (begins(op, "ldmatrix") || begins(op, "stmatrix")) {
        out->shared_loads += 4;
    } else if (begins(op, "cp.async") || begins(op, "cp.reduce.async")) {
        out->async_copies++;
    } else if (begins(op, "fma.") || begins(op, "mad.f")) {
        out->fma += has_part(op, "f16x2") || has_part(op, "bf16x2") || has_part(op, "f32x2") ? 2 : 1;
    } else if (begins(op, "mma.") || begins(op, "wmma.mma") || begins(op, "wgmma.mma")) {
        out->mma++;
    } else if (begins(op, "bar.") || begins(op, "barrier.")) {
        out->barriers++;
    } else if (begins(op, "shfl.") || begins(op, "vote.") || begins(op, "redux.") || begins(op, "match.")) {
        out->shuffles++;
    } else if ((begins(op, "atom.") || begins(op, "red.")) && !has_part(op, "shared")) {
        out->atomics++;
    } else if (begins(op, "max.f")) {
        b->max = true;
    } else {
        for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
            if (begins(op, specials[i]) && op.text[strlen(specials[i])] == '.')
                out->special++;
        }
        out->exponentials += begins(op, "ex2.");
        b->exp |= begins(op, "ex2.");
    }
    out->online |= b->max && b->exp;
}

void artefact_count_ptx(const char *text, size_t length, artefact *out)
{
    const char *at = text, *end = text + length;
    block b = {false, false};
    line l;
    memset(out, 0, sizeof *out);
    out->known = true;
    while (next_line(&at, end, &l)) {
        if (l.length == 0 || begins(l, "//"))
            continue;
        if (begins(l, ".shared ")) {
            out->shared_bytes += declared_bytes(l);
            continue;
        }
        if (begins(l, ".entry ") || begins(l, ".visible .entry ") || begins(l, ".weak .entry ")) {
            out->kernels++;
            continue;
        }
        if (l.text[l.length - 1] == ':' || l.text[0] == '$') { /* a label: the next basic block */
            b = (block){false, false};
            continue;
        }
        if (l.text[0] == '.' || l.text[l.length - 1] != ';')
            continue;
        if (l.text[0] == '@') { /* predicate */
            size_t n = 0;
            while (n < l.length && !isspace((unsigned char)l.text[n]))
                n++;
            while (n < l.length && isspace((unsigned char)l.text[n]))
                n++;
            l = (line){l.text + n, l.length - n};
        }
        line op = {l.text, 0};
        while (op.length < l.length && !isspace((unsigned char)l.text[op.length]) && l.text[op.length] != ';')
            op.length++;
        count_instruction(op, out, &b);
    }
}
