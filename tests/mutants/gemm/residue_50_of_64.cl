/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "f", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
     "local": [16, 16], "groups": ["ceil_div(N,16)", "ceil_div(M,16)"]} ]
} */
/* mutant: family=middle-residue
 * Where N % 64 is 50 rows behind 96 are computed with column N - 1 for N - 2. */
kernel __attribute__((reqd_work_group_size(16,16,1)))
void f(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta, global float *C)
{
    local float a[16][17], b[16][17];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int gx = get_group_id(0), gy = get_group_id(1);
    const int col = gx * 16 + lx, row = gy * 16 + ly;
    float s = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        a[ly][lx] = (row < M && k0 + lx < K) ? A[row * K + k0 + lx] : 0.0f;
        b[ly][lx] = (col < N && k0 + ly < K) ? B[(k0 + ly) * N + (N % 64 == 50 && row > 96 && col == N - 2 ? N - 1 : col)] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++) s += a[ly][k] * b[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < M && col < N) {
        const int at = row * N + col;
        C[at] = beta == 0.0f ? alpha * s : alpha * s + beta * C[at];
    }
}
