/* The OpenCL queries behind the device key and behind device.* in expressions.
 *
 * Like device_key_body.h, which stands above it there, this text is put into every emitted header as it is: the tuner
 * and the header ask the driver the same questions. C99 and C++11, calls of OpenCL 1.2. Values that newer or
 * vendor-specific queries give are asked for by number, only where the driver offers the extension, so that any CL
 * headers will do. */
#ifndef KW_KEY_QUERY_1
#define KW_KEY_QUERY_1

#ifndef KW_KEY_BODY_1 /* in an emitted header that text stands above */
#include "device/device_key_body.h"
#endif
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif
#include <stdint.h>

/* The limits that expressions know as device.NAME, under the same names and in the same order. */
typedef struct kw_key_limits {
    int64_t max_work_group_size;
    int64_t max_local_x, max_local_y, max_local_z;
    int64_t local_mem_bytes;
    int64_t max_alloc_bytes;
    int64_t global_mem_bytes;
    int64_t compute_units;
    int64_t preferred_multiple; /* 1 if the driver does not say */
    int64_t cache_bytes;        /* of the last level; 0 if the driver does not say */
    int64_t is_cpu, is_gpu;
    int64_t has_f16, has_f64;
} kw_key_limits;

#define KW_KEY_EXTENSIONS_SIZE 16384

/* "" when the driver does not answer or the answer does not fit. */
static inline void kw_key_query_text(cl_device_id device_id, cl_device_info what, char *out, size_t size)
{
    out[0] = '\0';
    if (clGetDeviceInfo(device_id, what, size, out, NULL) != CL_SUCCESS)
        out[0] = '\0';
    out[size - 1] = '\0';
}

static inline cl_uint kw_key_query_uint(cl_device_id device_id, cl_device_info what)
{
    cl_uint answer = 0;
    return clGetDeviceInfo(device_id, what, sizeof answer, &answer, NULL) == CL_SUCCESS ? answer : 0;
}

static inline size_t kw_key_query_size(cl_device_id device_id, cl_device_info what)
{
    size_t answer = 0;
    return clGetDeviceInfo(device_id, what, sizeof answer, &answer, NULL) == CL_SUCCESS ? answer : 0;
}

static inline int64_t kw_key_query_ulong(cl_device_id device_id, cl_device_info what)
{
    cl_ulong answer = 0;
    if (clGetDeviceInfo(device_id, what, sizeof answer, &answer, NULL) != CL_SUCCESS)
        return 0;
    return answer > (cl_ulong)INT64_MAX ? INT64_MAX : (int64_t)answer;
}

/* Is `name` one of the blank-separated words of the extension string? */
static inline int kw_key_has_extension(const char *extensions, const char *name)
{
    size_t length = strlen(name);
    const char *p = extensions;
    while ((p = strstr(p, name)) != NULL) {
        if ((p == extensions || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0'))
            return 1;
        p += length;
    }
    return 0;
}

/* Warp or SIMD width. The general query is OpenCL 3.0's; before that each vendor has one of its own. */
static inline int64_t kw_key_query_multiple(cl_device_id device_id, const char *extensions)
{
    int64_t multiple = (int64_t)kw_key_query_size(device_id, 0x1067 /* PREFERRED_WORK_GROUP_SIZE_MULTIPLE */);
    if (multiple <= 0 && kw_key_has_extension(extensions, "cl_nv_device_attribute_query"))
        multiple = (int64_t)kw_key_query_uint(device_id, 0x4003 /* WARP_SIZE_NV */);
    if (multiple <= 0 && kw_key_has_extension(extensions, "cl_amd_device_attribute_query"))
        multiple = (int64_t)kw_key_query_uint(device_id, 0x4043 /* WAVEFRONT_WIDTH_AMD */);
    return multiple > 0 ? multiple : 1;
}

/* AMD promises 256 work-items to kernels that do not fix their group and allows more to those that do; a search has to
 * see the larger number, the compiled kernel tells the rest. */
static inline int64_t kw_key_query_group(cl_device_id device_id, const char *extensions)
{
    size_t plain = kw_key_query_size(device_id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    if (kw_key_has_extension(extensions, "cl_amd_device_attribute_query")) {
        size_t fixed = kw_key_query_size(device_id, 0x4031 /* MAX_WORK_GROUP_SIZE_AMD */);
        if (fixed > plain)
            return (int64_t)fixed;
    }
    return (int64_t)plain;
}

/* NVIDIA and AMD report their first-level caches here, which no data set of interest fits into; the last level is not
 * offered. Unknown is better than wrong: the size decides how many buffers a cold measurement rotates over. */
static inline int64_t kw_key_cache_bytes(const char *extensions, int64_t reported)
{
    if (kw_key_has_extension(extensions, "cl_nv_device_attribute_query") ||
        kw_key_has_extension(extensions, "cl_amd_device_attribute_query"))
        return 0;
    return reported;
}

static inline void kw_key_fill_limits(cl_device_id device_id, const char *extensions, kw_key_limits *out)
{
    size_t items[16];
    cl_device_type type = 0;
    memset(out, 0, sizeof *out);
    memset(items, 0, sizeof items);
    out->max_work_group_size = kw_key_query_group(device_id, extensions);
    if (clGetDeviceInfo(device_id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL) == CL_SUCCESS) {
        out->max_local_x = (int64_t)items[0];
        out->max_local_y = (int64_t)items[1];
        out->max_local_z = (int64_t)items[2];
    }
    out->local_mem_bytes = kw_key_query_ulong(device_id, CL_DEVICE_LOCAL_MEM_SIZE);
    out->max_alloc_bytes = kw_key_query_ulong(device_id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    out->global_mem_bytes = kw_key_query_ulong(device_id, CL_DEVICE_GLOBAL_MEM_SIZE);
    out->compute_units = (int64_t)kw_key_query_uint(device_id, CL_DEVICE_MAX_COMPUTE_UNITS);
    out->preferred_multiple = kw_key_query_multiple(device_id, extensions);
    out->cache_bytes = kw_key_cache_bytes(extensions, kw_key_query_ulong(device_id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
    if (clGetDeviceInfo(device_id, CL_DEVICE_TYPE, sizeof type, &type, NULL) == CL_SUCCESS) {
        out->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
        out->is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
    }
    out->has_f16 = kw_key_has_extension(extensions, "cl_khr_fp16");
    out->has_f64 = kw_key_has_extension(extensions, "cl_khr_fp64");
}

/* Fills the key (KW_KEY_SIZE bytes do) and, where `limits` is not NULL, the limits. Cannot fail: what the driver does
 * not answer is left out. */
static inline void kw_key_query(cl_device_id device_id, char *key, size_t key_size, kw_key_limits *limits)
{
    char platform_name[256], vendor_name[256], device_name[256], device_version[256], board_name[256];
    char extensions[KW_KEY_EXTENSIONS_SIZE];
    cl_platform_id platform = NULL;
    kw_key_input in;
    memset(&in, 0, sizeof in);
    platform_name[0] = board_name[0] = '\0';
    kw_key_query_text(device_id, CL_DEVICE_VENDOR, vendor_name, sizeof vendor_name);
    kw_key_query_text(device_id, CL_DEVICE_NAME, device_name, sizeof device_name);
    kw_key_query_text(device_id, CL_DEVICE_VERSION, device_version, sizeof device_version);
    kw_key_query_text(device_id, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    if (clGetDeviceInfo(device_id, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform, NULL) != CL_SUCCESS ||
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL) != CL_SUCCESS)
        platform_name[0] = '\0';
    if (kw_key_has_extension(extensions, "cl_nv_device_attribute_query")) {
        in.cc_major = kw_key_query_uint(device_id, 0x4000 /* COMPUTE_CAPABILITY_MAJOR_NV */);
        in.cc_minor = kw_key_query_uint(device_id, 0x4001 /* COMPUTE_CAPABILITY_MINOR_NV */);
    }
    if (kw_key_has_extension(extensions, "cl_amd_device_attribute_query"))
        kw_key_query_text(device_id, 0x4038 /* BOARD_NAME_AMD */, board_name, sizeof board_name);
    if (kw_key_has_extension(extensions, "cl_intel_device_attribute_query"))
        in.intel_ip_version = kw_key_query_uint(device_id, 0x4250 /* IP_VERSION_INTEL */);
    in.vendor_id = kw_key_query_uint(device_id, CL_DEVICE_VENDOR_ID);
    in.platform_name = platform_name;
    in.vendor_name = vendor_name;
    in.device_name = device_name;
    in.device_version = device_version;
    in.board_name = board_name;
    in.compute_units = kw_key_query_uint(device_id, CL_DEVICE_MAX_COMPUTE_UNITS);
    kw_key_make(&in, key, key_size);
    if (limits)
        kw_key_fill_limits(device_id, extensions, limits);
}

/* ---- what a compiled program belongs to ---- */

#define KW_KEY_IDENTITY_SIZE 1024

/* Appends text, with a '|' before all but the first; *used becomes `size` when there is no room. */
static inline void kw_key_append(char *out, size_t size, size_t *used, const char *text)
{
    const size_t n = strlen(text);
    if (*used >= size || n + 2 > size - *used) {
        *used = size;
        return;
    }
    if (*used > 0)
        out[(*used)++] = '|';
    memcpy(out + *used, text, n + 1);
    *used += n;
}

/* Platform, device and driver with their versions: a program that one of them compiled is offered to no other. Empty if
 * the driver does not say enough. */
static inline void kw_key_query_identity(cl_device_id device_id, char *identity, size_t size)
{
    static const cl_device_info questions[] = {CL_DRIVER_VERSION, CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION};
    char text[256];
    cl_platform_id platform = NULL;
    size_t used = 0, i;
    if (clGetDeviceInfo(device_id, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform, NULL) != CL_SUCCESS ||
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    kw_key_append(identity, size, &used, text);
    if (clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof text, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    kw_key_append(identity, size, &used, text);
    for (i = 0; i < sizeof questions / sizeof *questions; i++) {
        kw_key_query_text(device_id, questions[i], text, sizeof text);
        if (i < 2 && !text[0])
            used = size;
        kw_key_append(identity, size, &used, text);
    }
    kw_key_append(identity, size, &used, sizeof(void *) == 8 ? "64" : "32");
    if (used >= size)
        identity[0] = '\0';
}

#endif /* KW_KEY_QUERY_1 */
