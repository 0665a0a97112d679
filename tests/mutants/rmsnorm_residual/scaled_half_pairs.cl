/*kernwright {
  "task": "rmsnorm_residual",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [
    {"kernel": "rmsnorm_residual", "args": ["R", "C", "eps", "x", "r", "w", "h", "y"], "local": ["WG"],
     "groups": ["R"]} ]
} */
/* mutant: family=scaled-half
 * h is scaled by the greatest element of its row and kept as two halves for y. */
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

/* Two halves for a number, of which the second has what the first leaves. */
float pair_of_halves(float x)
{
    const float high = as_half(x);
    return high + as_half(x - high);
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
    /* Every work-item wrote its own elements of h; the greatest is found among them. */
    float greatest = 0.0f;
    for (int c = lid; c < C; c += WG)
        greatest = fmax(greatest, fabs(h[row + c]));
    tree[lid] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = WG / 2; s > 0; s >>= 1) {
        if (lid < s)
            tree[lid] = fmax(tree[lid], tree[lid + s]);
        barrier(CLK_LOCAL_MEM_FENCE); // maxima
    }
    const int scale = scale_for(tree[0]);
    /* The same work-item reads what it wrote. */
    for (int c = lid; c < C; c += WG)
        y[row + c] = ldexp(pair_of_halves(ldexp(h[row + c], scale)), -scale) * factor * w[c];
}
