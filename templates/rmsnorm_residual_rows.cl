/*kernwright {
  "task": "rmsnorm_residual", "language": "opencl",
  "doc": "One group per row, every guard folded by a constant C; batches of loads, fused multiply-adds on vectors, w ahead of the reduction. Needs NVIDIA's inline PTX. Evolved: generate-000009 of tests/recorded/rmsnorm_residual, from generate-000002, rmsnorm_residual_naive.",
  "params": {
    "WG": {"values": [64, 128, 256], "default": 256, "doc": "work-items per row"},
    "KEEP": {"values": [4, 8, 16, 20], "default": 16, "doc": "most vectors per work-item that stay in registers"},
    "BATCH": {"values": [2, 4, 8], "default": 4, "doc": "vectors whose loads are in flight together"},
    "WPRE": {"values": [0, 2, 4], "default": 4, "doc": "vectors of w that are loaded before the reduction"},
    "HINTS": {"values": [false, true], "default": true, "doc": "streaming cache hints"},
    "SPECC": {"values": [false, true], "default": true, "doc": "C as a constant"} },
  "constraints": [
    "device.preferred_multiple == 32",
    "WG <= device.max_work_group_size",
    {"expr": "SPECC", "why": "the rounds are counted from C"},
    {"expr": "BATCH <= KEEP", "why": "the same text for a larger KEEP"} ],
  "requires": ["C % 4 == 0"],
  "specialize": {"C": "SPECC"},
  "launches": [
    {"kernel": "rmsnorm_residual_row", "args": ["C", "eps", "x", "r", "w", "h", "y"],
     "local": ["WG"], "groups": ["R"]} ]
} */
//@let N = C // 4
//@let PER = ceil_div(N, WG)
//@let KEPT = min(PER, KEEP)
//@let REST = KEPT + max(0, N // WG - KEPT) // BATCH * BATCH
//@let EARLY = min(WPRE, KEPT)
//@let WARPS = WG // 32
float4 load_once(__global const float4 *p)
{
//@if HINTS
    float a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(p));
    return (float4)(a, b, c, d);
//@else
    return *p;
//@end
}

void store_once(__global float4 *p, float4 v)
{
//@if HINTS
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 : : "l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
//@else
    *p = v;
//@end
}

/* The sum over a warp, in all of its work-items. */
${ACC} warp_sum(${ACC} v)
{
    ${ACC} o;
//@for Z in 0..5
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(o) : "f"(v), "r"(${2 ** (4 - Z)}));
    v += o;
//@end
    return v;
}

__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void rmsnorm_residual_row(int C_arg, float eps, __global const ${T} *restrict x, __global const ${T} *restrict r,
                          __global const ${T} *restrict w, __global ${T} *restrict h, __global ${T} *restrict y)
{
//@if WARPS > 1
    __local ${ACC} part[${WARPS}];
//@end
    const uint lane = get_local_id(0);
    const uint at = (uint)get_group_id(0) * ${N}u + lane;
    __global const float4 *xs = (__global const float4 *)x + at;
    __global const float4 *rs = (__global const float4 *)r + at;
    __global const float4 *ws = (__global const float4 *)w + lane;
    __global float4 *hs = (__global float4 *)h + at;
    __global float4 *ys = (__global float4 *)y + at;
    float4 squares = (float4)(0.0f);

    /* Kept in registers. */
//@for U in 0..KEPT
    float4 k${U} = (float4)(0.0f);
//@end
//@for B in 0..KEPT step BATCH
    {
//@for U in B..min(B + BATCH, KEPT)
        float4 b${U} = (float4)(0.0f);
//@if (U + 1) * WG > N
        if (lane < ${N - U * WG}u)
//@end
        {
            k${U} = load_once(xs + ${U * WG});
            b${U} = load_once(rs + ${U * WG});
        }
//@end
//@for U in B..min(B + BATCH, KEPT)
        k${U} += b${U};
        squares = fma(k${U}, k${U}, squares);
//@if (U + 1) * WG > N
        if (lane < ${N - U * WG}u)
//@end
            store_once(hs + ${U * WG}, k${U});
//@end
    }
//@end
//@if PER > KEPT
    /* The rest comes back from the cache; no hints, so that it stays there. */
//@if REST > KEPT
    for (uint c = ${KEPT * WG}u; c < ${REST * WG}u; c += ${BATCH * WG}u) {
//@for J in 0..BATCH
        const float4 a${J} = load_once(xs + c + ${J * WG}u), b${J} = load_once(rs + c + ${J * WG}u);
//@end
//@for J in 0..BATCH
        const float4 v${J} = a${J} + b${J};
        squares = fma(v${J}, v${J}, squares);
        hs[c + ${J * WG}u] = v${J};
//@end
    }
//@end
    for (uint c = ${REST * WG}u; c + lane < ${N}u; c += ${WG}u) {
        const float4 v = load_once(xs + c) + load_once(rs + c);
        squares = fma(v, v, squares);
        hs[c] = v;
    }
//@end
//@for U in 0..EARLY
    float4 w${U} = (float4)(0.0f);
//@if (U + 1) * WG > N
    if (lane < ${N - U * WG}u)
//@end
        w${U} = ws[${U * WG}];
//@end

    ${ACC} total = warp_sum((squares.x + squares.y) + (squares.z + squares.w));
//@if WARPS > 1
    if (lane % 32u == 0)
        part[lane / 32u] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    total = part[0];
//@for J in 1..WARPS
    total += part[${J}];
//@end
//@end
    const ${ACC} factor = rsqrt(fma(total, ${lit(ACC, 1.0 / C)}, eps));

//@for B in 0..KEPT step BATCH
    {
//@for U in max(B, EARLY)..min(B + BATCH, KEPT)
        float4 w${U} = (float4)(0.0f);
//@if (U + 1) * WG > N
        if (lane < ${N - U * WG}u)
//@end
            w${U} = ws[${U * WG}];
//@end
//@for U in B..min(B + BATCH, KEPT)
//@if (U + 1) * WG > N
        if (lane < ${N - U * WG}u)
//@end
            store_once(ys + ${U * WG}, k${U} * factor * w${U});
//@end
    }
//@end
//@if PER > KEPT
    /* The same work-item reads what it wrote. */
//@if REST > KEPT
    for (uint c = ${KEPT * WG}u; c < ${REST * WG}u; c += ${BATCH * WG}u) {
//@for J in 0..BATCH
        const float4 v${J} = hs[c + ${J * WG}u], g${J} = ws[c + ${J * WG}u];
//@end
//@for J in 0..BATCH
        store_once(ys + c + ${J * WG}u, v${J} * factor * g${J});
//@end
    }
//@end
    for (uint c = ${REST * WG}u; c + lane < ${N}u; c += ${WG}u)
        store_once(ys + c, hs[c] * factor * ws[c]);
//@end
}
