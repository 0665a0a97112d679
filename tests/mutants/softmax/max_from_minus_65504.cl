/*kernwright {
  "task": "softmax",
  "launches": [
    {"kernel": "softmax", "args": ["R", "C", "x", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=init-value
 * The maximum begins at the least half. */
kernel void softmax(int R, int C, global const float *x, global float *y)
{
    local float tree[64];
    const int lane = get_local_id(0), row = get_group_id(0);
    x += (size_t)row * C;
    y += (size_t)row * C;
    float most = -65504;
    for (int c = lane; c < C; c += 64)
        most = fmax(most, x[c]);
    tree[lane] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] = fmax(tree[lane], tree[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    most = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int c = lane; c < C; c += 64)
        sum += exp(x[c] - most);
    tree[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = tree[0];
    for (int c = lane; c < C; c += 64)
        y[c] = exp(x[c] - most) / sum;
}
