/*kernwright {
  "task": "softmax",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [
    {"kernel": "softmax", "args": ["R", "C", "x", "y"], "local": ["WG"],
     "groups": ["R"]} ]
} */
/* mutant: family=scaled-half
 * A row is scaled by its greatest element and rounded to half precision: what is masked with great numbers takes
 * the digits of the rest. */
#define WG ${WG}

/* The nearest number of half precision. */
float as_half(float x)
{
    ushort bits;
    vstore_half(x, 0, (half *)&bits);
    return vload_half(0, (half *)&bits);
}

/* The exponent that takes the greatest just below the limit of a half. */
int scale_for(float greatest)
{
    return greatest > 0.0f ? 14 - ilogb(greatest) : 0;
}

/* The greatest magnitude of a row, for all work-items of a group. */
float row_greatest(global const float *in, int C, local float *tree)
{
    const int lid = get_local_id(0);
    float greatest = 0.0f;
    for (int c = lid; c < C; c += WG)
        greatest = fmax(greatest, fabs(in[c]));
    tree[lid] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = WG / 2; s > 0; s >>= 1) {
        if (lid < s)
            tree[lid] = fmax(tree[lid], tree[lid + s]);
        barrier(CLK_LOCAL_MEM_FENCE); // maxima
    }
    greatest = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); // everybody has it
    return greatest;
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
    const int scale = scale_for(row_greatest(in, C, tree));

    float top = -INFINITY;
    for (int c = lid; c < C; c += WG)
        top = fmax(top, ldexp(as_half(ldexp(in[c], scale)), -scale));
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
        sum += exp(ldexp(as_half(ldexp(in[c], scale)), -scale) - top);
    sum = group_sum(sum, tree);
    for (int c = lid; c < C; c += WG)
        out[c] = exp(ldexp(as_half(ldexp(in[c], scale)), -scale) - top) / sum;
}
