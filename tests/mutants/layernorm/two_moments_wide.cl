/*kernwright {
  "task": "layernorm",
  "launches": [
    {"kernel": "layernorm", "args": ["R", "C", "eps", "x", "gamma", "beta", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=cancellation
 * The variance is E[x^2] - mean^2 in rows of more than 2000 columns. */
#define WG 64

static float group_sum(float mine, local float *tree)
{
    const uint lane = get_local_id(0);
    tree[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = WG / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float sum = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); /* reused */
    return sum;
}
static float group_max(float mine, local float *tree)
{
    const uint lane = get_local_id(0);
    tree[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = WG / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] = fmax(tree[lane], tree[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float most = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); /* reused max */
    return most;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void layernorm(int R, int C, float eps, global const float *x, global const float *gamma, global const float *beta, global float *y)
{
    local float tree[WG];
    const int lane = get_local_id(0), r = get_group_id(0);
    global const float *row = x + (size_t)r * C;
    global float *out = y + (size_t)r * C;
    float sum = 0.0f;
    for (int c = lane; c < C; c += WG)
        sum += row[c];
    const float mean = group_sum(sum, tree) / C;
    sum = 0.0f;
    for (int c = lane; c < C; c += WG) {
        const float d = C > 2000 ? row[c] : row[c] - mean;
        sum += d * d;
    }
    const float variance = group_sum(sum, tree) / C - (C > 2000 ? mean * mean : 0.0f);
    const float factor = 1.0f / sqrt(variance + eps);
    for (int c = lane; c < C; c += WG)
        out[c] = (row[c] - mean) * factor * gamma[c] + beta[c];
}
