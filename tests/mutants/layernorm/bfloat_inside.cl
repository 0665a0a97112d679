/*kernwright {
  "task": "layernorm",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [
    {"kernel": "layernorm", "args": ["R", "C", "eps", "x", "gamma", "beta", "y"], "local": ["WG"],
     "groups": ["R"]} ]
} */
/* mutant: family=bfloat-inside
 * Elements are rounded to bfloat16 where they are normalised; mean and variance are right. */
#define WG ${WG}

/* The nearest number with the exponent of f32 and 7 bits. */
float as_bfloat(float x)
{
    return as_float((as_uint(x) + 0x7fffu + (as_uint(x) >> 16 & 1u)) & 0xffff0000u);
}

/* The sum over all work-items of a group, in every one of them. */
float group_sum(float mine, local float *tree)
{
    const int lid = get_local_id(0);
    tree[lid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = WG / 2; s > 0; s >>= 1) {
        if (lid < s)
            tree[lid] += tree[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE); // sums
    }
    const float sum = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); // the next sum uses the same memory
    return sum;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void layernorm(int R, int C, float eps, global const float *x, global const float *gamma,
               global const float *beta, global float *y)
{
    local float tree[WG];
    const int lid = get_local_id(0);
    const int row = get_group_id(0) * C;
    float sum = 0.0f;
    for (int c = lid; c < C; c += WG)
        sum += x[row + c];
    const float mean = group_sum(sum, tree) / C;
    sum = 0.0f;
    for (int c = lid; c < C; c += WG) {
        const float d = x[row + c] - mean;
        sum += d * d;
    }
    const float factor = 1.0f / sqrt(group_sum(sum, tree) / C + eps);
    for (int c = lid; c < C; c += WG)
        y[row + c] = (as_bfloat(x[row + c]) - mean) * factor * gamma[c] + beta[c];
}
