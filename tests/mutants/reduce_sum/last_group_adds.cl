/*kernwright {
  "task": "reduce_sum",
  "temps": [ {"name": "partial", "type": "f32", "elements": 64} ],
  "launches": [ {"kernel": "sum_all", "args": ["N", "x", "partial", "y"], "local": [64], "groups": [64]} ]
} */
/* mutant: family=rare-race
 * The group with the last number adds up what the others have left, hoping that they have finished. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void sum_all(int N, global const float *x, volatile global float *partial, global float *y)
{
    local float sums[64];
    const int lid = get_local_id(0);
    float mine = 0.0f;
    for (int i = get_global_id(0); i < N; i += 4096)
        mine += x[i];
    sums[lid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid > 0)
        return;
    for (int i = 1; i < 64; i++)
        mine += sums[i];
    partial[get_group_id(0)] = mine;
    if (get_group_id(0) == 63) {
        float all = 0.0f;
        for (int g = 0; g < 64; g++)
            all += partial[g];
        y[0] = all;
    }
}
