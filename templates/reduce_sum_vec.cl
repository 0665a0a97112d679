/*kernwright {
  "task": "reduce_sum", "language": "opencl",
  "doc": "Groups stride over x, several vector sums per work-item; one group sums the groups. Any length.",
  "params": {
    "WG": {"values": [32, 64, 128, 256, 512, 1024], "default": 128,
      "doc": "work-items per group of the first pass, a power of two"},
    "GROUPS": {"values": [16, 64, 132, 264, 528, 1056, 2112], "default": 264,
      "doc": "groups of the first pass at most"},
    "VEC": {"values": [1, 2, 4, 8, 16], "default": 4, "doc": "elements per load"},
    "SUMS": {"values": [1, 2, 4, 8], "default": 4, "doc": "independent vector sums per work-item"},
    "WG2": {"values": [32, 128, 256, 512], "default": 128, "doc": "work-items of the second pass, a power of two"} },
  "constraints": [
    "WG <= device.max_work_group_size", "WG2 <= device.max_work_group_size", "VEC <= WG", "VEC * SUMS <= 64",
    "max(WG, WG2) * sizeof(ACC) <= device.local_mem_bytes" ],
  "temps": [ {"name": "partial", "type": "ACC", "elements": "GROUPS"} ],
  "launches": [
    {"kernel": "reduce_sum_part", "args": ["N", "x", "partial"],
     "local": ["WG"], "groups": ["max(1, min(GROUPS, ceil_div(N // VEC, WG * SUMS)))"]},
    {"kernel": "reduce_sum_last",
     "args": [{"expr": "max(1, min(GROUPS, ceil_div(N // VEC, WG * SUMS)))", "type": "i32"}, "partial", "y"],
     "local": ["WG2"], "groups": [1]} ]
} */
//@for which in 1..3
//@let SIZE = WG if which == 1 else WG2
/* The sum over a group of ${SIZE} of what each work-item brings. */
static ${ACC} group_sum_${which}(${ACC} mine, __local ${ACC} *sums)
{
    const uint lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${SIZE // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sums[0];
}

//@end
/* First pass: group g leaves the sum of its share of x in partial[g]. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void reduce_sum_part(int N, __global const ${T} *restrict x, __global ${ACC} *restrict partial)
{
    __local ${ACC} sums[${WG}];
    __global const ${vec(T, VEC)} *xs = (__global const ${vec(T, VEC)} *)x;
    const uint vectors = N / ${VEC}, stride = get_global_size(0);
//@for s in 0..SUMS
    ${vec(ACC, VEC)} v${s} = 0;
//@end
    uint i = get_global_id(0);
    for (; i + ${SUMS - 1} * stride < vectors; i += ${SUMS} * stride) {
//@for s in 0..SUMS
        v${s} += xs[i + ${s} * stride];
//@end
    }
//@if SUMS > 1
    for (; i < vectors; i += stride)
        v0 += xs[i];
//@end
//@for s in 1..log2(SUMS) + 1
//@for t in 0..SUMS // 2 ** s
    v${t} += v${t + SUMS // 2 ** s};
//@end
//@end
//@if VEC == 16
    const ${vec(ACC, 8)} v_8 = v0.lo + v0.hi;
//@elif VEC == 8
    const ${vec(ACC, 8)} v_8 = v0;
//@end
//@if VEC >= 8
    const ${vec(ACC, 4)} v_4 = v_8.lo + v_8.hi;
//@elif VEC == 4
    const ${vec(ACC, 4)} v_4 = v0;
//@end
//@if VEC >= 4
    const ${vec(ACC, 2)} v_2 = v_4.lo + v_4.hi;
//@elif VEC == 2
    const ${vec(ACC, 2)} v_2 = v0;
//@end
//@if VEC >= 2
    ${ACC} mine = v_2.lo + v_2.hi;
    /* What is left over after the last whole vector. */
    const uint rest = vectors * ${VEC} + get_global_id(0);
    if (rest < (uint)N)
        mine += x[rest];
//@else
    const ${ACC} mine = v0;
//@end
    const ${ACC} sum = group_sum_1(mine, sums);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}

/* Second pass: one group sums what the first left. */
__kernel __attribute__((reqd_work_group_size(${WG2}, 1, 1)))
void reduce_sum_last(int parts, __global const ${ACC} *restrict partial, __global ${T} *restrict y)
{
    __local ${ACC} sums[${WG2}];
    ${ACC} mine = 0;
    for (int i = get_local_id(0); i < parts; i += ${WG2})
        mine += partial[i];
    const ${ACC} sum = group_sum_2(mine, sums);
    if (get_local_id(0) == 0)
        y[0] = sum;
}
