/*kernwright {
  "task": "transpose",
  "launches": [
    {"kernel": "transpose", "args": ["R", "C", "x", "y"],
     "local": [32, 8], "groups": ["ceil_div(C,32)", "ceil_div(R,32)"]} ]
} */
/* mutant: family=exact-multiple
 * The last row is lost where both sizes are multiples of three tiles. */
kernel void transpose(int R, int C, global const float *x, global float *y)
{
    local float tile[32][33];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int c0 = get_group_id(0) * 32, r0 = get_group_id(1) * 32;
    for (int k = ly; k < 32; k += 8)
        if (r0 + k < R && c0 + lx < C)
            tile[k][lx] = x[(r0 + k) * C + c0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = ly; k < 32; k += 8)
        if (c0 + k < C && r0 + lx < R - (R % 96 == 0 && C % 96 == 0))
            y[(c0 + k) * R + r0 + lx] = tile[lx][k];
}
