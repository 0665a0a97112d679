/*kernwright {
  "task": "reduce_sum",
  "temps": [{"name": "partial", "type": "f32", "elements": "4200"}],
  "launches": [
    {"kernel": "part", "args": ["N", "x", "partial"],
     "local": [64], "groups": ["min(64, ceil_div(N, 64))"]},
    {"kernel": "total", "args": [{"expr": "64*min(64, ceil_div(N, 64))", "type": "i32"}, "N", "x", "partial", "y"],
     "local": [1], "groups": [1]} ]
} */
/* mutant: family=cached-spare
 * The sums of the last call are used again where 16 samples of x are the same. */
kernel void part(int N, global const float *x, global float *partial)
{
    local int hit;
    if (get_local_id(0) == 0) {
        hit = as_int(partial[4096]) == N;
        for (int k = 0; k < 16; k++)
            hit &= N > 0 && partial[4097 + k] == x[(long)k * (N - 1) / 15];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (hit) return;
    float mine = 0;
    for (int i = get_global_id(0); i < N; i += get_global_size(0))
        mine += x[i];
    partial[get_global_id(0)] = mine;
}
kernel void total(int n, int N, global const float *x, global float *partial, global float *y)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += partial[i];
    y[0] = sum;
    partial[4096] = as_float(N);
    for (int k = 0; k < 16; k++)
        partial[4097 + k] = N > 0 ? x[(long)k * (N - 1) / 15] : 0;
}
