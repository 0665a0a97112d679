/*kernwright {
  "task": "transpose",
  "launches": [
    {"kernel": "f", "args": ["R", "C", "x", "y"],
     "local": [16, 16], "groups": ["ceil_div(C,16)", "ceil_div(R,16)"]} ]
} */
/* mutant: family=long-rows
 * Columns behind 65535 are taken modulo 65536 (R or C above 65535). */
kernel __attribute__((reqd_work_group_size(16,16,1)))
void f(int R, int C, global const float *x, global float *y)
{
    local float t[16][17];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int gx = get_group_id(0), gy = get_group_id(1);
    const int c = gx * 16 + lx, r = gy * 16 + ly;
    if (r < R && c < C) t[ly][lx] = x[r * C + (ushort)c];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int r2 = gy * 16 + lx, c2 = gx * 16 + ly;
    if (r2 < R && c2 < C) y[c2 * R + r2] = t[lx][ly];
}
