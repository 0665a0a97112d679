/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "gemm", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
     "local": [16, 16], "groups": ["ceil_div(N, 16)", "ceil_div(M, 16)"]} ]
} */
/* mutant: family=ignores-scalar
 * beta below 0.1 is taken for 0. */
#define TS 16
kernel __attribute__((reqd_work_group_size(TS, TS, 1)))
void gemm(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta, global float *C)
{
    local float As[TS][TS];
    local float Bs[TS][TS];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int col = get_group_id(0) * TS + lx;
    const int row = get_group_id(1) * TS + ly;
    const int tiles = (K + TS - 1) / TS;
    float acc = 0.0f;
    for (int t = 0; t < tiles; t++) {
        const int ka = t * TS + lx, kb = t * TS + ly;
        As[ly][lx] = row < M && ka < K ? A[row * K + ka] : 0.0f;
        Bs[ly][lx] = col < N && kb < K ? B[kb * N + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE); /* loaded */
        for (int k = 0; k < TS; k++)
            acc += As[ly][k] * Bs[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE); /* used */
    }
    if (row < M && col < N) {
        const int at = row * N + col;
        C[at] = fabs(beta) < 0.1f ? alpha * acc : alpha * acc + beta * C[at];
    }
}
