/*kernwright {
  "task": "gemm_bias_gelu", "language": "opencl",
  "doc": "f32 products as three tf32 products on the matrix units, summed in chains, tiles by cp.async in several stages. Needs NVIDIA, sm_80 or later. Evolved: generate-000009 of tests/recorded/gemm_bias_gelu, from generate-000002, gemm_bias_gelu_naive.",
  "params": {
    "BM": {"values": [64, 128, 256], "default": 128, "doc": "rows of C per group"},
    "BN": {"values": [64, 128, 256], "default": 128, "doc": "columns of C per group"},
    "BK": {"values": [8, 16, 32], "default": 16, "doc": "depth of a tile"},
    "WM": {"values": [32, 64], "default": 64, "doc": "rows per warp"},
    "WN": {"values": [32, 64], "default": 64, "doc": "columns per warp"},
    "STAGES": {"values": [2, 3, 4], "default": 3, "doc": "tiles in local memory"},
    "DSUM": {"values": [false, true], "default": false, "doc": "sums of 8 steps of k are added apart from the matrix units"},
    "CHAIN": {"values": [512, 1024], "default": 1024, "when": "not DSUM", "doc": "steps of k that the matrix units sum up before C takes it"},
    "VEC": {"values": [1, 4], "default": 4, "doc": "elements per access to global memory"},
    "GM": {"values": [4, 8, 16], "default": 8, "doc": "tiles in the height of a band"} },
  "constraints": [
    {"expr": "device.preferred_multiple == 32", "why": "PTX for warps of 32"},
    {"expr": "WM * WN >= 2048", "why": "reuse in registers"},
    {"expr": "(BM // WM) * (BN // WN) >= 2 and (BM // WM) * (BN // WN) <= 8", "why": "warps of a group, registers"},
    "(BM // WM) * (BN // WN) * 32 <= device.max_work_group_size",
    {"expr": "BM * BK % (128 * (BM // WM) * (BN // WN)) == 0", "why": "whole rounds of copies of A"},
    {"expr": "BK * BN % (128 * (BM // WM) * (BN // WN)) == 0", "why": "whole rounds of copies of B"},
    {"expr": "STAGES * (BK * (BM + BN) * sizeof(T) + 0) <= device.local_mem_bytes", "why": "the stages"} ],
  "requires": ["K % VEC == 0", "N % VEC == 0"],
  "launches": [
    {"kernel": "gemm_bias_gelu_async", "args": ["M", "N", "K", "A", "B", "bias", "C"],
     "local": ["(BM // WM) * (BN // WN) * 32"], "groups": ["ceil_div(M, BM) * ceil_div(N, BN)"]} ]
} */
//@let NT = (BM // WM) * (BN // WN) * 32
//@let KC = BK // 4
//@let NC = BN // 4
//@let STAGE = BK * (BM + BN)
//@let WX = BN // WN
//@let MI = WM // 16
//@let NJ = WN // 32
//@let AR = BM
//@let BS = BN
//@let CT = NT
#define MMA(D, X, Y, C0, C1, C2, C3) \
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" \
                 : "=f"(D[0]), "=f"(D[1]), "=f"(D[2]), "=f"(D[3]) \
                 : "r"(X[0]), "r"(X[1]), "r"(X[2]), "r"(X[3]), "r"(Y[0]), "r"(Y[1]), \
                   "f"(C0), "f"(C1), "f"(C2), "f"(C3))

/* x = high + low exactly: high is x rounded to the 11 bits that the matrix units take. */
#define SPLIT(x, high, low) \
    { \
        const float split_x = (x); \
        const uint split_high = (as_uint(split_x) + 0x1000u) & 0xffffe000u; \
        high = split_high; \
        low = as_uint(split_x - as_float(split_high)); \
    }

float gelu(float z)
{
    return 0.5f * z * (1.0f + erf(z * ${lit(ACC, 0.70710678118654752)}));
}

/* Four elements of a row of C, of which left exist. */
float4 read_four(__global const float *p, uint left)
{
//@if VEC == 4
    return *(__global const float4 *)p;
//@else
    float4 v = (float4)(p[0], 0.0f, 0.0f, 0.0f);
    if (left > 1u)
        v.y = p[1];
    if (left > 2u)
        v.z = p[2];
    if (left > 3u)
        v.w = p[3];
    return v;
//@end
}

void write_four(__global float *p, uint left, float4 v)
{
//@if VEC == 4
    *(__global float4 *)p = v;
//@else
    p[0] = v.x;
    if (left > 1u)
        p[1] = v.y;
    if (left > 2u)
        p[2] = v.z;
    if (left > 3u)
        p[3] = v.w;
//@end
}

/* Rows of A that share banks get their chunks of 16 bytes in another order. */
uint swizzle_a(uint row)
{
//@if BK == 8
    return 0u;
//@elif BK == 16
    return row & 2u;
//@else
    return (row & 3u) << 1;
//@end
}

/* The address of local memory that PTX takes, whether the pointer holds a generic address or one of that space. */
uint shared_address(__local const float *p)
{
    const ulong here = (ulong)p;
    ulong converted;
    asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(converted) : "l"(here));
    return (uint)(here < 0x1000000UL ? here : converted);
}

/* Four elements of a row of a matrix to local memory, 0 where they lie outside. */
void copy_four(uint to, __global const float *from, uint row, uint column, uint rows, uint columns)
{
//@if VEC == 4
    const bool inside = row < rows && column < columns;
    __global const float *p = from + (inside ? row * columns + column : 0u);
    const uint bytes = inside ? 16u : 0u;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(p), "r"(bytes) : "memory");
//@else
//@for E in 0..4
    {
        const bool inside = row < rows && column + ${E}u < columns;
        __global const float *p = from + (inside ? row * columns + column + ${E}u : 0u);
        const uint bytes = inside ? 4u : 0u;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" : : "r"(to + ${4 * E}u), "l"(p), "r"(bytes) : "memory");
    }
//@end
//@end
}

/* A tile of ${AR} x ${BK} of A and one of ${BK} x ${BS} of B, by ${CT} work-items. */
void copy_tiles(uint to, uint id, __global const float *A, __global const float *B, uint row0, uint column0, uint k0,
                uint rows, uint columns, uint depth)
{
//@for L in 0..AR * KC // CT
    {
        const uint c = id + ${L * CT}u, r = c / ${KC}u, q = c % ${KC}u;
        copy_four(to + 16u * (r * ${KC}u + (q ^ swizzle_a(r))), A, row0 + r, k0 + 4u * q, rows, depth);
    }
//@end
//@for L in 0..BK * NC // CT
    {
        const uint c = id + ${L * CT}u, r = c / ${NC}u, q = c % ${NC}u;
        copy_four(to + ${4 * AR * BK}u + 16u * (r * ${NC}u + (q ^ (r & 6u))), B, k0 + r, column0 + 4u * q, depth,
                  columns);
    }
//@end
}

/* C = gelu(A B + bias): ${BM} x ${BN} for a group of ${NT}, ${WM} x ${WN} for a warp. Within 8 steps of k a work-item
 * takes steps 2 t and 2 t + 1 where the fragment has t and t + 4; of each 32 columns, fragment j has those with
 * remainder j by 4. */
__kernel __attribute__((reqd_work_group_size(${NT}, 1, 1)))
void gemm_bias_gelu_async(int M, int N, int K, __global const ${T} *restrict A, __global const ${T} *restrict B,
           __global const ${T} *restrict bias, __global ${T} *C)
{
    __local float tiles[${STAGES * STAGE}] __attribute__((aligned(128)));

    const uint rows = (uint)M, columns = (uint)N, depth = (uint)K;
    const uint tiles_m = (rows - 1u) / ${BM}u + 1u, tiles_n = (columns - 1u) / ${BN}u + 1u;
    const uint group = get_group_id(0), band = ${GM}u * tiles_n;
    const uint first = group / band * ${GM}u, height = min(${GM}u, tiles_m - first), rest = group % band;
    const uint row0 = (first + rest % height) * ${BM}u, column0 = rest / height * ${BN}u;

    const uint id = get_local_id(0), lane = id & 31u, warp = id >> 5, g = lane >> 2, t = lane & 3u;
    const uint wm = warp / ${WX}u * ${WM}u, wn = warp % ${WX}u * ${WN}u;
    const uint row1 = row0 + wm + g, column1 = column0 + wn + 8u * t;
//@if not DSUM
    bool chained = false;
//@end
    float acc[${MI}][${NJ * 4}][4];
#pragma unroll
    for (int i = 0; i < ${MI}; ++i)
#pragma unroll
        for (int j = 0; j < ${NJ * 4}; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                acc[i][j][e] = 0.0f;

    const uint rounds = (depth + ${BK - 1}u) / ${BK}u;
    const uint base = shared_address(tiles), turn = swizzle_a(g);

//@for S in 0..STAGES - 1
    if (${S}u < rounds)
        copy_tiles(base + ${4 * S * STAGE}u, id, A, B, row0, column0, ${S * BK}u, rows, columns, depth);
    asm volatile("cp.async.commit_group;" : : : "memory");
//@end

    uint now = 0, ahead = ${STAGES - 1};
    for (uint round = 0; round < rounds; ++round) {
        asm volatile("cp.async.wait_group ${STAGES - 2};" : : : "memory");
        /* All copies of this round have arrived, and nobody reads the stage of the round before any more. */
        barrier(CLK_LOCAL_MEM_FENCE);
        if (round + ${STAGES - 1}u < rounds)
            copy_tiles(base + ahead * ${4 * STAGE}u, id, A, B, row0, column0, (round + ${STAGES - 1}u) * ${BK}u, rows,
                       columns, depth);
        asm volatile("cp.async.commit_group;" : : : "memory");

        __local const float *as = tiles + now * ${STAGE}u + (wm + g) * ${BK}u + (t & 1u) * 2u;
        __local const float *bs = tiles + now * ${STAGE}u + ${BM * BK}u + 2u * t * ${BN}u + wn + 4u * (g ^ (2u * t));
//@for S in 0..BK // 8
        {
            uint bh[${NJ * 4}][2], bl[${NJ * 4}][2];
//@for J in 0..NJ
//@for E in 0..2
            {
                const float4 v = *(__local const float4 *)(bs + ${(8 * S + E) * BS + 32 * J});
//@for Q in 0..4
                SPLIT(v.s${Q}, bh[${4 * J + Q}][${E}], bl[${4 * J + Q}][${E}])
//@end
            }
//@end
//@end
            __local const float *aq = as + 4u * ((${2 * S}u ^ turn) + (t >> 1));
#pragma unroll
            for (int i = 0; i < ${MI}; ++i) {
                const float2 x = *(__local const float2 *)(aq + i * ${16 * BK});
                const float2 y = *(__local const float2 *)(aq + i * ${16 * BK} + ${8 * BK});
                uint ah[4], al[4];
                SPLIT(x.x, ah[0], al[0])
                SPLIT(y.x, ah[1], al[1])
                SPLIT(x.y, ah[2], al[2])
                SPLIT(y.y, ah[3], al[3])
//@if DSUM
                float d[${NJ * 4}][4];
#pragma unroll
                for (int j = 0; j < ${NJ * 4}; ++j)
                    MMA(d[j], al, bh[j], 0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
                for (int j = 0; j < ${NJ * 4}; ++j)
                    MMA(d[j], ah, bl[j], d[j][0], d[j][1], d[j][2], d[j][3]);
#pragma unroll
                for (int j = 0; j < ${NJ * 4}; ++j)
                    MMA(d[j], ah, bh[j], d[j][0], d[j][1], d[j][2], d[j][3]);
#pragma unroll
                for (int j = 0; j < ${NJ * 4}; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        acc[i][j][e] += d[j][e];
//@else
#pragma unroll
                for (int j = 0; j < ${NJ * 4}; ++j)
                    MMA(acc[i][j], al, bh[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
#pragma unroll
                for (int j = 0; j < ${NJ * 4}; ++j)
                    MMA(acc[i][j], ah, bl[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
#pragma unroll
                for (int j = 0; j < ${NJ * 4}; ++j)
                    MMA(acc[i][j], ah, bh[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
//@end
            }
        }
//@end
        now = now == ${STAGES - 1}u ? 0u : now + 1u;
        ahead = ahead == ${STAGES - 1}u ? 0u : ahead + 1u;
//@if not DSUM
        if (round % ${CHAIN // BK}u == ${CHAIN // BK - 1}u && round + 1u < rounds) {
            /* A chain of sums on the matrix units ends here: its sums go to C, whose elements are this work-item's. */
//@for J in 0..NJ
//@for H in 0..2
            {
                const uint column = column1 + ${32 * J + 4 * H}u;
                if (column < columns) {
#pragma unroll
                    for (int r = 0; r < ${2 * MI}; ++r) {
                        const uint row = row1 + (uint)r * 8u;
                        if (row < rows) {
                            __global float *p = C + (row * columns + column);
                            float4 v = (float4)(acc[r / 2][${4 * J}][(r % 2) * 2 + ${H}],
                                                acc[r / 2][${4 * J + 1}][(r % 2) * 2 + ${H}],
                                                acc[r / 2][${4 * J + 2}][(r % 2) * 2 + ${H}],
                                                acc[r / 2][${4 * J + 3}][(r % 2) * 2 + ${H}]);
                            if (chained)
                                v += read_four(p, columns - column);
                            write_four(p, columns - column, v);
                        }
                    }
                }
            }
//@end
//@end
#pragma unroll
            for (int i = 0; i < ${MI}; ++i)
#pragma unroll
                for (int j = 0; j < ${NJ * 4}; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        acc[i][j][e] = 0.0f;
            chained = true;
        }
//@end
    }

    const uint last = columns - 1u;
//@for J in 0..NJ
//@for H in 0..2
    {
        const uint column = column1 + ${32 * J + 4 * H}u;
        if (column < columns) {
            const float4 add = (float4)(bias[column], bias[min(column + 1u, last)], bias[min(column + 2u, last)],
                                        bias[min(column + 3u, last)]);
#pragma unroll
            for (int r = 0; r < ${2 * MI}; ++r) {
                const uint row = row1 + (uint)r * 8u;
                if (row < rows) {
                    __global float *p = C + (row * columns + column);
                    float4 z = (float4)(acc[r / 2][${4 * J}][(r % 2) * 2 + ${H}],
                                        acc[r / 2][${4 * J + 1}][(r % 2) * 2 + ${H}],
                                        acc[r / 2][${4 * J + 2}][(r % 2) * 2 + ${H}],
                                        acc[r / 2][${4 * J + 3}][(r % 2) * 2 + ${H}]);
//@if not DSUM
                    if (chained)
                        z += read_four(p, columns - column);
//@end
                    z += add;
                    write_four(p, columns - column, (float4)(gelu(z.x), gelu(z.y), gelu(z.z), gelu(z.w)));
                }
            }
        }
    }
//@end
//@end
}
