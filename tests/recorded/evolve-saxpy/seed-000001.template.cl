/*kernwright {
  "task": "saxpy", "language": "opencl", "fallback": true,
  "doc": "One work-item per element. Any shape, any device, small groups.",
  "params": {
    "WG": {"values": [1, 16, 32, 64, 128, 256], "default": 64, "doc": "work-items per group"} },
  "constraints": ["WG <= device.max_work_group_size"],
  "launches": [
    {"kernel": "saxpy_naive", "args": ["N", "a", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, WG)"]} ]
} */
/* y = a x + y, one element per work-item. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void saxpy_naive(int N, float a, __global const ${T} *restrict x, __global ${T} *restrict y)
{
    const uint i = get_global_id(0);
    if (i < (uint)N)
        y[i] = a * x[i] + y[i];
}
