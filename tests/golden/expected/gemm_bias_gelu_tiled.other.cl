/* gemm_bias_gelu_tiled TM=256 TN=16 TK=16 RM=2 RN=8 LM=16 MFIRST=false STRIDED=false VGA=4 VGB=1 VL=2 AT=false PADA=4 PADB=4 BUF=none ORDER=snake UNROLL=0 BAND=1 BOUNDS=true SPEC=false; T=f32,ACC=f32 */
#define M M_arg
#define N N_arg
#define K K_arg
/* C = gelu(A B + bias), row-major.
 *
 * A group of 256 work-items makes a tile of C, 256 x 16; a work-item keeps 2 x 8 elements of it in
 * registers: c_i_j. Tiles of A, 256 x 16, and of B, 16 x 16, pass through local memory.
 * Every 32 consecutive work-items are 16 x 2 of those that cover the tile of C.
 *
 * Sizes need not be multiples of the tile. In place of rows and columns past the edge the last ones are loaded again,
 * and what comes of them is not stored. Where K is not a multiple of 16 the first tile is the incomplete one: the
 * missing terms come before it and are zeros, so that all later tiles are loaded without a question.
 */

/* Adds to every c_i_j 2 of its terms, those from k on. */
#define ADD_TERMS(k) { \
    const float2 a0 = *(const __local float2 *)(A_read + (k) + 0); \
    const float2 a1 = *(const __local float2 *)(A_read + (k) + 20); \
    { \
    const float2 b0 = *(const __local float2 *)(B_read + ((k) + 0) * 20 + 0); \
    const float2 b2 = *(const __local float2 *)(B_read + ((k) + 0) * 20 + 2); \
    const float2 b4 = *(const __local float2 *)(B_read + ((k) + 0) * 20 + 4); \
    const float2 b6 = *(const __local float2 *)(B_read + ((k) + 0) * 20 + 6); \
    const float a_0 = a0.s0; \
    const float a_1 = a1.s0; \
    const float b_0 = b0.s0; \
    const float b_1 = b0.s1; \
    const float b_2 = b2.s0; \
    const float b_3 = b2.s1; \
    const float b_4 = b4.s0; \
    const float b_5 = b4.s1; \
    const float b_6 = b6.s0; \
    const float b_7 = b6.s1; \
    c_0_0 += a_0 * b_0; \
    c_0_1 += a_0 * b_1; \
    c_0_2 += a_0 * b_2; \
    c_0_3 += a_0 * b_3; \
    c_0_4 += a_0 * b_4; \
    c_0_5 += a_0 * b_5; \
    c_0_6 += a_0 * b_6; \
    c_0_7 += a_0 * b_7; \
    c_1_7 += a_1 * b_7; \
    c_1_6 += a_1 * b_6; \
    c_1_5 += a_1 * b_5; \
    c_1_4 += a_1 * b_4; \
    c_1_3 += a_1 * b_3; \
    c_1_2 += a_1 * b_2; \
    c_1_1 += a_1 * b_1; \
    c_1_0 += a_1 * b_0; \
    } \
    { \
    const float2 b0 = *(const __local float2 *)(B_read + ((k) + 1) * 20 + 0); \
    const float2 b2 = *(const __local float2 *)(B_read + ((k) + 1) * 20 + 2); \
    const float2 b4 = *(const __local float2 *)(B_read + ((k) + 1) * 20 + 4); \
    const float2 b6 = *(const __local float2 *)(B_read + ((k) + 1) * 20 + 6); \
    const float a_0 = a0.s1; \
    const float a_1 = a1.s1; \
    const float b_0 = b0.s0; \
    const float b_1 = b0.s1; \
    const float b_2 = b2.s0; \
    const float b_3 = b2.s1; \
    const float b_4 = b4.s0; \
    const float b_5 = b4.s1; \
    const float b_6 = b6.s0; \
    const float b_7 = b6.s1; \
    c_0_0 += a_0 * b_0; \
    c_0_1 += a_0 * b_1; \
    c_0_2 += a_0 * b_2; \
    c_0_3 += a_0 * b_3; \
    c_0_4 += a_0 * b_4; \
    c_0_5 += a_0 * b_5; \
    c_0_6 += a_0 * b_6; \
    c_0_7 += a_0 * b_7; \
    c_1_7 += a_1 * b_7; \
    c_1_6 += a_1 * b_6; \
    c_1_5 += a_1 * b_5; \
    c_1_4 += a_1 * b_4; \
    c_1_3 += a_1 * b_3; \
    c_1_2 += a_1 * b_2; \
    c_1_1 += a_1 * b_1; \
    c_1_0 += a_1 * b_0; \
    } \
}

/* Stores 1 of the elements: gelu(c + bias). */
#define PUT(at, b, c) { \
    const float z = (c) + *(__global const float *)(b); \
    *(__global float *)(at) = 0.5f * z * (1 + erf(z * 0.7071067811865476f)); \
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void gemm_bias_gelu_tiled(int M_arg, int N_arg, int K_arg, __global const float *restrict A,
                          __global const float *restrict B, __global const float *restrict bias,
                          __global float *restrict C)
{
    __local float A_tile[5120] __attribute__((aligned(16)));
    __local float B_tile[320] __attribute__((aligned(16)));

    /* Which tile of C. */
    const int group = get_group_id(0);
    const int tiles_n = (N - 1) / 16 + 1;
    const int tile_m = group / tiles_n, tile_n = group % tiles_n;
    const int row_start = tile_m * 256, column_start = tile_n * 16;

    /* Which tiles along K: first to last - 1. */
    const int steps = (K + 15) / 16;
    const int first = 0, last = steps;
    int k0 = first * 16 - (steps * 16 - K); /* below 0 in an incomplete first tile */

    /* What this work-item loads of every tile: 4 x 4 elements of A and 1 x 1 of B. */
    const int item = get_local_id(0);
    const int a_row = item / 4, a_k = item % 4 * 4;
    const int b_k = item / 16, b_column = item % 16 * 1;
    const int a_at0 = min(row_start + a_row + 0, M - 1) * K + k0 + a_k;
    float4 a_next0 = 0;
    const int a_at1 = min(row_start + a_row + 64, M - 1) * K + k0 + a_k;
    float4 a_next1 = 0;
    const int a_at2 = min(row_start + a_row + 128, M - 1) * K + k0 + a_k;
    float4 a_next2 = 0;
    const int a_at3 = min(row_start + a_row + 192, M - 1) * K + k0 + a_k;
    float4 a_next3 = 0;
    const int b_at = (k0 + b_k) * N + min(column_start + b_column, N - 1);
    float b_next0 = 0;

    /* What it computes: rows c_row + .. and columns c_column + .. of the tile. */
    const int lane = item % 32, warp = item / 32;
    const int lane_m = lane / 2, lane_n = lane % 2;
    const int c_row = warp / 1 * 32 + lane_m * 2;
    const int c_column = warp % 1 * 16 + lane_n * 8;
    float c_0_0 = 0;
    float c_0_1 = 0;
    float c_0_2 = 0;
    float c_0_3 = 0;
    float c_0_4 = 0;
    float c_0_5 = 0;
    float c_0_6 = 0;
    float c_0_7 = 0;
    float c_1_0 = 0;
    float c_1_1 = 0;
    float c_1_2 = 0;
    float c_1_3 = 0;
    float c_1_4 = 0;
    float c_1_5 = 0;
    float c_1_6 = 0;
    float c_1_7 = 0;

    for (int step = first; step < last; ++step) {
        if (k0 + a_k >= 0)
        a_next0 = *(__global const float4 *)(A + a_at0);
        if (k0 + a_k >= 0)
        a_next1 = *(__global const float4 *)(A + a_at1);
        if (k0 + a_k >= 0)
        a_next2 = *(__global const float4 *)(A + a_at2);
        if (k0 + a_k >= 0)
        a_next3 = *(__global const float4 *)(A + a_at3);
        if (k0 + b_k + 0 >= 0)
        b_next0 = *(__global const float *)(B + b_at + 0 * N);
        A += 16;
        B += 16 * N;
        k0 += 16;
        /* Put what was loaded into local memory. */
        __local float *A_now = A_tile, *B_now = B_tile;
        barrier(CLK_LOCAL_MEM_FENCE);
        *(__local float4 *)(A_now + (a_row + 0) * 20 + a_k) = a_next0;
        *(__local float4 *)(A_now + (a_row + 64) * 20 + a_k) = a_next1;
        *(__local float4 *)(A_now + (a_row + 128) * 20 + a_k) = a_next2;
        *(__local float4 *)(A_now + (a_row + 192) * 20 + a_k) = a_next3;
        *(__local float *)(B_now + (b_k + 0) * 20 + b_column) = b_next0;
        barrier(CLK_LOCAL_MEM_FENCE);

        const __local float *A_read = A_now + c_row * 20;
        const __local float *B_read = B_now + c_column;
        ADD_TERMS(0)
        ADD_TERMS(2)
        ADD_TERMS(4)
        ADD_TERMS(6)
        ADD_TERMS(8)
        ADD_TERMS(10)
        ADD_TERMS(12)
        ADD_TERMS(14)
    }

    /* Store. */
    const int column0 = column_start + c_column + 0;
    const int column1 = column_start + c_column + 1;
    const int column2 = column_start + c_column + 2;
    const int column3 = column_start + c_column + 3;
    const int column4 = column_start + c_column + 4;
    const int column5 = column_start + c_column + 5;
    const int column6 = column_start + c_column + 6;
    const int column7 = column_start + c_column + 7;
    if (row_start + c_row + 0 < M) {
        __global float *row = C + (row_start + c_row + 0) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0, c_0_0)
        if (column1 < N)
        PUT(row + column1, bias + column1, c_0_1)
        if (column2 < N)
        PUT(row + column2, bias + column2, c_0_2)
        if (column3 < N)
        PUT(row + column3, bias + column3, c_0_3)
        if (column4 < N)
        PUT(row + column4, bias + column4, c_0_4)
        if (column5 < N)
        PUT(row + column5, bias + column5, c_0_5)
        if (column6 < N)
        PUT(row + column6, bias + column6, c_0_6)
        if (column7 < N)
        PUT(row + column7, bias + column7, c_0_7)
    }
    if (row_start + c_row + 1 < M) {
        __global float *row = C + (row_start + c_row + 1) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0, c_1_0)
        if (column1 < N)
        PUT(row + column1, bias + column1, c_1_1)
        if (column2 < N)
        PUT(row + column2, bias + column2, c_1_2)
        if (column3 < N)
        PUT(row + column3, bias + column3, c_1_3)
        if (column4 < N)
        PUT(row + column4, bias + column4, c_1_4)
        if (column5 < N)
        PUT(row + column5, bias + column5, c_1_5)
        if (column6 < N)
        PUT(row + column6, bias + column6, c_1_6)
        if (column7 < N)
        PUT(row + column7, bias + column7, c_1_7)
    }
}
