/* saxpy_naive WG=64; T=f32 */
/* y = a x + y, one element per work-item. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void saxpy_naive(int N, float a, __global const float *restrict x, __global float *restrict y)
{
    const uint i = get_global_id(0);
    if (i < (uint)N)
        y[i] = a * x[i] + y[i];
}
