/*kernwright {
  "task": "saxpy",
  "params": {"WG": {"values": [64, 128], "default": 64, "doc": "work-items per group"}},
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, 4 * WG)"]} ]
} */
/* mutant: family=wrong-on-non-multiples
 * The last vector is moved back to end with y: what it shares with the one before is updated twice. */
kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0) * 4;
    if (i + 3 < N) {
        vstore4(a * vload4(0, x + i) + vload4(0, y + i), 0, y + i);
    } else {
        const int last = max(N - 4, 0);
        for (int k = i < N ? last : N; k < N; k++)
            y[k] = a * x[k] + y[k];
    }
}
