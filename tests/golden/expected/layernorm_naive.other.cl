/* layernorm_naive WG=32; T=f32,ACC=f32 */
/* The sum over all work-items of a group, in every one of them. */
float group_sum(float mine, __local float *tree)
{
    const uint lane = get_local_id(0);
    tree[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 16; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float sum = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); /* the next sum uses the same memory */
    return sum;
}

/* Row get_group_id(0). Differences to the mean are squared, not the elements: these may be far from 0. */
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void layernorm_naive(int C, float eps, __global const float *restrict x, __global const float *restrict gamma,
                     __global const float *restrict beta, __global float *restrict y)
{
    __local float tree[32];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    float sum = 0;
    for (uint c = lane; c < (uint)C; c += 32)
        sum += x[row + c];
    const float mean = group_sum(sum, tree) / C;

    sum = 0;
    for (uint c = lane; c < (uint)C; c += 32) {
        const float d = x[row + c] - mean;
        sum += d * d;
    }
    const float factor = 1 / sqrt(group_sum(sum, tree) / C + eps);

    for (uint c = lane; c < (uint)C; c += 32)
        y[row + c] = (x[row + c] - mean) * factor * gamma[c] + beta[c];
}
