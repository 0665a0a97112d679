/* Programs of the OpenCL back end: building, logs, kernels and what they need. */
#include "device/opencl.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_LINES 12             /* of the source, shown when the compiler says nothing */
#define MAX_LOG ((size_t)1 << 20) /* bytes that are kept: a source of a few KiB can bring forth hundreds of MiB */

/* ---- the log ---- */

/* Errors may come first or last: what is left out lies in the middle. */
static void add_log(char *text, strb *out)
{
    const size_t length = strlen(text), head = MAX_LOG / 4 * 3, tail = MAX_LOG - head;
    if (length <= MAX_LOG) {
        opencl_hide_temporaries(text);
        strb_add(out, text);
        return;
    }
    char *end = text + length - tail, *start = mem_strndup(text, head);
    opencl_hide_temporaries(start);
    opencl_hide_temporaries(end);
    strb_printf(out, "%s\n... %zu bytes of the log are left out ...\n%s", start, length - MAX_LOG, end);
    free(start);
}

/* The driver's log; "" unless something can be seen in it (PoCL gives one newline after a success). */
static void read_log(const opencl *o, cl_program program, strb *out)
{
    size_t size = 0;
    bool visible = false;
    if (clGetProgramBuildInfo(program, o->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS || size <= 1)
        return;
    char *text = mem_try_alloc(size + 1);
    if (!text) {
        strb_printf(out, "a log of %zu bytes, for which there is no memory\n", size);
        return;
    }
    memset(text, 0, size + 1);
    if (clGetProgramBuildInfo(program, o->id, CL_PROGRAM_BUILD_LOG, size, text, NULL) == CL_SUCCESS)
        for (const char *p = text; *p; p++)
            visible = visible || isgraph((unsigned char)*p);
    if (visible)
        add_log(text, out);
    free(text);
}

/* Stands in for a log that says nothing. */
static void describe_silence(cl_int code, const char *options, const char *source, strb *out)
{
    strb_printf(out, "the compiler failed with %s (%d) and gave no log; options \"%s\"; the source begins:\n",
                opencl_error_name(code), code, options);
    for (int i = 1; i <= HEAD_LINES && *source; i++) {
        size_t length = strcspn(source, "\n");
        strb_printf(out, "%4d  %.*s\n", i, (int)length, source);
        source += length + (source[length] == '\n');
    }
}

static kw_code build_failed(device *d, cl_int code, const char *options, const char *source, device_build_info *info,
                            kw_error *err)
{
    char line[1200];
    if (info->log.length == 0) {
        describe_silence(code, options, source, &info->log);
        strb one_line = STRB_INIT;
        for (const char *p = strb_text(&info->log); *p; p++)
            strb_add(&one_line, *p == '\n' ? " | " : (char[2]){*p, '\0'});
        snprintf(line, sizeof line, "%.1190s", strb_text(&one_line));
        strb_clear(&one_line);
    } else {
        opencl_first_line(strb_text(&info->log), line, sizeof line);
    }
    device_fault fault = code == CL_OUT_OF_HOST_MEMORY ? DEVICE_FAULT_MEMORY : DEVICE_FAULT_BUILD;
    return device_fail(d, fault, err, KW_FAILED, "does not compile: %s", line);
}

/* ---- kernels ---- */

static void param_text(cl_kernel kernel, cl_uint i, cl_kernel_arg_info what, char *out, size_t size)
{
    char text[256] = "";
    if (clGetKernelArgInfo(kernel, i, what, sizeof text, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    text[sizeof text - 1] = '\0';
    snprintf(out, size, "%.*s", (int)size - 1, text);
}

static void describe_param(cl_kernel kernel, cl_uint i, device_param *out)
{
    cl_kernel_arg_address_qualifier space = 0;
    memset(out, 0, sizeof *out);
    out->kind = -1;
    if (clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL) == CL_SUCCESS) {
        if (space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT)
            out->kind = DEVICE_ARG_BUFFER;
        else if (space == CL_KERNEL_ARG_ADDRESS_LOCAL)
            out->kind = DEVICE_ARG_LOCAL;
        else if (space == CL_KERNEL_ARG_ADDRESS_PRIVATE)
            out->kind = DEVICE_ARG_BYTES;
    }
    param_text(kernel, i, CL_KERNEL_ARG_TYPE_NAME, out->type, sizeof out->type);
    param_text(kernel, i, CL_KERNEL_ARG_NAME, out->name, sizeof out->name);
}

size_t opencl_group_limit(size_t promised, const size_t fixed[3])
{
    size_t items = fixed[0] * fixed[1] * fixed[2];
    return promised > 0 && items > promised ? items : promised;
}

static void describe_kernel(const opencl *o, opencl_kernel *k)
{
    cl_uint n = 0;
    cl_ulong local = 0;
    if (clGetKernelWorkGroupInfo(k->kernel, o->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof k->max_group, &k->max_group,
                                 NULL) != CL_SUCCESS)
        k->max_group = 0;
    if (clGetKernelWorkGroupInfo(k->kernel, o->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof k->fixed_group,
                                 k->fixed_group, NULL) != CL_SUCCESS)
        memset(k->fixed_group, 0, sizeof k->fixed_group);
    k->max_group = opencl_group_limit(k->max_group, k->fixed_group);
    k->local_bytes = -1;
    if (clGetKernelWorkGroupInfo(k->kernel, o->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL) == CL_SUCCESS)
        k->local_bytes = (int64_t)local;
    if (clGetKernelInfo(k->kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL) != CL_SUCCESS)
        n = 0;
    k->n_params = n;
    k->params = mem_calloc(n, sizeof *k->params);
    for (cl_uint i = 0; i < n; i++)
        describe_param(k->kernel, i, &k->params[i]);
}

static kw_code missing_kernel(device *d, const opencl_program *p, const char *name, cl_int code,
                              device_build_info *info, kw_error *err)
{
    char names[1024] = "";
    strb line = STRB_INIT;
    if (clGetProgramInfo(p->program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL) != CL_SUCCESS)
        names[0] = '\0';
    for (char *q = names; *q; q++)
        *q = *q == ';' ? ' ' : *q;
    if (code == CL_INVALID_KERNEL_NAME)
        strb_printf(&line, "the source has no kernel \"%s\"; it has: %s", name, names);
    else
        strb_printf(&line, "kernel \"%s\" cannot be made: %s (%d)", name, opencl_error_name(code), code);
    strb_printf(&info->log, "%s\n", strb_text(&line));
    device_fail(d, DEVICE_FAULT_BUILD, err, KW_BAD_INPUT, "%s", strb_text(&line));
    strb_clear(&line);
    return KW_BAD_INPUT;
}

kw_code opencl_make_kernels(device *d, opencl_program *p, const char *const *kernels, size_t n, device_build_info *info,
                            kw_error *err)
{
    const opencl *o = opencl_of(d);
    p->kernels = mem_calloc(n, sizeof *p->kernels);
    for (size_t i = 0; i < n; i++) {
        opencl_kernel *k = &p->kernels[i];
        cl_int code;
        k->kernel = clCreateKernel(p->program, kernels[i], &code);
        if (code != CL_SUCCESS) {
            k->kernel = NULL;
            return missing_kernel(d, p, kernels[i], code, info, err);
        }
        k->name = mem_strdup(kernels[i]);
        p->n_kernels = i + 1;
        describe_kernel(o, k);
        if (k->max_group > 0 && (info->max_group < 0 || (int64_t)k->max_group < info->max_group))
            info->max_group = (int64_t)k->max_group;
        if (k->local_bytes > info->local_bytes)
            info->local_bytes = k->local_bytes;
    }
    return KW_OK;
}

/* ---- building ---- */

void opencl_release_program(opencl_program *p)
{
    for (size_t i = 0; i < p->n_kernels; i++) {
        clReleaseKernel(p->kernels[i].kernel);
        free(p->kernels[i].name);
        free(p->kernels[i].params);
    }
    free(p->kernels);
    strb_clear(&p->log);
    if (p->program)
        clReleaseProgram(p->program);
    free(p);
}

/* The caller's options and ours: argument names and types for checks, and registers where the compiler can tell. */
static void all_options(const opencl *o, const char *options, bool arg_info, strb *out)
{
    strb_add(out, options);
    if (arg_info)
        strb_printf(out, "%s-cl-kernel-arg-info", out->length ? " " : "");
    if (o->verbose_builds)
        strb_printf(out, "%s-cl-nv-verbose", out->length ? " " : "");
}

/* Makes p->program of the source and builds it; *log is the driver's. */
static cl_int compile(const opencl *o, opencl_program *p, const char *source, const char *options, strb *log)
{
    cl_int code;
    if (p->program)
        clReleaseProgram(p->program);
    strb_clear(log);
    p->program = clCreateProgramWithSource(o->context, 1, &source, NULL, &code);
    if (code != CL_SUCCESS) {
        p->program = NULL;
        return code;
    }
    code = clBuildProgram(p->program, 1, &o->id, options, NULL, NULL);
    read_log(o, p->program, log);
    return code;
}

/* For a kernel without arguments, NVIDIA's compiler (driver 580) writes argument information that its own assembler
 * refuses. An error in the source never gets as far as the assembler. */
static bool arg_info_refused(const strb *log)
{
    const char *text = strb_text(log);
    return strstr(text, "ptxas") && strstr(text, "Parsing error");
}

static kw_code from_source(device *d, const char *source, const char *options, const char *const *kernels,
                           size_t n_kernels, device_build_info *info, opencl_program **out, kw_error *err)
{
    const opencl *o = opencl_of(d);
    opencl_program *p = mem_calloc(1, sizeof *p);
    strb text = STRB_INIT;
    kw_code result;
    all_options(o, options, true, &text);
    cl_int code = compile(o, p, source, strb_text(&text), &info->log);
    if (code != CL_SUCCESS && arg_info_refused(&info->log)) {
        strb_clear(&text);
        all_options(o, options, false, &text);
        code = compile(o, p, source, strb_text(&text), &info->log);
    }
    if (code != CL_SUCCESS) {
        result = build_failed(d, code, strb_text(&text), source, info, err);
    } else {
        if (o->verbose_builds) {
            opencl_parse_nvidia_log(strb_text(&info->log), &info->registers, &info->spill_bytes);
            opencl_count_binary(p, &info->artefact);
        }
        result = opencl_make_kernels(d, p, kernels, n_kernels, info, err);
    }
    strb_clear(&text);
    if (result == KW_OK)
        *out = p;
    else
        opencl_release_program(p);
    return result;
}

kw_code opencl_build(device *d, const char *source, const char *options, const char *const *kernels, size_t n_kernels,
                     device_program *out, device_build_info *info, kw_error *err)
{
    const opencl *o = opencl_of(d);
    strb text = STRB_INIT;
    char key[HASH_HEX_SIZE] = "";
    kw_code code = KW_OK;
    all_options(o, options, true, &text);
    if (o->cache)
        opencl_binary_key(d, source, strb_text(&text), key);
    opencl_program *p = opencl_binary_find(d, key, strb_text(&text), kernels, n_kernels, info);
    strb_clear(&text);
    info->from_cache = p != NULL;
    if (!p) {
        code = from_source(d, source, options, kernels, n_kernels, info, &p, err);
        if (code == KW_OK) {
            memcpy(p->key, key, sizeof key);
            strb_add(&p->log, strb_text(&info->log));
            p->registers = info->registers;
            p->spill_bytes = info->spill_bytes;
        }
    }
    out->handle = p;
    return code;
}

void opencl_free_program(device *d, device_program *p)
{
    opencl_binary_keep(d, p->handle);
    opencl_release_program(p->handle);
}
