/*kernwright {
  "task": "reduce_sum",
  "language": "opencl",
  "doc": "Groups add up slices of x; with more than one group, one more launch adds up what they found.",
  "params": {
    "WG":     {"values": [64, 128, 256], "default": 128, "doc": "work-items per group"},
    "VEC":    {"values": [1, 2, 4], "default": 4, "doc": "elements per load"},
    "UNROLL": {"values": [1, 2, 4], "default": 2, "doc": "loads per round of the loop"},
    "GROUPS": {"values": [1, 64, 256], "default": 64, "doc": "groups that share the work"},
    "SPECN":  {"values": [false, true], "default": false, "doc": "N as a constant"} },
  "constraints": [
    "WG <= device.max_work_group_size",
    {"expr": "WG * sizeof(ACC) <= device.local_mem_bytes", "why": "one sum per work-item in local memory"} ],
  "requires": ["N % VEC == 0"],
  "specialize": {"N": "SPECN"},
  "temps": [
    {"name": "partial", "type": "ACC", "elements": "GROUPS", "when": "GROUPS > 1"} ],
  "launches": [
    {"kernel": "sum_slices", "args": ["N", "x", "y"], "when": "GROUPS == 1",
     "local": ["WG"], "groups": [1]},
    {"kernel": "sum_slices", "args": ["N", "x", "partial"], "when": "GROUPS > 1",
     "local": ["WG"], "groups": ["GROUPS"]},
    {"kernel": "sum_partial", "args": ["partial", "y"], "when": "GROUPS > 1",
     "local": ["WG"], "groups": [1]} ]
} */
//@require WG * VEC * UNROLL <= 2048 "a round of one group is at most 2048 elements"
//@let ROUND = WG * UNROLL
/* The sum over all work-items of a group, in every one of them. */
${ACC} group_sum(${ACC} mine, local ${ACC} *sums)
{
    const uint lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
//@for P in 1..log2(WG) + 1
//@let HALF = WG // 2**P
    if (lane < ${HALF})
        sums[lane] += sums[lane + ${HALF}];
    barrier(CLK_LOCAL_MEM_FENCE);
//@end
    return sums[0];
}

kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void sum_slices(int N_arg, global const ${T} *restrict x, global ${ACC} *restrict to)
{
    local ${ACC} sums[${WG}];
    global const ${vec(T, VEC)} *from = (global const ${vec(T, VEC)} *)x;
    const uint n = N / ${VEC};
    ${ACC} mine = ${lit(ACC, 0)};
    for (uint i = get_group_id(0) * ${ROUND} + get_local_id(0); i < n; i += ${ROUND * GROUPS}) {
//@for U in 0..UNROLL
//@if U > 0
        if (i + ${U * WG} < n)
//@end
        {
            const ${vec(T, VEC)} v = from[i + ${U * WG}];
//@if VEC == 1
            mine += v;
//@else
//@for L in 0..VEC
            mine += v.s${L};
//@end
//@end
        }
//@end
    }
    mine = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        to[get_group_id(0)] = mine;
}
//@if GROUPS > 1

kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void sum_partial(global const ${ACC} *restrict partial, global ${ACC} *restrict y)
{
    local ${ACC} sums[${WG}];
    ${ACC} mine = ${lit(ACC, 0)};
    for (uint i = get_local_id(0); i < ${GROUPS}; i += ${WG})
        mine += partial[i];
    mine = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        y[0] = mine;
}
//@end
