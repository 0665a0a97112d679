/*kernwright {
  "task": "transpose", "language": "opencl",
  "doc": "A tile of x per work-group goes through padded local memory, so that reads and writes both run along rows.",
  "params": {
    "TR": {"values": [16, 32, 64, 128], "default": 32, "doc": "rows of x per tile"},
    "TC": {"values": [16, 32, 64, 128], "default": 32, "doc": "columns of x per tile"},
    "WG": {"values": [32, 64, 128, 256, 512, 1024], "default": 128, "doc": "work-items per group"},
    "VIN": {"values": [1, 2, 4], "default": 1, "doc": "elements per load"},
    "VOUT": {"values": [1, 2, 4], "default": 1, "doc": "elements per store"},
    "PAD": {"values": [0, 1, 2, 4], "default": 1,
      "doc": "unused elements after each line of the tile in local memory"},
    "ACROSS": {"values": [false, true], "default": true,
      "doc": "groups go along the rows of x; false: down its columns"} },
  "constraints": [
    "WG <= device.max_work_group_size", "TR * (TC + PAD) * sizeof(T) <= device.local_mem_bytes",
    "WG % (TC // VIN) == 0", "TR % (WG // (TC // VIN)) == 0",
    "WG % (TR // VOUT) == 0", "TC % (WG // (TR // VOUT)) == 0",
    "TR * TC <= 64 * WG" ],
  "requires": ["C % VIN == 0", "R % VOUT == 0"],
  "launches": [
    {"kernel": "transpose_tiled", "args": ["R", "C", "x", "y"],
     "local": ["WG"], "groups": ["ceil_div(R, TR) * ceil_div(C, TC)"]} ]
} */
//@let IN_LANES = TC // VIN
//@let IN_ROWS = WG // IN_LANES
//@let OUT_LANES = TR // VOUT
//@let OUT_ROWS = WG // OUT_LANES
//@let LINE = TC + PAD
/* y[c][r] = x[r][c]: a group moves a tile of ${TR} x ${TC} elements of x. */
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void transpose_tiled(int R, int C, __global const ${T} *restrict x, __global ${T} *restrict y)
{
    __local ${T} tile[${TR * LINE}];
    const uint group = get_group_id(0), item = get_local_id(0);
//@if ACROSS
    const uint tiles_across = (C - 1) / ${TC} + 1;
    const uint row0 = group / tiles_across * ${TR}, column0 = group % tiles_across * ${TC};
//@else
    const uint tiles_down = (R - 1) / ${TR} + 1;
    const uint row0 = group % tiles_down * ${TR}, column0 = group / tiles_down * ${TC};
//@end

    /* Along the rows of x. */
    const uint in_row = item / ${IN_LANES}, in_column = item % ${IN_LANES} * ${VIN};
//@for i in 0..TR // IN_ROWS
    ${vec(T, VIN)} in${i} = 0;
    if (row0 + in_row + ${i * IN_ROWS} < (uint)R && column0 + in_column < (uint)C)
        in${i} = *(__global const ${vec(T, VIN)} *)(x + (row0 + in_row + ${i * IN_ROWS}) * C + column0 + in_column);
//@end
//@for i in 0..TR // IN_ROWS
//@if VIN == 1
    tile[(in_row + ${i * IN_ROWS}) * ${LINE} + in_column] = in${i};
//@else
//@for v in 0..VIN
    tile[(in_row + ${i * IN_ROWS}) * ${LINE} + in_column + ${v}] = in${i}.s${v};
//@end
//@end
//@end
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Along the rows of y. */
    const uint out_column = item % ${OUT_LANES} * ${VOUT}, out_row = item / ${OUT_LANES};
//@for i in 0..TC // OUT_ROWS
    if (column0 + out_row + ${i * OUT_ROWS} < (uint)C && row0 + out_column < (uint)R) {
        __global ${T} *to = y + (column0 + out_row + ${i * OUT_ROWS}) * R + row0 + out_column;
//@if VOUT == 1
        *to = tile[out_column * ${LINE} + out_row + ${i * OUT_ROWS}];
//@else
        ${vec(T, VOUT)} out;
//@for v in 0..VOUT
        out.s${v} = tile[(out_column + ${v}) * ${LINE} + out_row + ${i * OUT_ROWS}];
//@end
        *(__global ${vec(T, VOUT)} *)to = out;
//@end
    }
//@end
}
