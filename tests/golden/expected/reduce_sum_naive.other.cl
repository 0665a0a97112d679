/* reduce_sum_naive WG=32 GROUPS=256; T=f32,ACC=f32 */
/* The sum over the group of what each of its 32 work-items brings. */
static float group_sum(float mine, __local float *sums)
{
    const int lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 16; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sums[0];
}

/* First pass: group g leaves the sum of its share of x in partial[g]. */
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void reduce_sum_part(int N, __global const float *restrict x, __global float *restrict partial)
{
    __local float sums[32];
    const uint stride = get_global_size(0);
    float mine = 0;
    for (uint i = get_global_id(0); i < (uint)N; i += stride)
        mine += x[i];
    const float sum = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}

/* Second pass: one group sums what the first left. */
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void reduce_sum_last(int parts, __global const float *restrict partial, __global float *restrict y)
{
    __local float sums[32];
    float mine = 0;
    for (int i = get_local_id(0); i < parts; i += 32)
        mine += partial[i];
    const float sum = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        y[0] = sum;
}
