/* softmax_row LX=64 ROWS=4 VEC=4 PER=1 NATIVE=true; T=f32,ACC=f32 */
/* Softmax of rows of at most 256 elements: 64 work-items per row, 4 rows per group. */
__kernel __attribute__((reqd_work_group_size(64, 4, 1)))
void softmax_row(int R, int C, __global const float *restrict x, __global float *restrict y)
{
    __local float tree[256];
    __local float *mine = tree + get_local_id(1) * 64; /* of this row */
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * 4 + get_local_id(1);
    /* Rows past the last one are the last one again, not stored: everybody must reach the barriers. */
    const uint start = min(row, (uint)R - 1) * C;

    float greatest = -INFINITY;
    const uint c0 = (lane + 0) * 4;
    float4 v0 = -INFINITY;
    if (c0 < (uint)C)
        v0 = *(__global const float4 *)(x + start + c0);
    greatest = fmax(greatest, v0.s0);
    greatest = fmax(greatest, v0.s1);
    greatest = fmax(greatest, v0.s2);
    greatest = fmax(greatest, v0.s3);
    mine[lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            mine[lane] = fmax(mine[lane], mine[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    greatest = mine[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0;
    v0 = native_exp(v0 - greatest);
    sum += (v0.s0 + v0.s1) + (v0.s2 + v0.s3);
    mine[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            mine[lane] += mine[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = mine[0];

    const float factor = 1 / sum;
    if (row < (uint)R) {
        if (c0 < (uint)C)
            *(__global float4 *)(y + start + c0) = v0 * factor;
    }
}
