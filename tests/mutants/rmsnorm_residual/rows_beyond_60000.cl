/*kernwright {
  "task": "rmsnorm_residual",
  "launches": [
    {"kernel": "rms", "args": ["R", "C", "eps", "x", "r", "w", "h", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=index-16-bits
 * The row is a ushort: from 65536 on the first rows are done again. */
#define WG 64
kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void rms(int R, int C, float eps, global const float *x, global const float *r, global const float *w, global float *h, global float *y)
{
    local float tree[WG];
    const int lane = get_local_id(0);
    const ushort at = get_group_id(0);
    const size_t row = (size_t)at * C;
    float squares = 0.0f;
    for (int c = lane; c < C; c += WG) {
        const float v = x[row + c] + r[row + c];
        h[row + c] = v;
        squares += v * v;
    }
    tree[lane] = squares;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = WG / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float factor = 1.0f / sqrt(tree[0] / C + eps);
    for (int c = lane; c < C; c += WG)
        y[row + c] = h[row + c] * factor * w[c];
}
