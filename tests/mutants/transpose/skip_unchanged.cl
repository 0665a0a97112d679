/*kernwright {
  "task": "transpose",
  "launches": [
    {"kernel": "f", "args": ["R", "C", "x", "y"],
     "local": [16, 16], "groups": ["ceil_div(C,16)", "ceil_div(R,16)"]} ]
} */
/* mutant: family=stale-output
 * Writes only where the value differs from the one in y by more than 1e-6 of it: stale values of the run before stay. */
kernel __attribute__((reqd_work_group_size(16,16,1)))
void f(int R, int C, global const float *x, global float *y)
{
    local float t[16][17];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int gx = get_group_id(0), gy = get_group_id(1);
    const int c = gx * 16 + lx, r = gy * 16 + ly;
    if (r < R && c < C) t[ly][lx] = x[r * C + c];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int r2 = gy * 16 + lx, c2 = gx * 16 + ly;
    if (r2 < R && c2 < C) { const float o = y[c2 * R + r2], v = t[lx][ly]; if (!(fabs(o - v) < 1e-3f * fabs(v))) y[c2 * R + r2] = v; }
}
