/*kernwright {
  "task": "softmax",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [
    {"kernel": "softmax", "args": ["R", "C", "x", "y"], "local": ["WG"],
     "groups": ["R"]} ]
} */
/* mutant: family=bfloat-inside
 * Exponentials are kept as two bfloat16. */
#define WG ${WG}

/* The nearest number with the exponent of f32 and 7 bits. */
float as_bfloat(float x)
{
    return as_float((as_uint(x) + 0x7fffu + (as_uint(x) >> 16 & 1u)) & 0xffff0000u);
}

/* Two of them, of which the second has what the first leaves. */
float pair_of_bfloats(float x)
{
    const float high = as_bfloat(x);
    return high + as_bfloat(x - high);
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
void softmax(int R, int C, global const float *x, global float *y)
{
    local float tree[WG];
    const int lid = get_local_id(0);
    global const float *in = x + get_group_id(0) * C;
    global float *out = y + get_group_id(0) * C;

    float top = -INFINITY;
    for (int c = lid; c < C; c += WG)
        top = fmax(top, in[c]);
    tree[lid] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = WG / 2; s > 0; s >>= 1) {
        if (lid < s)
            tree[lid] = fmax(tree[lid], tree[lid + s]);
        barrier(CLK_LOCAL_MEM_FENCE); // maxima
    }
    top = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); // everybody has the maximum
    float sum = 0.0f;
    for (int c = lid; c < C; c += WG)
        sum += pair_of_bfloats(exp(in[c] - top));
    sum = group_sum(sum, tree);
    for (int c = lid; c < C; c += WG)
        out[c] = pair_of_bfloats(exp(in[c] - top)) / sum;
}
