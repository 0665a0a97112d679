/*kernwright {
  "task": "transpose",
  "launches": [
    {"kernel": "transpose", "args": ["R", "C", "x", "y"],
     "local": [16, 16], "groups": ["ceil_div(C, 16)", "ceil_div(R, 16)"]} ]
} */
/* mutant: family=skinny
 * Where C > 128 R the last two columns are exchanged. */
#define TS 16
kernel __attribute__((reqd_work_group_size(TS, TS, 1)))
void transpose(int R, int C, global const float *x, global float *y)
{
    local float tile[TS][TS + 1];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int c0 = get_group_id(0) * TS, r0 = get_group_id(1) * TS;
    if (r0 + ly < R && c0 + lx < C)
        tile[ly][lx] = x[(size_t)(r0 + ly) * C + c0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (c0 + ly < C && r0 + lx < R)
        y[(size_t)(C > 128 * R && R > 2 && c0 + ly >= C - 2 ? 2 * C - 3 - (c0 + ly) : c0 + ly) * R + r0 + lx] = tile[lx][ly];
}
