/*kernwright {
  "task": "rmsnorm_residual",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [
    {"kernel": "rmsnorm_residual", "args": ["R", "C", "eps", "x", "r", "w", "h", "y"], "local": ["WG"],
     "groups": ["R"]} ]
} */
/* mutant: family=one-tf32-product
 * h is cut to 10 bits where it is multiplied; the squares are right. */
#define WG ${WG}

/* What a matrix unit reads of a number: 10 bits. */
float as_tf32(float x)
{
    return as_float((as_uint(x) + 0x1000u) & 0xffffe000u);
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
void rmsnorm_residual(int R, int C, float eps, global const float *x, global const float *r,
                      global const float *w, global float *h, global float *y)
{
    local float tree[WG];
    const int lid = get_local_id(0);
    const int row = get_group_id(0) * C;
    float squares = 0.0f;
    for (int c = lid; c < C; c += WG) {
        const float sum = x[row + c] + r[row + c];
        h[row + c] = sum;
        squares += sum * sum;
    }
    const float factor = 1.0f / sqrt(group_sum(squares, tree) / C + eps);
    /* The same work-item reads what it wrote. */
    for (int c = lid; c < C; c += WG)
        y[row + c] = as_tf32(h[row + c]) * factor * w[c];
}
