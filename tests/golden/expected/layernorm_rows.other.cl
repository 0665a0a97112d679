/* layernorm_rows WG=64 ROWS=1 TILE=5 MAXREG=64 EARLY=4 STREAM=false SPECC=true; T=f32,ACC=f32; C=1024 */
#define C 1024
float from_lane(float v, int mask)
{
    float other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(other) : "f"(v), "r"(mask));
    return other;
}

float warp_sum(float v)
{
    v += from_lane(v, 16);
    v += from_lane(v, 8);
    v += from_lane(v, 4);
    v += from_lane(v, 2);
    v += from_lane(v, 1);
    return v;
}

float add4(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

float4 get(__global const float4 *p)
{
    float a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(p));
    return (float4)(a, b, c, d);
}

float4 keep(__global const float4 *p)
{
    float a, b, c, d;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(p));
    return (float4)(a, b, c, d);
}

void put(__global float4 *p, float4 v)
{
    *p = v;
}

/* How many elements warp w of a group holds. */
float held(int w)
{
    return (float)(512 + 4 * clamp(0 - 32 * w, 0, 32));
}

/* A required size makes the compiler choose registers by itself: it is left out where the option is to count. */
__kernel
void layernorm_shared(int R, int C_arg, float eps, __global const float *restrict x, __global const float *restrict gamma,
        __global const float *restrict beta, __global float *restrict y)
{
    __local float sums[2], squares[2];
    const int lane = get_local_id(0);
    const int top = (int)(get_group_id(0)) * 1;
    __global const float4 *scale = (__global const float4 *)gamma + lane;
    __global const float4 *shift = (__global const float4 *)beta + lane;
    /* rows below the last one are read as the last one and not written */
    const size_t row0 = (size_t)min(top + 0, R - 1) * 256 + lane;
    __global const float4 *from0 = (__global const float4 *)x + row0;
    __local float4 tile[256];
    ulong wide;
    asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(wide) : "l"(tile) : "memory");
    const uint slot = (uint)wide + 16 * lane;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     : : "r"(slot + 0), "l"(from0 + 0) : "memory");
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     : : "r"(slot + 1024), "l"(from0 + 64) : "memory");
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     : : "r"(slot + 2048), "l"(from0 + 128) : "memory");
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     : : "r"(slot + 3072), "l"(from0 + 192) : "memory");

    float4 g0 = (float4)(0.0f), b0 = (float4)(0.0f);
    {
        g0 = keep(scale + 0);
        b0 = keep(shift + 0);
    }
    float4 g1 = (float4)(0.0f), b1 = (float4)(0.0f);
    {
        g1 = keep(scale + 64);
        b1 = keep(shift + 64);
    }
    float4 g2 = (float4)(0.0f), b2 = (float4)(0.0f);
    {
        g2 = keep(scale + 128);
        b2 = keep(shift + 128);
    }
    float4 g3 = (float4)(0.0f), b3 = (float4)(0.0f);
    {
        g3 = keep(scale + 192);
        b3 = keep(shift + 192);
    }
    const float own = held(lane >> 5);
    asm volatile("cp.async.wait_all;" : : : "memory");
    {
        float4 t = (float4)(0.0f);
            t += tile[lane + 0];
            t += tile[lane + 64];
            t += tile[lane + 128];
            t += tile[lane + 192];
        const float sum = warp_sum(add4(t));
        const float m = own > 0.0f ? sum / own : 0.0f;
        t = (float4)(0.0f);
        {
            const float4 d = tile[lane + 0] - m;
            t += d * d;
        }
        {
            const float4 d = tile[lane + 64] - m;
            t += d * d;
        }
        {
            const float4 d = tile[lane + 128] - m;
            t += d * d;
        }
        {
            const float4 d = tile[lane + 192] - m;
            t += d * d;
        }
        const float square = warp_sum(add4(t));
        if ((lane & 31) == 0) {
            sums[0 + (lane >> 5)] = sum;
            squares[0 + (lane >> 5)] = square;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int w = lane & 1;
    const float count = held(w);
    float mean0, factor0;
    float q0 = squares[0 + w];
    {
        const float s = sums[0 + w];
        float total = s;
        total += from_lane(total, 1);
        mean0 = total / (float)1024;
        const float off = count > 0.0f ? s / count - mean0 : 0.0f;
        q0 += count * off * off;
        q0 += from_lane(q0, 1);
    }
    factor0 = 1.0f / sqrt(q0 / (float)C + eps);

    /* registers first: they become free for what follows */
    {
        const float4 g = g3, b = b3;
            put((__global float4 *)y + row0 + 192, (tile[lane + 192] - mean0) * factor0 * g + b);
    }
    {
        const float4 g = g2, b = b2;
            put((__global float4 *)y + row0 + 128, (tile[lane + 128] - mean0) * factor0 * g + b);
    }
    {
        const float4 g = g1, b = b1;
            put((__global float4 *)y + row0 + 64, (tile[lane + 64] - mean0) * factor0 * g + b);
    }
    {
        const float4 g = g0, b = b0;
            put((__global float4 *)y + row0 + 0, (tile[lane + 0] - mean0) * factor0 * g + b);
    }
}
