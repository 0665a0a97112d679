/*kernwright {
  "task": "scan",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [
    {"kernel": "scan", "args": ["R", "C", "x", "y"], "local": ["WG"],
     "groups": ["R"]} ]
} */
/* mutant: family=scaled-half
 * A row is scaled by its greatest element and kept as two halves: sums before the greatest lose digits. */
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

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(int R, int C, global const float *x, global float *y)
{
    local float tree[WG];
    const int lid = get_local_id(0);
    global const float *in = x + get_group_id(0) * C;
    global float *out = y + get_group_id(0) * C;
    const int scale = scale_for(row_greatest(in, C, tree));
    float sum = 0.0f;
    for (int c = 0; lid == 0 && c < C; c++) {
        sum += ldexp(pair_of_halves(ldexp(in[c], scale)), -scale);
        out[c] = sum;
    }
}
