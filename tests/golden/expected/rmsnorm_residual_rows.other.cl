/* rmsnorm_residual_rows WG=64 KEEP=16 BATCH=8 WPRE=0 HINTS=true SPECC=true; T=f32,ACC=f32; C=4096 */
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

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void rmsnorm_residual_row(int C_arg, float eps, __global const float *restrict x, __global const float *restrict r,
                          __global const float *restrict w, __global float *restrict h, __global float *restrict y)
{
    __local float part[2];
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
    float4 k4 = (float4)(0.0f);
    float4 k5 = (float4)(0.0f);
    float4 k6 = (float4)(0.0f);
    float4 k7 = (float4)(0.0f);
    float4 k8 = (float4)(0.0f);
    float4 k9 = (float4)(0.0f);
    float4 k10 = (float4)(0.0f);
    float4 k11 = (float4)(0.0f);
    float4 k12 = (float4)(0.0f);
    float4 k13 = (float4)(0.0f);
    float4 k14 = (float4)(0.0f);
    float4 k15 = (float4)(0.0f);
    {
        float4 b0 = (float4)(0.0f);
        {
            k0 = load_once(xs + 0);
            b0 = load_once(rs + 0);
        }
        float4 b1 = (float4)(0.0f);
        {
            k1 = load_once(xs + 64);
            b1 = load_once(rs + 64);
        }
        float4 b2 = (float4)(0.0f);
        {
            k2 = load_once(xs + 128);
            b2 = load_once(rs + 128);
        }
        float4 b3 = (float4)(0.0f);
        {
            k3 = load_once(xs + 192);
            b3 = load_once(rs + 192);
        }
        float4 b4 = (float4)(0.0f);
        {
            k4 = load_once(xs + 256);
            b4 = load_once(rs + 256);
        }
        float4 b5 = (float4)(0.0f);
        {
            k5 = load_once(xs + 320);
            b5 = load_once(rs + 320);
        }
        float4 b6 = (float4)(0.0f);
        {
            k6 = load_once(xs + 384);
            b6 = load_once(rs + 384);
        }
        float4 b7 = (float4)(0.0f);
        {
            k7 = load_once(xs + 448);
            b7 = load_once(rs + 448);
        }
        k0 += b0;
        squares = fma(k0, k0, squares);
            store_once(hs + 0, k0);
        k1 += b1;
        squares = fma(k1, k1, squares);
            store_once(hs + 64, k1);
        k2 += b2;
        squares = fma(k2, k2, squares);
            store_once(hs + 128, k2);
        k3 += b3;
        squares = fma(k3, k3, squares);
            store_once(hs + 192, k3);
        k4 += b4;
        squares = fma(k4, k4, squares);
            store_once(hs + 256, k4);
        k5 += b5;
        squares = fma(k5, k5, squares);
            store_once(hs + 320, k5);
        k6 += b6;
        squares = fma(k6, k6, squares);
            store_once(hs + 384, k6);
        k7 += b7;
        squares = fma(k7, k7, squares);
            store_once(hs + 448, k7);
    }
    {
        float4 b8 = (float4)(0.0f);
        {
            k8 = load_once(xs + 512);
            b8 = load_once(rs + 512);
        }
        float4 b9 = (float4)(0.0f);
        {
            k9 = load_once(xs + 576);
            b9 = load_once(rs + 576);
        }
        float4 b10 = (float4)(0.0f);
        {
            k10 = load_once(xs + 640);
            b10 = load_once(rs + 640);
        }
        float4 b11 = (float4)(0.0f);
        {
            k11 = load_once(xs + 704);
            b11 = load_once(rs + 704);
        }
        float4 b12 = (float4)(0.0f);
        {
            k12 = load_once(xs + 768);
            b12 = load_once(rs + 768);
        }
        float4 b13 = (float4)(0.0f);
        {
            k13 = load_once(xs + 832);
            b13 = load_once(rs + 832);
        }
        float4 b14 = (float4)(0.0f);
        {
            k14 = load_once(xs + 896);
            b14 = load_once(rs + 896);
        }
        float4 b15 = (float4)(0.0f);
        {
            k15 = load_once(xs + 960);
            b15 = load_once(rs + 960);
        }
        k8 += b8;
        squares = fma(k8, k8, squares);
            store_once(hs + 512, k8);
        k9 += b9;
        squares = fma(k9, k9, squares);
            store_once(hs + 576, k9);
        k10 += b10;
        squares = fma(k10, k10, squares);
            store_once(hs + 640, k10);
        k11 += b11;
        squares = fma(k11, k11, squares);
            store_once(hs + 704, k11);
        k12 += b12;
        squares = fma(k12, k12, squares);
            store_once(hs + 768, k12);
        k13 += b13;
        squares = fma(k13, k13, squares);
            store_once(hs + 832, k13);
        k14 += b14;
        squares = fma(k14, k14, squares);
            store_once(hs + 896, k14);
        k15 += b15;
        squares = fma(k15, k15, squares);
            store_once(hs + 960, k15);
    }

    float total = warp_sum((squares.x + squares.y) + (squares.z + squares.w));
    if (lane % 32u == 0)
        part[lane / 32u] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    total = part[0];
    total += part[1];
    const float factor = rsqrt(fma(total, 0.000244140625f, eps));

    {
        float4 w0 = (float4)(0.0f);
            w0 = ws[0];
        float4 w1 = (float4)(0.0f);
            w1 = ws[64];
        float4 w2 = (float4)(0.0f);
            w2 = ws[128];
        float4 w3 = (float4)(0.0f);
            w3 = ws[192];
        float4 w4 = (float4)(0.0f);
            w4 = ws[256];
        float4 w5 = (float4)(0.0f);
            w5 = ws[320];
        float4 w6 = (float4)(0.0f);
            w6 = ws[384];
        float4 w7 = (float4)(0.0f);
            w7 = ws[448];
            store_once(ys + 0, k0 * factor * w0);
            store_once(ys + 64, k1 * factor * w1);
            store_once(ys + 128, k2 * factor * w2);
            store_once(ys + 192, k3 * factor * w3);
            store_once(ys + 256, k4 * factor * w4);
            store_once(ys + 320, k5 * factor * w5);
            store_once(ys + 384, k6 * factor * w6);
            store_once(ys + 448, k7 * factor * w7);
    }
    {
        float4 w8 = (float4)(0.0f);
            w8 = ws[512];
        float4 w9 = (float4)(0.0f);
            w9 = ws[576];
        float4 w10 = (float4)(0.0f);
            w10 = ws[640];
        float4 w11 = (float4)(0.0f);
            w11 = ws[704];
        float4 w12 = (float4)(0.0f);
            w12 = ws[768];
        float4 w13 = (float4)(0.0f);
            w13 = ws[832];
        float4 w14 = (float4)(0.0f);
            w14 = ws[896];
        float4 w15 = (float4)(0.0f);
            w15 = ws[960];
            store_once(ys + 512, k8 * factor * w8);
            store_once(ys + 576, k9 * factor * w9);
            store_once(ys + 640, k10 * factor * w10);
            store_once(ys + 704, k11 * factor * w11);
            store_once(ys + 768, k12 * factor * w12);
            store_once(ys + 832, k13 * factor * w13);
            store_once(ys + 896, k14 * factor * w14);
            store_once(ys + 960, k15 * factor * w15);
    }
}
