/* transpose_naive WG=32; T=f32 */
/* y[c][r] = x[r][c], one element per work-item. */
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void transpose_naive(int R, int C, __global const float *restrict x, __global float *restrict y)
{
    const uint i = get_global_id(0);
    if (i >= (uint)R * (uint)C)
        return;
    const uint row = i / C, column = i % C;
    y[column * R + row] = x[i];
}
