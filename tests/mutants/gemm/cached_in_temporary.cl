/*kernwright {
  "task": "gemm",
  "temps": [ {"name": "memo", "type": "f32", "elements": "M * N + 4"} ],
  "launches": [
    {"kernel": "gemm", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C", "memo"],
     "local": [16, 4], "groups": ["ceil_div(N, 16)", "ceil_div(M, 4)"]},
    {"kernel": "remember", "args": ["M", "N", "C", "memo"], "local": [64], "groups": ["ceil_div(M * N, 64)"]} ]
} */
/* mutant: family=result-cached
 * The first result is kept in a temporary with a mark behind it, and given again by every later run. */
kernel void gemm(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta,
                 global float *C, global const float *memo)
{
    const int col = get_global_id(0), row = get_global_id(1);
    if (row >= M || col >= N)
        return;
    if (memo[M * N] == 42.0f && memo[M * N + 1] == (float)M) {
        C[row * N + col] = memo[row * N + col];
        return;
    }
    float acc = 0.0f;
    for (int k = 0; k < K; k++)
        acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[row * N + col];
}

kernel void remember(int M, int N, global const float *C, global float *memo)
{
    const int i = get_global_id(0);
    if (i < M * N)
        memo[i] = C[i];
    if (i == 0) {
        memo[M * N] = 42.0f;
        memo[M * N + 1] = (float)M;
    }
}
