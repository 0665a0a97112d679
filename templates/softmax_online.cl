/*kernwright {
  "task": "softmax", "language": "opencl",
  "doc": "One group per row of any length, two passes: the first rescales its sum when the running maximum grows.",
  "params": {
    "WG": {"values": [32, 64, 128, 256, 512, 1024], "default": 128, "doc": "work-items per row, a power of two"},
    "VEC": {"values": [1, 2, 4], "default": 1, "doc": "elements per load and store"},
    "PER": {"values": [1, 2, 4], "default": 2, "doc": "vectors per round of a work-item"},
    "NATIVE": {"values": [false, true], "default": false,
      "doc": "the device's own exp, of unspecified accuracy, instead of exp"} },
  "constraints": ["WG <= device.max_work_group_size", "2 * WG * sizeof(ACC) <= device.local_mem_bytes"],
  "requires": ["C % VEC == 0"],
  "launches": [
    {"kernel": "softmax_online", "args": ["C", "x", "y"], "local": ["WG"], "groups": ["R"]} ]
} */
//@let EXP = "native_exp" if NATIVE else "exp"
/* Softmax of row get_group_id(0). */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void softmax_online(int C, __global const ${T} *restrict x, __global ${T} *restrict y)
{
    __local ${ACC} maxima[${WG}], sums[${WG}];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    /* The sum is that of exp(x - greatest) over what this work-item has seen. It begins with a finite number, so that
     * elements of -INFINITY (masked ones) add nothing rather than NaN. */
    ${ACC} greatest = -FLT_MAX, sum = 0;
    for (uint c = lane * ${VEC}; c < (uint)C; c += ${WG * VEC * PER}) {
        ${ACC} greater = greatest;
//@for p in 0..PER
        ${vec(ACC, VEC)} v${p} = -INFINITY;
//@if p > 0
        if (c + ${p * WG * VEC} < (uint)C)
//@end
            v${p} = *(__global const ${vec(T, VEC)} *)(x + row + c + ${p * WG * VEC});
//@end
//@for p in 0..PER
//@if VEC == 1
        greater = fmax(greater, v${p});
//@else
//@for v in 0..VEC
        greater = fmax(greater, v${p}.s${v});
//@end
//@end
//@end
        sum *= ${EXP}(greatest - greater);
        greatest = greater;
//@for p in 0..PER
        v${p} = ${EXP}(v${p} - greatest);
//@if VEC == 1
        sum += v${p};
//@elif VEC == 2
        sum += v${p}.s0 + v${p}.s1;
//@else
        sum += (v${p}.s0 + v${p}.s1) + (v${p}.s2 + v${p}.s3);
//@end
//@end
    }

    maxima[lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${WG // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            maxima[lane] = fmax(maxima[lane], maxima[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums[lane] = sum * ${EXP}(greatest - maxima[0]); /* 0 of a work-item that has seen nothing */
    greatest = maxima[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${WG // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const ${ACC} factor = 1 / sums[0];
    for (uint c = lane * ${VEC}; c < (uint)C; c += ${WG * VEC}) {
        const ${vec(ACC, VEC)} v = *(__global const ${vec(T, VEC)} *)(x + row + c);
        *(__global ${vec(T, VEC)} *)(y + row + c) = ${EXP}(v - greatest) * factor;
    }
}
