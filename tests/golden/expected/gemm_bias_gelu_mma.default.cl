/* gemm_bias_gelu_mma BM=128 BN=128 BK=16 WM=64 WN=64 STAGES=3 DSUM=false CHAIN=1024 VEC=4 GM=8; T=f32,ACC=f32 */
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
    return 0.5f * z * (1.0f + erf(z * 0.7071067811865476f));
}

/* Four elements of a row of C, of which left exist. */
float4 read_four(__global const float *p, uint left)
{
    return *(__global const float4 *)p;
}

void write_four(__global float *p, uint left, float4 v)
{
    *(__global float4 *)p = v;
}

/* Rows of A that share banks get their chunks of 16 bytes in another order. */
uint swizzle_a(uint row)
{
    return row & 2u;
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
    const bool inside = row < rows && column < columns;
    __global const float *p = from + (inside ? row * columns + column : 0u);
    const uint bytes = inside ? 16u : 0u;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(p), "r"(bytes) : "memory");
}

/* A tile of 128 x 16 of A and one of 16 x 128 of B, by 128 work-items. */
void copy_tiles(uint to, uint id, __global const float *A, __global const float *B, uint row0, uint column0, uint k0,
                uint rows, uint columns, uint depth)
{
    {
        const uint c = id + 0u, r = c / 4u, q = c % 4u;
        copy_four(to + 16u * (r * 4u + (q ^ swizzle_a(r))), A, row0 + r, k0 + 4u * q, rows, depth);
    }
    {
        const uint c = id + 128u, r = c / 4u, q = c % 4u;
        copy_four(to + 16u * (r * 4u + (q ^ swizzle_a(r))), A, row0 + r, k0 + 4u * q, rows, depth);
    }
    {
        const uint c = id + 256u, r = c / 4u, q = c % 4u;
        copy_four(to + 16u * (r * 4u + (q ^ swizzle_a(r))), A, row0 + r, k0 + 4u * q, rows, depth);
    }
    {
        const uint c = id + 384u, r = c / 4u, q = c % 4u;
        copy_four(to + 16u * (r * 4u + (q ^ swizzle_a(r))), A, row0 + r, k0 + 4u * q, rows, depth);
    }
    {
        const uint c = id + 0u, r = c / 32u, q = c % 32u;
        copy_four(to + 8192u + 16u * (r * 32u + (q ^ (r & 6u))), B, k0 + r, column0 + 4u * q, depth,
                  columns);
    }
    {
        const uint c = id + 128u, r = c / 32u, q = c % 32u;
        copy_four(to + 8192u + 16u * (r * 32u + (q ^ (r & 6u))), B, k0 + r, column0 + 4u * q, depth,
                  columns);
    }
    {
        const uint c = id + 256u, r = c / 32u, q = c % 32u;
        copy_four(to + 8192u + 16u * (r * 32u + (q ^ (r & 6u))), B, k0 + r, column0 + 4u * q, depth,
                  columns);
    }
    {
        const uint c = id + 384u, r = c / 32u, q = c % 32u;
        copy_four(to + 8192u + 16u * (r * 32u + (q ^ (r & 6u))), B, k0 + r, column0 + 4u * q, depth,
                  columns);
    }
}

/* C = gelu(A B + bias): 128 x 128 for a group of 128, 64 x 64 for a warp. Within 8 steps of k a work-item
 * takes steps 2 t and 2 t + 1 where the fragment has t and t + 4; of each 32 columns, fragment j has those with
 * remainder j by 4. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void gemm_bias_gelu_async(int M, int N, int K, __global const float *restrict A, __global const float *restrict B,
           __global const float *restrict bias, __global float *C)
{
    __local float tiles[12288] __attribute__((aligned(128)));

    const uint rows = (uint)M, columns = (uint)N, depth = (uint)K;
    const uint tiles_m = (rows - 1u) / 128u + 1u, tiles_n = (columns - 1u) / 128u + 1u;
    const uint group = get_group_id(0), band = 8u * tiles_n;
    const uint first = group / band * 8u, height = min(8u, tiles_m - first), rest = group % band;
    const uint row0 = (first + rest % height) * 128u, column0 = rest / height * 128u;

    const uint id = get_local_id(0), lane = id & 31u, warp = id >> 5, g = lane >> 2, t = lane & 3u;
    const uint wm = warp / 2u * 64u, wn = warp % 2u * 64u;
    const uint row1 = row0 + wm + g, column1 = column0 + wn + 8u * t;
    bool chained = false;
    float acc[4][8][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                acc[i][j][e] = 0.0f;

    const uint rounds = (depth + 15u) / 16u;
    const uint base = shared_address(tiles), turn = swizzle_a(g);

    if (0u < rounds)
        copy_tiles(base + 0u, id, A, B, row0, column0, 0u, rows, columns, depth);
    asm volatile("cp.async.commit_group;" : : : "memory");
    if (1u < rounds)
        copy_tiles(base + 16384u, id, A, B, row0, column0, 16u, rows, columns, depth);
    asm volatile("cp.async.commit_group;" : : : "memory");

    uint now = 0, ahead = 2;
    for (uint round = 0; round < rounds; ++round) {
        asm volatile("cp.async.wait_group 1;" : : : "memory");
        /* All copies of this round have arrived, and nobody reads the stage of the round before any more. */
        barrier(CLK_LOCAL_MEM_FENCE);
        if (round + 2u < rounds)
            copy_tiles(base + ahead * 16384u, id, A, B, row0, column0, (round + 2u) * 16u, rows,
                       columns, depth);
        asm volatile("cp.async.commit_group;" : : : "memory");

        __local const float *as = tiles + now * 4096u + (wm + g) * 16u + (t & 1u) * 2u;
        __local const float *bs = tiles + now * 4096u + 2048u + 2u * t * 128u + wn + 4u * (g ^ (2u * t));
        {
            uint bh[8][2], bl[8][2];
            {
                const float4 v = *(__local const float4 *)(bs + 0);
                SPLIT(v.s0, bh[0][0], bl[0][0])
                SPLIT(v.s1, bh[1][0], bl[1][0])
                SPLIT(v.s2, bh[2][0], bl[2][0])
                SPLIT(v.s3, bh[3][0], bl[3][0])
            }
            {
                const float4 v = *(__local const float4 *)(bs + 128);
                SPLIT(v.s0, bh[0][1], bl[0][1])
                SPLIT(v.s1, bh[1][1], bl[1][1])
                SPLIT(v.s2, bh[2][1], bl[2][1])
                SPLIT(v.s3, bh[3][1], bl[3][1])
            }
            {
                const float4 v = *(__local const float4 *)(bs + 32);
                SPLIT(v.s0, bh[4][0], bl[4][0])
                SPLIT(v.s1, bh[5][0], bl[5][0])
                SPLIT(v.s2, bh[6][0], bl[6][0])
                SPLIT(v.s3, bh[7][0], bl[7][0])
            }
            {
                const float4 v = *(__local const float4 *)(bs + 160);
                SPLIT(v.s0, bh[4][1], bl[4][1])
                SPLIT(v.s1, bh[5][1], bl[5][1])
                SPLIT(v.s2, bh[6][1], bl[6][1])
                SPLIT(v.s3, bh[7][1], bl[7][1])
            }
            __local const float *aq = as + 4u * ((0u ^ turn) + (t >> 1));
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float2 x = *(__local const float2 *)(aq + i * 256);
                const float2 y = *(__local const float2 *)(aq + i * 256 + 128);
                uint ah[4], al[4];
                SPLIT(x.x, ah[0], al[0])
                SPLIT(y.x, ah[1], al[1])
                SPLIT(x.y, ah[2], al[2])
                SPLIT(y.y, ah[3], al[3])
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    MMA(acc[i][j], al, bh[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    MMA(acc[i][j], ah, bl[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    MMA(acc[i][j], ah, bh[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
            }
        }
        {
            uint bh[8][2], bl[8][2];
            {
                const float4 v = *(__local const float4 *)(bs + 1024);
                SPLIT(v.s0, bh[0][0], bl[0][0])
                SPLIT(v.s1, bh[1][0], bl[1][0])
                SPLIT(v.s2, bh[2][0], bl[2][0])
                SPLIT(v.s3, bh[3][0], bl[3][0])
            }
            {
                const float4 v = *(__local const float4 *)(bs + 1152);
                SPLIT(v.s0, bh[0][1], bl[0][1])
                SPLIT(v.s1, bh[1][1], bl[1][1])
                SPLIT(v.s2, bh[2][1], bl[2][1])
                SPLIT(v.s3, bh[3][1], bl[3][1])
            }
            {
                const float4 v = *(__local const float4 *)(bs + 1056);
                SPLIT(v.s0, bh[4][0], bl[4][0])
                SPLIT(v.s1, bh[5][0], bl[5][0])
                SPLIT(v.s2, bh[6][0], bl[6][0])
                SPLIT(v.s3, bh[7][0], bl[7][0])
            }
            {
                const float4 v = *(__local const float4 *)(bs + 1184);
                SPLIT(v.s0, bh[4][1], bl[4][1])
                SPLIT(v.s1, bh[5][1], bl[5][1])
                SPLIT(v.s2, bh[6][1], bl[6][1])
                SPLIT(v.s3, bh[7][1], bl[7][1])
            }
            __local const float *aq = as + 4u * ((2u ^ turn) + (t >> 1));
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float2 x = *(__local const float2 *)(aq + i * 256);
                const float2 y = *(__local const float2 *)(aq + i * 256 + 128);
                uint ah[4], al[4];
                SPLIT(x.x, ah[0], al[0])
                SPLIT(y.x, ah[1], al[1])
                SPLIT(x.y, ah[2], al[2])
                SPLIT(y.y, ah[3], al[3])
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    MMA(acc[i][j], al, bh[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    MMA(acc[i][j], ah, bl[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    MMA(acc[i][j], ah, bh[j], acc[i][j][0], acc[i][j][1], acc[i][j][2], acc[i][j][3]);
            }
        }
        now = now == 2u ? 0u : now + 1u;
        ahead = ahead == 2u ? 0u : ahead + 1u;
        if (round % 64u == 63u && round + 1u < rounds) {
            /* A chain of sums on the matrix units ends here: its sums go to C, whose elements are this work-item's. */
            {
                const uint column = column1 + 0u;
                if (column < columns) {
#pragma unroll
                    for (int r = 0; r < 8; ++r) {
                        const uint row = row1 + (uint)r * 8u;
                        if (row < rows) {
                            __global float *p = C + (row * columns + column);
                            float4 v = (float4)(acc[r / 2][0][(r % 2) * 2 + 0],
                                                acc[r / 2][1][(r % 2) * 2 + 0],
                                                acc[r / 2][2][(r % 2) * 2 + 0],
                                                acc[r / 2][3][(r % 2) * 2 + 0]);
                            if (chained)
                                v += read_four(p, columns - column);
                            write_four(p, columns - column, v);
                        }
                    }
                }
            }
            {
                const uint column = column1 + 4u;
                if (column < columns) {
#pragma unroll
                    for (int r = 0; r < 8; ++r) {
                        const uint row = row1 + (uint)r * 8u;
                        if (row < rows) {
                            __global float *p = C + (row * columns + column);
                            float4 v = (float4)(acc[r / 2][0][(r % 2) * 2 + 1],
                                                acc[r / 2][1][(r % 2) * 2 + 1],
                                                acc[r / 2][2][(r % 2) * 2 + 1],
                                                acc[r / 2][3][(r % 2) * 2 + 1]);
                            if (chained)
                                v += read_four(p, columns - column);
                            write_four(p, columns - column, v);
                        }
                    }
                }
            }
            {
                const uint column = column1 + 32u;
                if (column < columns) {
#pragma unroll
                    for (int r = 0; r < 8; ++r) {
                        const uint row = row1 + (uint)r * 8u;
                        if (row < rows) {
                            __global float *p = C + (row * columns + column);
                            float4 v = (float4)(acc[r / 2][4][(r % 2) * 2 + 0],
                                                acc[r / 2][5][(r % 2) * 2 + 0],
                                                acc[r / 2][6][(r % 2) * 2 + 0],
                                                acc[r / 2][7][(r % 2) * 2 + 0]);
                            if (chained)
                                v += read_four(p, columns - column);
                            write_four(p, columns - column, v);
                        }
                    }
                }
            }
            {
                const uint column = column1 + 36u;
                if (column < columns) {
#pragma unroll
                    for (int r = 0; r < 8; ++r) {
                        const uint row = row1 + (uint)r * 8u;
                        if (row < rows) {
                            __global float *p = C + (row * columns + column);
                            float4 v = (float4)(acc[r / 2][4][(r % 2) * 2 + 1],
                                                acc[r / 2][5][(r % 2) * 2 + 1],
                                                acc[r / 2][6][(r % 2) * 2 + 1],
                                                acc[r / 2][7][(r % 2) * 2 + 1]);
                            if (chained)
                                v += read_four(p, columns - column);
                            write_four(p, columns - column, v);
                        }
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        acc[i][j][e] = 0.0f;
            chained = true;
        }
    }

    const uint last = columns - 1u;
    {
        const uint column = column1 + 0u;
        if (column < columns) {
            const float4 add = (float4)(bias[column], bias[min(column + 1u, last)], bias[min(column + 2u, last)],
                                        bias[min(column + 3u, last)]);
#pragma unroll
            for (int r = 0; r < 8; ++r) {
                const uint row = row1 + (uint)r * 8u;
                if (row < rows) {
                    __global float *p = C + (row * columns + column);
                    float4 z = (float4)(acc[r / 2][0][(r % 2) * 2 + 0],
                                        acc[r / 2][1][(r % 2) * 2 + 0],
                                        acc[r / 2][2][(r % 2) * 2 + 0],
                                        acc[r / 2][3][(r % 2) * 2 + 0]);
                    if (chained)
                        z += read_four(p, columns - column);
                    z += add;
                    write_four(p, columns - column, (float4)(gelu(z.x), gelu(z.y), gelu(z.z), gelu(z.w)));
                }
            }
        }
    }
    {
        const uint column = column1 + 4u;
        if (column < columns) {
            const float4 add = (float4)(bias[column], bias[min(column + 1u, last)], bias[min(column + 2u, last)],
                                        bias[min(column + 3u, last)]);
#pragma unroll
            for (int r = 0; r < 8; ++r) {
                const uint row = row1 + (uint)r * 8u;
                if (row < rows) {
                    __global float *p = C + (row * columns + column);
                    float4 z = (float4)(acc[r / 2][0][(r % 2) * 2 + 1],
                                        acc[r / 2][1][(r % 2) * 2 + 1],
                                        acc[r / 2][2][(r % 2) * 2 + 1],
                                        acc[r / 2][3][(r % 2) * 2 + 1]);
                    if (chained)
                        z += read_four(p, columns - column);
                    z += add;
                    write_four(p, columns - column, (float4)(gelu(z.x), gelu(z.y), gelu(z.z), gelu(z.w)));
                }
            }
        }
    }
    {
        const uint column = column1 + 32u;
        if (column < columns) {
            const float4 add = (float4)(bias[column], bias[min(column + 1u, last)], bias[min(column + 2u, last)],
                                        bias[min(column + 3u, last)]);
#pragma unroll
            for (int r = 0; r < 8; ++r) {
                const uint row = row1 + (uint)r * 8u;
                if (row < rows) {
                    __global float *p = C + (row * columns + column);
                    float4 z = (float4)(acc[r / 2][4][(r % 2) * 2 + 0],
                                        acc[r / 2][5][(r % 2) * 2 + 0],
                                        acc[r / 2][6][(r % 2) * 2 + 0],
                                        acc[r / 2][7][(r % 2) * 2 + 0]);
                    if (chained)
                        z += read_four(p, columns - column);
                    z += add;
                    write_four(p, columns - column, (float4)(gelu(z.x), gelu(z.y), gelu(z.z), gelu(z.w)));
                }
            }
        }
    }
    {
        const uint column = column1 + 36u;
        if (column < columns) {
            const float4 add = (float4)(bias[column], bias[min(column + 1u, last)], bias[min(column + 2u, last)],
                                        bias[min(column + 3u, last)]);
#pragma unroll
            for (int r = 0; r < 8; ++r) {
                const uint row = row1 + (uint)r * 8u;
                if (row < rows) {
                    __global float *p = C + (row * columns + column);
                    float4 z = (float4)(acc[r / 2][4][(r % 2) * 2 + 1],
                                        acc[r / 2][5][(r % 2) * 2 + 1],
                                        acc[r / 2][6][(r % 2) * 2 + 1],
                                        acc[r / 2][7][(r % 2) * 2 + 1]);
                    if (chained)
                        z += read_four(p, columns - column);
                    z += add;
                    write_four(p, columns - column, (float4)(gelu(z.x), gelu(z.y), gelu(z.z), gelu(z.w)));
                }
            }
        }
    }
}
