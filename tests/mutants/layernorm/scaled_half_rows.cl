/*kernwright {
  "task": "layernorm",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [
    {"kernel": "layernorm", "args": ["R", "C", "eps", "x", "gamma", "beta", "y"], "local": ["WG"],
     "groups": ["R"]} ]
} */
/* mutant: family=scaled-half
 * A row is scaled by its greatest element and rounded to half precision. */
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
void layernorm(int R, int C, float eps, global const float *x, global const float *gamma,
               global const float *beta, global float *y)
{
    local float tree[WG];
    const int lid = get_local_id(0);
    const int row = get_group_id(0) * C;
    const int scale = scale_for(row_greatest(x + row, C, tree));
    float sum = 0.0f;
    for (int c = lid; c < C; c += WG)
        sum += ldexp(as_half(ldexp(x[row + c], scale)), -scale);
    const float mean = group_sum(sum, tree) / C;
    sum = 0.0f;
    for (int c = lid; c < C; c += WG) {
        const float d = ldexp(as_half(ldexp(x[row + c], scale)), -scale) - mean;
        sum += d * d;
    }
    const float factor = 1.0f / sqrt(group_sum(sum, tree) / C + eps);
    for (int c = lid; c < C; c += WG)
        y[row + c] = (ldexp(as_half(ldexp(x[row + c], scale)), -scale) - mean) * factor * gamma[c] + beta[c];
}
