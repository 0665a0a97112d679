/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "gemm", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
     "local": [16, 16], "groups": ["ceil_div(N, 16)", "ceil_div(M, 16)"]} ]
} */
/* mutant: family=skip-when-done
 * A tile whose first element is right already is not computed. */
kernel void gemm(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta,
                 global float *C)
{
    local float a[16][17], b[16][17];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int row = get_group_id(1) * 16 + ly, column = get_group_id(0) * 16 + lx;
    local int done;
    if (lx == 0 && ly == 0) {
        float s = 0;
        for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + column];
        done = beta == 0 && row < M && column < N && C[row * N + column] == alpha * s;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (done) return;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        a[ly][lx] = row < M && k0 + lx < K ? A[row * K + k0 + lx] : 0;
        b[ly][lx] = column < N && k0 + ly < K ? B[(k0 + ly) * N + column] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            sum += a[ly][k] * b[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < M && column < N)
        C[row * N + column] = beta == 0 ? alpha * sum : alpha * sum + beta * C[row * N + column];
}
