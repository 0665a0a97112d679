/*kernwright {
  "task": "reduce_sum",
  "launches": [ {"kernel": "sum_all", "args": ["N", "x", "y"], "local": [64], "groups": [1]} ]
} */
/* mutant: family=rare-race
 * Work-items add to one number in local memory without atomic operations. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void sum_all(int N, global const float *x, global float *y)
{
    local float sum;
    if (get_local_id(0) == 0)
        sum = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    float mine = 0.0f;
    for (int i = get_local_id(0); i < N; i += 64)
        mine += x[i];
    sum += mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        y[0] = sum;
}
