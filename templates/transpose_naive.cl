/*kernwright {
  "task": "transpose", "language": "opencl", "fallback": true,
  "doc": "One work-item per element, neighbours read neighbours. Any shape, any device, small groups.",
  "params": {
    "WG": {"values": [1, 16, 32, 64, 128, 256], "default": 64, "doc": "work-items per group"} },
  "constraints": ["WG <= device.max_work_group_size"],
  "launches": [
    {"kernel": "transpose_naive", "args": ["R", "C", "x", "y"], "local": ["WG"], "groups": ["ceil_div(R * C, WG)"]} ]
} */
/* y[c][r] = x[r][c], one element per work-item. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void transpose_naive(int R, int C, __global const ${T} *restrict x, __global ${T} *restrict y)
{
    const uint i = get_global_id(0);
    if (i >= (uint)R * (uint)C)
        return;
    const uint row = i / C, column = i % C;
    y[column * R + row] = x[i];
}
