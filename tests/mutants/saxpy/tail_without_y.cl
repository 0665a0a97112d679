/*kernwright {
  "task": "saxpy",
  "params": {"WG": {"values": [64, 128], "default": 64, "doc": "work-items per group"}},
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, 4 * WG)"]} ]
} */
/* mutant: family=off-by-one-tile
 * The remainder forgets what y held. */
kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0) * 4;
    if (i + 3 < N) {
        vstore4(a * vload4(0, x + i) + vload4(0, y + i), 0, y + i);
    } else {
        for (int k = i; k < N; k++)
            y[k] = a * x[k];
    }
}
