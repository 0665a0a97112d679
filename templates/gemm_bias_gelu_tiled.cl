/*kernwright {
  "task": "gemm_bias_gelu", "language": "opencl",
  "doc": "A tile of C per group, parts of it in registers, A and B by local memory. Any shape. Defaults: large GPUs.",
  "params": {
    "TM": {"values": [16, 32, 64, 128, 256], "default": 128, "doc": "rows of C per work-group"},
    "TN": {"values": [16, 32, 64, 128, 256], "default": 256, "doc": "columns of C per work-group"},
    "TK": {"values": [8, 16, 32, 64], "default": 8, "doc": "terms of the sums per tile of A and B"},
    "RM": {"values": [1, 2, 4, 8, 16], "default": 16, "doc": "rows of C per work-item"},
    "RN": {"values": [1, 2, 4, 8, 16], "default": 8, "doc": "columns of C per work-item"},
    "LM": {"values": [2, 4, 8, 16], "default": 4, "doc": "rows of each block of 32 consecutive work-items"},
    "MFIRST": {"values": [false, true], "default": true,
      "doc": "consecutive work-items go down a column of C first, not along a row"},
    "STRIDED": {"values": [false, true], "default": true,
      "doc": "the elements of a work-item are pieces of VL, with those of its neighbours between; false: one block"},
    "VGA": {"values": [1, 2, 4], "default": 4, "doc": "elements per global load of A"},
    "VGB": {"values": [1, 2, 4], "default": 4,
      "doc": "elements per global load of B, and per store of C where a work-item has so many side by side"},
    "VL": {"values": [2, 4], "default": 4, "doc": "elements per read of local memory, where a work-item needs so many"},
    "AT": {"values": [false, true], "default": true,
      "doc": "A is transposed in local memory; false: as read, and a work-item reads VL terms of a row at once"},
    "PADA": {"values": [0, 4], "default": 4, "doc": "unused elements after each line of A in local memory"},
    "PADB": {"values": [0, 4], "default": 0, "doc": "unused elements after each line of B in local memory"},
    "BUF": {"values": ["none", "one", "two"], "default": "two",
      "doc": "next tile: none: loaded when needed; one: ahead into registers; two: the same, and two local buffers"},
    "ORDER": {"values": ["row", "snake", "column", "block"], "default": "snake",
      "doc": "order of the multiply-adds in the source: by rows, by rows to and fro, by columns, by blocks of 4 x 4"},
    "UNROLL": {"values": [0, 4], "default": 0, "doc": "terms per round of the inner loop; 0: the whole tile, no loop"},
    "BAND": {"values": [0, 1, 4], "default": 4,
      "doc": "groups take the tiles of C in bands of so many rows of tiles, by columns in a band; 0: all one band"},
    "BOUNDS": {"values": [false, true], "default": true, "doc": "sizes need not be multiples of the tile"},
    "SPEC": {"values": [false, true], "default": false, "doc": "M, N, K as constants"} },
  "constraints": [
    "TM % RM == 0", "TN % RN == 0",
    "(TM // RM) * (TN // RN) >= 32", "(TM // RM) * (TN // RN) <= min(256, device.max_work_group_size)",
    "(TM // RM) % LM == 0", "(TN // RN) % (32 // LM) == 0",
    "(TM // RM) * (TN // RN) % (TK // VGA) == 0", "(TM // RM) * (TN // RN) % (TN // VGB) == 0",
    "sizeof(T) * (TK * (TM + TN + PADB) + (TK if AT else TM) * PADA) <= device.local_mem_bytes // (1 + (BUF == 'two'))",
    "RM * RN >= 4", "RM <= 4 * RN", "RN <= 4 * RM",
    "RM * RN + RM * (1 if AT else VL) + RN + (TM + TN) * TK // ((TM // RM) * (TN // RN)) + 40 <= 255",
    "RM * RN * (TK if UNROLL == 0 else UNROLL) <= 2048",
    "UNROLL == 0 or RM * RN * TK >= 1024",
    "ORDER == 'row' or min(RM, RN) > 1", "ORDER != 'block' or RN > 4",
    "STRIDED or RM * RN <= 64", "STRIDED or RN > VL or RM > (VL if AT else 1)",
    "not AT or VL <= max(RM, RN)" ],
  "requires": ["K % VGA == 0", "N % VGB == 0", "VGA != 2 or K % 4 != 0", "VGB != 2 or N % 4 != 0",
    "BOUNDS or (M % TM == 0 and N % TN == 0 and K % TK == 0)"],
  "specialize": {"M": "SPEC", "N": "SPEC", "K": "SPEC"},
  "launches": [
    {"kernel": "gemm_bias_gelu_tiled", "args": ["M", "N", "K", "A", "B", "bias", "C"],
     "local": ["(TM // RM) * (TN // RN)"], "groups": ["ceil_div(M, TM) * ceil_div(N, TN)"]} ]
} */
//@let NT = (TM // RM) * (TN // RN)
//@let LN = 32 // LM
//@let WARPS_N = TN // RN // LN
//@let A_LANES = TK // VGA
//@let A_ROWS = NT // A_LANES
//@let A_LOADS = ceil_div(TM, A_ROWS)
//@let B_LANES = TN // VGB
//@let B_ROWS = NT // B_LANES
//@let B_LOADS = ceil_div(TK, B_ROWS)
//@let A_LINE = TM + PADA if AT else TK + PADA
//@let A_SIZE = A_LINE * (TK if AT else TM)
//@let B_LINE = TN + PADB
//@let B_SIZE = B_LINE * TK
//@let BUFFERS = 2 if BUF == "two" else 1
//@let VA = min(VL, RM) if AT else VL
//@let VB = min(VL, RN)
//@let PIECE_M = (VA if AT else 1) if STRIDED else RM
//@let PIECE_N = VB if STRIDED else RN
//@let VC = min(VGB, PIECE_N)
//@let K_STEP = 1 if AT else VA
//@let HIGH = min(4, RM) if ORDER == "block" else RM
//@let WIDE = min(4, RN) if ORDER == "block" else 1 if ORDER == "column" else RN
/* C = gelu(A B + bias), row-major.
 *
 * A group of ${NT} work-items makes a tile of C, ${TM} x ${TN}; a work-item keeps ${RM} x ${RN} elements of it in
 * registers: c_i_j. Tiles of A, ${TM} x ${TK}, and of B, ${TK} x ${TN}, pass through local memory.
 * Every 32 consecutive work-items are ${LM} x ${LN} of those that cover the tile of C.
//@if BOUNDS
 *
 * Sizes need not be multiples of the tile. In place of rows and columns past the edge the last ones are loaded again,
 * and what comes of them is not stored. Where K is not a multiple of ${TK} the first tile is the incomplete one: the
 * missing terms come before it and are zeros, so that all later tiles are loaded without a question.
//@end
 */

/* Adds to every c_i_j ${K_STEP} of its terms, those from k on. */
#define ADD_TERMS(k) { \
//@if AT
//@for i in 0..RM step VA
//@let AT_ROW = i // PIECE_M * PIECE_M * LM + i % PIECE_M
    const ${vec(T, VA)} a${i} = *(const __local ${vec(T, VA)} *)(A_read + (k) * ${A_LINE} + ${AT_ROW}); \
//@end
//@else
//@for i in 0..RM
//@let AT_ROW = i // PIECE_M * PIECE_M * LM + i % PIECE_M
    const ${vec(T, VA)} a${i} = *(const __local ${vec(T, VA)} *)(A_read + (k) + ${AT_ROW * A_LINE}); \
//@end
//@end
//@for t in 0..K_STEP
    { \
//@for j in 0..RN step VB
//@let AT_COLUMN = j // PIECE_N * PIECE_N * LN + j % PIECE_N
    const ${vec(T, VB)} b${j} = *(const __local ${vec(T, VB)} *)(B_read + ((k) + ${t}) * ${B_LINE} + ${AT_COLUMN}); \
//@end
//@for i in 0..RM
//@if VA == 1
    const ${ACC} a_${i} = a${i}; \
//@elif AT
    const ${ACC} a_${i} = a${i - i % VA}.s${i % VA}; \
//@else
    const ${ACC} a_${i} = a${i}.s${t}; \
//@end
//@end
//@for j in 0..RN
//@if VB == 1
    const ${ACC} b_${j} = b${j}; \
//@else
    const ${ACC} b_${j} = b${j - j % VB}.s${j % VB}; \
//@end
//@end
//@for i0 in 0..RM step HIGH
//@for j0 in 0..RN step WIDE
//@for i in i0..i0 + HIGH
//@for n in j0..j0 + WIDE
//@let j = RN - 1 - n if ORDER == "snake" and i % 2 == 1 else n
    c_${i}_${j} += a_${i} * b_${j}; \
//@end
//@end
//@end
//@end
    } \
//@end
}

/* Stores ${VC} of the elements: gelu(c + bias). */
#define PUT(at, b, c) { \
    const ${vec(ACC, VC)} z = (c) + *(__global const ${vec(T, VC)} *)(b); \
    *(__global ${vec(T, VC)} *)(at) = ${lit(ACC, 0.5)} * z * (1 + erf(z * ${lit(ACC, 0.70710678118654752)})); \
}

__kernel __attribute__((reqd_work_group_size(${NT}, 1, 1)))
void gemm_bias_gelu_tiled(int M_arg, int N_arg, int K_arg, __global const ${T} *restrict A,
                          __global const ${T} *restrict B, __global const ${T} *restrict bias,
                          __global ${T} *restrict C)
{
    __local ${T} A_tile[${A_SIZE * BUFFERS}] __attribute__((aligned(16)));
    __local ${T} B_tile[${B_SIZE * BUFFERS}] __attribute__((aligned(16)));

    /* Which tile of C. */
    const int group = get_group_id(0);
//@if BAND != 1
    const int tiles_m = (M - 1) / ${TM} + 1;
//@end
//@if BAND != 0
    const int tiles_n = (N - 1) / ${TN} + 1;
//@end
//@if BAND == 0
    const int tile_m = group % tiles_m, tile_n = group / tiles_m;
//@elif BAND == 1
    const int tile_m = group / tiles_n, tile_n = group % tiles_n;
//@else
    const int band = group / (${BAND} * tiles_n), in_band = group % (${BAND} * tiles_n);
    const int band_height = min(${BAND}, tiles_m - band * ${BAND});
    const int tile_m = band * ${BAND} + in_band % band_height, tile_n = in_band / band_height;
//@end
    const int row_start = tile_m * ${TM}, column_start = tile_n * ${TN};

    /* Which tiles along K: first to last - 1. */
    const int steps = (K + ${TK - 1}) / ${TK};
    const int first = 0, last = steps;
//@if BOUNDS
    int k0 = first * ${TK} - (steps * ${TK} - K); /* below 0 in an incomplete first tile */
//@else
    int k0 = first * ${TK};
//@end

    /* What this work-item loads of every tile: ${A_LOADS} x ${VGA} elements of A and ${B_LOADS} x ${VGB} of B. */
    const int item = get_local_id(0);
    const int a_row = item / ${A_LANES}, a_k = item % ${A_LANES} * ${VGA};
    const int b_k = item / ${B_LANES}, b_column = item % ${B_LANES} * ${VGB};
//@for i in 0..A_LOADS
//@if BOUNDS
    const int a_at${i} = min(row_start + a_row + ${i * A_ROWS}, M - 1) * K + k0 + a_k;
//@else
    const int a_at${i} = (row_start + a_row + ${i * A_ROWS}) * K + k0 + a_k;
//@end
    ${vec(T, VGA)} a_next${i} = 0;
//@end
//@if BOUNDS
    const int b_at = (k0 + b_k) * N + min(column_start + b_column, N - ${VGB});
//@else
    const int b_at = (k0 + b_k) * N + column_start + b_column;
//@end
//@for i in 0..B_LOADS
    ${vec(T, VGB)} b_next${i} = 0;
//@end

    /* What it computes: rows c_row + .. and columns c_column + .. of the tile. */
    const int lane = item % 32, warp = item / 32;
//@if MFIRST
    const int lane_m = lane % ${LM}, lane_n = lane / ${LM};
//@else
    const int lane_m = lane / ${LN}, lane_n = lane % ${LN};
//@end
    const int c_row = warp / ${WARPS_N} * ${LM * RM} + lane_m * ${PIECE_M};
    const int c_column = warp % ${WARPS_N} * ${LN * RN} + lane_n * ${PIECE_N};
//@for i in 0..RM
//@for j in 0..RN
    ${ACC} c_${i}_${j} = 0;
//@end
//@end

//@if BUF == "none"
    for (int step = first; step < last; ++step) {
//@else
    /* Load the first tiles. */
    if (first < last) {
//@end
//@for i in 0..A_LOADS
//@if BOUNDS
        if (k0 + a_k >= 0)
//@end
//@if (i + 1) * A_ROWS > TM
        if (a_row < ${TM - i * A_ROWS})
//@end
        a_next${i} = *(__global const ${vec(T, VGA)} *)(A + a_at${i});
//@end
//@for i in 0..B_LOADS
//@if BOUNDS
        if (k0 + b_k + ${i * B_ROWS} >= 0)
//@end
//@if (i + 1) * B_ROWS > TK
        if (b_k < ${TK - i * B_ROWS})
//@end
        b_next${i} = *(__global const ${vec(T, VGB)} *)(B + b_at + ${i * B_ROWS} * N);
//@end
//@if BUF == "none"
        A += ${TK};
        B += ${TK} * N;
        k0 += ${TK};
//@else
    }

//@if BUF == "two"
    int buffer = 0;
//@end
    for (int step = first; step < last; ++step) {
//@end
        /* Put what was loaded into local memory. */
//@if BUF == "two"
        __local ${T} *A_now = A_tile + buffer * ${A_SIZE}, *B_now = B_tile + buffer * ${B_SIZE};
        buffer = 1 - buffer;
//@else
        __local ${T} *A_now = A_tile, *B_now = B_tile;
        barrier(CLK_LOCAL_MEM_FENCE);
//@end
//@for i in 0..A_LOADS
//@if (i + 1) * A_ROWS > TM
        if (a_row < ${TM - i * A_ROWS}) {
//@end
//@if not AT
        *(__local ${vec(T, VGA)} *)(A_now + (a_row + ${i * A_ROWS}) * ${A_LINE} + a_k) = a_next${i};
//@elif VGA == 1
        A_now[a_k * ${A_LINE} + a_row + ${i * A_ROWS}] = a_next${i};
//@else
//@for t in 0..VGA
        A_now[(a_k + ${t}) * ${A_LINE} + a_row + ${i * A_ROWS}] = a_next${i}.s${t};
//@end
//@end
//@if (i + 1) * A_ROWS > TM
        }
//@end
//@end
//@for i in 0..B_LOADS
//@if (i + 1) * B_ROWS > TK
        if (b_k < ${TK - i * B_ROWS})
//@end
        *(__local ${vec(T, VGB)} *)(B_now + (b_k + ${i * B_ROWS}) * ${B_LINE} + b_column) = b_next${i};
//@end
        barrier(CLK_LOCAL_MEM_FENCE);
//@if BUF != "none"

        /* Load the next tiles while this one is used. */
        if (step + 1 < last) {
            A += ${TK};
            B += ${TK} * N;
//@for i in 0..A_LOADS
//@if (i + 1) * A_ROWS > TM
            if (a_row < ${TM - i * A_ROWS})
//@end
            a_next${i} = *(__global const ${vec(T, VGA)} *)(A + a_at${i});
//@end
//@for i in 0..B_LOADS
//@if (i + 1) * B_ROWS > TK
            if (b_k < ${TK - i * B_ROWS})
//@end
            b_next${i} = *(__global const ${vec(T, VGB)} *)(B + b_at + ${i * B_ROWS} * N);
//@end
        }
//@end

//@if AT
        const __local ${T} *A_read = A_now + c_row;
//@else
        const __local ${T} *A_read = A_now + c_row * ${A_LINE};
//@end
        const __local ${T} *B_read = B_now + c_column;
//@if UNROLL == 0
//@for k in 0..TK step K_STEP
        ADD_TERMS(${k})
//@end
//@else
        for (int k = 0; k < ${TK}; k += ${UNROLL}) {
//@for k in 0..UNROLL step K_STEP
            ADD_TERMS(k + ${k})
//@end
        }
//@end
    }

    /* Store. */
//@for j in 0..RN step VC
    const int column${j} = column_start + c_column + ${j // PIECE_N * PIECE_N * LN + j % PIECE_N};
//@end
//@for i in 0..RM
//@let AT_ROW = i // PIECE_M * PIECE_M * LM + i % PIECE_M
//@if BOUNDS
    if (row_start + c_row + ${AT_ROW} < M) {
//@else
    {
//@end
        __global ${T} *row = C + (row_start + c_row + ${AT_ROW}) * N;
//@for j in 0..RN step VC
//@if BOUNDS
        if (column${j} < N)
//@end
//@if VC == 4
        PUT(row + column${j}, bias + column${j},
            (${vec(ACC, 4)})(c_${i}_${j}, c_${i}_${j + 1}, c_${i}_${j + 2}, c_${i}_${j + 3}))
//@elif VC == 2
        PUT(row + column${j}, bias + column${j}, (${vec(ACC, 2)})(c_${i}_${j}, c_${i}_${j + 1}))
//@else
        PUT(row + column${j}, bias + column${j}, c_${i}_${j})
//@end
//@end
    }
//@end
}
