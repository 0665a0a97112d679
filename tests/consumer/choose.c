/* Selection without OpenCL: chains of devices and layers, limits, plans. */
#define KW_NO_LAUNCH
#include "kw_gemm.h"
#include "kw_saxpy.h"
#include "kw_odd.h"
#include "support.h"

#ifdef CL_SUCCESS
#error "KW_NO_LAUNCH must not bring in OpenCL"
#endif

static kw_device device_of(const char *key, const kw_limits *limits)
{
    kw_device d;
    CHECK(kw_device_from_key(&d, key, limits) == KW_SUCCESS);
    return d;
}

static kw_gemm_choice choose(const char *key, const kw_limits *limits, int64_t M, int64_t N, int64_t K)
{
    const kw_device d = device_of(key, limits);
    const kw_gemm_shape s = {M, N, K};
    return kw_gemm_select(&d, &s);
}

static int is_choice(kw_gemm_choice c, int variant, kw_layer layer, kw_match match)
{
    return c.variant == variant && c.layer == layer && c.device_match == match;
}

/* Variants of kw_gemm.h: 0 naive (everybody's default), 1 tiled, 2 split, 3 constants. */
static void chain(void)
{
    CHECK(is_choice(choose("invented/unit_90/big/132", NULL, 64, 64, 64), 2, KW_LAYER_EXACT, KW_MATCH_EXACT));
    CHECK(is_choice(choose("invented/unit_90/big/132", NULL, 64, 64, 65), 0, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT));
    CHECK(is_choice(choose("invented/unit_90/small/114", NULL, 64, 64, 64), 2, KW_LAYER_EXACT, KW_MATCH_ARCH));
    CHECK(is_choice(choose("invented/unit_90/big/131", NULL, 1000, 1000, 1000), 1, KW_LAYER_EXACT, KW_MATCH_ARCH));
    CHECK(is_choice(choose("invented/unit_80/old/108", NULL, 64, 64, 64), 2, KW_LAYER_EXACT, KW_MATCH_VENDOR));
    CHECK(is_choice(choose("invented/unit_80/old/108", NULL, 1, 2, 3), 0, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT));
    CHECK(is_choice(choose("amd/gfx942/mi300x/304", NULL, 64, 64, 64), 0, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT));
    CHECK(is_choice(choose("invente/unit_90/big/132", NULL, 64, 64, 64), 0, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT));
}

/* A device that cannot run the row's variant gets another one; one that can run nothing gets -1. */
static void limits(void)
{
    kw_device d = device_of("invented/unit_90/big/132", NULL);
    kw_limits small = d.limits;
    small.max_work_group_size = 127;
    CHECK(is_choice(choose(d.key, &small, 64, 64, 64), 0, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT));
    small.max_work_group_size = 128;
    CHECK(is_choice(choose(d.key, &small, 64, 64, 64), 2, KW_LAYER_EXACT, KW_MATCH_EXACT));
    small.local_mem_bytes = 1024;
    CHECK(is_choice(choose(d.key, &small, 64, 64, 64), 0, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT));
    CHECK(is_choice(choose("invented/unit_90/small/114", &small, 64, 64, 64), 0, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT));
    small.max_work_group_size = 63;
    CHECK(is_choice(choose(d.key, &small, 64, 64, 64), -1, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT));
}

static void keys(void)
{
    static const char *const bad[] = {"",          "nvidia",           "a/b/c",   "a/b/c/", "a/b/c/x",
                                      "a/b/c/1/2", "a/b/c/1234567890", "a/b/c/-1"};
    char long_key[400];
    kw_device d;
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(kw_device_from_key(&d, bad[i], NULL) == KW_ERROR_ARGUMENT);
    memset(long_key, 'x', sizeof long_key);
    memcpy(long_key + sizeof long_key - 8, "/a/b/12", 8);
    CHECK(kw_device_from_key(&d, long_key, NULL) == KW_ERROR_ARGUMENT);
    CHECK(kw_device_from_key(NULL, "a/b/c/1", NULL) == KW_ERROR_ARGUMENT);
    CHECK(kw_device_from_key(&d, NULL, NULL) == KW_ERROR_ARGUMENT);
    CHECK(kw_device_from_key(&d, "a/b/c/17", NULL) == KW_SUCCESS && d.units == 17);
}

/* Of several devices of one architecture or vendor, the one nearest in compute units. */
static void nearest(void)
{
    static const char *const names[] = {"v/a/x/10", "v/a/y/40", "v/b/z/41", "w/a/x/5"};
    kw_known_device known[4];
    uint16_t index[16] = {0};
    kw_match match;
    kw_device d;
    int i;
    for (i = 0; i < 4; i++) {
        size_t slot;
        d = device_of(names[i], NULL);
        known[i].key_hash = d.key_hash;
        known[i].arch_hash = d.arch_hash;
        known[i].vendor_hash = d.vendor_hash;
        known[i].units = d.units;
        known[i].default_variant = known[i].tree = -1;
        for (slot = (size_t)(d.key_hash >> 60); index[slot]; slot = (slot + 1) & 15)
            ;
        index[slot] = (uint16_t)(i + 1);
    }
    d = device_of("v/a/new/24", NULL);
    CHECK(kw_device_match(known, 4, index, 4, &d, &match) == 0 && match == KW_MATCH_ARCH);
    d = device_of("v/a/new/26", NULL);
    CHECK(kw_device_match(known, 4, index, 4, &d, &match) == 1 && match == KW_MATCH_ARCH);
    d = device_of("v/a/new/25", NULL);
    CHECK(kw_device_match(known, 4, index, 4, &d, &match) == 0 && match == KW_MATCH_ARCH);
    d = device_of("v/c/new/1000", NULL);
    CHECK(kw_device_match(known, 4, index, 4, &d, &match) == 2 && match == KW_MATCH_VENDOR);
    d = device_of("v/a/y/40", NULL);
    CHECK(kw_device_match(known, 4, index, 4, &d, &match) == 1 && match == KW_MATCH_EXACT);
    d = device_of("u/a/y/40", NULL);
    CHECK(kw_device_match(known, 4, index, 4, &d, &match) == -1 && match == KW_MATCH_DEFAULT);
}

static int int_arg(const kw_launch *l, int i)
{
    int32_t value = -1;
    CHECK(i < l->n_args && l->args[i].kind == KW_ARG_BYTES && l->args[i].size == 4);
    memcpy(&value, l->args[i].bytes, 4);
    return value;
}

static void plans(void)
{
    const kw_device d = device_of("invented/unit_90/big/132", NULL);
    const kw_gemm_shape s = {17, 33, 300};
    const kw_gemm_choice split = {2, KW_LAYER_EXACT, KW_MATCH_EXACT, 1.0f};
    kw_plan plan;
    float alpha;
    CHECK(kw_gemm_workspace(&split, &s) == 17 * 33 * 4 * 4);
    CHECK(kw_gemm_plan(2, &d, &s, 0.5f, 2.0f, &plan));
    CHECK(plan.n_launches == 2 && plan.temp_bytes[0] == 17 * 33 * 4 * 4 && plan.temp_bytes[1] == 0);
    CHECK(strcmp(plan.launches[0].kernel, "gemm_part") == 0 && strcmp(plan.launches[1].kernel, "gemm_sum") == 0);
    CHECK(plan.launches[0].rank == 2 && plan.launches[0].local[0] == 128 && plan.launches[0].local[1] == 1);
    CHECK(plan.launches[0].groups[0] == 2 && plan.launches[0].groups[1] == 4 && plan.launches[0].groups[2] == 1);
    CHECK(int_arg(&plan.launches[0], 0) == 17 && int_arg(&plan.launches[0], 1) == 33 &&
          int_arg(&plan.launches[0], 2) == 300);
    CHECK(plan.launches[1].args[2].kind == KW_ARG_BYTES && plan.launches[1].args[3].kind == KW_ARG_TEMP);
    memcpy(&alpha, plan.launches[1].args[2].bytes, 4);
    CHECK(alpha == 0.5f);
    CHECK(!kw_gemm_plan(-1, &d, &s, 1, 0, &plan) && !kw_gemm_plan(4, &d, &s, 1, 0, &plan));
    CHECK(kw_gemm_variant_count() == 4);
    CHECK(strcmp(kw_gemm_variant_name(0), "gemm_naive LX=16 LY=4") == 0 &&
          strcmp(kw_gemm_variant_name(4), "none") == 0);
}

/* Two temporaries, the second behind the first at a multiple of 4,096; a stride with a default, outside the key. */
static void odd(void)
{
    const kw_device d = device_of("a/b/c/1", NULL);
    const kw_odd_shape dense = {1000, 3, 0}, strided = {1000, 3, 5}, narrow = {1000, 3, 2}, single = {7, 1, 0};
    kw_odd_choice c = kw_odd_select(&d, &dense);
    kw_plan plan;
    CHECK(c.variant == 0);
    CHECK(kw_odd_workspace(&c, &dense) == 12288 + 12000);
    CHECK(kw_odd_workspace(&c, &strided) == 12288 + 12000);
    CHECK(kw_odd_workspace(&c, &single) == 28);
    CHECK(kw_odd_select(&d, &narrow).variant == -1);
    CHECK(kw_odd_plan(0, &d, &dense, 2, 1.0f, UINT64_MAX, -3, &plan) && plan.n_launches == 3);
    CHECK(plan.launches[0].args[6].kind == KW_ARG_LOCAL && plan.launches[0].args[6].size == 32);
    CHECK(plan.launches[2].args[3].size == 8 && plan.launches[2].args[3].bytes[7] == 255);
    CHECK(plan.launches[2].args[4].size == 1 && plan.launches[2].args[4].bytes[0] == 253);
}

static void half(void)
{
    static const struct {
        double value;
        int bits;
    } cases[] = {{0, 0},
                 {-0.0, 0x8000},
                 {1, 0x3c00},
                 {-2, 0xc000},
                 {65504, 0x7bff},
                 {65519.99, 0x7bff},
                 {65520, 0x7c00},
                 {-1e30, 0xfc00},
                 {6.103515625e-05, 0x0400},
                 {5.960464477539063e-08, 1},
                 {2.9e-08, 0},
                 {3.0e-08, 1},
                 {2.980232238769531e-08, 0},
                 {1.00048828125, 0x3c00},
                 {1.00146484375, 0x3c02},
                 {2047.5, 0x6800},
                 {0.1, 0x2e66}};
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        kw_launch l;
        uint16_t bits;
        l.n_args = 0;
        kw_arg_f16(&l, cases[i].value);
        memcpy(&bits, l.args[0].bytes, 2);
        CHECK(l.n_args == 1 && l.args[0].size == 2);
        if (bits != cases[i].bits)
            printf("%g: %04x, expected %04x\n", cases[i].value, bits, (unsigned)cases[i].bits);
        CHECK(bits == cases[i].bits);
    }
}

int main(void)
{
    chain();
    limits();
    keys();
    nearest();
    plans();
    odd();
    half();
    CHECK(strcmp(kw_layer_text(KW_LAYER_EXACT), "exact") == 0 &&
          strcmp(kw_match_text(KW_MATCH_ARCH), "architecture") == 0);
    return report("choose");
}
