/* gemm_skinny NC=1 LX=128 LY=1 RM=4 VEC=2 PER=1; T=f32,ACC=f32 */
/* C = alpha A B + beta C for 1 columns: 128 work-items share 4 rows of A, 1 times in a group. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void gemm_skinny(int M, int K, float alpha, __global const float *restrict A, __global const float *restrict B,
                 float beta, __global float *restrict C)
{
    __local float sums[512];
    const uint lane = get_local_id(0);
    const uint row = (get_group_id(0) * 1 + get_local_id(1)) * 4;

    /* Rows past the last one are the last one again, not stored. */
    __global const float *a0 = A + min(row + 0, (uint)M - 1) * K;
    float c_0_0 = 0;
    __global const float *a1 = A + min(row + 1, (uint)M - 1) * K;
    float c_1_0 = 0;
    __global const float *a2 = A + min(row + 2, (uint)M - 1) * K;
    float c_2_0 = 0;
    __global const float *a3 = A + min(row + 3, (uint)M - 1) * K;
    float c_3_0 = 0;
    for (uint k = lane * 2; k < (uint)K; k += 256) {
        float2 a0_0 = 0;
        float2 a1_0 = 0;
        float2 a2_0 = 0;
        float2 a3_0 = 0;
        float2 b0_0 = 0;
            a0_0 = *(__global const float2 *)(a0 + k + 0);
            a1_0 = *(__global const float2 *)(a1 + k + 0);
            a2_0 = *(__global const float2 *)(a2 + k + 0);
            a3_0 = *(__global const float2 *)(a3 + k + 0);
            b0_0 = *(__global const float2 *)(B + (k + 0) * 1 + 0);
        c_0_0 += a0_0.s0 * b0_0.s0;
        c_1_0 += a1_0.s0 * b0_0.s0;
        c_2_0 += a2_0.s0 * b0_0.s0;
        c_3_0 += a3_0.s0 * b0_0.s0;
        c_0_0 += a0_0.s1 * b0_0.s1;
        c_1_0 += a1_0.s1 * b0_0.s1;
        c_2_0 += a2_0.s1 * b0_0.s1;
        c_3_0 += a3_0.s1 * b0_0.s1;
    }

    /* Add up over the lanes: sums[(row of work-items, row, column)][lane]. */
    __local float *mine = sums + get_local_id(1) * 512 + lane;
    mine[0] = c_0_0;
    mine[128] = c_1_0;
    mine[256] = c_2_0;
    mine[384] = c_3_0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 64) {
        mine[0] += mine[64];
        mine[128] += mine[192];
        mine[256] += mine[320];
        mine[384] += mine[448];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 32) {
        mine[0] += mine[32];
        mine[128] += mine[160];
        mine[256] += mine[288];
        mine[384] += mine[416];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) {
        mine[0] += mine[16];
        mine[128] += mine[144];
        mine[256] += mine[272];
        mine[384] += mine[400];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8) {
        mine[0] += mine[8];
        mine[128] += mine[136];
        mine[256] += mine[264];
        mine[384] += mine[392];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 4) {
        mine[0] += mine[4];
        mine[128] += mine[132];
        mine[256] += mine[260];
        mine[384] += mine[388];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 2) {
        mine[0] += mine[2];
        mine[128] += mine[130];
        mine[256] += mine[258];
        mine[384] += mine[386];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 1) {
        mine[0] += mine[1];
        mine[128] += mine[129];
        mine[256] += mine[257];
        mine[384] += mine[385];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Store: beta 0 means that C is not read, it may hold NaN. */
    for (uint e = lane; e < 4; e += 128) {
        const float sum = alpha * sums[(get_local_id(1) * 4 + e) * 128];
        __global float *c = C + row * 1 + e;
        if (row + e / 1 < (uint)M)
            *c = beta == 0 ? sum : sum + beta * *c;
    }
}
