/* What every dispatch header shares: results, devices, lookup, launch plans. Needs no OpenCL.
 * This text is put into each header as it stands; any change that is not only a comment changes KW_SHARED_VERSION. */
#if defined(KW_SHARED_VERSION) && KW_SHARED_VERSION != 3
#error "dispatch headers of different versions in one translation unit: emit them with the same Kernwright"
#endif
#ifndef KW_SHARED_VERSION
#define KW_SHARED_VERSION 3

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef enum kw_status {
    KW_SUCCESS = 0,
    KW_ERROR_ARGUMENT = 1,
    KW_ERROR_SHAPE = 2,
    KW_ERROR_WORKSPACE = 3,
    KW_ERROR_MEMORY = 4,
    KW_ERROR_BUILD = 5,
    KW_ERROR_OPENCL = 6
} kw_status;

static inline const char *kw_status_text(kw_status status)
{
    switch (status) {
    case KW_SUCCESS:
        return "success";
    case KW_ERROR_ARGUMENT:
        return "a pointer is NULL, a buffer is too small, or an offset is not aligned";
    case KW_ERROR_SHAPE:
        return "no variant can run this shape on this device: a dim is negative or too large";
    case KW_ERROR_WORKSPACE:
        return "the workspace is missing or too small";
    case KW_ERROR_MEMORY:
        return "out of host or device memory";
    case KW_ERROR_BUILD:
        return "the kernels do not build on this device: see the build log";
    case KW_ERROR_OPENCL:
        return "an OpenCL call failed";
    }
    return "unknown status";
}

/* Which layer of the table answered. */
typedef enum kw_layer {
    KW_LAYER_EXACT = 0,   /* a row for this very shape */
    KW_LAYER_TREE = 1,    /* a decision tree over shapes */
    KW_LAYER_DEFAULT = 2, /* the variant for everything else */
    KW_LAYER_FORCED = 3   /* the program's own wish */
} kw_layer;

/* Whose measurements the answer rests on. */
typedef enum kw_match {
    KW_MATCH_EXACT = 0,  /* this kind of device */
    KW_MATCH_ARCH = 1,   /* another one of its architecture */
    KW_MATCH_VENDOR = 2, /* another one of its vendor */
    KW_MATCH_DEFAULT = 3 /* none */
} kw_match;

static inline const char *kw_layer_text(kw_layer layer)
{
    switch (layer) {
    case KW_LAYER_EXACT:
        return "exact";
    case KW_LAYER_TREE:
        return "tree";
    case KW_LAYER_DEFAULT:
        return "default";
    case KW_LAYER_FORCED:
        return "forced";
    }
    return "unknown";
}

static inline const char *kw_match_text(kw_match match)
{
    switch (match) {
    case KW_MATCH_EXACT:
        return "device";
    case KW_MATCH_ARCH:
        return "architecture";
    case KW_MATCH_VENDOR:
        return "vendor";
    case KW_MATCH_DEFAULT:
        return "none";
    }
    return "unknown";
}

/* ---- devices ---- */

/* device.NAME of the template language. */
typedef struct kw_limits {
    int64_t max_work_group_size;
    int64_t max_local_x, max_local_y, max_local_z;
    int64_t local_mem_bytes;
    int64_t max_alloc_bytes;
    int64_t global_mem_bytes;
    int64_t compute_units;
    int64_t preferred_multiple;
    int64_t cache_bytes;
    int64_t is_cpu, is_gpu;
    int64_t has_f16, has_f64;
} kw_limits;

#define KW_DEVICE_KEY_SIZE 160

/* A device as selection sees it. Plain data; filled by kw_device_init or kw_device_from_key. */
typedef struct kw_device {
    char key[KW_DEVICE_KEY_SIZE];              /* vendor/arch/name/units */
    uint64_t key_hash, arch_hash, vendor_hash; /* of the whole key, of vendor/arch, of vendor */
    int64_t units;                             /* compute units, from the key */
    int wish_of, wish; /* the header whose create was told what to run, and the variant + 1; 0: nobody was */
    kw_limits limits;
} kw_device;

/* FNV-1a with a finishing mix. */
static inline uint64_t kw_hash_text(const char *text, size_t length)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t i;
    for (i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ (h >> 32);
}

/* Hashes and units from the key; 0 unless it has four parts, the last a number. */
static inline int kw_device_read_key(kw_device *device)
{
    const char *key = device->key, *p, *slash[3];
    int n = 0;
    for (p = key; *p; p++) {
        if (*p != '/')
            continue;
        if (n == 3)
            return 0;
        slash[n++] = p;
    }
    if (n != 3 || !slash[2][1] || strlen(slash[2] + 1) > 9)
        return 0;
    device->units = 0;
    for (p = slash[2] + 1; *p; p++) {
        if (*p < '0' || *p > '9')
            return 0;
        device->units = device->units * 10 + (*p - '0');
    }
    device->vendor_hash = kw_hash_text(key, (size_t)(slash[0] - key));
    device->arch_hash = kw_hash_text(key, (size_t)(slash[1] - key));
    device->key_hash = kw_hash_text(key, strlen(key));
    return 1;
}

/* Fills *device without asking a driver. limits NULL: as if nothing were limited. */
static inline kw_status kw_device_from_key(kw_device *device, const char *key, const kw_limits *limits)
{
    const int64_t plenty = INT64_C(1) << 40;
    if (!device || !key || strlen(key) >= sizeof device->key)
        return KW_ERROR_ARGUMENT;
    memset(device, 0, sizeof *device);
    strcpy(device->key, key);
    if (!kw_device_read_key(device))
        return KW_ERROR_ARGUMENT;
    if (limits) {
        device->limits = *limits;
        return KW_SUCCESS;
    }
    device->limits.max_work_group_size = plenty;
    device->limits.max_local_x = device->limits.max_local_y = device->limits.max_local_z = plenty;
    device->limits.local_mem_bytes = device->limits.max_alloc_bytes = device->limits.global_mem_bytes = plenty;
    device->limits.compute_units = device->units;
    device->limits.preferred_multiple = 1;
    device->limits.is_gpu = 1;
    device->limits.has_f16 = device->limits.has_f64 = 1;
    return KW_SUCCESS;
}

/* A device that a header has measurements of. */
typedef struct kw_known_device {
    uint64_t key_hash, arch_hash, vendor_hash;
    int64_t units;
    int default_variant; /* -1: the header's */
    int tree;            /* -1: none */
} kw_known_device;

static inline int64_t kw_units_apart(const kw_known_device *known, const kw_device *device)
{
    return known->units > device->units ? known->units - device->units : device->units - known->units;
}

/* Finishes the hash of a row: the index into a table of 2^bits entries. */
static inline size_t kw_hash_slot(uint64_t h, unsigned bits)
{
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(h >> (64u - bits));
}

/* The known device whose measurements serve `device` best; -1 if there is none of its vendor. `index` has 2^bits
 * entries: devices by the first bits of the hash of their key, number + 1; 0 is empty. */
static inline int kw_device_match(const kw_known_device *known, int n, const uint16_t *index, unsigned bits,
                                  const kw_device *device, kw_match *match)
{
    size_t slot = (size_t)(device->key_hash >> (64u - bits));
    int i, best = -1;
    *match = KW_MATCH_EXACT;
    for (; index[slot]; slot = (slot + 1) & (((size_t)1 << bits) - 1))
        if (known[index[slot] - 1].key_hash == device->key_hash)
            return (int)index[slot] - 1;
    *match = KW_MATCH_DEFAULT;
    for (i = 0; i < n; i++) {
        kw_match m;
        if (known[i].vendor_hash != device->vendor_hash)
            continue;
        m = known[i].arch_hash == device->arch_hash ? KW_MATCH_ARCH : KW_MATCH_VENDOR;
        if (best < 0 || m < *match ||
            (m == *match && kw_units_apart(known + i, device) < kw_units_apart(known + best, device))) {
            best = i;
            *match = m;
        }
    }
    return best;
}

#include "codegen/runtime/plan.inc"

/* ---- sizes of tensors ---- */

/* What a tensor spans, dimension by dimension. Begins as {1, 0, 0, 0}. */
typedef struct kw_span {
    int64_t elements; /* from the first to the last */
    int64_t last;     /* strided: index of the last */
    int empty, fault;
} kw_span;

/* One more dimension of a dense tensor. */
static inline void kw_span_dense(kw_span *span, int64_t extent)
{
    if (extent < 0)
        span->fault = 1;
    else if (extent == 0)
        span->empty = 1;
    else if (span->elements > INT64_MAX / extent)
        span->fault = 1;
    else
        span->elements *= extent;
}

static inline void kw_span_strided(kw_span *span, int64_t extent, int64_t stride)
{
    if (extent < 0 || stride < 0)
        span->fault = 1;
    else if (extent == 0)
        span->empty = 1;
    else if (stride > 0 && extent - 1 > (INT64_MAX - 1 - span->last) / stride)
        span->fault = 1;
    else
        span->last += (extent - 1) * stride;
    span->elements = span->last + 1;
}

/* Bytes; -1 if they are beyond int64. An empty tensor has none, however large its other dimensions. */
static inline int64_t kw_span_bytes(const kw_span *span, int64_t size)
{
    if (span->empty)
        return 0;
    return span->fault || span->elements > INT64_MAX / size ? -1 : span->elements * size;
}

/* ---- tables ---- */

typedef struct kw_variant_facts {
    const char *name;
    const char *options;            /* of the OpenCL compiler */
    uint32_t form;                  /* which functions serve it */
    uint32_t first_constant;        /* of the numbers they take */
    uint32_t first_piece, n_pieces; /* of its kernel text */
} kw_variant_facts;

/* Puts text together from pieces like snprintf: at most size - 1 bytes and a NUL; returns the whole length. */
static inline size_t kw_text_join(const char *const *pieces, const uint32_t *list, size_t n, char *out, size_t size)
{
    size_t i, total = 0;
    for (i = 0; i < n; i++) {
        const char *text = pieces[list[i]];
        const size_t length = strlen(text);
        if (total < size) {
            const size_t room = size - total - 1;
            memcpy(out + total, text, length < room ? length : room);
        }
        total += length;
    }
    if (size > 0)
        out[total < size ? total : size - 1] = '\0';
    return total;
}

#endif /* KW_SHARED_VERSION */
