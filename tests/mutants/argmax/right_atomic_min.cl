/*kernwright {
  "task": "argmax",
  "temps": [{"name": "m", "type": "f32", "elements": "R"}],
  "launches": [
    {"kernel": "most", "args": ["R", "C", "x", "m", "y"],
     "local": [8], "groups": ["ceil_div(R,8)"]},
    {"kernel": "find", "args": ["R", "C", "x", "m", "y"],
     "local": [32], "groups": ["R"]} ]
} */
/* mutant: family=right expect=ok
 * The maximum first, then the least index of it by atomics: no order matters. */
kernel void most(int R, int C, global const float *x, global float *m, global int *y)
{
    const int row = get_global_id(0);
    if (row >= R) return;
    float a = x[(size_t)row * C];
    for (int c = 1; c < C; c++) a = fmax(a, x[(size_t)row * C + c]);
    m[row] = a;
    y[row] = C - 1;
}
kernel void find(int R, int C, global const float *x, global const float *m, global int *y)
{
    const int row = get_group_id(0);
    for (int c = get_local_id(0); c < C; c += 32)
        if (x[(size_t)row * C + c] == m[row]) atomic_min(&y[row], c);
}
