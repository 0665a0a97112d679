/*kernwright {
  "task": "layernorm", "language": "opencl", "fallback": true,
  "doc": "One group per row, three passes: mean, mean of squared differences, result. Any shape, any device.",
  "params": {
    "WG": {"values": [1, 16, 32, 64, 128, 256], "default": 64, "doc": "work-items per row, a power of two"} },
  "constraints": ["WG <= device.max_work_group_size", "WG * sizeof(ACC) <= device.local_mem_bytes"],
  "launches": [
    {"kernel": "layernorm_naive", "args": ["C", "eps", "x", "gamma", "beta", "y"], "local": ["WG"], "groups": ["R"]} ]
} */
/* The sum over all work-items of a group, in every one of them. */
${ACC} group_sum(${ACC} mine, __local ${ACC} *tree)
{
    const uint lane = get_local_id(0);
    tree[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${WG // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const ${ACC} sum = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); /* the next sum uses the same memory */
    return sum;
}

/* Row get_group_id(0). Differences to the mean are squared, not the elements: these may be far from 0. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void layernorm_naive(int C, float eps, __global const ${T} *restrict x, __global const ${T} *restrict gamma,
                     __global const ${T} *restrict beta, __global ${T} *restrict y)
{
    __local ${ACC} tree[${WG}];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    ${ACC} sum = 0;
    for (uint c = lane; c < (uint)C; c += ${WG})
        sum += x[row + c];
    const ${ACC} mean = group_sum(sum, tree) / C;

    sum = 0;
    for (uint c = lane; c < (uint)C; c += ${WG}) {
        const ${ACC} d = x[row + c] - mean;
        sum += d * d;
    }
    const ${ACC} factor = 1 / sqrt(group_sum(sum, tree) / C + eps);

    for (uint c = lane; c < (uint)C; c += ${WG})
        y[row + c] = (x[row + c] - mean) * factor * gamma[c] + beta[c];
}
