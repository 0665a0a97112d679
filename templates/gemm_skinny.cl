/*kernwright {
  "task": "gemm", "language": "opencl",
  "doc": "For a B of very few columns: dot products of rows of A, K spread over the work-items of a group.",
  "params": {
    "NC": {"values": [1, 2, 3, 4, 8], "default": 1, "doc": "columns of B and C"},
    "LX": {"values": [16, 32, 64, 128, 256], "default": 32, "doc": "work-items along K, a power of two"},
    "LY": {"values": [1, 2, 4, 8], "default": 4, "doc": "rows of work-items per group"},
    "RM": {"values": [1, 2, 4, 8], "default": 2, "doc": "rows of C per work-item"},
    "VEC": {"values": [1, 2, 4], "default": 1, "doc": "elements per load"},
    "PER": {"values": [1, 2, 4], "default": 2, "doc": "loads of each row per round"} },
  "constraints": [
    "LX * LY <= device.max_work_group_size", "RM * NC * LX * LY * sizeof(ACC) <= device.local_mem_bytes",
    "RM * NC <= 32", "(RM + NC) * VEC * PER <= 128" ],
  "requires": ["N == NC", "K % VEC == 0"],
  "launches": [
    {"kernel": "gemm_skinny", "args": ["M", "K", "alpha", "A", "B", "beta", "C"],
     "local": ["LX", "LY"], "groups": ["ceil_div(M, LY * RM)", 1]} ]
} */
/* C = alpha A B + beta C for ${NC} columns: ${LX} work-items share ${RM} rows of A, ${LY} times in a group. */
__kernel __attribute__((reqd_work_group_size(${LX}, ${LY}, 1)))
void gemm_skinny(int M, int K, float alpha, __global const ${T} *restrict A, __global const ${T} *restrict B,
                 float beta, __global ${T} *restrict C)
{
    __local ${ACC} sums[${RM * NC * LX * LY}];
    const uint lane = get_local_id(0);
    const uint row = (get_group_id(0) * ${LY} + get_local_id(1)) * ${RM};

    /* Rows past the last one are the last one again, not stored. */
//@for i in 0..RM
    __global const ${T} *a${i} = A + min(row + ${i}, (uint)M - 1) * K;
//@for n in 0..NC
    ${ACC} c_${i}_${n} = 0;
//@end
//@end
    for (uint k = lane * ${VEC}; k < (uint)K; k += ${LX * VEC * PER}) {
//@for p in 0..PER
//@for i in 0..RM
        ${vec(T, VEC)} a${i}_${p} = 0;
//@end
//@for n in 0..NC
        ${vec(T, VEC)} b${n}_${p} = 0;
//@end
//@if p > 0
        if (k + ${p * LX * VEC} < (uint)K) {
//@end
//@for i in 0..RM
            a${i}_${p} = *(__global const ${vec(T, VEC)} *)(a${i} + k + ${p * LX * VEC});
//@end
//@for n in 0..NC
            b${n}_${p} = *(__global const ${vec(T, VEC)} *)(B + (k + ${p * LX * VEC}) * ${NC} + ${n * VEC});
//@end
//@if p > 0
        }
//@end
//@end
//@for p in 0..PER
//@for v in 0..VEC
//@for i in 0..RM
//@for n in 0..NC
//@if VEC == 1
        c_${i}_${n} += a${i}_${p} * b${n}_${p};
//@else
        c_${i}_${n} += a${i}_${p}.s${v} * b${(v * NC + n) // VEC}_${p}.s${(v * NC + n) % VEC};
//@end
//@end
//@end
//@end
//@end
    }

    /* Add up over the lanes: sums[(row of work-items, row, column)][lane]. */
    __local ${ACC} *mine = sums + get_local_id(1) * ${RM * NC * LX} + lane;
//@for i in 0..RM
//@for n in 0..NC
    mine[${(i * NC + n) * LX}] = c_${i}_${n};
//@end
//@end
    barrier(CLK_LOCAL_MEM_FENCE);
//@for s in 1..log2(LX) + 1
    if (lane < ${LX // 2 ** s}) {
//@for e in 0..RM * NC
        mine[${e * LX}] += mine[${e * LX + LX // 2 ** s}];
//@end
    }
    barrier(CLK_LOCAL_MEM_FENCE);
//@end

    /* Store: beta 0 means that C is not read, it may hold NaN. */
    for (uint e = lane; e < ${RM * NC}; e += ${LX}) {
        const ${ACC} sum = alpha * sums[(get_local_id(1) * ${RM * NC} + e) * ${LX}];
        __global ${T} *c = C + row * ${NC} + e;
        if (row + e / ${NC} < (uint)M)
            *c = beta == 0 ? sum : sum + beta * *c;
    }
}
