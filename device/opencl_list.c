/* Discovery: platforms, devices, what they are. */
#include "device/opencl.h"

#include "device/device_key_query.h"

#include "base/fs.h"
#include "base/mem.h"
#include "device/opencl_cache.h"
#include "device/topology.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PLATFORMS 16
#define MAX_DEVICES 64

_Static_assert(sizeof(kw_key_limits) == sizeof(device_limits), "the header and the tuner know the same limits");

bool opencl_has_extension(cl_device_id id, const char *name)
{
    char extensions[KW_KEY_EXTENSIONS_SIZE];
    kw_key_query_text(id, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    return kw_key_has_extension(extensions, name);
}

/* ---- what PoCL needs beforehand ---- */

/* The nearest folder above a path that exists; `path` is cut to it. */
static void cut_to_existing(char *path)
{
    while (access(path, F_OK) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            snprintf(path, 2, "%s", slash ? "/" : ".");
            return;
        }
        *slash = '\0';
    }
}

/* PoCL answers "no device" when it cannot make its kernel cache, so look before asking. */
bool opencl_cache_is_unwritable(strb *why)
{
    static const char *const variables[] = {"POCL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *folder = getenv(variables[i]);
        if (!folder || !*folder)
            continue;
        char *path = mem_strdup(folder);
        cut_to_existing(path);
        bool unwritable = !fs_is_folder(path) || access(path, W_OK | X_OK) != 0;
        if (unwritable && why)
            strb_printf(
                why,
                "%s=%s: %s is not a writable folder, so PoCL would show no device; set POCL_CACHE_DIR to one that is",
                variables[i], folder, path);
        free(path);
        return unwritable;
    }
    return false;
}

/* PoCL starts a thread for every processor of the machine, whatever affinity and quota allow. Its environment variable
 * (of the 3.x and 4.x versions, and of later ones) is set only where less than the machine may be used, so that a plain
 * machine has the same number of compute units, and the same device key, in a tuner and in an application. */
static void limit_pocl_threads(void)
{
    topology t;
    char text[24];
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (topology_read(&t, NULL) != KW_OK || online <= 0 || t.logical_cores == 0 || t.logical_cores >= (size_t)online)
        return;
    snprintf(text, sizeof text, "%zu", t.logical_cores);
    setenv("POCL_MAX_PTHREAD_COUNT", text, 0);
    setenv("POCL_CPU_MAX_CU_COUNT", text, 0);
}

/* ---- one device ---- */

/* "0000:3b:00.0" from whichever query the driver offers; "" otherwise. */
static void query_pci(cl_device_id id, char *out, size_t size)
{
    cl_uint khr[4] = {0};
    unsigned char amd[24] = {0};
    out[0] = '\0';
    if (opencl_has_extension(id, "cl_khr_pci_bus_info") &&
        clGetDeviceInfo(id, 0x410f, sizeof khr, khr, NULL) == CL_SUCCESS) {
        snprintf(out, size, "%04x:%02x:%02x.%x", khr[0] & 0xffffu, khr[1] & 0xffu, khr[2] & 0xffu, khr[3] & 7u);
    } else if (opencl_has_extension(id, "cl_nv_device_attribute_query")) {
        unsigned bus = kw_key_query_uint(id, 0x4008), slot = kw_key_query_uint(id, 0x4009),
                 domain = kw_key_query_uint(id, 0x400a);
        snprintf(out, size, "%04x:%02x:%02x.%x", domain & 0xffffu, bus & 0xffu, (slot >> 3) & 0x1fu, slot & 7u);
    } else if (opencl_has_extension(id, "cl_amd_device_attribute_query") &&
               clGetDeviceInfo(id, 0x4037, sizeof amd, amd, NULL) == CL_SUCCESS && amd[0] == 1 /* PCIe */) {
        snprintf(out, size, "0000:%02x:%02x.%x", amd[21], amd[22] & 0x1fu, amd[23] & 7u);
    }
}

static void trim(char *text)
{
    size_t length = strlen(text), blanks = strspn(text, " \t");
    while (length > blanks && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    memmove(text, text + blanks, length - blanks + 1);
}

static void query_text(cl_device_id id, cl_device_info what, char *out, size_t size)
{
    char text[1024];
    kw_key_query_text(id, what, text, sizeof text);
    trim(text);
    snprintf(out, size, "%.*s", (int)size - 1, text);
}

/* Of the extensions those that change what a kernel can be written with; images and the host's side do not. */
static void query_extensions(cl_device_id id, char *out, size_t size)
{
    static const char *const wanted[] = {"cl_khr_fp16",
                                         "cl_khr_fp64",
                                         "cl_khr_subgroup",
                                         "cl_khr_int64_",
                                         "cl_khr_integer_dot",
                                         "cl_khr_extended_bit_ops",
                                         "cl_khr_async_",
                                         "cl_khr_extended_async_copies",
                                         "cl_ext_float_atom",
                                         "cl_nv_",
                                         "cl_intel_subgroup",
                                         "cl_intel_required_subgroup_size",
                                         "cl_intel_split_work_group_barrier",
                                         "cl_amd_",
                                         "cl_qcom_",
                                         "cl_arm_integer_dot"};
    char all[KW_KEY_EXTENSIONS_SIZE], *rest = NULL;
    size_t used = 0;
    out[0] = '\0';
    kw_key_query_text(id, CL_DEVICE_EXTENSIONS, all, sizeof all);
    for (char *name = strtok_r(all, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        size_t length = strlen(name), i = 0, n = sizeof wanted / sizeof wanted[0];
        while (i < n && strncmp(name, wanted[i], strlen(wanted[i])) != 0)
            i++;
        if (i == n || used + length + 2 > size)
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", name);
    }
}

static void describe(cl_platform_id platform, cl_device_id id, unsigned p, unsigned i, device_info *out)
{
    char name[256] = "";
    kw_key_limits limits;
    memset(out, 0, sizeof *out);
    snprintf(out->spec, sizeof out->spec, "opencl:%u:%u", p, i);
    if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) != CL_SUCCESS)
        name[0] = '\0';
    trim(name);
    snprintf(out->platform, sizeof out->platform, "%.*s", (int)sizeof out->platform - 1, name);
    query_text(id, CL_DEVICE_NAME, out->name, sizeof out->name);
    query_text(id, CL_DRIVER_VERSION, out->driver, sizeof out->driver);
    query_text(id, CL_DEVICE_VERSION, out->api, sizeof out->api);
    kw_key_query(id, out->key, sizeof out->key, &limits);
    memcpy(&out->limits, &limits, sizeof limits);
    query_pci(id, out->pci, sizeof out->pci);
    query_extensions(id, out->extensions, sizeof out->extensions);
    out->timer_resolution_ns = (int64_t)kw_key_query_size(id, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
    out->builds_at_launch = kw_key_after(name, "portable computing language") != NULL;
    out->simulated = kw_key_after(name, "oclgrind") != NULL;
}

/* Devices without a compiler are listed by drivers, and of no use here. */
static bool is_usable(cl_device_id id)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    return clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) == CL_SUCCESS && available &&
           clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL) == CL_SUCCESS &&
           compiler;
}

/* ---- the list ---- */

/* Appends one line to `note`, which may be NULL. */
static void KW_PRINTF(2, 3) add_note(strb *note, const char *format, ...)
{
    va_list args;
    if (!note)
        return;
    strb_printf(note, "%sopencl: ", note->length > 0 ? "\n" : "");
    va_start(args, format);
    strb_vprintf(note, format, args);
    va_end(args);
}

/* "OpenCL Loader 2.3.1": asked of the loader itself, by a function that it may have. That function is found through
 * another one, which newer headers no longer declare. */
static void loader_name(char *out, size_t size)
{
    void *(*find)(const char *) = NULL;
    cl_int (*ask)(cl_uint, size_t, void *, size_t *) = NULL;
    void *symbol = opencl_symbol("clGetExtensionFunctionAddress");
    char version[64] = "", name[64] = "";
    snprintf(out, size, "of unknown version");
    memcpy(&find, &symbol, sizeof find);
    symbol = find ? find("clGetICDLoaderInfoOCLICD") : NULL;
    memcpy(&ask, &symbol, sizeof ask);
    if (ask && ask(2 /* name */, sizeof name, name, NULL) == CL_SUCCESS &&
        ask(3 /* version */, sizeof version, version, NULL) == CL_SUCCESS)
        snprintf(out, size, "%s %s", name, version);
}

static void note_no_platform(strb *note)
{
    char loader[160];
    const char *vendors = getenv("OCL_ICD_VENDORS");
    loader_name(loader, sizeof loader);
    add_note(note,
             "no OpenCL platform found: install a GPU driver, or PoCL (apt-get install pocl-opencl-icd); in a "
             "container the driver's "
             ".icd file and library have to be inside; loader %s, OCL_ICD_VENDORS=%s",
             loader, vendors ? vendors : "(not set)");
}

/* Why a platform shows no device, as far as that can be known. */
static void note_no_device(strb *note, const char *platform, cl_int code)
{
    const char *why = "";
    if (kw_key_after(platform, "rusticl"))
        why = "; rusticl shows none unless RUSTICL_ENABLE names drivers (radeonsi, iris, ...)";
    else if (kw_key_after(platform, "portable computing language") && opencl_cache_is_unwritable(NULL))
        why = "; its cache folder cannot be written";
    add_note(note, "platform \"%s\" has no device (%s)%s", platform, opencl_error_name(code), why);
}

static void list_platform(cl_platform_id platform, unsigned p, device_info **list, size_t *n, strb *note)
{
    cl_device_id ids[MAX_DEVICES];
    cl_uint found = 0;
    char name[256] = "";
    if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) != CL_SUCCESS)
        name[0] = '\0';
    cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &found);
    if (code != CL_SUCCESS || found == 0) {
        note_no_device(note, name, code);
        return;
    }
    for (cl_uint i = 0; i < found && i < MAX_DEVICES; i++) {
        device_info info;
        describe(platform, ids[i], p, i, &info);
        if (!is_usable(ids[i])) {
            add_note(note, "%s is left out: not available, or without a compiler", info.spec);
            continue;
        }
        for (size_t j = 0; j < *n; j++)
            if (info.pci[0] && strcmp((*list)[j].pci, info.pci) == 0)
                add_note(note, "%s is a device that another driver lists too", info.spec);
        *list = mem_realloc(*list, (*n + 1) * sizeof **list);
        (*list)[(*n)++] = info;
    }
}

static kw_code find_platforms(cl_platform_id *platforms, cl_uint *n, kw_error *err)
{
    limit_pocl_threads();
    opencl_cache_set_drivers();
    *n = 0;
    if (opencl_load(err) != KW_OK)
        return KW_ENVIRONMENT;
    cl_int code = clGetPlatformIDs(MAX_PLATFORMS, platforms, n);
    if (code != CL_SUCCESS && code != -1001) /* CL_PLATFORM_NOT_FOUND_KHR: the loader's word for none */
        return kw_error_set(err, KW_ENVIRONMENT, "clGetPlatformIDs fails: %s, %d", opencl_error_name(code), code);
    if (code != CL_SUCCESS)
        *n = 0;
    if (*n > MAX_PLATFORMS)
        *n = MAX_PLATFORMS;
    return KW_OK;
}

kw_code opencl_list(device_info **list, size_t *n, strb *note, kw_error *err)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint found;
    strb cache = STRB_INIT;
    opencl_cache_set_drivers();
    if (opencl_cache_is_unwritable(&cache))
        add_note(note, "%s", strb_text(&cache));
    strb_clear(&cache);
    if (find_platforms(platforms, &found, err) != KW_OK)
        return KW_ENVIRONMENT;
    if (found == 0)
        note_no_platform(note);
    for (cl_uint p = 0; p < found; p++)
        list_platform(platforms[p], p, list, n, note);
    return KW_OK;
}

kw_code opencl_find(const char *spec, cl_platform_id *platform, cl_device_id *id, device_info *info, kw_error *err)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_device_id ids[MAX_DEVICES];
    cl_uint found = 0;
    unsigned p, i;
    char rest;
    if (sscanf(spec, "opencl:%u:%u%c", &p, &i, &rest) != 2)
        return kw_error_set(err, KW_BAD_INPUT,
                            "\"%s\" is no OpenCL device: give opencl:PLATFORM:DEVICE, such as opencl:0:0", spec);
    if (find_platforms(platforms, &found, err) != KW_OK)
        return KW_ENVIRONMENT;
    if (p >= found)
        return kw_error_set(err, KW_ENVIRONMENT, "%s: there are %u OpenCL platforms", spec, found);
    *platform = platforms[p];
    cl_int code = clGetDeviceIDs(*platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &found);
    if (code != CL_SUCCESS || i >= found || i >= MAX_DEVICES)
        return kw_error_set(err, KW_ENVIRONMENT, "%s: platform %u has %u devices (%s)", spec, p,
                            code == CL_SUCCESS ? found : 0,
                            code == CL_SUCCESS ? "counted from 0" : opencl_error_name(code));
    *id = ids[i];
    describe(*platform, *id, p, i, info);
    return KW_OK;
}
