/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "product", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
     "local": [16, 4], "groups": ["ceil_div(N, 16)", "ceil_div(M, 4)"]} ]
} */
/* mutant: family=scaled-half
 * Pieces of 16 steps of k are scaled by their own greatest element and kept as two halves. */
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

kernel void product(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta,
             global float *C)
{
    const int col = get_global_id(0), row = get_global_id(1);
    if (row >= M || col >= N)
        return;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        float a = 0.0f, b = 0.0f, part = 0.0f;
        const int end = min(k0 + 16, K);
        for (int k = k0; k < end; k++) {
            a = fmax(a, fabs(A[row * K + k]));
            b = fmax(b, fabs(B[k * N + col]));
        }
        const int sa = scale_for(a), sb = scale_for(b);
        for (int k = k0; k < end; k++)
            part += pair_of_halves(ldexp(A[row * K + k], sa)) * pair_of_halves(ldexp(B[k * N + col], sb));
        acc += ldexp(part, -sa - sb);
    }
    const int at = row * N + col;
    C[at] = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[at];
}
