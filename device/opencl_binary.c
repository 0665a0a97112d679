/* Programs from the cache and into it. What the key covers is everything that can change the binary; what the entry
 * keeps beside it is what a driver only tells when it really compiles: registers, spills, the log, argument types. */
#include "device/opencl.h"

#include "base/cache.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/device_key_query.h"
#include "device/opencl_cache.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT 1
#define DEFAULT_MIB 1024
#define MAX_BINARY ((size_t)128 << 20)

/* ---- the cache of a device ---- */

static uint64_t wanted_bytes(void)
{
    const char *text = getenv("KERNWRIGHT_CACHE_MIB");
    char *end = NULL;
    unsigned long long mib = text ? strtoull(text, &end, 10) : DEFAULT_MIB;
    if (text && (end == text || *end || mib > (1u << 24)))
        mib = DEFAULT_MIB;
    return (uint64_t)mib << 20;
}

opencl_cache *opencl_cache_of_device(const device_info *info)
{
    const char *wanted = getenv("KERNWRIGHT_BINARY_CACHE");
    uint64_t bytes = wanted_bytes();
    bool on = wanted && strcmp(wanted, "on") == 0, off = wanted && strcmp(wanted, "off") == 0;
    /* PoCL compiles everything once more, for groups of any size, before it hands out a binary. A simulator's program
     * also depends on how the simulator was started. */
    if (off || bytes == 0 || info->simulated || (info->builds_at_launch && !on))
        return NULL;
    char *folder = cache_folder();
    if (!folder)
        return NULL;
    char *programs = fs_join(folder, "programs");
    opencl_cache *c = opencl_cache_open(programs, bytes);
    free(programs);
    free(folder);
    return c;
}

/* ---- keys ---- */

static void add_text(strb *out, const char *text)
{
    strb_printf(out, "%zu:", strlen(text));
    strb_add(out, text);
}

static void add_platform_version(const opencl *o, strb *out)
{
    char text[512] = "";
    if (clGetPlatformInfo(o->platform, CL_PLATFORM_VERSION, sizeof text - 1, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    add_text(out, text);
}

/* PoCL's code generator listens to variables; where its cache lies and how much it prints make no difference. */
static void add_environment(strb *out)
{
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "POCL_", 5) == 0 && strncmp(*e, "POCL_CACHE", 10) != 0 && strncmp(*e, "POCL_DEBUG", 10) != 0)
            add_text(out, *e);
}

void opencl_binary_key(const device *d, const char *source, const char *options, char out[HASH_HEX_SIZE])
{
    strb text = STRB_INIT;
    const device_info *info = &d->info;
    strb_printf(&text, "%d ", FORMAT);
    add_text(&text, source);
    add_text(&text, options);
    add_text(&text, info->platform);
    add_platform_version(opencl_of(d), &text);
    add_text(&text, info->name);
    add_text(&text, info->key);
    add_text(&text, info->driver);
    add_text(&text, info->api);
    add_environment(&text);
    hash_hex(strb_text(&text), text.length, out);
    strb_clear(&text);
}

/* ---- facts ---- */

static json *params_to_json(const opencl_kernel *k)
{
    json *list = json_new_array();
    for (size_t i = 0; i < k->n_params; i++) {
        json *p = json_new_object();
        json_set_int(p, "kind", k->params[i].kind);
        json_set_string(p, "type", k->params[i].type);
        json_set_string(p, "name", k->params[i].name);
        json_append(list, p);
    }
    return list;
}

static void facts_to_text(const opencl_program *p, strb *out)
{
    json *j = json_new_object(), *kernels = json_new_object();
    json_set_int(j, "registers", p->registers);
    json_set_int(j, "spill_bytes", p->spill_bytes);
    for (size_t i = 0; i < p->n_kernels; i++)
        json_set(kernels, p->kernels[i].name, params_to_json(&p->kernels[i]));
    json_set(j, "kernels", kernels);
    json_print(j, out);
    json_free(j);
}

static void copy_text(const json *object, const char *key, char *out, size_t size)
{
    const char *text = json_text(json_get(object, key));
    if (text && strlen(text) < size)
        memcpy(out, text, strlen(text) + 1);
}

/* A binary may no longer know how its parameters were declared. */
static void complete_params(opencl_kernel *k, const json *list)
{
    if (json_count(list) != k->n_params)
        return;
    size_t i = 0;
    for (const json *p = json_first(list); p; p = json_next(p), i++) {
        int64_t kind = -1;
        json_int(json_get(p, "kind"), &kind);
        if (k->params[i].kind < 0 && kind >= -1 && kind <= DEVICE_ARG_LOCAL)
            k->params[i].kind = (int)kind;
        if (!k->params[i].type[0])
            copy_text(p, "type", k->params[i].type, sizeof k->params[i].type);
        if (!k->params[i].name[0])
            copy_text(p, "name", k->params[i].name, sizeof k->params[i].name);
    }
}

static bool take_facts(const opencl_cache_entry *e, opencl_program *p, device_build_info *info)
{
    kw_error ignored;
    kw_error_clear(&ignored);
    json *j = json_parse(strb_text(&e->facts), e->facts.length, "cache", 1, 1, &ignored);
    bool good =
        j && json_int(json_get(j, "registers"), &p->registers) && json_int(json_get(j, "spill_bytes"), &p->spill_bytes);
    for (size_t i = 0; good && i < p->n_kernels; i++)
        complete_params(&p->kernels[i], json_get(json_get(j, "kernels"), p->kernels[i].name));
    info->registers = p->registers;
    info->spill_bytes = p->spill_bytes;
    json_free(j);
    return good;
}

/* ---- what it consists of ---- */

static void count_text(const char *text, size_t length, artefact *out)
{
    memset(out, 0, sizeof *out);
    if (length > 0 && artefact_is_ptx(text, length))
        artefact_count_ptx(text, length, out);
}

/* ---- from the cache ---- */

static cl_int create(const opencl *o, const opencl_cache_entry *e, const char *options, cl_program *out)
{
    const unsigned char *binary = (const unsigned char *)e->binary.data;
    cl_int code, status = CL_SUCCESS;
    *out = clCreateProgramWithBinary(o->context, 1, &o->id, &e->binary.length, &binary, &status, &code);
    if (code == CL_SUCCESS)
        code = status;
    if (code == CL_SUCCESS)
        code = clBuildProgram(*out, 1, &o->id, options, NULL, NULL);
    return code;
}

opencl_program *opencl_binary_find(device *d, const char *key, const char *options, const char *const *kernels,
                                   size_t n_kernels, device_build_info *info)
{
    opencl *o = opencl_of(d);
    opencl_cache_entry e = {STRB_INIT, STRB_INIT, STRB_INIT};
    kw_error ignored;
    kw_error_clear(&ignored);
    if (!o->cache || !opencl_cache_find(o->cache, key, &e))
        return NULL;
    opencl_program *p = mem_calloc(1, sizeof *p);
    bool good = create(o, &e, options, &p->program) == CL_SUCCESS &&
                opencl_make_kernels(d, p, kernels, n_kernels, info, &ignored) == KW_OK && take_facts(&e, p, info);
    if (good) {
        count_text(e.binary.data, e.binary.length, &info->artefact);
        strb_add_n(&info->log, e.log.data, e.log.length);
    } else {
        log_debug("the driver does not take back a program from the cache: it is compiled again");
        opencl_cache_remove(o->cache, key);
        opencl_release_program(p);
        device_build_info_clear(info);
        d->fault = DEVICE_FAULT_NONE;
        p = NULL;
    }
    opencl_cache_entry_clear(&e);
    return p;
}

/* ---- into the cache ---- */

/* The binary for the one device of the program. */
static bool read_binary(const opencl_program *p, strb *out)
{
    size_t size = 0;
    cl_uint n = 0;
    if (clGetProgramInfo(p->program, CL_PROGRAM_NUM_DEVICES, sizeof n, &n, NULL) != CL_SUCCESS || n != 1 ||
        clGetProgramInfo(p->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS || size == 0 ||
        size > MAX_BINARY)
        return false;
    unsigned char *bytes = mem_try_alloc(size);
    bool good = bytes && clGetProgramInfo(p->program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) == CL_SUCCESS;
    if (good)
        strb_add_n(out, (const char *)bytes, size);
    free(bytes);
    return good;
}

void opencl_count_binary(const opencl_program *p, artefact *out)
{
    strb binary = STRB_INIT;
    memset(out, 0, sizeof *out);
    if (read_binary(p, &binary))
        count_text(binary.data, binary.length, out);
    strb_clear(&binary);
}

void opencl_binary_keep(device *d, const opencl_program *p)
{
    opencl *o = opencl_of(d);
    opencl_cache_entry e = {STRB_INIT, STRB_INIT, STRB_INIT};
    if (!o->cache || !p->key[0])
        return;
    if (read_binary(p, &e.binary)) {
        facts_to_text(p, &e.facts);
        if (p->log.length > 0)
            strb_add_n(&e.log, p->log.data, p->log.length);
        opencl_cache_store(o->cache, p->key, &e);
    }
    opencl_cache_entry_clear(&e);
}

/* ---- for headers ---- */

kw_code opencl_program_binary(device *d, device_program *p, strb *binary, strb *identity, kw_error *err)
{
    const opencl_program *program = p->handle;
    char text[KW_KEY_IDENTITY_SIZE];
    kw_key_query_identity(opencl_of(d)->id, text, sizeof text);
    if (!text[0])
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_FAILED, "%s: the driver does not say which one it is",
                           d->info.spec);
    if (!read_binary(program, binary))
        return device_fail(d, DEVICE_FAULT_LAUNCH, err, KW_FAILED, "%s: the driver gives no binary of a program",
                           d->info.spec);
    strb_add(identity, text);
    return KW_OK;
}
