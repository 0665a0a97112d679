/* layernorm_rows WG=128 ROWS=1 TILE=0 MAXREG=64 EARLY=1 STREAM=true SPECC=true; T=f32,ACC=f32; C=4096 */
#define C 4096
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
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 : : "l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
}

/* How many elements warp w of a group holds. */
float held(int w)
{
    return (float)(1024 + 4 * clamp(0 - 32 * w, 0, 32));
}

/* A required size makes the compiler choose registers by itself: it is left out where the option is to count. */
__kernel
void layernorm_shared(int R, int C_arg, float eps, __global const float *restrict x, __global const float *restrict gamma,
        __global const float *restrict beta, __global float *restrict y)
{
    __local float sums[4], squares[4];
    const int lane = get_local_id(0);
    const int top = (int)(get_group_id(0)) * 1;
    __global const float4 *scale = (__global const float4 *)gamma + lane;
    __global const float4 *shift = (__global const float4 *)beta + lane;
    /* rows below the last one are read as the last one and not written */
    const size_t row0 = (size_t)min(top + 0, R - 1) * 1024 + lane;
    __global const float4 *from0 = (__global const float4 *)x + row0;
    float4 v0_0 = (float4)(0.0f);
        v0_0 = get(from0 + 0);
    float4 v0_1 = (float4)(0.0f);
        v0_1 = get(from0 + 128);
    float4 v0_2 = (float4)(0.0f);
        v0_2 = get(from0 + 256);
    float4 v0_3 = (float4)(0.0f);
        v0_3 = get(from0 + 384);
    float4 v0_4 = (float4)(0.0f);
        v0_4 = get(from0 + 512);
    float4 v0_5 = (float4)(0.0f);
        v0_5 = get(from0 + 640);
    float4 v0_6 = (float4)(0.0f);
        v0_6 = get(from0 + 768);
    float4 v0_7 = (float4)(0.0f);
        v0_7 = get(from0 + 896);

    float4 g7 = (float4)(0.0f), b7 = (float4)(0.0f);
    {
        g7 = keep(scale + 896);
        b7 = keep(shift + 896);
    }
    const float own = held(lane >> 5);
    {
        float4 t = (float4)(0.0f);
            t += v0_0;
            t += v0_1;
            t += v0_2;
            t += v0_3;
            t += v0_4;
            t += v0_5;
            t += v0_6;
            t += v0_7;
        const float sum = warp_sum(add4(t));
        const float m = own > 0.0f ? sum / own : 0.0f;
        t = (float4)(0.0f);
        {
            const float4 d = v0_0 - m;
            t += d * d;
        }
        {
            const float4 d = v0_1 - m;
            t += d * d;
        }
        {
            const float4 d = v0_2 - m;
            t += d * d;
        }
        {
            const float4 d = v0_3 - m;
            t += d * d;
        }
        {
            const float4 d = v0_4 - m;
            t += d * d;
        }
        {
            const float4 d = v0_5 - m;
            t += d * d;
        }
        {
            const float4 d = v0_6 - m;
            t += d * d;
        }
        {
            const float4 d = v0_7 - m;
            t += d * d;
        }
        const float square = warp_sum(add4(t));
        if ((lane & 31) == 0) {
            sums[0 + (lane >> 5)] = sum;
            squares[0 + (lane >> 5)] = square;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int w = lane & 3;
    const float count = held(w);
    float mean0, factor0;
    float q0 = squares[0 + w];
    {
        const float s = sums[0 + w];
        float total = s;
        total += from_lane(total, 1);
        total += from_lane(total, 2);
        mean0 = total / (float)4096;
        const float off = count > 0.0f ? s / count - mean0 : 0.0f;
        q0 += count * off * off;
        q0 += from_lane(q0, 1);
        q0 += from_lane(q0, 2);
    }
    factor0 = 1.0f / sqrt(q0 / (float)C + eps);

    /* registers first: they become free for what follows */
    {
        const float4 g = g7, b = b7;
            put((__global float4 *)y + row0 + 896, (v0_7 - mean0) * factor0 * g + b);
    }
    {
        const float4 g = scale[768], b = shift[768];
            put((__global float4 *)y + row0 + 768, (v0_6 - mean0) * factor0 * g + b);
    }
    {
        const float4 g = scale[640], b = shift[640];
            put((__global float4 *)y + row0 + 640, (v0_5 - mean0) * factor0 * g + b);
    }
    {
        const float4 g = scale[512], b = shift[512];
            put((__global float4 *)y + row0 + 512, (v0_4 - mean0) * factor0 * g + b);
    }
    {
        const float4 g = scale[384], b = shift[384];
            put((__global float4 *)y + row0 + 384, (v0_3 - mean0) * factor0 * g + b);
    }
    {
        const float4 g = scale[256], b = shift[256];
            put((__global float4 *)y + row0 + 256, (v0_2 - mean0) * factor0 * g + b);
    }
    {
        const float4 g = scale[128], b = shift[128];
            put((__global float4 *)y + row0 + 128, (v0_1 - mean0) * factor0 * g + b);
    }
    {
        const float4 g = scale[0], b = shift[0];
            put((__global float4 *)y + row0 + 0, (v0_0 - mean0) * factor0 * g + b);
    }
}
