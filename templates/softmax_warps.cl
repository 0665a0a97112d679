/*kernwright {
  "task": "softmax", "language": "opencl",
  "doc": "TPR work-items per row, RPG rows per group, rows in registers, warp shuffles; no barrier where a warp has a row. NVIDIA sm_80 and later (inline PTX). Evolved: generate-000024 of tests/recorded/softmax, from generate-000011, generate-000004, softmax_naive.",
  "params": {
    "TPR": {"values": [32, 64, 128, 256], "default": 256, "doc": "work-items per row"},
    "RPG": {"values": [1, 2, 4, 8], "default": 1, "doc": "rows per group"},
    "VEC": {"values": [1, 4], "default": 4, "doc": "elements per access"},
    "KMAX": {"values": [8, 16, 20, 24], "default": 16, "doc": "vectors that a work-item keeps at most"},
    "BATCH": {"values": [4, 8], "default": 8, "doc": "vectors per round of what is not kept"},
    "REGS": {"values": [64, 96, 128, 168], "default": 128, "doc": "registers per work-item at most"},
    "LOAD": {"values": [0, 1, 2], "default": 0, "when": "VEC == 4", "doc": "kept vectors: 0 plain, 1 first out of L2, 2 last out of L2"},
    "STREAM": {"values": [false, true], "default": true, "when": "VEC == 4", "doc": "streaming stores"},
    "SPECC": {"values": [false, true], "default": true, "doc": "C as a constant"} },
  "constraints": [
    {"expr": "device.preferred_multiple == 32", "why": "PTX for warps of 32"},
    {"expr": "TPR * RPG <= 256", "why": "larger groups were not tried"},
    {"expr": "KMAX * VEC + 20 <= REGS", "why": "the row's part must fit into registers"} ],
  "requires": ["C % VEC == 0"],
  "specialize": {"C": "SPECC"},
  "options": ["-cl-nv-maxrregcount=${REGS}"],
  "launches": [
    {"kernel": "softmax_rows", "args": [{"expr": "R", "type": "i32"}, "C", "x", "y"],
     "local": ["TPR * RPG"], "groups": ["ceil_div(R, RPG)"]} ]
} */
//@let W = TPR // 32
#define VT ${vec(T, VEC)}
#define LOG2E 1.4426950408889634f
#define NV (C / ${VEC})
//@if SPECC
//@let CHUNKS = ceil_div(C // VEC, TPR)
//@let KEPT = min(KMAX, CHUNKS)
#define KEEP ${KEPT}
#define REST ${1 if KEPT < CHUNKS else 0}
#if ${1 if KEPT * TPR <= C // VEC else 0}
#define INSIDE(i) (1)
#else
#define INSIDE(i) ((i) < NV)
#endif
#if ${1 if (C // VEC - KEPT * TPR) % (TPR * BATCH) == 0 else 0}
#define INREST(i) (1)
#else
#define INREST(i) ((i) < NV)
#endif
//@else
#define KEEP ${KMAX}
#define REST 1
#define INSIDE(i) ((i) < NV)
#define INREST(i) ((i) < NV)
//@end
//@if VEC == 4
#define VMAX(v) fmax(fmax((v).x, (v).y), fmax((v).z, (v).w))
#define VSUM(v) (((v).x + (v).y) + ((v).z + (v).w))
//@else
#define VMAX(v) (v)
#define VSUM(v) (v)
//@end

float other_lane(float v, int distance)
{
    float got;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(got) : "f"(v), "r"(distance));
    return got;
}

/* e to the power of a, for a <= 0 */
float power(float a)
{
    float e;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(a * LOG2E));
    return e;
}

VT powers(VT a)
{
//@if VEC == 4
    return (VT)(power(a.x), power(a.y), power(a.z), power(a.w));
//@else
    return power(a);
//@end
}

ulong load_policy(void)
{
    ulong policy = 0;
//@if LOAD == 1
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
//@elif LOAD == 2
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
//@end
    return policy;
}

VT get(__global const VT *from, ulong policy)
{
//@if LOAD == 0 or VEC == 1
    return *from;
//@else
    float a, b, c, d;
    asm volatile("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(from), "l"(policy));
    return (VT)(a, b, c, d);
//@end
}

void put(__global VT *to, VT v)
{
//@if STREAM and VEC == 4
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 : : "l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
//@else
    *to = v;
//@end
}

kernel __attribute__((reqd_work_group_size(${TPR * RPG}, 1, 1)))
void softmax_rows(int R_arg, int C_arg, __global const ${T} *restrict x, __global ${T} *restrict y)
{
//@if RPG == 1
    const int lane = get_local_id(0);
    const int row = get_group_id(0);
    const bool real = true;
//@else
    const int lane = (int)get_local_id(0) & ${TPR - 1};
    const int wanted = (int)get_group_id(0) * ${RPG} + (int)get_local_id(0) / ${TPR};
    /* Beyond the last row: computes the last row again, and writes nothing. */
    const bool real = wanted < R_arg;
    const int row = real ? wanted : R_arg - 1;
//@end
    const size_t start = (size_t)row * (size_t)C;
    __global const VT *from = (__global const VT *)(x + start);
    __global VT *to = (__global VT *)(y + start);
    const ulong policy = load_policy();

    VT v[KEEP];
#pragma unroll
    for (int k = 0; k < KEEP; k++) {
        v[k] = (VT)(-INFINITY);
        if (INSIDE(lane + k * ${TPR}))
            v[k] = get(from + lane + k * ${TPR}, policy);
    }
    float m = -FLT_MAX, s = 0.0f;
#pragma unroll
    for (int k = 0; k < KEEP; k++)
        m = fmax(m, VMAX(v[k]));
    const float kept = m;
#pragma unroll
    for (int k = 0; k < KEEP; k++) {
        v[k] = powers(v[k] - kept);
        s += VSUM(v[k]);
    }
#if REST
    const int rounds = NV > KEEP * ${TPR} ? (NV - KEEP * ${TPR} + ${TPR * BATCH - 1}) / ${TPR * BATCH} : 0;
#pragma unroll 1
    for (int b = 0; b < rounds; b++) {
        const int i = lane + (KEEP + b * ${BATCH}) * ${TPR};
        VT t[${BATCH}];
        float larger = m;
#pragma unroll
        for (int u = 0; u < ${BATCH}; u++) {
            t[u] = (VT)(-INFINITY);
            if (INREST(i + u * ${TPR}))
                t[u] = from[i + u * ${TPR}];
        }
#pragma unroll
        for (int u = 0; u < ${BATCH}; u++)
            larger = fmax(larger, VMAX(t[u]));
        s *= power(m - larger);
#pragma unroll
        for (int u = 0; u < ${BATCH}; u++) {
            t[u] = powers(t[u] - larger);
            s += VSUM(t[u]);
        }
        m = larger;
    }
#endif

    float top = m;
//@for P in 0..5
    top = fmax(top, other_lane(top, ${2**P}));
//@end
    s *= power(m - top);
//@for P in 0..5
    s += other_lane(s, ${2**P});
//@end
//@if W > 1
    __local float2 parts[${W * RPG}];
    const int warp = (int)get_local_id(0) >> 5;
    if ((lane & 31) == 0)
        parts[warp] = (float2)(top, s);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first = warp & ~${W - 1};
//@for P in 0..W
    const float2 pair${P} = parts[first + ${P}];
//@end
    top = pair0.x;
//@for P in 1..W
    top = fmax(top, pair${P}.x);
//@end
    s = pair0.y * power(pair0.x - top);
//@for P in 1..W
    s += pair${P}.y * power(pair${P}.x - top);
//@end
//@end
    const float inverse = 1.0f / s;
    const float scale = power(kept - top) * inverse;

    if (real) {
#pragma unroll
        for (int k = 0; k < KEEP; k++)
            if (INSIDE(lane + k * ${TPR}))
                put(to + lane + k * ${TPR}, v[k] * scale);
#if REST
        /* What was read last is in the nearest cache: it comes first. */
#pragma unroll 1
        for (int b = rounds - 1; b >= 0; b--) {
            const int i = lane + (KEEP + b * ${BATCH}) * ${TPR};
            VT t[${BATCH}];
#pragma unroll
            for (int u = 0; u < ${BATCH}; u++) {
                t[u] = (VT)(-INFINITY);
                if (INREST(i + u * ${TPR}))
                    t[u] = from[i + u * ${TPR}];
            }
#pragma unroll
            for (int u = 0; u < ${BATCH}; u++)
                if (INREST(i + u * ${TPR}))
                    put(to + i + u * ${TPR}, powers(t[u] - top) * inverse);
        }
#endif
    }
}
