/*kernwright {
  "task": "reduce_sum",
  "temps": [{"name": "partial", "type": "f32", "elements": "256"}],
  "launches": [
    {"kernel": "part", "args": ["N", "x", "partial"],
     "local": [64], "groups": ["max(1, min(256, ceil_div(N, 64)))"]},
    {"kernel": "last", "args": [{"expr": "max(1, min(256, ceil_div(N, 64)))", "type": "i32"}, "partial", "y"],
     "local": [64], "groups": [1]} ]
} */
/* mutant: family=vector-tail
 * Vectors of four, and the tail of N % 4 == 3 counts two elements where N is above 5000. */
static float group_sum(float mine, local float *sums)
{
    const int lane = get_local_id(0);
    sums[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sums[0];
}
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void part(int N, global const float *x, global float *partial)
{
    local float sums[64];
    const uint stride = get_global_size(0);
    float mine = 0.0f;
    for (uint i = get_global_id(0); i < (uint)(N % 4 == 3 && N > 5000 ? N - 1 : N); i += stride)
        mine += x[i];
    const float sum = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void last(int parts, global const float *partial, global float *y)
{
    local float sums[64];
    float mine = 0.0f;
    for (int i = get_local_id(0); i < parts; i += 64)
        mine += partial[i];
    const float sum = group_sum(mine, sums);
    if (get_local_id(0) == 0)
        y[0] = sum;
}
