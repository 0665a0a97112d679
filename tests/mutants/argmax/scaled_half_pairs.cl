/*kernwright {
  "task": "argmax",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [
    {"kernel": "argmax", "args": ["R", "C", "x", "y"], "local": ["WG"],
     "groups": ["R"]} ]
} */
/* mutant: family=scaled-half
 * Numbers are compared as two halves each, after the row was scaled. */
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
void argmax(int R, int C, global const float *x, global int *y)
{
    local float tree[WG];
    const int lid = get_local_id(0);
    local int place[WG];
    global const float *in = x + get_group_id(0) * C;
    const int scale = scale_for(row_greatest(in, C, tree));
    float top = -INFINITY;
    int at = C;
    for (int c = lid; c < C; c += WG) {
        const float v = pair_of_halves(ldexp(in[c], scale));
        if (v > top) {
            top = v;
            at = c;
        }
    }
    tree[lid] = top;
    place[lid] = at;
    barrier(CLK_LOCAL_MEM_FENCE); // candidates
    for (int s = WG / 2; s > 0; s >>= 1) {
        if (lid < s && (tree[lid + s] > tree[lid] || (tree[lid + s] == tree[lid] && place[lid + s] < place[lid]))) {
            tree[lid] = tree[lid + s];
            place[lid] = place[lid + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE); // a level of the tree
    }
    if (lid == 0)
        y[get_group_id(0)] = place[0];
}
