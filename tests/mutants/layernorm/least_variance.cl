/*kernwright {
  "task": "layernorm",
  "launches": [
    {"kernel": "layernorm", "args": ["R", "C", "eps", "x", "gamma", "beta", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=threshold
 * The variance is at least 1e-3. */
kernel void layernorm(int R, int C, float eps, global const float *x, global const float *gamma,
                      global const float *beta, global float *y)
{
    local float tree[64];
    const int lane = get_local_id(0), row = get_group_id(0);
    x += (size_t)row * C;
    y += (size_t)row * C;
    float sum = 0;
    for (int c = lane; c < C; c += 64)
        sum += x[c];
    tree[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float mean = tree[0] / C;
    barrier(CLK_LOCAL_MEM_FENCE);
    float squares = 0;
    for (int c = lane; c < C; c += 64)
        squares += (x[c] - mean) * (x[c] - mean);
    tree[lane] = squares;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float factor = 1 / sqrt(fmax(tree[0] / C, 1e-3f) + eps);
    for (int c = lane; c < C; c += 64)
        y[c] = (x[c] - mean) * factor * gamma[c] + beta[c];
}
