/* The part of a header that launches: kernel text, the handle, enqueue. */
#include "codegen/header_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- kernel text ---- */

static void put_sources(writer *w)
{
    strb *out = &w->out;
    header_put(w, out,
               "/* Kernel text in pieces; equal ones stand once. */\nstatic const char *const @_pieces[] = {\n");
    for (size_t i = 0; i < w->n_pieces; i++) {
        strb_printf(out, "    /* %zu */\n    ", i);
        header_put_literal(out, w->pieces[i], w->piece_lengths[i], "    ");
        strb_add(out, ",\n");
    }
    header_put(w, out, "};\n\n/* Which pieces make up each variant. */\nstatic const uint32_t @_piece_list[] = {\n");
    for (size_t i = 0; i < w->m->n_variants; i++) {
        const header_variant *v = &w->variants[i];
        for (size_t k = 0; k < v->n_pieces; k++)
            strb_printf(out, "%" PRIu32 ",", w->piece_list[v->first_piece + k]);
        strb_add(out, "\n");
    }
    header_put(w, out,
               "};\n\n/* Copies the kernel text of a variant like snprintf; returns its length. */\n"
               "static inline size_t @_variant_source(int variant, char *text, size_t size)\n{\n"
               "    if (variant < 0 || variant >= ^_VARIANTS)\n        return 0;\n"
               "    return kw_text_join(@_pieces, @_piece_list + @_variants[variant].first_piece, "
               "@_variants[variant].n_pieces,\n"
               "        text, size);\n}\n\n");
}

static void put_kernels(writer *w)
{
    strb *out = &w->out;
    header_put(
        w, out,
        "/* Kernels of each form, by launch. */\nstatic const char *const @_kernels[][KW_MAX_LAUNCHES + 1] = {\n");
    for (size_t i = 0; i < w->n_forms; i++) {
        const variant *v = w->forms[i].example;
        strb_add(out, "    {");
        for (size_t k = 0; k < v->n_launches; k++)
            strb_printf(out, "\"%s\", ", v->launches[k].kernel);
        for (size_t k = v->n_launches; k <= TEMPLATE_MAX_LAUNCHES; k++)
            strb_add(out, k == v->n_launches ? "NULL" : ", NULL");
        strb_add(out, "},\n");
    }
    header_put(w, out,
               "};\n\n"
               "static inline kw_program_text @_program_text(int variant)\n{\n"
               "    const kw_variant_facts *v = &@_variants[variant];\n    kw_program_text text;\n"
               "    text.name = v->name;\n    text.options = v->options;\n    text.pieces = @_pieces;\n"
               "    text.list = @_piece_list + v->first_piece;\n    text.n_pieces = v->n_pieces;\n"
               "    text.kernels = @_kernels[v->form];\n    return text;\n}\n\n");
}

/* ---- tensors ---- */

/* The elements that a tensor spans: from its shape and strides, or the product of its shape. */
static kw_code put_span(writer *w, size_t tensor, kw_error *err)
{
    const task *t = w->m->task;
    const task_tensor *x = &t->tensors[tensor];
    const header_roles none = {false, false};
    const bool strided = x->rank > 0 && x->stride[0];
    kw_code code = KW_OK;
    strb_printf(&w->out, "    case %zu:\n", tensor);
    for (size_t i = 0; i < x->rank && code == KW_OK; i++) {
        strb_add(&w->out, strided ? "        kw_span_strided(&span, " : "        kw_span_dense(&span, ");
        code = header_put_expr(w, &w->out, x->shape[i], none, EXPR_C_INT, x->name, err);
        if (code == KW_OK && strided) {
            strb_add(&w->out, ", ");
            code = header_put_expr(w, &w->out, x->stride[i], none, EXPR_C_INT, x->name, err);
        }
        strb_add(&w->out, ");\n");
    }
    strb_printf(&w->out, "        return fault ? -1 : kw_span_bytes(&span, %zu);\n",
                dtype_bytes(task_tensor_type(t, &w->m->types, tensor)));
    return code;
}

static kw_code put_spans(writer *w, kw_error *err)
{
    kw_code code = KW_OK;
    header_put(w, &w->out,
               "/* Bytes of a tensor from its first element to its last; -1: beyond int64. `s` is a full shape. */\n"
               "static inline int64_t @_tensor_bytes(int tensor, const @_shape *s)\n{\n"
               "    kw_span span = {1, 0, 0, 0};\n    int fault = 0;\n    (void)s;\n    switch (tensor) {\n");
    for (size_t i = 0; i < w->m->task->n_tensors && code == KW_OK; i++)
        code = put_span(w, i, err);
    strb_add(&w->out, "    default: return fault - 1;\n    }\n}\n\n");
    return code;
}

/* ---- misses ---- */

static void put_misses(writer *w)
{
    const task *t = w->m->task;
    strb *out = &w->out;
    size_t size = 16;
    for (size_t i = 0; i < t->n_dims; i++)
        size += strlen(t->dims[i].name) + 24;
    for (size_t i = 0; i < t->n_types; i++)
        size += strlen(t->types[i].symbol) + 12;
    header_put_f(w, out,
                 "/* Hands the shape to the program as a line of a shapes file, without its newline. */\n"
                 "#ifdef KW_LOG_MISSES\nstatic inline void @_log_miss(const @_shape *s)\n{\n    char line[%zu];\n"
                 "    (void)snprintf(line, sizeof line, \"{",
                 size);
    for (size_t i = 0; i < t->n_dims; i++)
        strb_printf(out, "\\\"%s\\\":%%lld,", t->dims[i].name);
    for (size_t i = 0; i < t->n_types; i++)
        strb_printf(out, "\\\"%s\\\":\\\"%s\\\",", t->types[i].symbol, dtype_name(w->m->types.of[i]));
    strb_add(out, "\\\"count\\\":1}\"");
    for (size_t i = 0; i < t->n_dims; i++)
        strb_printf(out, ",\n        (long long)s->%s", w->dim_names[i]);
    strb_add(out, ");\n    KW_LOG_MISSES(line);\n}\n#endif\n\n");
}

/* ---- handle ---- */

static const char handle_text[] =
    "/* Programs of one context and device, built at the first need. */\n"
    "typedef struct @ {\n    kw_engine *engine;\n} @;\n\n"
    "static inline kw_status @_create(cl_context context, cl_device_id device, @ **handle)\n{\n"
    "    kw_status status;\n    @ *made;\n"
    "    if (!handle)\n        return KW_ERROR_ARGUMENT;\n"
    "    *handle = NULL;\n"
    "    made = (@ *)malloc(sizeof *made);\n"
    "    if (!made)\n        return KW_ERROR_MEMORY;\n"
    "    status = kw_engine_new(context, device, ^_VARIANTS, &made->engine);\n"
    "    if (status == KW_SUCCESS) {\n"
    "        status = kw_engine_wish(made->engine, \"^_VARIANT\", ^_H, @_variants, ^_VARIANTS);\n"
    "        if (status != KW_SUCCESS)\n            kw_engine_free(made->engine);\n"
    "    }\n"
    "    if (status == KW_SUCCESS)\n        *handle = made;\n    else\n        free(made);\n"
    "    return status;\n}\n\n"
    "static inline void @_destroy(@ *handle)\n{\n"
    "    if (!handle)\n        return;\n"
    "    kw_engine_free(handle->engine);\n    free(handle);\n}\n\n"
    "static inline const kw_device *@_device(const @ *handle)\n{\n    return &handle->engine->device;\n}\n\n"
    "/* Why a variant could not be used; \"\" if none failed. Lives as long as the handle. */\n"
    "static inline const char *@_build_log(const @ *handle)\n{\n    return kw_engine_log(handle->engine);\n}\n\n"
    "static inline cl_int @_opencl_error(const @ *handle)\n{\n    return kw_engine_error(handle->engine);\n}\n\n"
    "/* Builds what enqueue would build for these shapes. Strict: a selected variant that does not build is an error. "
    "*/\n"
    "static inline kw_status @_prepare(@ *handle, const @_shape *shapes, size_t n)\n{\n"
    "    kw_status result = KW_SUCCESS;\n    size_t i;\n"
    "    if (!handle || (n > 0 && !shapes))\n        return KW_ERROR_ARGUMENT;\n"
    "    for (i = 0; i < n; i++) {\n"
    "        const @_choice choice = @_select(&handle->engine->device, &shapes[i]);\n"
    "        kw_status status = KW_ERROR_SHAPE;\n"
    "        if (choice.variant >= 0) {\n"
    "            const kw_program_text text = @_program_text(choice.variant);\n"
    "            status = kw_engine_build(handle->engine, choice.variant, &text);\n"
    "        }\n"
    "        if (result == KW_SUCCESS)\n            result = status;\n"
    "    }\n"
    "    return result;\n}\n\n";

/* ---- enqueue ---- */

static const char run_text[] =
    "/* Runs the first candidate that builds. After one that did not, candidates that need a larger workspace are "
    "passed\n"
    " * over: the caller has sized it for the one that select names. */\n"
    "static inline kw_status @_run(kw_engine *engine, cl_command_queue queue, const @_shape *full, const @_scalars "
    "*scalars,\n"
    "    kw_view *tensors, cl_mem workspace, cl_uint n_wait, const cl_event *wait, cl_event *event)\n{\n"
    "    kw_match match;\n"
    "    const int known = kw_device_match(@_devices, ^_DEVICES, @_device_index, ^_DEVICE_BITS, &engine->device, "
    "&match);\n"
    "    kw_status result = KW_ERROR_SHAPE;\n    kw_plan plan;\n    int step;\n"
    "    for (step = 0; step < ^_STEPS; step++) {\n"
    "        @_choice choice;\n        kw_program_text text;\n        kw_status status;\n"
    "        if (!@_candidate(&engine->device, known, match, full, step, &choice) ||\n"
    "            !@_make_plan(choice.variant, &engine->device, full, scalars, &plan))\n            continue;\n"
    "        status = kw_workspace_check(&plan, workspace);\n"
    "        if (status != KW_SUCCESS && result == KW_ERROR_BUILD)\n            continue;\n"
    "        if (status != KW_SUCCESS)\n            return status;\n"
    "#ifdef KW_LOG_MISSES\n"
    "        if (result == KW_ERROR_SHAPE && choice.layer != KW_LAYER_EXACT && choice.layer != KW_LAYER_FORCED)\n"
    "            @_log_miss(full);\n"
    "#endif\n"
    "        text = @_program_text(choice.variant);\n"
    "        status = kw_engine_ready(engine, choice.variant, &text, &plan);\n"
    "        if (status == KW_SUCCESS)\n"
    "            status = kw_engine_run(engine, choice.variant, &text, queue, &plan, tensors, ^_TENSORS, workspace,\n"
    "                n_wait, wait, event);\n"
    "        if (status != KW_ERROR_BUILD)\n            return status;\n"
    "        result = KW_ERROR_BUILD;\n"
    "    }\n"
    "    return result;\n}\n\n";

static void put_enqueue_parameters(writer *w)
{
    const task *t = w->m->task;
    header_put(w, &w->out, "static inline kw_status @_enqueue(@ *handle, cl_command_queue queue, @_shape shape,\n    ");
    header_put_scalar_parameters(w, &w->out);
    for (size_t i = 0; i < t->n_tensors; i++)
        strb_printf(&w->out, "cl_mem %s, size_t %s_offset, ", w->tensor_names[i], t->tensors[i].name);
    strb_add(&w->out, "cl_mem workspace,\n    cl_uint n_wait, const cl_event *wait, cl_event *event)\n{\n");
}

static void put_enqueue(writer *w)
{
    const task *t = w->m->task;
    strb *out = &w->out;
    strb_add(out, "/* Enqueues the launches of one call; offsets are in bytes. */\n");
    put_enqueue_parameters(w);
    header_put(w, out, "    const @_shape full = @_full_shape(&shape);\n    const @_scalars scalars = {");
    header_put_scalar_values(w, out);
    header_put(w, out,
               "};\n    kw_view tensors[^_TENSORS];\n    kw_status status;\n"
               "    if (!handle || !kw_queue_fits(handle->engine, queue) || (n_wait > 0 && !wait))\n"
               "        return KW_ERROR_ARGUMENT;\n"
               "    if (!@_in_range(&full))\n        return KW_ERROR_SHAPE;\n");
    for (size_t i = 0; i < t->n_tensors; i++)
        header_put_f(w, out, "    tensors[%zu] = kw_view_of(%s, %s_offset, @_tensor_bytes(%zu, &full));\n", i,
                     w->tensor_names[i], t->tensors[i].name, i);
    strb_add(out, "    if (");
    const char *and = "";
    for (size_t i = 0; i < t->n_tensors; i++) {
        if (t->tensors[i].access == TASK_IN)
            continue;
        strb_printf(out, "%stensors[%zu].bytes == 0", and, i);
        and = " && ";
    }
    header_put(
        w, out,
        ")\n        return kw_launch_none(handle->engine, queue, n_wait, wait, event);\n"
        "    status = kw_views_check(handle->engine, tensors, ^_TENSORS);\n"
        "    if (status != KW_SUCCESS)\n        return status;\n"
        "    return @_run(handle->engine, queue, &full, &scalars, tensors, workspace, n_wait, wait, event);\n}\n\n");
}

kw_code header_put_launch(writer *w, kw_error *err)
{
    put_sources(w);
    put_kernels(w);
    header_put_f(w, &w->out, "#define ^_TENSORS %zu\n\n", w->m->task->n_tensors);
    kw_code code = put_spans(w, err);
    put_misses(w);
    header_put(w, &w->out, handle_text);
    header_put(w, &w->out, run_text);
    put_enqueue(w);
    return code;
}
