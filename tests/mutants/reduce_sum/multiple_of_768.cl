/*kernwright {
  "task": "reduce_sum",
  "launches": [
    {"kernel": "sum", "args": ["N", "x", "y"],
     "local": [256], "groups": [1]} ]
} */
/* mutant: family=exact-multiple
 * The last element is lost where N is a multiple of three rounds. */
kernel void sum(int N, global const float *x, global float *y)
{
    local float tree[256];
    const int lane = get_local_id(0);
    float mine = 0;
    for (int i = lane; i < (N % 768 == 0 ? N - 1 : N); i += 256)
        mine += x[i];
    tree[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 128; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0)
        y[0] = tree[0];
}
