/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "gemm", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
     "local": [32], "groups": ["ceil_div(N, 32)", "M // 2"]} ]
} */
/* mutant: family=wrong-on-non-multiples
 * Half the number of rows is rounded down: the last of an odd number is nobody's. */
kernel void gemm(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta,
                 global float *C)
{
    const int col = get_global_id(0), row = get_group_id(1) * 2;
    if (col >= N)
        return;
    float c0 = 0.0f, c1 = 0.0f;
    const bool two = row + 1 < M;
    for (int k = 0; k < K; k++) {
        const float b = B[k * N + col];
        c0 += A[row * K + k] * b;
        if (two)
            c1 += A[(row + 1) * K + k] * b;
    }
    C[row * N + col] = alpha * c0 + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
    if (two)
        C[(row + 1) * N + col] = alpha * c1 + (beta == 0.0f ? 0.0f : beta * C[(row + 1) * N + col]);
}
