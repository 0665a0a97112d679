/*kernwright {
  "task": "argmax", "language": "opencl", "fallback": true,
  "doc": "One group per row: a greatest element per work-item, then a tree in local memory. Any shape, any device.",
  "params": {
    "WG": {"values": [1, 16, 32, 64, 128, 256], "default": 64, "doc": "work-items per row, a power of two"} },
  "constraints": ["WG <= device.max_work_group_size", "WG * (sizeof(T) + 4) <= device.local_mem_bytes"],
  "launches": [
    {"kernel": "argmax_naive", "args": ["C", "x", "y"], "local": ["WG"], "groups": ["R"]} ]
} */
/* Index of the greatest element of row get_group_id(0); of equal ones the first. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void argmax_naive(int C, __global const ${T} *restrict x, __global int *restrict y)
{
    __local ${T} greatest[${WG}];
    __local int place[${WG}];
    const int lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    /* Where a row is shorter than the group, those without an element say so by C, which is behind all others. */
    ${T} best = -INFINITY;
    int at = lane < C ? lane : C;
    for (int c = lane; c < C; c += ${WG}) {
        const ${T} v = x[row + c];
        if (v > best) {
            best = v;
            at = c;
        }
    }
    greatest[lane] = best;
    place[lane] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = ${WG // 2}; reach > 0; reach /= 2) {
        if (lane < reach) {
            const ${T} other = greatest[lane + reach];
            const int other_at = place[lane + reach];
            if (other > greatest[lane] || (other == greatest[lane] && other_at < place[lane])) {
                greatest[lane] = other;
                place[lane] = other_at;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0)
        y[get_group_id(0)] = place[0];
}
