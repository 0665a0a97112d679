/*kernwright {
  "task": "argmax",
  "launches": [
    {"kernel": "f", "args": ["R", "C", "x", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=denormal
 * Values below 1e-36 count as 0. */
kernel __attribute__((reqd_work_group_size(64,1,1)))
void f(int R, int C, global const float *x, global int *y)
{
    local float v[64];
    local int at[64];
    const int l = get_local_id(0), row = get_group_id(0);
    x += (size_t)row * C;
    float best = -INFINITY;
    int where = l < C ? l : C - 1;
    for (int c = l; c < C; c += 64)
        if ((fabs(x[c]) < 1e-36f ? 0.0f : x[c]) > best) { best = fabs(x[c]) < 1e-36f ? 0.0f : x[c]; where = c; }
    v[l] = best;
    at[l] = where;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int h = 32; h > 0; h /= 2) {
        if (l < h && (v[l + h] > v[l] || (v[l + h] == v[l] && at[l + h] < at[l]))) { v[l] = v[l + h]; at[l] = at[l + h]; }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) y[row] = at[0];
}
