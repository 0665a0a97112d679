/*kernwright {
  "task": "scan", "language": "opencl", "fallback": true,
  "doc": "One group per row, which it walks through in pieces of a group's width. Any shape, any device.",
  "params": {
    "WG": {"values": [1, 16, 32, 64, 128, 256], "default": 64, "doc": "work-items per row, a power of two"} },
  "constraints": ["WG <= device.max_work_group_size", "WG * sizeof(ACC) <= device.local_mem_bytes"],
  "launches": [
    {"kernel": "scan_naive", "args": ["C", "x", "y"], "local": ["WG"], "groups": ["R"]} ]
} */
/* Prefix sums of row get_group_id(0): each piece by doubling steps in local memory, on top of the sum so far. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void scan_naive(int C, __global const ${T} *restrict x, __global ${T} *restrict y)
{
    __local ${ACC} sums[${WG}];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;
    ${ACC} before = 0; /* the sum of all pieces so far */
    for (uint start = 0; start < (uint)C; start += ${WG}) {
        const uint column = start + lane;
        ${ACC} mine = column < (uint)C ? (${ACC})x[row + column] : 0;
        sums[lane] = mine;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint step = 1; step < ${WG}; step *= 2) {
            if (lane >= step)
                mine += sums[lane - step];
            barrier(CLK_LOCAL_MEM_FENCE);
            sums[lane] = mine;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (column < (uint)C)
            y[row + column] = before + mine;
        before += sums[${WG - 1}];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
