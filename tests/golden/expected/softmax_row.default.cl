/* softmax_row LX=128 ROWS=1 VEC=1 PER=8 NATIVE=false; T=f32,ACC=f32 */
/* Softmax of rows of at most 1024 elements: 128 work-items per row, 1 rows per group. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void softmax_row(int R, int C, __global const float *restrict x, __global float *restrict y)
{
    __local float tree[128];
    __local float *mine = tree + get_local_id(1) * 128; /* of this row */
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * 1 + get_local_id(1);
    /* Rows past the last one are the last one again, not stored: everybody must reach the barriers. */
    const uint start = min(row, (uint)R - 1) * C;

    float greatest = -INFINITY;
    const uint c0 = (lane + 0) * 1;
    float v0 = -INFINITY;
    if (c0 < (uint)C)
        v0 = *(__global const float *)(x + start + c0);
    const uint c1 = (lane + 128) * 1;
    float v1 = -INFINITY;
    if (c1 < (uint)C)
        v1 = *(__global const float *)(x + start + c1);
    const uint c2 = (lane + 256) * 1;
    float v2 = -INFINITY;
    if (c2 < (uint)C)
        v2 = *(__global const float *)(x + start + c2);
    const uint c3 = (lane + 384) * 1;
    float v3 = -INFINITY;
    if (c3 < (uint)C)
        v3 = *(__global const float *)(x + start + c3);
    const uint c4 = (lane + 512) * 1;
    float v4 = -INFINITY;
    if (c4 < (uint)C)
        v4 = *(__global const float *)(x + start + c4);
    const uint c5 = (lane + 640) * 1;
    float v5 = -INFINITY;
    if (c5 < (uint)C)
        v5 = *(__global const float *)(x + start + c5);
    const uint c6 = (lane + 768) * 1;
    float v6 = -INFINITY;
    if (c6 < (uint)C)
        v6 = *(__global const float *)(x + start + c6);
    const uint c7 = (lane + 896) * 1;
    float v7 = -INFINITY;
    if (c7 < (uint)C)
        v7 = *(__global const float *)(x + start + c7);
    greatest = fmax(greatest, v0);
    greatest = fmax(greatest, v1);
    greatest = fmax(greatest, v2);
    greatest = fmax(greatest, v3);
    greatest = fmax(greatest, v4);
    greatest = fmax(greatest, v5);
    greatest = fmax(greatest, v6);
    greatest = fmax(greatest, v7);
    mine[lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 64; reach > 0; reach /= 2) {
        if (lane < reach)
            mine[lane] = fmax(mine[lane], mine[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    greatest = mine[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0;
    v0 = exp(v0 - greatest);
    sum += v0;
    v1 = exp(v1 - greatest);
    sum += v1;
    v2 = exp(v2 - greatest);
    sum += v2;
    v3 = exp(v3 - greatest);
    sum += v3;
    v4 = exp(v4 - greatest);
    sum += v4;
    v5 = exp(v5 - greatest);
    sum += v5;
    v6 = exp(v6 - greatest);
    sum += v6;
    v7 = exp(v7 - greatest);
    sum += v7;
    mine[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 64; reach > 0; reach /= 2) {
        if (lane < reach)
            mine[lane] += mine[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = mine[0];

    const float factor = 1 / sum;
    if (row < (uint)R) {
        if (c0 < (uint)C)
            *(__global float *)(y + start + c0) = v0 * factor;
        if (c1 < (uint)C)
            *(__global float *)(y + start + c1) = v1 * factor;
        if (c2 < (uint)C)
            *(__global float *)(y + start + c2) = v2 * factor;
        if (c3 < (uint)C)
            *(__global float *)(y + start + c3) = v3 * factor;
        if (c4 < (uint)C)
            *(__global float *)(y + start + c4) = v4 * factor;
        if (c5 < (uint)C)
            *(__global float *)(y + start + c5) = v5 * factor;
        if (c6 < (uint)C)
            *(__global float *)(y + start + c6) = v6 * factor;
        if (c7 < (uint)C)
            *(__global float *)(y + start + c7) = v7 * factor;
    }
}
