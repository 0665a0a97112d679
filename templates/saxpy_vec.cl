/*kernwright {
  "task": "saxpy", "language": "opencl",
  "doc": "Several vectors per work-item. Any length: what is left over after the last whole vector is done one by one.",
  "params": {
    "WG": {"values": [32, 64, 128, 256, 512, 1024], "default": 128, "doc": "work-items per group"},
    "VEC": {"values": [1, 2, 4, 8, 16], "default": 4, "doc": "elements per load and store"},
    "PER": {"values": [1, 2, 4, 8], "default": 1, "doc": "vectors per work-item"},
    "BLOCK": {"values": [false, true], "default": false,
      "doc": "the vectors of a work-item lie side by side; false: a group's width apart"} },
  "constraints": ["WG <= device.max_work_group_size", "VEC * PER <= 64", "VEC <= WG", "not BLOCK or PER > 1"],
  "launches": [
    {"kernel": "saxpy_vec", "args": ["N", "a", "x", "y"],
     "local": ["WG"], "groups": ["max(1, ceil_div(N // VEC, WG * PER))"]} ]
} */
/* y = a x + y: ${PER} vectors of ${VEC} elements per work-item. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void saxpy_vec(int N, float a, __global const ${T} *restrict x, __global ${T} *restrict y)
{
    __global const ${vec(T, VEC)} *xs = (__global const ${vec(T, VEC)} *)x;
    __global ${vec(T, VEC)} *ys = (__global ${vec(T, VEC)} *)y;
    const uint vectors = N / ${VEC};
//@if BLOCK
    const uint first = get_global_id(0) * ${PER};
//@else
    const uint first = get_group_id(0) * ${WG * PER} + get_local_id(0);
//@end
//@for p in 0..PER
//@let at = p if BLOCK else p * WG
    if (first + ${at} < vectors)
        ys[first + ${at}] = a * xs[first + ${at}] + ys[first + ${at}];
//@end
//@if VEC > 1

    const uint rest = vectors * ${VEC} + get_global_id(0);
    if (rest < (uint)N)
        y[rest] = a * x[rest] + y[rest];
//@end
}
