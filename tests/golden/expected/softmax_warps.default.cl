/* softmax_warps TPR=256 RPG=1 VEC=4 KMAX=16 BATCH=8 REGS=128 LOAD=0 STREAM=true SPECC=true; T=f32,ACC=f32; C=4096 */
#define C 4096
#define VT float4
#define LOG2E 1.4426950408889634f
#define NV (C / 4)
#define KEEP 4
#define REST 0
#if 1
#define INSIDE(i) (1)
#else
#define INSIDE(i) ((i) < NV)
#endif
#if 1
#define INREST(i) (1)
#else
#define INREST(i) ((i) < NV)
#endif
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
    return policy;
}

VT get(__global const VT *from, ulong policy)
{
    return *from;
}

void put(__global VT *to, VT v)
{
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 : : "l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void softmax_rows(int R_arg, int C_arg, __global const float *restrict x, __global float *restrict y)
{
    const int lane = get_local_id(0);
    const int row = get_group_id(0);
    const bool real = true;
    const size_t start = (size_t)row * (size_t)C;
    __global const VT *from = (__global const VT *)(x + start);
    __global VT *to = (__global VT *)(y + start);
    const ulong policy = load_policy();

    VT v[KEEP];
#pragma unroll
    for (int k = 0; k < KEEP; k++) {
        v[k] = (VT)(-INFINITY);
        if (INSIDE(lane + k * 256))
            v[k] = get(from + lane + k * 256, policy);
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
    const int rounds = NV > KEEP * 256 ? (NV - KEEP * 256 + 2047) / 2048 : 0;
#pragma unroll 1
    for (int b = 0; b < rounds; b++) {
        const int i = lane + (KEEP + b * 8) * 256;
        VT t[8];
        float larger = m;
#pragma unroll
        for (int u = 0; u < 8; u++) {
            t[u] = (VT)(-INFINITY);
            if (INREST(i + u * 256))
                t[u] = from[i + u * 256];
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
    __local float2 parts[8];
    const int warp = (int)get_local_id(0) >> 5;
    if ((lane & 31) == 0)
        parts[warp] = (float2)(top, s);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int first = warp & ~7;
    const float2 pair0 = parts[first + 0];
    const float2 pair1 = parts[first + 1];
    const float2 pair2 = parts[first + 2];
    const float2 pair3 = parts[first + 3];
    const float2 pair4 = parts[first + 4];
    const float2 pair5 = parts[first + 5];
    const float2 pair6 = parts[first + 6];
    const float2 pair7 = parts[first + 7];
    top = pair0.x;
    top = fmax(top, pair1.x);
    top = fmax(top, pair2.x);
    top = fmax(top, pair3.x);
    top = fmax(top, pair4.x);
    top = fmax(top, pair5.x);
    top = fmax(top, pair6.x);
    top = fmax(top, pair7.x);
    s = pair0.y * power(pair0.x - top);
    s += pair1.y * power(pair1.x - top);
    s += pair2.y * power(pair2.x - top);
    s += pair3.y * power(pair3.x - top);
    s += pair4.y * power(pair4.x - top);
    s += pair5.y * power(pair5.x - top);
    s += pair6.y * power(pair6.x - top);
    s += pair7.y * power(pair7.x - top);
    const float inverse = 1.0f / s;
    const float scale = power(kept - top) * inverse;

    if (real) {
#pragma unroll
        for (int k = 0; k < KEEP; k++)
            if (INSIDE(lane + k * 256))
                put(to + lane + k * 256, v[k] * scale);
#if REST
        /* What was read last is in the nearest cache: it comes first. */
#pragma unroll 1
        for (int b = rounds - 1; b >= 0; b--) {
            const int i = lane + (KEEP + b * 8) * 256;
            VT t[8];
#pragma unroll
            for (int u = 0; u < 8; u++) {
                t[u] = (VT)(-INFINITY);
                if (INREST(i + u * 256))
                    t[u] = from[i + u * 256];
            }
#pragma unroll
            for (int u = 0; u < 8; u++)
                if (INREST(i + u * 256))
                    put(to + i + u * 256, powers(t[u] - top) * inverse);
        }
#endif
    }
}
