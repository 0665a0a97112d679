/* reduce_sum_slices WG=128 VEC=4 UNROLL=2 GROUPS=64 SPECN=false; T=f32,ACC=f32 */
#define N N_arg
/* The sum over all work-items of a group, in every one of them. */
float group_sum(float mine, local float *sums)
{
    const uint lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 64)
        sums[lane] += sums[lane + 64];
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

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void sum_slices(int N_arg, global const float *restrict x, global float *restrict to)
{
    local float sums[128];
    global const float4 *from = (global const float4 *)x;
    const uint n = N / 4;
    float mine = 0.0f;
    for (uint i = get_group_id(0) * 256 + get_local_id(0); i < n; i += 16384) {
        {
            const float4 v = from[i + 0];
            mine += v.s0;
            mine += v.s1;
            mine += v.s2;
            mine += v.s3;
        }
        if (i + 128 < n)
        {
            const float4 v = from[i + 128];
            mine += v.s0;
            mine += v.s1;
            mine += v.s2;
            mine += v.s3;
        }
    }
    mine = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        to[get_group_id(0)] = mine;
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void sum_partial(global const float *restrict partial, global float *restrict y)
{
    local float sums[128];
    float mine = 0.0f;
    for (uint i = get_local_id(0); i < 64; i += 128)
        mine += partial[i];
    mine = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        y[0] = mine;
}
