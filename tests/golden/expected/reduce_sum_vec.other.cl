/* reduce_sum_vec WG=256 GROUPS=132 VEC=2 SUMS=4 WG2=512; T=f32,ACC=f32 */
/* The sum over a group of 256 of what each work-item brings. */
static float group_sum_1(float mine, __local float *sums)
{
    const uint lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 128; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sums[0];
}

/* The sum over a group of 512 of what each work-item brings. */
static float group_sum_2(float mine, __local float *sums)
{
    const uint lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 256; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sums[0];
}

/* First pass: group g leaves the sum of its share of x in partial[g]. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce_sum_part(int N, __global const float *restrict x, __global float *restrict partial)
{
    __local float sums[256];
    __global const float2 *xs = (__global const float2 *)x;
    const uint vectors = N / 2, stride = get_global_size(0);
    float2 v0 = 0;
    float2 v1 = 0;
    float2 v2 = 0;
    float2 v3 = 0;
    uint i = get_global_id(0);
    for (; i + 3 * stride < vectors; i += 4 * stride) {
        v0 += xs[i + 0 * stride];
        v1 += xs[i + 1 * stride];
        v2 += xs[i + 2 * stride];
        v3 += xs[i + 3 * stride];
    }
    for (; i < vectors; i += stride)
        v0 += xs[i];
    v0 += v2;
    v1 += v3;
    v0 += v1;
    const float2 v_2 = v0;
    float mine = v_2.lo + v_2.hi;
    /* What is left over after the last whole vector. */
    const uint rest = vectors * 2 + get_global_id(0);
    if (rest < (uint)N)
        mine += x[rest];
    const float sum = group_sum_1(mine, sums);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}

/* Second pass: one group sums what the first left. */
__kernel __attribute__((reqd_work_group_size(512, 1, 1)))
void reduce_sum_last(int parts, __global const float *restrict partial, __global float *restrict y)
{
    __local float sums[512];
    float mine = 0;
    for (int i = get_local_id(0); i < parts; i += 512)
        mine += partial[i];
    const float sum = group_sum_2(mine, sums);
    if (get_local_id(0) == 0)
        y[0] = sum;
}
