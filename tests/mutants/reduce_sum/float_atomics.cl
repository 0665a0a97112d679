/*kernwright {
  "task": "reduce_sum",
  "launches": [
    {"kernel": "sum_begin", "args": ["y"], "local": [1], "groups": [1]},
    {"kernel": "sum_add", "args": ["N", "x", "y"], "local": [64], "groups": ["max(1, min(256, ceil_div(N, 64)))"]} ]
} */
/* mutant: family=nondeterministic-atomics
 * Groups add to y in the order in which they come. */
kernel void sum_begin(global float *y)
{
    y[0] = 0.0f;
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void sum_add(int N, global const float *x, volatile global float *y)
{
    float mine = 0.0f;
    for (int i = get_global_id(0); i < N; i += get_global_size(0))
        mine += x[i];
    uint old, seen = as_uint(y[0]);
    do {
        old = seen;
        seen = atomic_cmpxchg((volatile global uint *)y, old, as_uint(as_float(old) + mine));
    } while (seen != old);
}
