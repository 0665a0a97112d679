/* gemm_bias_gelu_tiled TM=64 TN=64 TK=16 RM=4 RN=4 LM=8 MFIRST=false STRIDED=true VGA=1 VGB=1 VL=4 AT=true PADA=4 PADB=0 BUF=one ORDER=row UNROLL=0 BAND=1 BOUNDS=true SPEC=false; T=f32,ACC=f32 */
#define M M_arg
#define N N_arg
#define K K_arg
/* C = gelu(A B + bias), row-major.
 *
 * A group of 256 work-items makes a tile of C, 64 x 64; a work-item keeps 4 x 4 elements of it in
 * registers: c_i_j. Tiles of A, 64 x 16, and of B, 16 x 64, pass through local memory.
 * Every 32 consecutive work-items are 8 x 4 of those that cover the tile of C.
 *
 * Sizes need not be multiples of the tile. In place of rows and columns past the edge the last ones are loaded again,
 * and what comes of them is not stored. Where K is not a multiple of 16 the first tile is the incomplete one: the
 * missing terms come before it and are zeros, so that all later tiles are loaded without a question.
 */

/* Adds to every c_i_j 1 of its terms, those from k on. */
#define ADD_TERMS(k) { \
    const float4 a0 = *(const __local float4 *)(A_read + (k) * 68 + 0); \
    { \
    const float4 b0 = *(const __local float4 *)(B_read + ((k) + 0) * 64 + 0); \
    const float a_0 = a0.s0; \
    const float a_1 = a0.s1; \
    const float a_2 = a0.s2; \
    const float a_3 = a0.s3; \
    const float b_0 = b0.s0; \
    const float b_1 = b0.s1; \
    const float b_2 = b0.s2; \
    const float b_3 = b0.s3; \
    c_0_0 += a_0 * b_0; \
    c_0_1 += a_0 * b_1; \
    c_0_2 += a_0 * b_2; \
    c_0_3 += a_0 * b_3; \
    c_1_0 += a_1 * b_0; \
    c_1_1 += a_1 * b_1; \
    c_1_2 += a_1 * b_2; \
    c_1_3 += a_1 * b_3; \
    c_2_0 += a_2 * b_0; \
    c_2_1 += a_2 * b_1; \
    c_2_2 += a_2 * b_2; \
    c_2_3 += a_2 * b_3; \
    c_3_0 += a_3 * b_0; \
    c_3_1 += a_3 * b_1; \
    c_3_2 += a_3 * b_2; \
    c_3_3 += a_3 * b_3; \
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
    __local float A_tile[1088] __attribute__((aligned(16)));
    __local float B_tile[1024] __attribute__((aligned(16)));

    /* Which tile of C. */
    const int group = get_group_id(0);
    const int tiles_n = (N - 1) / 64 + 1;
    const int tile_m = group / tiles_n, tile_n = group % tiles_n;
    const int row_start = tile_m * 64, column_start = tile_n * 64;

    /* Which tiles along K: first to last - 1. */
    const int steps = (K + 15) / 16;
    const int first = 0, last = steps;
    int k0 = first * 16 - (steps * 16 - K); /* below 0 in an incomplete first tile */

    /* What this work-item loads of every tile: 4 x 1 elements of A and 4 x 1 of B. */
    const int item = get_local_id(0);
    const int a_row = item / 16, a_k = item % 16 * 1;
    const int b_k = item / 64, b_column = item % 64 * 1;
    const int a_at0 = min(row_start + a_row + 0, M - 1) * K + k0 + a_k;
    float a_next0 = 0;
    const int a_at1 = min(row_start + a_row + 16, M - 1) * K + k0 + a_k;
    float a_next1 = 0;
    const int a_at2 = min(row_start + a_row + 32, M - 1) * K + k0 + a_k;
    float a_next2 = 0;
    const int a_at3 = min(row_start + a_row + 48, M - 1) * K + k0 + a_k;
    float a_next3 = 0;
    const int b_at = (k0 + b_k) * N + min(column_start + b_column, N - 1);
    float b_next0 = 0;
    float b_next1 = 0;
    float b_next2 = 0;
    float b_next3 = 0;

    /* What it computes: rows c_row + .. and columns c_column + .. of the tile. */
    const int lane = item % 32, warp = item / 32;
    const int lane_m = lane / 4, lane_n = lane % 4;
    const int c_row = warp / 4 * 32 + lane_m * 4;
    const int c_column = warp % 4 * 16 + lane_n * 4;
    float c_0_0 = 0;
    float c_0_1 = 0;
    float c_0_2 = 0;
    float c_0_3 = 0;
    float c_1_0 = 0;
    float c_1_1 = 0;
    float c_1_2 = 0;
    float c_1_3 = 0;
    float c_2_0 = 0;
    float c_2_1 = 0;
    float c_2_2 = 0;
    float c_2_3 = 0;
    float c_3_0 = 0;
    float c_3_1 = 0;
    float c_3_2 = 0;
    float c_3_3 = 0;

    /* Load the first tiles. */
    if (first < last) {
        if (k0 + a_k >= 0)
        a_next0 = *(__global const float *)(A + a_at0);
        if (k0 + a_k >= 0)
        a_next1 = *(__global const float *)(A + a_at1);
        if (k0 + a_k >= 0)
        a_next2 = *(__global const float *)(A + a_at2);
        if (k0 + a_k >= 0)
        a_next3 = *(__global const float *)(A + a_at3);
        if (k0 + b_k + 0 >= 0)
        b_next0 = *(__global const float *)(B + b_at + 0 * N);
        if (k0 + b_k + 4 >= 0)
        b_next1 = *(__global const float *)(B + b_at + 4 * N);
        if (k0 + b_k + 8 >= 0)
        b_next2 = *(__global const float *)(B + b_at + 8 * N);
        if (k0 + b_k + 12 >= 0)
        b_next3 = *(__global const float *)(B + b_at + 12 * N);
    }

    for (int step = first; step < last; ++step) {
        /* Put what was loaded into local memory. */
        __local float *A_now = A_tile, *B_now = B_tile;
        barrier(CLK_LOCAL_MEM_FENCE);
        A_now[a_k * 68 + a_row + 0] = a_next0;
        A_now[a_k * 68 + a_row + 16] = a_next1;
        A_now[a_k * 68 + a_row + 32] = a_next2;
        A_now[a_k * 68 + a_row + 48] = a_next3;
        *(__local float *)(B_now + (b_k + 0) * 64 + b_column) = b_next0;
        *(__local float *)(B_now + (b_k + 4) * 64 + b_column) = b_next1;
        *(__local float *)(B_now + (b_k + 8) * 64 + b_column) = b_next2;
        *(__local float *)(B_now + (b_k + 12) * 64 + b_column) = b_next3;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* Load the next tiles while this one is used. */
        if (step + 1 < last) {
            A += 16;
            B += 16 * N;
            a_next0 = *(__global const float *)(A + a_at0);
            a_next1 = *(__global const float *)(A + a_at1);
            a_next2 = *(__global const float *)(A + a_at2);
            a_next3 = *(__global const float *)(A + a_at3);
            b_next0 = *(__global const float *)(B + b_at + 0 * N);
            b_next1 = *(__global const float *)(B + b_at + 4 * N);
            b_next2 = *(__global const float *)(B + b_at + 8 * N);
            b_next3 = *(__global const float *)(B + b_at + 12 * N);
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
        ADD_TERMS(8)
        ADD_TERMS(9)
        ADD_TERMS(10)
        ADD_TERMS(11)
        ADD_TERMS(12)
        ADD_TERMS(13)
        ADD_TERMS(14)
        ADD_TERMS(15)
    }

    /* Store. */
    const int column0 = column_start + c_column + 0;
    const int column1 = column_start + c_column + 1;
    const int column2 = column_start + c_column + 2;
    const int column3 = column_start + c_column + 3;
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
    }
    if (row_start + c_row + 2 < M) {
        __global float *row = C + (row_start + c_row + 2) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0, c_2_0)
        if (column1 < N)
        PUT(row + column1, bias + column1, c_2_1)
        if (column2 < N)
        PUT(row + column2, bias + column2, c_2_2)
        if (column3 < N)
        PUT(row + column3, bias + column3, c_2_3)
    }
    if (row_start + c_row + 3 < M) {
        __global float *row = C + (row_start + c_row + 3) * N;
        if (column0 < N)
        PUT(row + column0, bias + column0, c_3_0)
        if (column1 < N)
        PUT(row + column1, bias + column1, c_3_1)
        if (column2 < N)
        PUT(row + column2, bias + column2, c_3_2)
        if (column3 < N)
        PUT(row + column3, bias + column3, c_3_3)
    }
}
