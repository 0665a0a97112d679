/*kernwright {
  "task": "rmsnorm_residual", "language": "opencl", "fallback": true,
  "doc": "One group per row, two passes: sum with the residual and its squares, result. Any shape, any device.",
  "params": {
    "WG": {"values": [1, 16, 32, 64, 128, 256], "default": 64, "doc": "work-items per row, a power of two"} },
  "constraints": ["WG <= device.max_work_group_size", "WG * sizeof(ACC) <= device.local_mem_bytes"],
  "launches": [
    {"kernel": "rmsnorm_residual_naive", "args": ["C", "eps", "x", "r", "w", "h", "y"],
     "local": ["WG"], "groups": ["R"]} ]
} */
/* Row get_group_id(0). */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void rmsnorm_residual_naive(int C, float eps, __global const ${T} *restrict x, __global const ${T} *restrict r,
                            __global const ${T} *restrict w, __global ${T} *restrict h, __global ${T} *restrict y)
{
    __local ${ACC} tree[${WG}];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    ${ACC} squares = 0;
    for (uint c = lane; c < (uint)C; c += ${WG}) {
        const ${ACC} sum = x[row + c] + r[row + c];
        h[row + c] = sum;
        squares += sum * sum;
    }
    tree[lane] = squares;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${WG // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const ${ACC} factor = 1 / sqrt(tree[0] / C + eps);

    /* The same work-item reads what it wrote. */
    for (uint c = lane; c < (uint)C; c += ${WG})
        y[row + c] = h[row + c] * factor * w[c];
}
