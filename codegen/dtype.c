#include "codegen/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct type_facts {
    const char *name;
    size_t bytes;
    bool is_float, is_signed;
    int digits;            /* bits of magnitude that are all exact */
    const char *scalar[2]; /* by language */
    const char *vector[2]; /* stem of vector types */
    const char *suffix[2]; /* of literals; NULL: written as a cast */
} type_facts;

static const type_facts facts[] = {
    [DTYPE_NONE] = {"none", 0, false, false, 0, {"", ""}, {"", ""}, {NULL, NULL}},
    [DTYPE_F16] = {"f16", 2, true, true, 11, {"half", "__half"}, {"half", "__half"}, {NULL, NULL}},
    [DTYPE_F32] = {"f32", 4, true, true, 24, {"float", "float"}, {"float", "float"}, {"f", "f"}},
    [DTYPE_F64] = {"f64", 8, true, true, 53, {"double", "double"}, {"double", "double"}, {"", ""}},
    [DTYPE_I8] = {"i8", 1, false, true, 7, {"char", "signed char"}, {"char", "char"}, {NULL, NULL}},
    [DTYPE_U8] = {"u8", 1, false, false, 8, {"uchar", "unsigned char"}, {"uchar", "uchar"}, {NULL, NULL}},
    [DTYPE_I16] = {"i16", 2, false, true, 15, {"short", "short"}, {"short", "short"}, {NULL, NULL}},
    [DTYPE_U16] = {"u16", 2, false, false, 16, {"ushort", "unsigned short"}, {"ushort", "ushort"}, {NULL, NULL}},
    [DTYPE_I32] = {"i32", 4, false, true, 31, {"int", "int"}, {"int", "int"}, {"", ""}},
    [DTYPE_U32] = {"u32", 4, false, false, 32, {"uint", "unsigned int"}, {"uint", "uint"}, {"u", "u"}},
    [DTYPE_I64] = {"i64", 8, false, true, 63, {"long", "long long"}, {"long", "longlong"}, {"L", "LL"}},
    [DTYPE_U64] = {"u64", 8, false, false, 64, {"ulong", "unsigned long long"}, {"ulong", "ulonglong"}, {"UL", "ULL"}},
};

enum { N_TYPES = sizeof facts / sizeof *facts };

static const char *const language_names[] = {[LANGUAGE_OPENCL] = "opencl", [LANGUAGE_CUDA] = "cuda"};

static const type_facts *facts_of(dtype t)
{
    return &facts[(unsigned)t < N_TYPES ? t : DTYPE_NONE];
}

dtype dtype_from_name(const char *name)
{
    for (int t = DTYPE_NONE + 1; name && t < N_TYPES; t++) {
        if (strcmp(name, facts[t].name) == 0)
            return (dtype)t;
    }
    return DTYPE_NONE;
}

const char *dtype_name(dtype t)
{
    return facts_of(t)->name;
}

size_t dtype_bytes(dtype t)
{
    return facts_of(t)->bytes;
}

bool dtype_is_float(dtype t)
{
    return facts_of(t)->is_float;
}

double dtype_epsilon(dtype t)
{
    return dtype_is_float(t) ? ldexp(1, 1 - facts_of(t)->digits) : 0;
}

double dtype_max_exact_int(dtype t)
{
    const type_facts *f = facts_of(t);
    if (f->is_float)
        return ldexp(1, f->digits);
    /* Elements travel as doubles, so that 64-bit integers are exact up to 2^53 only. */
    return f->digits > 53 ? 0x1p53 : ldexp(1, f->digits) - 1;
}

static double half_to_double(uint16_t h)
{
    int exponent = h >> 10 & 31;
    int fraction = h & 1023;
    double magnitude;
    if (exponent == 31)
        magnitude = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, -24);
    else
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return h >> 15 ? -magnitude : magnitude;
}

/* In one rounding, to nearest even: scaled so that one unit in the last place of the half is 1. */
static uint16_t half_from_double(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double magnitude = fabs(x);
    if (isnan(x))
        return sign | 0x7e00;
    if (magnitude >= 65520) /* halfway between the largest half and 2^16 */
        return sign | 0x7c00;
    int exponent;
    frexp(magnitude, &exponent);
    if (magnitude < 0x1p-14)
        exponent = -13;                                          /* subnormal or zero: fixed unit of 2^-24 */
    int units = (int)nearbyint(ldexp(magnitude, 11 - exponent)); /* up to 2048: carries into the exponent */
    return sign | (uint16_t)(units + ((exponent + 13) << 10));
}

double dtype_load(dtype t, const void *base, size_t index)
{
    const unsigned char *p = (const unsigned char *)base + index * dtype_bytes(t);
    union {
        uint16_t h;
        float f;
        double d;
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
    } u;
    memset(&u, 0, sizeof u);
    memcpy(&u, p, dtype_bytes(t));
    switch (t) {
    case DTYPE_F16:
        return half_to_double(u.h);
    case DTYPE_F32:
        return (double)u.f;
    case DTYPE_F64:
        return u.d;
    case DTYPE_I8:
        return u.i8;
    case DTYPE_U8:
        return u.u8;
    case DTYPE_I16:
        return u.i16;
    case DTYPE_U16:
        return u.u16;
    case DTYPE_I32:
        return u.i32;
    case DTYPE_U32:
        return u.u32;
    case DTYPE_I64:
        return (double)u.i64;
    case DTYPE_U64:
        return (double)u.u64;
    case DTYPE_NONE:
        break;
    }
    return 0;
}

/* Bits of the nearest integer of the type, in two's complement; saturates, and NaN is 0. */
static uint64_t nearest_integer(const type_facts *f, double x)
{
    double r = nearbyint(x);
    double above = ldexp(1, f->digits); /* first value that does not fit */
    if (isnan(r))
        return 0;
    if (r >= above)
        return f->digits == 64 ? UINT64_MAX : ((uint64_t)1 << f->digits) - 1;
    if (!f->is_signed)
        return r <= 0 ? 0 : (uint64_t)r;
    if (r < -above)
        return ~(((uint64_t)1 << f->digits) - 1);
    return (uint64_t)(int64_t)r;
}

void dtype_store(dtype t, void *base, size_t index, double x)
{
    const type_facts *f = facts_of(t);
    unsigned char *p = (unsigned char *)base + index * f->bytes;
    if (t == DTYPE_F16) {
        uint16_t h = half_from_double(x);
        memcpy(p, &h, sizeof h);
    } else if (t == DTYPE_F32) {
        float single = (float)x;
        memcpy(p, &single, sizeof single);
    } else if (t == DTYPE_F64) {
        memcpy(p, &x, sizeof x);
    } else {
        uint64_t bits = nearest_integer(f, x);
        uint32_t b32 = (uint32_t)bits;
        uint16_t b16 = (uint16_t)bits;
        uint8_t b8 = (uint8_t)bits;
        const void *from = f->bytes == 8   ? (void *)&bits
                           : f->bytes == 4 ? (void *)&b32
                           : f->bytes == 2 ? (void *)&b16
                                           : (void *)&b8;
        memcpy(p, from, f->bytes);
    }
}

/* ---- languages ---- */

bool language_from_name(const char *name, language *out)
{
    for (int i = 0; name && i < (int)(sizeof language_names / sizeof *language_names); i++) {
        if (strcmp(name, language_names[i]) == 0) {
            *out = (language)i;
            return true;
        }
    }
    return false;
}

const char *language_name(language lang)
{
    return language_names[lang];
}

const char *language_type(language lang, dtype t)
{
    return facts_of(t)->scalar[lang];
}

static bool has_vector(language lang, dtype t, int64_t n)
{
    if (lang == LANGUAGE_OPENCL)
        return n == 2 || n == 3 || n == 4 || n == 8 || n == 16;
    return n == 2 || (t != DTYPE_F16 && (n == 3 || n == 4));
}

kw_code language_vector(language lang, dtype t, int64_t n, strb *out, kw_error *err)
{
    if (n == 1) {
        strb_add(out, language_type(lang, t));
        return KW_OK;
    }
    if (!has_vector(lang, t, n))
        return kw_error_set(err, KW_BAD_INPUT, "%s has no vector of %lld %s", language_name(lang), (long long)n,
                            dtype_name(t));
    strb_printf(out, "%s%lld", facts_of(t)->vector[lang], (long long)n);
    return KW_OK;
}

static double largest_finite(dtype t)
{
    return t == DTYPE_F16 ? 65504 : t == DTYPE_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
}

static kw_code does_not_fit(dtype t, value x, kw_error *err)
{
    strb text = STRB_INIT;
    value_print(x, &text);
    kw_code code = kw_error_set(err, KW_BAD_INPUT, "%s does not fit the type %s", strb_text(&text), dtype_name(t));
    strb_clear(&text);
    return code;
}

static kw_code float_literal(language lang, dtype t, value x, strb *out, kw_error *err)
{
    double real = x.kind == VALUE_REAL ? x.as.real : x.kind == VALUE_INT ? (double)x.as.integer : x.as.boolean;
    if (!(fabs(real) <= largest_finite(t)))
        return does_not_fit(t, x, err);
    bool negative = signbit(real);
    const char *suffix = facts_of(t)->suffix[lang];
    strb_add(out, negative ? "(" : "");
    if (!suffix) /* half has no portable literal; through float, because double may be missing */
        strb_printf(out, "(%s)", language_type(lang, t));
    value_print(value_real(real), out);
    strb_add(out, suffix ? suffix : "f");
    strb_add(out, negative ? ")" : "");
    return KW_OK;
}

static kw_code integer_literal(language lang, dtype t, value x, strb *out, kw_error *err)
{
    const type_facts *f = facts_of(t);
    if (x.kind == VALUE_REAL)
        return does_not_fit(t, x, err);
    int64_t i = x.kind == VALUE_INT ? x.as.integer : x.as.boolean;
    int64_t largest = f->digits >= 63 ? INT64_MAX : ((int64_t)1 << f->digits) - 1;
    int64_t least = f->is_signed ? -largest - 1 : 0;
    if (i < least || i > largest)
        return does_not_fit(t, x, err);
    const char *suffix = f->suffix[lang];
    const char *tail = suffix ? suffix : "";
    if (!suffix)
        strb_printf(out, i < 0 ? "((%s)%lld)" : "(%s)%lld", language_type(lang, t), (long long)i);
    else if (i == least && i < 0) /* -2147483648 is not a literal in C but a negated one that does not fit */
        strb_printf(out, "(-%lld%s - 1)", (long long)largest, tail);
    else
        strb_printf(out, i < 0 ? "(%lld%s)" : "%lld%s", (long long)i, tail);
    return KW_OK;
}

kw_code language_literal(language lang, dtype t, value x, strb *out, kw_error *err)
{
    if (!value_is_number(x))
        return kw_error_set(err, KW_BAD_INPUT, "a literal needs a number, not %s", value_kind_name(x.kind));
    return dtype_is_float(t) ? float_literal(lang, t, x, out, err) : integer_literal(lang, t, x, out, err);
}
