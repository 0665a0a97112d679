/* gemm_bias_gelu_tiled TM=128 TN=256 TK=8 RM=16 RN=8 LM=4 MFIRST=true STRIDED=true VGA=4 VGB=4 VL=4 AT=true PADA=4 PADB=0 BUF=two ORDER=snake UNROLL=0 BAND=4 BOUNDS=true SPEC=false; T=f32,ACC=f32 */
#define M M_arg
#define N N_arg
#define K K_arg
/* C = gelu(A B + bias), row-major.
 *
 * A group of 256 work-items makes a tile of C, 128 x 256; a work-item keeps 16 x 8 elements of it in
 * registers: c_i_j. Tiles of A, 128 x 8, and of B, 8 x 256, pass through local memory.
 * Every 32 consecutive work-items are 4 x 8 of those that cover the tile of C.
 *
 * Sizes need not be multiples of the tile. In place of rows and columns past the edge the last ones are loaded again,
 * and what comes of them is not stored. Where K is not a multiple of 8 the first tile is the incomplete one: the
 * missing terms come before it and are zeros, so that all later tiles are loaded without a question.
 */

/* Adds to every c_i_j 1 of its terms, those from k on. */
#define ADD_TERMS(k) { \
    const float4 a0 = *(const __local float4 *)(A_read + (k) * 132 + 0); \
    const float4 a4 = *(const __local float4 *)(A_read + (k) * 132 + 16); \
    const float4 a8 = *(const __local float4 *)(A_read + (k) * 132 + 32); \
    const float4 a12 = *(const __local float4 *)(A_read + (k) * 132 + 48); \
    { \
    const float4 b0 = *(const __local float4 *)(B_read + ((k) + 0) * 256 + 0); \
    const float4 b4 = *(const __local float4 *)(B_read + ((k) + 0) * 256 + 32); \
    const float a_0 = a0.s0; \
    const float a_1 = a0.s1; \
    const float a_2 = a0.s2; \
    const float a_3 = a0.s3; \
    const float a_4 = a4.s0; \
    const float a_5 = a4.s1; \
    const float a_6 = a4.s2; \
    const float a_7 = a4.s3; \
    const float a_8 = a8.s0; \
    const float a_9 = a8.s1; \
    const float a_10 = a8.s2; \
    const float a_11 = a8.s3; \
    const float a_12 = a12.s0; \
    const float a_13 = a12.s1; \
    const float a_14 = a12.s2; \
    const float a_15 = a12.s3; \
    const float b_0 = b0.s0; \
    const float b_1 = b0.s1; \
    const float b_2 = b0.s2; \
    const float b_3 = b0.s3; \
    const float b_4 = b4.s0; \
    const float b_5 = b4.s1; \
    const float b_6 = b4.s2; \
    const float b_7 = b4.s3; \
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
    c_2_0 += a_2 * b_0; \
    c_2_1 += a_2 * b_1; \
    c_2_2 += a_2 * b_2; \
    c_2_3 += a_2 * b_3; \
    c_2_4 += a_2 * b_4; \
    c_2_5 += a_2 * b_5; \
    c_2_6 += a_2 * b_6; \
    c_2_7 += a_2 * b_7; \
    c_3_7 += a_3 * b_7; \
    c_3_6 += a_3 * b_6; \
    c_3_5 += a_3 * b_5; \
    c_3_4 += a_3 * b_4; \
    c_3_3 += a_3 * b_3; \
    c_3_2 += a_3 * b_2; \
    c_3_1 += a_3 * b_1; \
    c_3_0 += a_3 * b_0; \
    c_4_0 += a_4 * b_0; \
    c_4_1 += a_4 * b_1; \
    c_4_2 += a_4 * b_2; \
    c_4_3 += a_4 * b_3; \
    c_4_4 += a_4 * b_4; \
    c_4_5 += a_4 * b_5; \
    c_4_6 += a_4 * b_6; \
    c_4_7 += a_4 * b_7; \
    c_5_7 += a_5 * b_7; \
    c_5_6 += a_5 * b_6; \
    c_5_5 += a_5 * b_5; \
    c_5_4 += a_5 * b_4; \
    c_5_3 += a_5 * b_3; \
    c_5_2 += a_5 * b_2; \
    c_5_1 += a_5 * b_1; \
    c_5_0 += a_5 * b_0; \
    c_6_0 += a_6 * b_0; \
    c_6_1 += a_6 * b_1; \
    c_6_2 += a_6 * b_2; \
    c_6_3 += a_6 * b_3; \
    c_6_4 += a_6 * b_4; \
    c_6_5 += a_6 * b_5; \
    c_6_6 += a_6 * b_6; \
    c_6_7 += a_6 * b_7; \
    c_7_7 += a_7 * b_7; \
    c_7_6 += a_7 * b_6; \
    c_7_5 += a_7 * b_5; \
    c_7_4 += a_7 * b_4; \
    c_7_3 += a_7 * b_3; \
    c_7_2 += a_7 * b_2; \
    c_7_1 += a_7 * b_1; \
    c_7_0 += a_7 * b_0; \
    c_8_0 += a_8 * b_0; \
    c_8_1 += a_8 * b_1; \
    c_8_2 += a_8 * b_2; \
    c_8_3 += a_8 * b_3; \
    c_8_4 += a_8 * b_4; \
    c_8_5 += a_8 * b_5; \
    c_8_6 += a_8 * b_6; \
    c_8_7 += a_8 * b_7; \
    c_9_7 += a_9 * b_7; \
    c_9_6 += a_9 * b_6; \
    c_9_5 += a_9 * b_5; \
    c_9_4 += a_9 * b_4; \
    c_9_3 += a_9 * b_3; \
    c_9_2 += a_9 * b_2; \
    c_9_1 += a_9 * b_1; \
    c_9_0 += a_9 * b_0; \
    c_10_0 += a_10 * b_0; \
    c_10_1 += a_10 * b_1; \
    c_10_2 += a_10 * b_2; \
    c_10_3 += a_10 * b_3; \
    c_10_4 += a_10 * b_4; \
    c_10_5 += a_10 * b_5; \
    c_10_6 += a_10 * b_6; \
    c_10_7 += a_10 * b_7; \
    c_11_7 += a_11 * b_7; \
    c_11_6 += a_11 * b_6; \
    c_11_5 += a_11 * b_5; \
    c_11_4 += a_11 * b_4; \
    c_11_3 += a_11 * b_3; \
    c_11_2 += a_11 * b_2; \
    c_11_1 += a_11 * b_1; \
    c_11_0 += a_11 * b_0; \
    c_12_0 += a_12 * b_0; \
    c_12_1 += a_12 * b_1; \
    c_12_2 += a_12 * b_2; \
    c_12_3 += a_12 * b_3; \
    c_12_4 += a_12 * b_4; \
    c_12_5 += a_12 * b_5; \
    c_12_6 += a_12 * b_6; \
    c_12_7 += a_12 * b_7; \
    c_13_7 += a_13 * b_7; \
    c_13_6 += a_13 * b_6; \
    c_13_5 += a_13 * b_5; \
    c_13_4 += a_13 * b_4; \
    c_13_3 += a_13 * b_3; \
    c_13_2 += a_13 * b_2; \
    c_13_1 += a_13 * b_1; \
    c_13_0 += a_13 * b_0; \
    c_14_0 += a_14 * b_0; \
    c_14_1 += a_14 * b_1; \
    c_14_2 += a_14 * b_2; \
    c_14_3 += a_14 * b_3; \
    c_14_4 += a_14 * b_4; \
    c_14_5 += a_14 * b_5; \
    c_14_6 += a_14 * b_6; \
    c_14_7 += a_14 * b_7; \
    c_15_7 += a_15 * b_7; \
    c_15_6 += a_15 * b_6; \
    c_15_5 += a_15 * b_5; \
    c_15_4 += a_15 * b_4; \
    c_15_3 += a_15 * b_3; \
    c_15_2 += a_15 * b_2; \
    c_15_1 += a_15 * b_1; \
    c_15_0 += a_15 * b_0; \
    } \
}

/* Stores 4 of the elements: gelu(c + bias). */
#define PUT(at, b, c) { \
    const float4 z = (c) + *(__global const float4 *)(b); \
    *(__global float4 *)(at) = 0.5f * z * (1 + erf(z * 0.7071067811865476f)); \
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void gemm_bias_gelu_tiled(int M_arg, int N_arg, int K_arg, __global const float *restrict A,
                          __global const float *restrict B, __global const float *restrict bias,
                          __global float *restrict C)
{
    __local float A_tile[2112] __attribute__((aligned(16)));
    __local float B_tile[4096] __attribute__((aligned(16)));

    /* Which tile of C. */
    const int group = get_group_id(0);
    const int tiles_m = (M - 1) / 128 + 1;
    const int tiles_n = (N - 1) / 256 + 1;
    const int band = group / (4 * tiles_n), in_band = group % (4 * tiles_n);
    const int band_height = min(4, tiles_m - band * 4);
    const int tile_m = band * 4 + in_band % band_height, tile_n = in_band / band_height;
    const int row_start = tile_m * 128, column_start = tile_n * 256;

    /* Which tiles along K: first to last - 1. */
    const int steps = (K + 7) / 8;
    const int first = 0, last = steps;
    int k0 = first * 8 - (steps * 8 - K); /* below 0 in an incomplete first tile */

    /* What this work-item loads of every tile: 1 x 4 elements of A and 2 x 4 of B. */
    const int item = get_local_id(0);
    const int a_row = item / 2, a_k = item % 2 * 4;
    const int b_k = item / 64, b_column = item % 64 * 4;
    const int a_at0 = min(row_start + a_row + 0, M - 1) * K + k0 + a_k;
    float4 a_next0 = 0;
    const int b_at = (k0 + b_k) * N + min(column_start + b_column, N - 4);
    float4 b_next0 = 0;
    float4 b_next1 = 0;

    /* What it computes: rows c_row + .. and columns c_column + .. of the tile. */
    const int lane = item % 32, warp = item / 32;
    const int lane_m = lane % 4, lane_n = lane / 4;
    const int c_row = warp / 4 * 64 + lane_m * 4;
    const int c_column = warp % 4 * 64 + lane_n * 4;
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
    float c_2_0 = 0;
    float c_2_1 = 0;
    float c_2_2 = 0;
    float c_2_3 = 0;
    float c_2_4 = 0;
    float c_2_5 = 0;
    float c_2_6 = 0;
    float c_2_7 = 0;
    float c_3_0 = 0;
    float c_3_1 = 0;
    float c_3_2 = 0;
    float c_3_3 = 0;
    float c_3_4 = 0;
    float c_3_5 = 0;
    float c_3_6 = 0;
    float c_3_7 = 0;
    float c_4_0 = 0;
    float c_4_1 = 0;
    float c_4_2 = 0;
    float c_4_3 = 0;
    float c_4_4 = 0;
    float c_4_5 = 0;
    float c_4_6 = 0;
    float c_4_7 = 0;
    float c_5_0 = 0;
    float c_5_1 = 0;
    float c_5_2 = 0;
    float c_5_3 = 0;
    float c_5_4 = 0;
    float c_5_5 = 0;
    float c_5_6 = 0;
    float c_5_7 = 0;
    float c_6_0 = 0;
    float c_6_1 = 0;
    float c_6_2 = 0;
    float c_6_3 = 0;
    float c_6_4 = 0;
    float c_6_5 = 0;
    float c_6_6 = 0;
    float c_6_7 = 0;
    float c_7_0 = 0;
    float c_7_1 = 0;
    float c_7_2 = 0;
    float c_7_3 = 0;
    float c_7_4 = 0;
    float c_7_5 = 0;
    float c_7_6 = 0;
    float c_7_7 = 0;
    float c_8_0 = 0;
    float c_8_1 = 0;
    float c_8_2 = 0;
    float c_8_3 = 0;
    float c_8_4 = 0;
    float c_8_5 = 0;
    float c_8_6 = 0;
    float c_8_7 = 0;
    float c_9_0 = 0;
    float c_9_1 = 0;
    float c_9_2 = 0;
    float c_9_3 = 0;
    float c_9_4 = 0;
    float c_9_5 = 0;
    float c_9_6 = 0;
    float c_9_7 = 0;
    float c_10_0 = 0;
    float c_10_1 = 0;
    float c_10_2 = 0;
    float c_10_3 = 0;
    float c_10_4 = 0;
    float c_10_5 = 0;
    float c_10_6 = 0;
    float c_10_7 = 0;
    float c_11_0 = 0;
    float c_11_1 = 0;
    float c_11_2 = 0;
    float c_11_3 = 0;
    float c_11_4 = 0;
    float c_11_5 = 0;
    float c_11_6 = 0;
    float c_11_7 = 0;
    float c_12_0 = 0;
    float c_12_1 = 0;
    float c_12_2 = 0;
    float c_12_3 = 0;
    float c_12_4 = 0;
    float c_12_5 = 0;
    float c_12_6 = 0;
    float c_12_7 = 0;
    float c_13_0 = 0;
    float c_13_1 = 0;
    float c_13_2 = 0;
    float c_13_3 = 0;
    float c_13_4 = 0;
    float c_13_5 = 0;
    float c_13_6 = 0;
    float c_13_7 = 0;
    float c_14_0 = 0;
    float c_14_1 = 0;
    float c_14_2 = 0;
    float c_14_3 = 0;
    float c_14_4 = 0;
    float c_14_5 = 0;
    float c_14_6 = 0;
    float c_14_7 = 0;
    float c_15_0 = 0;
    float c_15_1 = 0;
    float c_15_2 = 0;
    float c_15_3 = 0;
    float c_15_4 = 0;
    float c_15_5 = 0;
    float c_15_6 = 0;
    float c_15_7 = 0;

    /* Load the first tiles. */
    if (first < last) {
        if (k0 + a_k >= 0)
        a_next0 = *(__global const float4 *)(A + a_at0);
        if (k0 + b_k + 0 >= 0)
        b_next0 = *(__global const float4 *)(B + b_at + 0 * N);
        if (k0 + b_k + 4 >= 0)
        b_next1 = *(__global const float4 *)(B + b_at + 4 * N);
    }

    int buffer = 0;
    for (int step = first; step < last; ++step) {
        /* Put what was loaded into local memory. */
        __local float *A_now = A_tile + buffer * 1056, *B_now = B_tile + buffer * 2048;
        buffer = 1 - buffer;
        A_now[(a_k + 0) * 132 + a_row + 0] = a_next0.s0;
        A_now[(a_k + 1) * 132 + a_row + 0] = a_next0.s1;
        A_now[(a_k + 2) * 132 + a_row + 0] = a_next0.s2;
        A_now[(a_k + 3) * 132 + a_row + 0] = a_next0.s3;
        *(__local float4 *)(B_now + (b_k + 0) * 256 + b_column) = b_next0;
        *(__local float4 *)(B_now + (b_k + 4) * 256 + b_column) = b_next1;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* Load the next tiles while this one is used. */
        if (step + 1 < last) {
            A += 8;
            B += 8 * N;
            a_next0 = *(__global const float4 *)(A + a_at0);
            b_next0 = *(__global const float4 *)(B + b_at + 0 * N);
            b_next1 = *(__global const float4 *)(B + b_at + 4 * N);
        }

        const __local float *A_read = A_now + c_row;
        const __local float *B_read = B_now + c_column;
        ADD_TERMS(0)
        ADD_TERMS(1)
        ADD_TERMS(2)
        ADD_TERMS(3)
        ADD_TERMS(4)
        ADD_TERMS(5)
        ADD_TERMS(6)
        ADD_TERMS(7)
    }

    /* Store. */
    const int column0 = column_start + c_column + 0;
    const int column4 = column_start + c_column + 32;
    if (row_start + c_row + 0 < M) {
        __global float *row = C + (row_start + c_row + 0) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_0_0, c_0_1, c_0_2, c_0_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_0_4, c_0_5, c_0_6, c_0_7))
    }
    if (row_start + c_row + 1 < M) {
        __global float *row = C + (row_start + c_row + 1) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_1_0, c_1_1, c_1_2, c_1_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_1_4, c_1_5, c_1_6, c_1_7))
    }
    if (row_start + c_row + 2 < M) {
        __global float *row = C + (row_start + c_row + 2) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_2_0, c_2_1, c_2_2, c_2_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_2_4, c_2_5, c_2_6, c_2_7))
    }
    if (row_start + c_row + 3 < M) {
        __global float *row = C + (row_start + c_row + 3) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_3_0, c_3_1, c_3_2, c_3_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_3_4, c_3_5, c_3_6, c_3_7))
    }
    if (row_start + c_row + 16 < M) {
        __global float *row = C + (row_start + c_row + 16) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_4_0, c_4_1, c_4_2, c_4_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_4_4, c_4_5, c_4_6, c_4_7))
    }
    if (row_start + c_row + 17 < M) {
        __global float *row = C + (row_start + c_row + 17) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_5_0, c_5_1, c_5_2, c_5_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_5_4, c_5_5, c_5_6, c_5_7))
    }
    if (row_start + c_row + 18 < M) {
        __global float *row = C + (row_start + c_row + 18) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_6_0, c_6_1, c_6_2, c_6_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_6_4, c_6_5, c_6_6, c_6_7))
    }
    if (row_start + c_row + 19 < M) {
        __global float *row = C + (row_start + c_row + 19) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_7_0, c_7_1, c_7_2, c_7_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_7_4, c_7_5, c_7_6, c_7_7))
    }
    if (row_start + c_row + 32 < M) {
        __global float *row = C + (row_start + c_row + 32) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_8_0, c_8_1, c_8_2, c_8_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_8_4, c_8_5, c_8_6, c_8_7))
    }
    if (row_start + c_row + 33 < M) {
        __global float *row = C + (row_start + c_row + 33) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_9_0, c_9_1, c_9_2, c_9_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_9_4, c_9_5, c_9_6, c_9_7))
    }
    if (row_start + c_row + 34 < M) {
        __global float *row = C + (row_start + c_row + 34) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_10_0, c_10_1, c_10_2, c_10_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_10_4, c_10_5, c_10_6, c_10_7))
    }
    if (row_start + c_row + 35 < M) {
        __global float *row = C + (row_start + c_row + 35) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_11_0, c_11_1, c_11_2, c_11_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_11_4, c_11_5, c_11_6, c_11_7))
    }
    if (row_start + c_row + 48 < M) {
        __global float *row = C + (row_start + c_row + 48) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_12_0, c_12_1, c_12_2, c_12_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_12_4, c_12_5, c_12_6, c_12_7))
    }
    if (row_start + c_row + 49 < M) {
        __global float *row = C + (row_start + c_row + 49) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_13_0, c_13_1, c_13_2, c_13_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_13_4, c_13_5, c_13_6, c_13_7))
    }
    if (row_start + c_row + 50 < M) {
        __global float *row = C + (row_start + c_row + 50) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_14_0, c_14_1, c_14_2, c_14_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_14_4, c_14_5, c_14_6, c_14_7))
    }
    if (row_start + c_row + 51 < M) {
        __global float *row = C + (row_start + c_row + 51) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0,
            (float4)(c_15_0, c_15_1, c_15_2, c_15_3))
        if (column4 < N)
        PUT(row + column4, bias + column4,
            (float4)(c_15_4, c_15_5, c_15_6, c_15_7))
    }
}
