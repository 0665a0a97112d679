/* The part of a header that needs no OpenCL: types, tables, selection, workspace, plan, names. */
#include "codegen/header_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *header_scalar_type(dtype t)
{
    switch (t) {
    case DTYPE_F16:
    case DTYPE_F32:
        return "float";
    case DTYPE_F64:
        return "double";
    case DTYPE_I8:
        return "int8_t";
    case DTYPE_U8:
        return "uint8_t";
    case DTYPE_I16:
        return "int16_t";
    case DTYPE_U16:
        return "uint16_t";
    case DTYPE_I32:
        return "int32_t";
    case DTYPE_U32:
        return "uint32_t";
    case DTYPE_I64:
        return "int64_t";
    case DTYPE_U64:
        return "uint64_t";
    case DTYPE_NONE:
        break;
    }
    return "void";
}

static const char *scalar_type(const writer *w, size_t i)
{
    return header_scalar_type(task_scalar_type(w->m->task, &w->m->types, i));
}

void header_put_scalar_parameters(const writer *w, strb *out)
{
    for (size_t i = 0; i < w->m->task->n_scalars; i++)
        strb_printf(out, "%s %s, ", scalar_type(w, i), w->scalar_names[i]);
}

void header_put_scalar_values(const writer *w, strb *out)
{
    for (size_t i = 0; i < w->m->task->n_scalars; i++)
        strb_printf(out, "%s%s", i > 0 ? ", " : "", w->scalar_names[i]);
    if (w->m->task->n_scalars == 0)
        strb_add(out, "0");
}

/* ---- types ---- */

static void put_types(writer *w)
{
    const task *t = w->m->task;
    strb *out = &w->out;
    header_put(w, out, "/* Sizes of one call. */\ntypedef struct @_shape {\n");
    for (size_t i = 0; i < t->n_dims; i++)
        strb_printf(out, "    int64_t %s;%s\n", w->dim_names[i], t->dims[i].fallback ? " /* 0: its default */" : "");
    header_put(
        w, out,
        "} @_shape;\n\n"
        "/* Who runs a shape. variant -1: nobody can. expected_regret: time over the best known; 0: not known. */\n"
        "typedef struct @_choice {\n    int variant;\n    kw_layer layer;\n    kw_match device_match;\n"
        "    float expected_regret;\n} @_choice;\n\n"
        "/* The scalars of one call. */\ntypedef struct @_scalars {\n");
    for (size_t i = 0; i < t->n_scalars; i++)
        strb_printf(out, "    %s %s;\n", scalar_type(w, i), w->scalar_names[i]);
    if (t->n_scalars == 0)
        strb_add(out, "    char none;\n");
    header_put(w, out, "} @_scalars;\n\n");
}

/* ---- variants ---- */

static void put_variants(writer *w)
{
    strb *out = &w->out;
    header_put(w, out, "static const kw_variant_facts @_variants[] = {\n");
    for (size_t i = 0; i < w->m->n_variants; i++) {
        const header_variant *v = &w->variants[i];
        const char *options = w->m->variants[i]->options;
        strb_add(out, "    {");
        header_put_literal(out, v->name, strlen(v->name), "    ");
        strb_add(out, ", ");
        header_put_literal(out, options, strlen(options), "    ");
        strb_printf(out, ", %zu, %zu, %zu, %zu},\n", v->form, v->first_constant, v->first_piece, v->n_pieces);
    }
    header_put(w, out,
               "};\n\n/* The numbers of the variants, as their functions call them c[0], c[1], ... */\n"
               "static const int64_t @_constants[] = {\n");
    for (size_t i = 0; i < w->m->n_variants; i++) {
        const header_variant *v = &w->variants[i];
        for (size_t k = 0; k < v->n_constants; k++)
            strb_printf(out, "%" PRId64 ",", w->constants[v->first_constant + k]);
        strb_add(out, v->n_constants > 0 ? "\n" : "");
    }
    strb_add(out, "0};\n\n");
}

static void put_forms(writer *w)
{
    for (size_t i = 0; i < w->n_forms; i++) {
        for (const char *p = w->forms[i].text; *p; p++) {
            if (*p == FORM_MARK)
                strb_printf(&w->out, "%zu", i);
            else
                strb_add_char(&w->out, *p);
        }
        strb_add(&w->out, "\n");
    }
}

/* One function that asks the form of a variant: `call` with %zu for its number. */
static void put_switch(writer *w, const char *declaration, const char *call, const char *otherwise)
{
    strb *out = &w->out;
    header_put(w, out, declaration);
    header_put(w, out,
               "{\n    const int64_t *c = @_constants + @_variants[variant].first_constant;\n"
               "    switch (@_variants[variant].form) {\n");
    for (size_t i = 0; i < w->n_forms; i++) {
        strb_printf(out, "    case %zu: ", i);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        header_put_f(w, out, call, i);
#pragma GCC diagnostic pop
    }
    strb_printf(out, "    default: %s\n    }\n}\n\n", otherwise);
}

static void put_switches(writer *w)
{
    put_switch(w, "static inline int @_device_fits(int variant, const kw_device *d)\n", "return @_device_%zu(c, d);\n",
               "return 0;");
    put_switch(w, "static inline int @_shape_fits(int variant, const kw_device *d, const @_shape *s)\n",
               "return @_shape_%zu(c, d, s);\n", "return 0;");
    put_switch(w, "static inline void @_plan_temps(int variant, const @_shape *s, kw_plan *p)\n",
               "@_temps_%zu(c, s, p); break;\n", "p->fault = 1; break;");
    put_switch(
        w,
        "static inline void @_plan_launches(int variant, const kw_device *d, const @_shape *s, const @_scalars *x,\n"
        "    kw_plan *p)\n",
        "@_launches_%zu(c, d, s, x, p); break;\n", "p->fault = 1; break;");
}

/* ---- shapes ---- */

static kw_code put_full_shape(writer *w, kw_error *err)
{
    const task *t = w->m->task;
    const header_roles none = {false, false};
    strb *out = &w->out;
    kw_code code = KW_OK;
    header_put(
        w, out,
        "/* The shape with its defaults filled in. */\nstatic inline @_shape @_full_shape(const @_shape *shape)\n{\n"
        "    @_shape full = *shape;\n");
    if (w->has_fallbacks)
        header_put(w, out, "    @_shape *s = &full;\n    int fault = 0;\n");
    for (size_t i = 0; i < t->n_dims && code == KW_OK; i++) {
        if (!t->dims[i].fallback)
            continue;
        strb_printf(out, "    if (s->%s == 0)\n        s->%s = ", w->dim_names[i], w->dim_names[i]);
        code = header_put_expr(w, out, t->dims[i].fallback, none, EXPR_C_INT, t->dims[i].name, err);
        strb_printf(out, ";\n    if (fault)\n        s->%s = -1;\n", w->dim_names[i]);
    }
    strb_add(out, "    return full;\n}\n\n");
    return code;
}

static void put_in_range(writer *w)
{
    const task *t = w->m->task;
    strb *out = &w->out;
    header_put(w, out,
               "/* Is every dim 0 or within the task's range? */\nstatic inline int @_in_range(const @_shape *s)\n{\n  "
               "  return ");
    for (size_t i = 0; i < t->n_dims; i++) {
        const char *name = w->dim_names[i];
        strb_printf(out, "%ss->%s >= 0", i > 0 ? " && " : "", name);
        if (t->dims[i].max < INT64_MAX)
            strb_printf(out, " && s->%s <= INT64_C(%" PRId64 ")", name, t->dims[i].max);
        if (t->dims[i].min > 1)
            strb_printf(out, " && (s->%s == 0 || s->%s >= INT64_C(%" PRId64 "))", name, name, t->dims[i].min);
    }
    strb_add(out, ";\n}\n\n");
}

/* ---- selection ---- */

static const char candidate_text[] =
    "/* Candidates of a shape in the order of preference, as step counts up: forced, exact row, what the tree's leaf\n"
    " * ranks, device's default, header's default. `known` and `match` are what kw_device_match says, `s` is a full\n"
    " * shape. 1 if this step has a variant that can run it. */\n"
    "#define ^_STEP_EXACT 1\n"
    "#define ^_STEP_TREE 2\n"
    "#define ^_STEP_DEFAULT (^_STEP_TREE + KW_TREE_RANKED)\n"
    "#define ^_STEPS (^_STEP_DEFAULT + 2)\n\n"
    "static inline void @_forced(const kw_device *d, @_choice *choice)\n{\n"
    "#ifdef ^_FORCE_VARIANT\n"
    "    choice->variant = (^_FORCE_VARIANT);\n"
    "#else\n"
    "    choice->variant = d->wish_of == ^_H ? d->wish - 1 : -1;\n"
    "#endif\n"
    "    choice->layer = KW_LAYER_FORCED;\n"
    "    (void)d;\n"
    "    if (choice->variant >= ^_VARIANTS)\n"
    "        choice->variant = -1;\n"
    "}\n\n"
    "static inline int @_candidate(const kw_device *d, int known, kw_match match, const @_shape *s, int step,\n"
    "    @_choice *choice)\n{\n"
    "    choice->variant = -1;\n"
    "    choice->layer = KW_LAYER_DEFAULT;\n"
    "    choice->device_match = match;\n"
    "    choice->expected_regret = 0.0f;\n"
    "    if (!@_in_range(s))\n"
    "        return 0;\n"
    "    if (step == 0) {\n"
    "        @_forced(d, choice);\n"
    "    } else if (step == ^_STEP_EXACT) {\n"
    "        const @_row *row = known >= 0 ? @_find(@_devices[known].key_hash, s) : NULL;\n"
    "        if (row) {\n"
    "            choice->variant = (int)row->runs;\n"
    "            choice->layer = KW_LAYER_EXACT;\n"
    "            choice->expected_regret = row->regret;\n"
    "        }\n"
    "    } else if (step < ^_STEP_DEFAULT) {\n"
    "        const kw_tree_leaf *leaf = known >= 0 ? @_find_leaf(@_devices[known].tree, s) : NULL;\n"
    "        if (leaf && leaf->runs[step - ^_STEP_TREE] != KW_TREE_NONE) {\n"
    "            choice->variant = (int)leaf->runs[step - ^_STEP_TREE];\n"
    "            choice->layer = KW_LAYER_TREE;\n"
    "            choice->expected_regret = (float)leaf->regret[step - ^_STEP_TREE] / 1000.0f;\n"
    "        }\n"
    "    } else if (step == ^_STEP_DEFAULT) {\n"
    "        choice->variant = known >= 0 ? @_devices[known].default_variant : -1;\n"
    "    } else {\n"
    "        choice->variant = ^_DEFAULT_VARIANT;\n"
    "        choice->device_match = KW_MATCH_DEFAULT;\n"
    "    }\n"
    "    return choice->variant >= 0 && @_device_fits(choice->variant, d) && @_shape_fits(choice->variant, d, s);\n"
    "}\n\n"
    "/* Is something forced? */\n"
    "#ifdef ^_FORCE_VARIANT\n"
    "#define ^_IS_FORCED(d) 1\n"
    "#else\n"
    "#define ^_IS_FORCED(d) ((d)->wish_of == ^_H)\n"
    "#endif\n\n";

static const char select_head_text[] =
    "/* Who runs this shape on this device. No allocation, no lock. */\n"
    "static inline @_choice @_select(const kw_device *device, const @_shape *shape)\n{\n"
    "    @_choice choice;\n"
    "    @_shape full;\n"
    "    const @_row *row;\n"
    "    kw_match match;\n"
    "    int known, step, forced = ^_IS_FORCED(device);\n";

static const char select_fast_text[] = "    row = forced ? NULL : @_find(device->key_hash, &full);\n"
                                       "    if (row && @_device_fits((int)row->runs, device)";

static const char select_rest_text[] =
    ") {\n"
    "        choice.variant = (int)row->runs;\n"
    "        choice.layer = KW_LAYER_EXACT;\n"
    "        choice.device_match = KW_MATCH_EXACT;\n"
    "        choice.expected_regret = row->regret;\n"
    "        return choice;\n"
    "    }\n"
    "    known = kw_device_match(@_devices, ^_DEVICES, @_device_index, ^_DEVICE_BITS, device, &match);\n"
    "    /* The own row of a known device has been looked up. */\n"
    "    step = forced ? 0 : match == KW_MATCH_EXACT ? ^_STEP_TREE : ^_STEP_EXACT;\n"
    "    for (; step < ^_STEPS; step++)\n"
    "        if (@_candidate(device, known, match, &full, step, &choice))\n"
    "            return choice;\n"
    "    choice.variant = -1;\n"
    "    choice.layer = KW_LAYER_DEFAULT;\n"
    "    choice.device_match = KW_MATCH_DEFAULT;\n"
    "    choice.expected_regret = 0.0f;\n"
    "    return choice;\n"
    "}\n\n";

/* Devices of one key may differ in their limits. */
static bool requires_ask_device(const writer *w)
{
    const task *t = w->m->task;
    for (size_t i = 0; i < w->m->n_variants; i++)
        for (size_t k = 0; k < w->m->variants[i]->n_requires; k++)
            for (size_t limit = 0; limit < limits_count(); limit++)
                if (expr_uses(w->m->variants[i]->requires_[k].test, t->first_device_slot + (int)limit))
                    return true;
    return false;
}

static void put_selection(writer *w)
{
    header_put(w, &w->out, candidate_text);
    header_put(w, &w->out, select_head_text);
    header_put(w, &w->out, w->has_fallbacks ? "    full = @_full_shape(shape);\n" : "    full = *shape;\n");
    header_put(w, &w->out, select_fast_text);
    /* The writer has seen that each row's variant runs the row's shape; dims outside the key, and the limits of the
     * device, it has not seen. */
    if (w->has_other_dims || requires_ask_device(w))
        header_put(w, &w->out, " && @_in_range(&full) && @_shape_fits((int)row->runs, device, &full)");
    header_put(w, &w->out, select_rest_text);
}

/* ---- plan ---- */

static const char plan_text[] =
    "/* Temporaries and launches of a variant in integers. `full` is a full shape. 0 if a size is not valid. */\n"
    "static inline int @_make_plan(int variant, const kw_device *device, const @_shape *full, const @_scalars "
    "*scalars,\n"
    "    kw_plan *plan)\n{\n"
    "    kw_plan_begin(plan);\n"
    "    @_plan_temps(variant, full, plan);\n"
    "    @_plan_launches(variant, device, full, scalars, plan);\n"
    "    return !plan->fault && kw_plan_offset(plan, KW_MAX_TEMPS) <= SIZE_MAX;\n}\n\n"
    "/* Bytes that enqueue needs as workspace for this choice. */\n"
    "static inline size_t @_workspace(const @_choice *choice, const @_shape *shape)\n{\n"
    "    const @_shape full = @_full_shape(shape);\n    kw_plan plan;\n    uint64_t bytes;\n"
    "    if (choice->variant < 0 || choice->variant >= ^_VARIANTS)\n        return 0;\n"
    "    kw_plan_begin(&plan);\n"
    "    @_plan_temps(choice->variant, &full, &plan);\n"
    "    bytes = kw_plan_offset(&plan, KW_MAX_TEMPS);\n"
    "    return plan.fault || bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;\n}\n\n";

static void put_public_plan(writer *w)
{
    strb *out = &w->out;
    header_put(w, out,
               "/* What enqueue would launch. 0 if there is no such variant or a size is not valid. */\n"
               "static inline int @_plan(int variant, const kw_device *device, const @_shape *shape, ");
    header_put_scalar_parameters(w, out);
    header_put(w, out,
               "kw_plan *plan)\n{\n    const @_shape full = @_full_shape(shape);\n    const @_scalars scalars = {");
    header_put_scalar_values(w, out);
    header_put(w, out,
               "};\n    return variant >= 0 && variant < ^_VARIANTS && @_make_plan(variant, device, &full, &scalars, "
               "plan);\n}\n\n");
}

static void put_names(writer *w)
{
    header_put(w, &w->out,
               "static inline int @_variant_count(void)\n{\n    return ^_VARIANTS;\n}\n\n"
               "static inline const char *@_variant_name(int variant)\n{\n"
               "    return variant >= 0 && variant < ^_VARIANTS ? @_variants[variant].name : \"none\";\n}\n\n");
}

kw_code header_put_select(writer *w, kw_error *err)
{
    put_types(w);
    header_put_f(w, &w->out, "#define ^_VARIANTS %zu\n#define ^_DEFAULT_VARIANT %d\n#define ^_DEVICES %zu\n\n",
                 w->m->n_variants, w->m->default_variant, w->m->n_devices);
    put_variants(w);
    header_put_tables(w);
    header_put_trees(w);
    put_forms(w);
    put_switches(w);
    kw_code code = put_full_shape(w, err);
    put_in_range(w);
    put_selection(w);
    header_put(w, &w->out, plan_text);
    put_public_plan(w);
    put_names(w);
    return code;
}
