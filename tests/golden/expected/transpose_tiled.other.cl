/* transpose_tiled TR=128 TC=64 WG=1024 VIN=1 VOUT=4 PAD=1 ACROSS=false; T=f32 */
/* y[c][r] = x[r][c]: a group moves a tile of 128 x 64 elements of x. */
__kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void transpose_tiled(int R, int C, __global const float *restrict x, __global float *restrict y)
{
    __local float tile[8320];
    const uint group = get_group_id(0), item = get_local_id(0);
    const uint tiles_down = (R - 1) / 128 + 1;
    const uint row0 = group % tiles_down * 128, column0 = group / tiles_down * 64;

    /* Along the rows of x. */
    const uint in_row = item / 64, in_column = item % 64 * 1;
    float in0 = 0;
    if (row0 + in_row + 0 < (uint)R && column0 + in_column < (uint)C)
        in0 = *(__global const float *)(x + (row0 + in_row + 0) * C + column0 + in_column);
    float in1 = 0;
    if (row0 + in_row + 16 < (uint)R && column0 + in_column < (uint)C)
        in1 = *(__global const float *)(x + (row0 + in_row + 16) * C + column0 + in_column);
    float in2 = 0;
    if (row0 + in_row + 32 < (uint)R && column0 + in_column < (uint)C)
        in2 = *(__global const float *)(x + (row0 + in_row + 32) * C + column0 + in_column);
    float in3 = 0;
    if (row0 + in_row + 48 < (uint)R && column0 + in_column < (uint)C)
        in3 = *(__global const float *)(x + (row0 + in_row + 48) * C + column0 + in_column);
    float in4 = 0;
    if (row0 + in_row + 64 < (uint)R && column0 + in_column < (uint)C)
        in4 = *(__global const float *)(x + (row0 + in_row + 64) * C + column0 + in_column);
    float in5 = 0;
    if (row0 + in_row + 80 < (uint)R && column0 + in_column < (uint)C)
        in5 = *(__global const float *)(x + (row0 + in_row + 80) * C + column0 + in_column);
    float in6 = 0;
    if (row0 + in_row + 96 < (uint)R && column0 + in_column < (uint)C)
        in6 = *(__global const float *)(x + (row0 + in_row + 96) * C + column0 + in_column);
    float in7 = 0;
    if (row0 + in_row + 112 < (uint)R && column0 + in_column < (uint)C)
        in7 = *(__global const float *)(x + (row0 + in_row + 112) * C + column0 + in_column);
    tile[(in_row + 0) * 65 + in_column] = in0;
    tile[(in_row + 16) * 65 + in_column] = in1;
    tile[(in_row + 32) * 65 + in_column] = in2;
    tile[(in_row + 48) * 65 + in_column] = in3;
    tile[(in_row + 64) * 65 + in_column] = in4;
    tile[(in_row + 80) * 65 + in_column] = in5;
    tile[(in_row + 96) * 65 + in_column] = in6;
    tile[(in_row + 112) * 65 + in_column] = in7;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Along the rows of y. */
    const uint out_column = item % 32 * 4, out_row = item / 32;
    if (column0 + out_row + 0 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 0) * R + row0 + out_column;
        float4 out;
        out.s0 = tile[(out_column + 0) * 65 + out_row + 0];
        out.s1 = tile[(out_column + 1) * 65 + out_row + 0];
        out.s2 = tile[(out_column + 2) * 65 + out_row + 0];
        out.s3 = tile[(out_column + 3) * 65 + out_row + 0];
        *(__global float4 *)to = out;
    }
    if (column0 + out_row + 32 < (uint)C && row0 + out_column < (uint)R) {
        __global float *to = y + (column0 + out_row + 32) * R + row0 + out_column;
        float4 out;
        out.s0 = tile[(out_column + 0) * 65 + out_row + 32];
        out.s1 = tile[(out_column + 1) * 65 + out_row + 32];
        out.s2 = tile[(out_column + 2) * 65 + out_row + 32];
        out.s3 = tile[(out_column + 3) * 65 + out_row + 32];
        *(__global float4 *)to = out;
    }
}
