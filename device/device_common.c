/* What every back end needs: failing in one line, checking argument lists, comparing memory, reading event times. */
#include "device/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kw_code device_fail(device *d, device_fault fault, kw_error *err, kw_code code, const char *format, ...)
{
    char text[1600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    d->fault = fault;
    if (fault == DEVICE_FAULT_LOST)
        d->lost = true;
    return kw_error_set(err, code, "%s", text);
}

double device_event_ns(uint64_t start, uint64_t end)
{
    int64_t elapsed = (int64_t)(end - start);
    return elapsed > 0 ? (double)elapsed : 0.0;
}

/* ---- argument lists ---- */

dtype device_type_of_name(const char *name)
{
    static const struct {
        const char *name;
        dtype type;
    } table[] = {
        {"half", DTYPE_F16},         {"float", DTYPE_F32},          {"double", DTYPE_F64},       {"char", DTYPE_I8},
        {"signed char", DTYPE_I8},   {"uchar", DTYPE_U8},           {"unsigned char", DTYPE_U8}, {"short", DTYPE_I16},
        {"ushort", DTYPE_U16},       {"unsigned short", DTYPE_U16}, {"int", DTYPE_I32},          {"uint", DTYPE_U32},
        {"unsigned int", DTYPE_U32}, {"unsigned", DTYPE_U32},       {"long", DTYPE_I64},         {"ulong", DTYPE_U64},
        {"unsigned long", DTYPE_U64}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].type;
    return DTYPE_NONE;
}

static const char *kind_text(int kind)
{
    return kind == DEVICE_ARG_BUFFER ? "a buffer" : kind == DEVICE_ARG_LOCAL ? "local memory" : "a value";
}

static kw_code check_param(device *d, const device_launch *l, size_t i, const device_param *p, kw_error *err)
{
    const device_arg *a = &l->args[i];
    const char *open = p->name[0] ? " (" : "", *close = p->name[0] ? ")" : "";
    if (p->kind >= 0 && p->kind != (int)a->kind)
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                           "kernel \"%s\", argument %zu%s%s%s: the kernel declares %s (%s), the launch gives %s",
                           l->kernel, i + 1, open, p->name, close, kind_text(p->kind), p->type,
                           kind_text((int)a->kind));
    if (a->kind == DEVICE_ARG_LOCAL && a->n == 0)
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                           "kernel \"%s\", argument %zu%s%s%s: 0 bytes of local memory", l->kernel, i + 1, open,
                           p->name, close);
    dtype declared = device_type_of_name(p->type);
    if (a->kind != DEVICE_ARG_BYTES || declared == DTYPE_NONE)
        return KW_OK;
    if (a->type != DTYPE_NONE && a->type != declared)
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                           "kernel \"%s\", argument %zu%s%s%s: the kernel declares %s (%s), the launch gives %s",
                           l->kernel, i + 1, open, p->name, close, p->type, dtype_name(declared), dtype_name(a->type));
    if (a->n != dtype_bytes(declared))
        return device_fail(
            d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
            "kernel \"%s\", argument %zu%s%s%s: the kernel declares %s (%zu bytes), the launch gives %zu bytes",
            l->kernel, i + 1, open, p->name, close, p->type, dtype_bytes(declared), a->n);
    return KW_OK;
}

kw_code device_check_params(device *d, const device_launch *l, const device_param *params, size_t n_params,
                            kw_error *err)
{
    if (l->n_args != n_params)
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_BAD_INPUT,
                           "kernel \"%s\" takes %zu argument%s, the launch gives %zu", l->kernel, n_params,
                           n_params == 1 ? "" : "s", l->n_args);
    for (size_t i = 0; i < n_params; i++) {
        kw_code code = check_param(d, l, i, &params[i], err);
        if (code != KW_OK)
            return code;
    }
    return KW_OK;
}

/* ---- comparing ---- */

#define COMPARE_BLOCK 4096

/* Counts differing words of a block that is known to differ. */
static void compare_block(const unsigned char *a, const unsigned char *b, size_t bytes, uint64_t at, uint64_t *n,
                          uint64_t *first)
{
    for (size_t i = 0; i < bytes; i += 4) {
        size_t length = bytes - i < 4 ? bytes - i : 4;
        if (memcmp(a + i, b + i, length) == 0)
            continue;
        if (*n == 0)
            *first = at + i;
        ++*n;
    }
}

void device_compare_memory(const void *a, const void *b, size_t bytes, uint64_t base, uint64_t *n_different,
                           uint64_t *first)
{
    const unsigned char *pa = a, *pb = b;
    for (size_t i = 0; i < bytes; i += COMPARE_BLOCK) {
        size_t length = bytes - i < COMPARE_BLOCK ? bytes - i : COMPARE_BLOCK;
        if (memcmp(pa + i, pb + i, length) != 0)
            compare_block(pa + i, pb + i, length, base + i, n_different, first);
    }
}
