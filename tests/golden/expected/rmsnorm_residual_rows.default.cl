/* rmsnorm_residual_rows WG=256 KEEP=16 BATCH=4 WPRE=4 HINTS=true SPECC=true; T=f32,ACC=f32; C=4096 */
#define C 4096
float4 load_once(__global const float4 *p)
{
    float a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(p));
    return (float4)(a, b, c, d);
}

void store_once(__global float4 *p, float4 v)
{
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 : : "l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
}

/* The sum over a warp, in all of its work-items. */
float warp_sum(float v)
{
    float o;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(o) : "f"(v), "r"(16));
    v += o;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(o) : "f"(v), "r"(8));
    v += o;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(o) : "f"(v), "r"(4));
    v += o;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(o) : "f"(v), "r"(2));
    v += o;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(o) : "f"(v), "r"(1));
    v += o;
    return v;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void rmsnorm_residual_row(int C_arg, float eps, __global const float *restrict x, __global const float *restrict r,
                          __global const float *restrict w, __global float *restrict h, __global float *restrict y)
{
    __local float part[8];
    const uint lane = get_local_id(0);
    const uint at = (uint)get_group_id(0) * 1024u + lane;
    __global const float4 *xs = (__global const float4 *)x + at;
    __global const float4 *rs = (__global const float4 *)r + at;
    __global const float4 *ws = (__global const float4 *)w + lane;
    __global float4 *hs = (__global float4 *)h + at;
    __global float4 *ys = (__global float4 *)y + at;
    float4 squares = (float4)(0.0f);

    /* Kept in registers. */
    float4 k0 = (float4)(0.0f);
    float4 k1 = (float4)(0.0f);
    float4 k2 = (float4)(0.0f);
    float4 k3 = (float4)(0.0f);
    {
        float4 b0 = (float4)(0.0f);
        {
            k0 = load_once(xs + 0);
            b0 = load_once(rs + 0);
        }
        float4 b1 = (float4)(0.0f);
        {
            k1 = load_once(xs + 256);
            b1 = load_once(rs + 256);
        }
        float4 b2 = (float4)(0.0f);
        {
            k2 = load_once(xs + 512);
            b2 = load_once(rs + 512);
        }
        float4 b3 = (float4)(0.0f);
        {
            k3 = load_once(xs + 768);
            b3 = load_once(rs + 768);
        }
        k0 += b0;
        squares = fma(k0, k0, squares);
            store_once(hs + 0, k0);
        k1 += b1;
        squares = fma(k1, k1, squares);
            store_once(hs + 256, k1);
        k2 += b2;
        squares = fma(k2, k2, squares);
            store_once(hs + 512, k2);
        k3 += b3;
        squares = fma(k3, k3, squares);
            store_once(hs + 768, k3);
    }
    float4 w0 = (float4)(0.0f);
        w0 = ws[0];
    float4 w1 = (float4)(0.0f);
        w1 = ws[256];
    float4 w2 = (float4)(0.0f);
        w2 = ws[512];
    float4 w3 = (float4)(0.0f);
        w3 = ws[768];

    float total = warp_sum((squares.x + squares.y) + (squares.z + squares.w));
    if (lane % 32u == 0)
        part[lane / 32u] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    total = part[0];
    total += part[1];
    total += part[2];
    total += part[3];
    total += part[4];
    total += part[5];
    total += part[6];
    total += part[7];
    const float factor = rsqrt(fma(total, 0.000244140625f, eps));

    {
            store_once(ys + 0, k0 * factor * w0);
            store_once(ys + 256, k1 * factor * w1);
            store_once(ys + 512, k2 * factor * w2);
            store_once(ys + 768, k3 * factor * w3);
    }
}
