/* gemm_skinny NC=1 LX=32 LY=4 RM=2 VEC=1 PER=2; T=f32,ACC=f32 */
/* C = alpha A B + beta C for 1 columns: 32 work-items share 2 rows of A, 4 times in a group. */
__kernel __attribute__((reqd_work_group_size(32, 4, 1)))
void gemm_skinny(int M, int K, float alpha, __global const float *restrict A, __global const float *restrict B,
                 float beta, __global float *restrict C)
{
    __local float sums[256];
    const uint lane = get_local_id(0);
    const uint row = (get_group_id(0) * 4 + get_local_id(1)) * 2;

    /* Rows past the last one are the last one again, not stored. */
    __global const float *a0 = A + min(row + 0, (uint)M - 1) * K;
    float c_0_0 = 0;
    __global const float *a1 = A + min(row + 1, (uint)M - 1) * K;
    float c_1_0 = 0;
    for (uint k = lane * 1; k < (uint)K; k += 64) {
        float a0_0 = 0;
        float a1_0 = 0;
        float b0_0 = 0;
            a0_0 = *(__global const float *)(a0 + k + 0);
            a1_0 = *(__global const float *)(a1 + k + 0);
            b0_0 = *(__global const float *)(B + (k + 0) * 1 + 0);
        float a0_1 = 0;
        float a1_1 = 0;
        float b0_1 = 0;
        if (k + 32 < (uint)K) {
            a0_1 = *(__global const float *)(a0 + k + 32);
            a1_1 = *(__global const float *)(a1 + k + 32);
            b0_1 = *(__global const float *)(B + (k + 32) * 1 + 0);
        }
        c_0_0 += a0_0 * b0_0;
        c_1_0 += a1_0 * b0_0;
        c_0_0 += a0_1 * b0_1;
        c_1_0 += a1_1 * b0_1;
    }

    /* Add up over the lanes: sums[(row of work-items, row, column)][lane]. */
    __local float *mine = sums + get_local_id(1) * 64 + lane;
    mine[0] = c_0_0;
    mine[32] = c_1_0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) {
        mine[0] += mine[16];
        mine[32] += mine[48];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8) {
        mine[0] += mine[8];
        mine[32] += mine[40];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 4) {
        mine[0] += mine[4];
        mine[32] += mine[36];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 2) {
        mine[0] += mine[2];
        mine[32] += mine[34];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 1) {
        mine[0] += mine[1];
        mine[32] += mine[33];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Store: beta 0 means that C is not read, it may hold NaN. */
    for (uint e = lane; e < 2; e += 32) {
        const float sum = alpha * sums[(get_local_id(1) * 2 + e) * 32];
        __global float *c = C + row * 1 + e;
        if (row + e / 1 < (uint)M)
            *c = beta == 0 ? sum : sum + beta * *c;
    }
}
