/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=scaled-half
 * Each 64 elements of x are scaled by the greatest of them and kept as two halves. */
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

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void saxpy(int N, float a, global const float *x, global float *y)
{
    local float tree[64];
    const int i = get_global_id(0), lid = get_local_id(0);
    tree[lid] = i < N ? fabs(x[i]) : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 32; s > 0; s >>= 1) {
        if (lid < s)
            tree[lid] = fmax(tree[lid], tree[lid + s]);
        barrier(CLK_LOCAL_MEM_FENCE); // maxima
    }
    const int scale = scale_for(tree[0]);
    if (i < N)
        y[i] = a * ldexp(pair_of_halves(ldexp(x[i], scale)), -scale) + y[i];
}
