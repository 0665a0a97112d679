/* Values of the expression language, and element types.
 *
 * A value is small and passed by copy. Strings and list items are borrowed: they live in the arena that made them
 * (the expression's, the template's, or the scratch arena handed to expr_eval).
 */
#ifndef KERNWRIGHT_CODEGEN_VALUE_H
#define KERNWRIGHT_CODEGEN_VALUE_H

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element types of tensors and scalars. Names in files: "f32", "i32", ... */
typedef enum dtype {
    DTYPE_NONE,
    DTYPE_F16,
    DTYPE_F32,
    DTYPE_F64,
    DTYPE_I8,
    DTYPE_U8,
    DTYPE_I16,
    DTYPE_U16,
    DTYPE_I32,
    DTYPE_U32,
    DTYPE_I64,
    DTYPE_U64
} dtype;

dtype dtype_from_name(const char *name); /* DTYPE_NONE if unknown */
const char *dtype_name(dtype t);         /* "f32" */
size_t dtype_bytes(dtype t);
bool dtype_is_float(dtype t);
double dtype_epsilon(dtype t);       /* unit in the last place of 1: 2^-23 for f32; 0 for integers */
double dtype_max_exact_int(dtype t); /* largest integer up to which all integers are exact: 2^24 for f32 */
/* Host memory to double and back (round to nearest even; f16 by software). */
double dtype_load(dtype t, const void *base, size_t index);
void dtype_store(dtype t, void *base, size_t index, double x);

/* A kernel language: how types and literals are written in it. */
typedef enum language { LANGUAGE_OPENCL, LANGUAGE_CUDA } language;
bool language_from_name(const char *name, language *out); /* "opencl", "cuda" */
const char *language_name(language lang);
const char *language_type(language lang, dtype t); /* "float", "half" / "__half" */
/* Appends the vector type of n elements ("float4"; n = 1: the scalar type) or the text of a literal of that type
 * ("1.0f", "(half)1.0f"; negative ones in parentheses). KW_BAD_INPUT if the language has no such vector, or the type
 * cannot hold the number. */
kw_code language_vector(language lang, dtype t, int64_t n, strb *out, kw_error *err);

typedef enum value_kind {
    VALUE_NONE, /* not known */
    VALUE_BOOL,
    VALUE_INT,
    VALUE_REAL,
    VALUE_STRING,
    VALUE_LIST,
    VALUE_TYPE
} value_kind;

typedef struct value {
    value_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string;
        dtype type;
        struct {
            const struct value *items;
            size_t n;
        } list;
    } as;
} value;

/* x is a boolean, an integer or a real. */
kw_code language_literal(language lang, dtype t, value x, strb *out, kw_error *err);

value value_none(void);
value value_bool(bool b);
value value_int(int64_t i);
value value_real(double r);
value value_string(const char *borrowed);
value value_type(dtype t);

/* Python's == : 1 == 1.0 == true; strings and lists by content; different kinds otherwise differ. */
bool value_equal(value a, value b);
/* Number against number, exactly (no integer is rounded on the way): -1, 0, 1. Booleans count as 0 and 1. */
int value_compare_numbers(value a, value b);
bool value_is_number(value v); /* boolean, integer or real */
/* A total order for sorting and canonical text: kind first (numbers are one kind), then content. */
int value_compare(value a, value b);
const char *value_kind_name(value_kind kind); /* for messages: "integer", "text", ... */

/* Text for a person and for file names of configurations: 64, 0.5, true, "zyx" without quotes. */
void value_print(value v, strb *out);
/* The same as text of the expression language: strings quoted; reads back equal and of the same kind. */
void value_print_source(value v, strb *out);
value value_copy(value v, arena *a); /* strings and lists copied into `a` */
json *value_to_json(value v);
/* bool, integer, real, string and arrays of them; strings are copied into `a`. false for null and objects. A string of
 * digits over 2^53 is the integer that it stands for (base/json.h). */
bool value_from_json(const json *j, arena *a, value *out);
/* Reads --set text: true/false, integers, reals, otherwise a string (copied into `a`). */
value value_from_text(const char *text, arena *a);

#endif
