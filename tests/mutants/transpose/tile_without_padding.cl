/*kernwright {
  "task": "transpose",
  "params": {"TS": {"values": [8, 16, 32], "default": 16, "doc": "side of a tile"}},
  "launches": [
    {"kernel": "transpose", "args": ["R", "C", "x", "y"],
     "local": ["TS", 8], "groups": ["ceil_div(C, TS)", "ceil_div(R, TS)"]} ]
} */
/* mutant: family=local-memory-overrun
 * Lines have padding, and the array has no room for it. */
#define TS ${TS}

kernel __attribute__((reqd_work_group_size(TS, 8, 1)))
void transpose(int R, int C, global const float *x, global float *y)
{
    local float tile[TS * TS];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int r0 = get_group_id(1) * TS, c0 = get_group_id(0) * TS;
    for (int i = ly; i < TS; i += 8)
        if (r0 + i < R && c0 + lx < C)
            tile[i * (TS + 1) + lx] = x[(r0 + i) * C + c0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = ly; i < TS; i += 8)
        if (c0 + i < C && r0 + lx < R)
            y[(c0 + i) * R + r0 + lx] = tile[lx * (TS + 1) + i];
}
