/*kernwright {
  "task": "saxpy",
  "params": {"WG": {"values": [64, 128], "default": 64, "doc": "work-items per group"}},
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, 4 * WG)"]} ]
} */
/* mutant: family=reads-past-end
 * The last vector is loaded whole; of what lies past the end nothing is used. */
kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0) * 4;
    if (i >= N)
        return;
    const float4 v = a * vload4(0, x + i) + vload4(0, y + i);
    if (i + 3 < N) {
        vstore4(v, 0, y + i);
    } else {
        y[i] = v.s0;
        if (i + 1 < N)
            y[i + 1] = v.s1;
        if (i + 2 < N)
            y[i + 2] = v.s2;
    }
}
