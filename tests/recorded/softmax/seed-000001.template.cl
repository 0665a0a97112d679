/*kernwright {
  "task": "softmax", "language": "opencl", "fallback": true,
  "doc": "One group per row, three passes: greatest element, sum of exponentials, result. Any shape, any device.",
  "params": {
    "WG": {"values": [1, 16, 32, 64, 128, 256], "default": 64, "doc": "work-items per row, a power of two"} },
  "constraints": ["WG <= device.max_work_group_size", "WG * sizeof(ACC) <= device.local_mem_bytes"],
  "launches": [
    {"kernel": "softmax_naive", "args": ["C", "x", "y"], "local": ["WG"], "groups": ["R"]} ]
} */
/* Softmax of row get_group_id(0). Subtracting the greatest element keeps exp between 0 and 1. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void softmax_naive(int C, __global const ${T} *restrict x, __global ${T} *restrict y)
{
    __local ${ACC} tree[${WG}];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    ${ACC} greatest = -INFINITY;
    for (uint c = lane; c < (uint)C; c += ${WG})
        greatest = fmax(greatest, (${ACC})x[row + c]);
    tree[lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${WG // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] = fmax(tree[lane], tree[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    greatest = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    ${ACC} sum = 0;
    for (uint c = lane; c < (uint)C; c += ${WG})
        sum += exp((${ACC})x[row + c] - greatest);
    tree[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${WG // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = tree[0];

    for (uint c = lane; c < (uint)C; c += ${WG})
        y[row + c] = exp((${ACC})x[row + c] - greatest) / sum;
}
