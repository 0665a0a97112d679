/*kernwright {
  "task": "rmsnorm_residual",
  "launches": [
    {"kernel": "rmsnorm", "args": ["R", "C", "eps", "x", "r", "w", "h", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=index-width
 * Columns from 65,000 on are not written. */
kernel void rmsnorm(int R, int C, float eps, global const float *x, global const float *r, global const float *w,
                    global float *h, global float *y)
{
    local float tree[64];
    const int lane = get_local_id(0);
    const size_t at = (size_t)get_group_id(0) * C;
    float squares = 0;
    for (int c = lane; c < C; c += 64) {
        const float v = x[at + c] + r[at + c];
        h[at + c] = v;
        squares += v * v;
    }
    tree[lane] = squares;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 32; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float factor = 1 / sqrt(tree[0] / C + eps);
    for (ushort c = lane; c < min(C, 65000); c += 64)
        y[at + c] = (x[at + c] + r[at + c]) * factor * w[c];
}
