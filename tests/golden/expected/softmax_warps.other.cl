/* softmax_warps TPR=32 RPG=2 VEC=4 KMAX=16 BATCH=8 REGS=96 LOAD=2 STREAM=false SPECC=false; T=f32,ACC=f32 */
#define C C_arg
#define VT float4
#define LOG2E 1.4426950408889634f
#define NV (C / 4)
#define KEEP 16
#define REST 1
#define INSIDE(i) ((i) < NV)
#define INREST(i) ((i) < NV)
#define VMAX(v) fmax(fmax((v).x, (v).y), fmax((v).z, (v).w))
#define VSUM(v) (((v).x + (v).y) + ((v).z + (v).w))

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
    return (VT)(power(a.x), power(a.y), power(a.z), power(a.w));
}

ulong load_policy(void)
{
    ulong policy = 0;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

VT get(__global const VT *from, ulong policy)
{
    float a, b, c, d;
    asm volatile("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(from), "l"(policy));
    return (VT)(a, b, c, d);
}

void put(__global VT *to, VT v)
{
    *to = v;
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void softmax_rows(int R_arg, int C_arg, __global const float *restrict x, __global float *restrict y)
{
    const int lane = (int)get_local_id(0) & 31;
    const int wanted = (int)get_group_id(0) * 2 + (int)get_local_id(0) / 32;
    /* Beyond the last row: computes the last row again, and writes nothing. */
    const bool real = wanted < R_arg;
    const int row = real ? wanted : R_arg - 1;
    const size_t start = (size_t)row * (size_t)C;
    __global const VT *from = (__global const VT *)(x + start);
    __global VT *to = (__global VT *)(y + start);
    const ulong policy = load_policy();

    VT v[KEEP];
#pragma unroll
    for (int k = 0; k < KEEP; k++) {
        v[k] = (VT)(-INFINITY);
        if (INSIDE(lane + k * 32))
            v[k] = get(from + lane + k * 32, policy);
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
    const int rounds = NV > KEEP * 32 ? (NV - KEEP * 32 + 255) / 256 : 0;
#pragma unroll 1
    for (int b = 0; b < rounds; b++) {
        const int i = lane + (KEEP + b * 8) * 32;
        VT t[8];
        float larger = m;
#pragma unroll
        for (int u = 0; u < 8; u++) {
            t[u] = (VT)(-INFINITY);
            if (INREST(i + u * 32))
                t[u] = from[i + u * 32];
        }
#pragma unroll
        for (int u = 0; u < 8; u++)
            larger = fmax(larger, VMAX(t[u]));
        s *= power(m - larger);
#pragma unroll
        for (int u = 0; u < 8; u++) {
            t[u] = powers(t[u] - larger);
            s += VSUM(t[u]);
        }
        m = larger;
    }
#endif

    float top = m;
    top = fmax(top, other_lane(top, 1));
    top = fmax(top, other_lane(top, 2));
    top = fmax(top, other_lane(top, 4));
    top = fmax(top, other_lane(top, 8));
    top = fmax(top, other_lane(top, 16));
    s *= power(m - top);
    s += other_lane(s, 1);
    s += other_lane(s, 2);
    s += other_lane(s, 4);
    s += other_lane(s, 8);
    s += other_lane(s, 16);
    const float inverse = 1.0f / s;
    const float scale = power(kept - top) * inverse;

    if (real) {
#pragma unroll
        for (int k = 0; k < KEEP; k++)
            if (INSIDE(lane + k * 32))
                put(to + lane + k * 32, v[k] * scale);
#if REST
        /* What was read last is in the nearest cache: it comes first. */
#pragma unroll 1
        for (int b = rounds - 1; b >= 0; b--) {
            const int i = lane + (KEEP + b * 8) * 32;
            VT t[8];
#pragma unroll
            for (int u = 0; u < 8; u++) {
                t[u] = (VT)(-INFINITY);
                if (INREST(i + u * 32))
                    t[u] = from[i + u * 32];
            }
#pragma unroll
            for (int u = 0; u < 8; u++)
                if (INREST(i + u * 32))
                    put(to + i + u * 32, powers(t[u] - top) * inverse);
        }
#endif
    }
}
