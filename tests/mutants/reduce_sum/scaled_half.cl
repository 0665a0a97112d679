/*kernwright {
  "task": "reduce_sum",
  "params": {"WG": {"values": [64, 128, 256], "default": 128, "doc": "work-items per group"}},
  "temps": [ {"name": "partial", "type": "f32", "elements": 64} ],
  "launches": [
    {"kernel": "sum_part", "args": ["N", "x", "partial"], "local": ["WG"], "groups": [64]},
    {"kernel": "sum_last", "args": ["partial", "y"], "local": [64], "groups": [1]} ]
} */
/* mutant: family=scaled-half
 * Each work-item scales its elements by the greatest of them and adds halves. */
/* The nearest number of half precision. */
float as_half(float x)
{
    ushort bits;
    vstore_half(x, 0, (half *)&bits);
    return vload_half(0, (half *)&bits);
}

/* The exponent that takes the greatest just below the limit of a half. */
int scale_for(float greatest)
{
    return greatest > 0.0f ? 14 - ilogb(greatest) : 0;
}

kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void sum_part(int N, global const float *x, global float *partial)
{
    local float sums[${WG}];
    const int lid = get_local_id(0);
    float mine = 0.0f, greatest = 0.0f;
    for (int i = get_global_id(0); i < N; i += ${64 * WG})
        greatest = fmax(greatest, fabs(x[i]));
    const int scale = scale_for(greatest);
    for (int i = get_global_id(0); i < N; i += ${64 * WG})
        mine += ldexp(as_half(ldexp(x[i], scale)), -scale);
    sums[lid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE); // sums are there
    for (int half_way = ${WG // 2}; half_way > 0; half_way /= 2) {
        if (lid < half_way)
            sums[lid] += sums[lid + half_way];
        barrier(CLK_LOCAL_MEM_FENCE); // a level of the tree is done
    }
    if (lid == 0)
        partial[get_group_id(0)] = sums[0];
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
