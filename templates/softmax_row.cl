/*kernwright {
  "task": "softmax", "language": "opencl",
  "doc": "A row is read once into the registers of its work-items and written once; several short rows share a group.",
  "params": {
    "LX": {"values": [1, 4, 8, 16, 32, 64, 128, 256, 512, 1024], "default": 128,
      "doc": "work-items per row, a power of two"},
    "ROWS": {"values": [1, 2, 4, 8, 16, 32], "default": 1, "doc": "rows per group"},
    "VEC": {"values": [1, 2, 4], "default": 1, "doc": "elements per load and store"},
    "PER": {"values": [1, 2, 4, 8, 16, 32], "default": 8, "doc": "vectors per work-item"},
    "NATIVE": {"values": [false, true], "default": false,
      "doc": "the device's own exp, of unspecified accuracy, instead of exp"} },
  "constraints": [
    "LX * ROWS <= device.max_work_group_size", "LX * ROWS * sizeof(ACC) <= device.local_mem_bytes",
    "LX * ROWS >= 32", "LX * ROWS <= 1024", "VEC * PER <= 64" ],
  "requires": ["C % VEC == 0", "C <= LX * VEC * PER", "PER == 1 or C > LX * VEC * PER // 4"],
  "launches": [
    {"kernel": "softmax_row", "args": ["R", "C", "x", "y"],
     "local": ["LX", "ROWS"], "groups": ["ceil_div(R, ROWS)", 1]} ]
} */
//@let EXP = "native_exp" if NATIVE else "exp"
/* Softmax of rows of at most ${LX * VEC * PER} elements: ${LX} work-items per row, ${ROWS} rows per group. */
__kernel __attribute__((reqd_work_group_size(${LX}, ${ROWS}, 1)))
void softmax_row(int R, int C, __global const ${T} *restrict x, __global ${T} *restrict y)
{
//@if LX > 1
    __local ${ACC} tree[${LX * ROWS}];
    __local ${ACC} *mine = tree + get_local_id(1) * ${LX}; /* of this row */
//@end
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * ${ROWS} + get_local_id(1);
    /* Rows past the last one are the last one again, not stored: everybody must reach the barriers. */
    const uint start = min(row, (uint)R - 1) * C;

    ${ACC} greatest = -INFINITY;
//@for p in 0..PER
    const uint c${p} = (lane + ${p * LX}) * ${VEC};
    ${vec(ACC, VEC)} v${p} = -INFINITY;
    if (c${p} < (uint)C)
        v${p} = *(__global const ${vec(T, VEC)} *)(x + start + c${p});
//@end
//@for p in 0..PER
//@if VEC == 1
    greatest = fmax(greatest, v${p});
//@else
//@for v in 0..VEC
    greatest = fmax(greatest, v${p}.s${v});
//@end
//@end
//@end
//@if LX > 1
    mine[lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${LX // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            mine[lane] = fmax(mine[lane], mine[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    greatest = mine[0];
    barrier(CLK_LOCAL_MEM_FENCE);
//@end

    ${ACC} sum = 0;
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
//@if LX > 1
    mine[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = ${LX // 2}; reach > 0; reach /= 2) {
        if (lane < reach)
            mine[lane] += mine[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = mine[0];
//@end

    const ${ACC} factor = 1 / sum;
    if (row < (uint)R) {
//@for p in 0..PER
        if (c${p} < (uint)C)
            *(__global ${vec(T, VEC)} *)(y + start + c${p}) = v${p} * factor;
//@end
    }
}
