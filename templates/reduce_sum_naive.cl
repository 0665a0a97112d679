/*kernwright {
  "task": "reduce_sum", "language": "opencl", "fallback": true,
  "doc": "Groups stride over x, a local tree sums each group, one group sums the groups. Any length, any device.",
  "params": {
    "WG": {"values": [1, 16, 32, 64, 128, 256], "default": 64, "doc": "work-items per group, a power of two"},
    "GROUPS": {"values": [16, 64, 256, 1024], "default": 256, "doc": "groups of the first pass at most"} },
  "constraints": ["WG <= device.max_work_group_size", "WG * sizeof(ACC) <= device.local_mem_bytes"],
  "temps": [ {"name": "partial", "type": "ACC", "elements": "GROUPS"} ],
  "launches": [
    {"kernel": "reduce_sum_part", "args": ["N", "x", "partial"],
     "local": ["WG"], "groups": ["max(1, min(GROUPS, ceil_div(N, WG)))"]},
    {"kernel": "reduce_sum_last",
     "args": [{"expr": "max(1, min(GROUPS, ceil_div(N, WG)))", "type": "i32"}, "partial", "y"],
     "local": ["WG"], "groups": [1]} ]
} */
/* The sum over the group of what each of its ${WG} work-items brings. */
static ${ACC} group_sum(${ACC} mine, __local ${ACC} *sums)
{
    const int lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = ${WG // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sums[0];
}

/* First pass: group g leaves the sum of its share of x in partial[g]. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void reduce_sum_part(int N, __global const ${T} *restrict x, __global ${ACC} *restrict partial)
{
    __local ${ACC} sums[${WG}];
    const uint stride = get_global_size(0);
    ${ACC} mine = 0;
    for (uint i = get_global_id(0); i < (uint)N; i += stride)
        mine += x[i];
    const ${ACC} sum = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}

/* Second pass: one group sums what the first left. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void reduce_sum_last(int parts, __global const ${ACC} *restrict partial, __global ${T} *restrict y)
{
    __local ${ACC} sums[${WG}];
    ${ACC} mine = 0;
    for (int i = get_local_id(0); i < parts; i += ${WG})
        mine += partial[i];
    const ${ACC} sum = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        y[0] = sum;
}
