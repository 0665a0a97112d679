/* reduce_sum_slices WG=64 VEC=1 UNROLL=1 GROUPS=1 SPECN=true; T=f32,ACC=f32; N=1000 */
#define N 1000
/* The sum over all work-items of a group, in every one of them. */
float group_sum(float mine, local float *sums)
{
    const uint lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 32)
        sums[lane] += sums[lane + 32];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16)
        sums[lane] += sums[lane + 16];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8)
        sums[lane] += sums[lane + 8];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 4)
        sums[lane] += sums[lane + 4];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 2)
        sums[lane] += sums[lane + 2];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 1)
        sums[lane] += sums[lane + 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sums[0];
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void sum_slices(int N_arg, global const float *restrict x, global float *restrict to)
{
    local float sums[64];
    global const float *from = (global const float *)x;
    const uint n = N / 1;
    float mine = 0.0f;
    for (uint i = get_group_id(0) * 64 + get_local_id(0); i < n; i += 64) {
        {
            const float v = from[i + 0];
            mine += v;
        }
    }
    mine = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        to[get_group_id(0)] = mine;
}
