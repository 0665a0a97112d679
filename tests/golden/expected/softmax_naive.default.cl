/* softmax_naive WG=64; T=f32,ACC=f32 */
/* Softmax of row get_group_id(0). Subtracting the greatest element keeps exp between 0 and 1. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void softmax_naive(int C, __global const float *restrict x, __global float *restrict y)
{
    __local float tree[64];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    float greatest = -INFINITY;
    for (uint c = lane; c < (uint)C; c += 64)
        greatest = fmax(greatest, (float)x[row + c]);
    tree[lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] = fmax(tree[lane], tree[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    greatest = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0;
    for (uint c = lane; c < (uint)C; c += 64)
        sum += exp((float)x[row + c] - greatest);
    tree[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = tree[0];

    for (uint c = lane; c < (uint)C; c += 64)
        y[row + c] = exp((float)x[row + c] - greatest) / sum;
}
