/* rmsnorm_residual_naive WG=64; T=f32,ACC=f32 */
/* Row get_group_id(0). */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void rmsnorm_residual_naive(int C, float eps, __global const float *restrict x, __global const float *restrict r,
                            __global const float *restrict w, __global float *restrict h, __global float *restrict y)
{
    __local float tree[64];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    float squares = 0;
    for (uint c = lane; c < (uint)C; c += 64) {
        const float sum = x[row + c] + r[row + c];
        h[row + c] = sum;
        squares += sum * sum;
    }
    tree[lane] = squares;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float factor = 1 / sqrt(tree[0] / C + eps);

    /* The same work-item reads what it wrote. */
    for (uint c = lane; c < (uint)C; c += 64)
        y[row + c] = h[row + c] * factor * w[c];
}
