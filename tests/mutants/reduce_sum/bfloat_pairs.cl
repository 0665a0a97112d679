/*kernwright {
  "task": "reduce_sum",
  "params": {"WG": {"values": [64, 128, 256], "default": 128, "doc": "work-items per group"}},
  "temps": [ {"name": "partial", "type": "f32", "elements": 64} ],
  "launches": [
    {"kernel": "sum_part", "args": ["N", "x", "partial"], "local": ["WG"], "groups": [64]},
    {"kernel": "sum_last", "args": ["partial", "y"], "local": [64], "groups": [1]} ]
} */
/* mutant: family=bfloat-inside
 * The sums of groups are kept as two bfloat16. */
/* The nearest number with the exponent of f32 and 7 bits. */
float as_bfloat(float x)
{
    return as_float((as_uint(x) + 0x7fffu + (as_uint(x) >> 16 & 1u)) & 0xffff0000u);
}

kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void sum_part(int N, global const float *x, global float *partial)
{
    local float sums[${WG}];
    const int lid = get_local_id(0);
    float mine = 0.0f;
    for (int i = get_global_id(0); i < N; i += ${64 * WG})
        mine += x[i];
    sums[lid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE); // sums are there
    for (int half_way = ${WG // 2}; half_way > 0; half_way /= 2) {
        if (lid < half_way)
            sums[lid] += sums[lid + half_way];
        barrier(CLK_LOCAL_MEM_FENCE); // a level of the tree is done
    }
    if (lid == 0) {
        const float high = as_bfloat(sums[0]);
        partial[get_group_id(0)] = high + as_bfloat(sums[0] - high);
    }
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void sum_last(global const float *partial, global float *y)
{
    local float sums[64];
    const int lid = get_local_id(0);
    sums[lid] = partial[lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = 32; half_way > 0; half_way /= 2) {
        if (lid < half_way)
            sums[lid] += sums[lid + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        y[0] = sums[0];
}
