/* transpose_tiled TR=32 TC=32 WG=128 VIN=1 VOUT=1 PAD=1 ACROSS=true; T=f32 */
/* y[c][r] = x[r][c]: a group moves a tile of 32 x 32 elements of x. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void transpose_tiled(int R, int C, __global const float *restrict x, __global float *restrict y)
{
    __local float tile[1056];
    const uint group = get_group_id(0), item = get_local_id(0);
    const uint tiles_across = (C - 1) / 32 + 1;
    const uint row0 = group / tiles_across * 32, column0 = group % tiles_across * 32;

    /* Along the rows of x. */
    const uint in_row = item / 32, in_column = item % 32 * 1;
    float in0 = 0;
    if (row0 + in_row + 0 < (uint)R && column0 + in_column < (uint)C)
        in0 = *(__global const float *)(x + (row0 + in_row + 0) * C + column0 + in_column);
    float in1 = 0;
    if (row0 + in_row + 4 < (uint)R && column0 + in_column < (uint)C)
        in1 = *(__global const float *)(x + (row0 + in_row + 4) * C + column0 + in_column);
    float in2 = 0;
    if (row0 + in_row + 8 < (uint)R && column0 + in_column < (uint)C)
        in2 = *(__global const float *)(x + (row0 + in_row + 8) * C + column0 + in_column);
    float in3 = 0;
    if (row0 + in_row + 12 < (uint)R && column0 + in_column < (uint)C)
        in3 = *(__global const float *)(x + (row0 + in_row + 12) * C + column0 + in_column);
    float in4 = 0;
    if (row0 + in_row + 16 < (uint)R && column0 + in_column < (uint)C)
        in4 = *(__global const float *)(x + (row0 + in_row + 16) * C + column0 + in_column);
    float in5 = 0;
    if (row0 + in_row + 20 < (uint)R && column0 + in_column < (uint)C)
        in5 = *(__global const float *)(x + (row0 + in_row + 20) * C + column0 + in_column);
    float in6 = 0;
    if (row0 + in_row + 24 < (uint)R && column0 + in_column < (uint)C)
        in6 = *(__global const float *)(x + (row0 + in_row + 24) * C + column0 + in_column);
    float in7 = 0;
    if (row0 + in_row + 28 < (uint)R && column0 + in_column < (uint)C)
        in7 = *(__global const float *)(x + (row0 + in_row + 28) * C + column0 + in_column);
    tile[(in_row + 0) * 33 + in_column] = in0;
    tile[(in_row + 4) * 33 + in_column] = in1;
    tile[(in_row + 8) * 33 + in_column] = in2;
    tile[(in_row + 12) * 33 + in_column] = in3;
    tile[(in_row + 16) * 33 + in_column] = in4;
    tile[(in_row + 20) * 33 + in_column] = in5;
    tile[(in_row + 24) * 33 + in_column] = in6;
    tile[(in_row + 28) * 33 + in_column] = in7;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Along the rows of y. */
    const uint out_column = item % 32 * 1, out_row = item / 32;
    if (column0 + out_row + 0 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 0) * R + row0 + out_column;
        *to = tile[out_column * 33 + out_row + 0];
    }
    if (column0 + out_row + 4 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 4) * R + row0 + out_column;
        *to = tile[out_column * 33 + out_row + 4];
    }
    if (column0 + out_row + 8 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 8) * R + row0 + out_column;
        *to = tile[out_column * 33 + out_row + 8];
    }
    if (column0 + out_row + 12 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 12) * R + row0 + out_column;
        *to = tile[out_column * 33 + out_row + 12];
    }
    if (column0 + out_row + 16 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 16) * R + row0 + out_column;
        *to = tile[out_column * 33 + out_row + 16];
    }
    if (column0 + out_row + 20 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 20) * R + row0 + out_column;
        *to = tile[out_column * 33 + out_row + 20];
    }
    if (column0 + out_row + 24 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 24) * R + row0 + out_column;
        *to = tile[out_column * 33 + out_row + 24];
    }
    if (column0 + out_row + 28 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 28) * R + row0 + out_column;
        *to = tile[out_column * 33 + out_row + 28];
    }
}
