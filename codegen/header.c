/* The dispatch-header writer: checks the model, then puts the sections together. docs/header.md is the contract. */
/* First: its parameters must not be taken for names of ours. */
#include "codegen/runtime/select.h"

#include "base/hash.h"
#include "codegen/header_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BITS 0x7fffffff /* of a header's identity, so that the preprocessor compares it as an int */

/* ---- checks ---- */

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does the text contain a name that is `name` or begins with `name` and an underscore? */
static bool text_uses(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = strstr(text, name); p; p = strstr(p + 1, name))
        if ((p == text || !is_word_char(p[-1])) && (p[n] == '_' || !is_word_char(p[n])))
            return true;
    return false;
}

/* Names of the task must not be names of the shared part: a task "device" would define kw_device. */
static kw_code check_names(const writer *w, kw_error *err)
{
    const char *const *const texts[] = {header_shared_select, header_shared_tree, header_shared_device_key_body,
                                        header_shared_device_key_query, header_shared_launch};
    const header_model *m = w->m;
    if (!header_is_identifier(w->low))
        return kw_error_set(err, KW_BAD_INPUT,
                            "prefix \"%s\" makes no C name: use letters, digits and _, not a digit first", m->prefix);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (const char *const *p = texts[i]; *p; p++)
            if (text_uses(*p, w->low) || text_uses(*p, w->up))
                return kw_error_set(err, KW_BAD_INPUT,
                                    "names that begin with \"%s_\" belong to the shared part of dispatch "
                                    "headers: choose another prefix for task \"%s\"",
                                    w->low, m->task->name);
    return KW_OK;
}

/* Scalars and tensors are parameters of one function: their names must differ. */
static kw_code check_parameters(const writer *w, kw_error *err)
{
    const task *t = w->m->task;
    const char *names[2 * TASK_MAX_TENSORS + TASK_MAX_SCALARS];
    char *offsets[TASK_MAX_TENSORS];
    size_t n = 0;
    kw_code code = KW_OK;
    for (size_t i = 0; i < t->n_tensors; i++) {
        strb s = STRB_INIT;
        strb_printf(&s, "%s_offset", t->tensors[i].name);
        names[n++] = w->tensor_names[i];
        names[n++] = offsets[i] = strb_take(&s);
    }
    for (size_t i = 0; i < t->n_scalars; i++)
        names[n++] = w->scalar_names[i];
    for (size_t i = 0; i < n && code == KW_OK; i++)
        for (size_t k = 0; k < i && code == KW_OK; k++)
            if (strcmp(names[i], names[k]) == 0)
                code = kw_error_set(err, KW_BAD_INPUT,
                                    "task %s: two parameters of the emitted function would be called \"%s\": "
                                    "rename a tensor or scalar",
                                    t->name, names[i]);
    for (size_t i = 0; i < t->n_tensors; i++)
        free(offsets[i]);
    return code;
}

static kw_code check_devices(const header_model *m, kw_error *err)
{
    kw_device a, b;
    if (m->n_devices > UINT16_MAX)
        return kw_error_set(err, KW_BAD_INPUT, "%zu devices: a header has at most 65,535", m->n_devices);
    for (size_t i = 0; i < m->n_devices; i++) {
        const header_device *d = &m->devices[i];
        if (kw_device_from_key(&a, d->key, NULL) != KW_SUCCESS)
            return kw_error_set(err, KW_BAD_INPUT, "device key \"%s\" is not vendor/arch/name/units", d->key);
        if (d->default_variant < -1 || d->default_variant >= (int)m->n_variants)
            return kw_error_set(err, KW_BAD_INPUT, "device %s: default variant %d of %zu", d->key, d->default_variant,
                                m->n_variants);
        for (size_t k = 0; k < i; k++) {
            (void)kw_device_from_key(&b, m->devices[k].key, NULL);
            if (a.key_hash == b.key_hash)
                return kw_error_set(err, KW_BAD_INPUT, "device %s is there twice", d->key);
        }
    }
    return KW_OK;
}

static kw_code check_variants(const header_model *m, kw_error *err)
{
    if (m->n_variants == 0 || m->n_variants > UINT16_MAX)
        return kw_error_set(err, KW_BAD_INPUT, "%zu variants: a header has 1 to 65,535", m->n_variants);
    if (m->default_variant < 0 || m->default_variant >= (int)m->n_variants)
        return kw_error_set(err, KW_BAD_INPUT, "default variant %d of %zu", m->default_variant, m->n_variants);
    for (size_t i = 0; i < m->n_variants; i++) {
        const variant *v = m->variants[i];
        if (v->lang != LANGUAGE_OPENCL)
            return kw_error_set(err, KW_BAD_INPUT, "variant %zu of %s is in %s: a dispatch header launches OpenCL only",
                                i, v->template_name, language_name(v->lang));
        for (size_t k = 0; k < m->task->n_types; k++)
            if (v->types.of[k] != m->types.of[k])
                return kw_error_set(err, KW_BAD_INPUT, "variant %zu of %s has other element types than the header", i,
                                    v->template_name);
    }
    for (size_t i = 0; i < m->n_rows; i++)
        if (!isfinite(m->rows[i].expected_regret) || m->rows[i].expected_regret < 0)
            return kw_error_set(err, KW_BAD_INPUT, "row %zu: expected regret is not a number of at least 0", i);
    return KW_OK;
}

/* ---- the writer's memory ---- */

static char *upper(const char *text)
{
    char *s = mem_strdup(text);
    for (char *p = s; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return s;
}

static void writer_init(writer *w, const header_model *m)
{
    const task *t = m->task;
    strb low = STRB_INIT;
    memset(w, 0, sizeof *w);
    w->m = m;
    strb_printf(&low, "%s%s", m->prefix, t->name);
    w->low = strb_take(&low);
    w->up = upper(w->low);
    for (size_t i = 0; i < t->n_dims; i++) {
        w->dim_names[i] = header_c_name(t->dims[i].name);
        w->has_fallbacks = w->has_fallbacks || t->dims[i].fallback;
        w->has_other_dims = w->has_other_dims || !t->dims[i].is_key;
    }
    for (size_t i = 0; i < t->n_tensors; i++)
        w->tensor_names[i] = header_c_name(t->tensors[i].name);
    for (size_t i = 0; i < t->n_scalars; i++)
        w->scalar_names[i] = header_c_name(t->scalars[i].name);
}

static void writer_clear(writer *w)
{
    for (size_t i = 0; i < TASK_MAX_DIMS; i++)
        free(w->dim_names[i]);
    for (size_t i = 0; i < TASK_MAX_TENSORS; i++)
        free(w->tensor_names[i]);
    for (size_t i = 0; i < TASK_MAX_SCALARS; i++)
        free(w->scalar_names[i]);
    for (size_t i = 0; w->variants && i < w->m->n_variants; i++)
        free(w->variants[i].name);
    for (size_t i = 0; i < w->n_forms; i++)
        free(w->forms[i].text);
    free(w->variants);
    free(w->forms);
    free(w->constants);
    free(w->pieces);
    free(w->piece_lengths);
    free(w->piece_list);
    free(w->piece_index);
    free(w->rows);
    free(w->low);
    free(w->up);
    strb_clear(&w->out);
}

/* ---- sections ---- */

static void put_provenance(const writer *w, strb *out)
{
    const header_model *m = w->m;
    strb types = STRB_INIT;
    task_types_print(m->task, &m->types, &types);
    strb_printf(out, "/* Dispatch of task %s for %s. Generated by Kernwright ", m->task->name, strb_text(&types));
    header_put_comment(out, m->tool_version ? m->tool_version : "");
    strb_printf(out, ": do not edit.\n *\n * ");
    header_put_comment(out, m->task->doc ? m->task->doc : "");
    strb_printf(out, "\n *\n * Devices: %zu; rows of the exact layer: %zu.\n", m->n_devices, m->n_rows);
    for (size_t i = 0; i < m->n_devices; i++) {
        strb_printf(out, " *   %zu  ", i);
        header_put_comment(out, m->devices[i].key);
        if (m->devices[i].provenance && *m->devices[i].provenance) {
            strb_add(out, ": ");
            header_put_comment(out, m->devices[i].provenance);
        }
        strb_add(out, "\n");
    }
    for (size_t i = 0; i < m->n_binaries; i++) {
        strb_printf(out, " * Binary of variant %d, %zu bytes, for ", m->binaries[i].variant, m->binaries[i].size);
        header_put_comment(out, m->binaries[i].identity);
        strb_add(out, "\n");
    }
    strb_printf(out, " * Variants: %zu; %d serves every shape that nothing else serves.\n", m->n_variants,
                m->default_variant);
    for (size_t i = 0; i < m->n_variants; i++) {
        strb_printf(out, " *   %zu  ", i);
        header_put_comment(out, w->variants[i].name);
        if (m->variant_notes && m->variant_notes[i] && *m->variant_notes[i]) {
            strb_add(out, ": ");
            header_put_comment(out, m->variant_notes[i]);
        }
        strb_add(out, "\n");
    }
    strb_add(out, " */\n");
    strb_clear(&types);
}

static void put_text(strb *out, const char *const *pieces)
{
    for (; *pieces; pieces++)
        strb_add(out, *pieces);
    strb_add(out, "\n");
}

static void put_shared(strb *out)
{
    strb_add(out, "\n/* ---- shared by all dispatch headers ---- */\n\n");
    put_text(out, header_shared_select);
    put_text(out, header_shared_tree);
    expr_c_prelude("kw_", out);
    strb_add(out, "\n#ifndef KW_NO_LAUNCH\n");
    put_text(out, header_shared_device_key_body);
    put_text(out, header_shared_device_key_query);
    put_text(out, header_shared_launch);
    strb_add(out, "#endif /* KW_NO_LAUNCH */\n");
}

/* The two parts of the task behind guards of their own, so that a file may be included first without and then with
 * launching. `select_end` is where the first part ends in w->out. */
static void put_parts(const writer *w, size_t select_end, strb *out)
{
    const unsigned id = (unsigned)(hash_u64(w->out.data, w->out.length, 0) & GUARD_BITS);
    header_put_f(
        w, out,
        "\n/* ---- task %s ---- */\n\n#if defined(^_H) && ^_H != 0x%08x\n"
        "#error \"two different headers define the names %s_...: emit one of them with another --prefix\"\n#endif\n"
        "#ifndef ^_H\n#define ^_H 0x%08x\n\n",
        w->m->task->name, id, w->low, id);
    strb_add_n(out, w->out.data, select_end);
    header_put(w, out,
               "#endif /* ^_H */\n\n#if !defined(KW_NO_LAUNCH) && !defined(^_LAUNCH_H)\n#define ^_LAUNCH_H\n\n");
    strb_add_n(out, w->out.data + select_end, w->out.length - select_end);
    header_put(w, out, "#endif /* ^_LAUNCH_H */\n");
}

/* A program may have globals called queue or shape before it includes the header, and be compiled with -Wshadow. */
static const char quiet[] =
    "\n#if defined(__GNUC__)\n#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wshadow\"\n#endif\n";
static const char loud[] = "\n#if defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n";

static kw_code write_task(writer *w, size_t *select_end, kw_error *err)
{
    kw_code code = check_names(w, err);
    if (code == KW_OK)
        code = check_parameters(w, err);
    if (code == KW_OK)
        code = check_variants(w->m, err);
    if (code == KW_OK)
        code = check_devices(w->m, err);
    if (code == KW_OK)
        code = header_check_binaries(w->m, err);
    if (code == KW_OK)
        code = header_check_trees(w, err);
    if (code == KW_OK)
        code = header_make_forms(w, err);
    if (code == KW_OK)
        code = header_sort_rows(w, err);
    if (code == KW_OK)
        code = header_put_select(w, err);
    *select_end = w->out.length;
    return code == KW_OK ? header_put_launch(w, err) : code;
}

static kw_code write_header(const header_model *m, strb *out, strb *sources, kw_error *err)
{
    writer w;
    size_t select_end = 0;
    writer_init(&w, m);
    w.sources = sources;
    kw_code code = write_task(&w, &select_end, err);
    if (code == KW_OK) {
        put_provenance(&w, out);
        strb_add(out, quiet);
        put_shared(out);
        put_parts(&w, select_end, out);
        strb_add(out, loud);
    } else {
        kw_error_prefix(err, "header of task %s", m->task->name);
    }
    writer_clear(&w);
    return code;
}

kw_code header_write(const header_model *m, strb *out, kw_error *err)
{
    return write_header(m, out, NULL, err);
}

kw_code header_write_split(const header_model *m, strb *out, strb *sources, kw_error *err)
{
    return write_header(m, out, sources, err);
}

size_t header_text_bytes(const header_model *m)
{
    writer w;
    size_t bytes = 0;
    writer_init(&w, m);
    for (size_t i = 0; i < m->n_variants; i++)
        header_add_pieces(&w, m->variants[i]->source);
    for (size_t i = 0; i < w.n_pieces; i++)
        bytes += w.piece_lengths[i];
    writer_clear(&w);
    return bytes;
}
