/*kernwright {
  "task": "gemm",
  "params": {"TS": {"values": [8, 16], "default": 16, "doc": "side of a tile"}},
  "launches": [
    {"kernel": "gemm", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
     "local": ["TS", "TS"], "groups": ["ceil_div(N, TS)", "ceil_div(M, TS)"]} ]
} */
/* mutant: family=compiler-abort expect=compile_error,crash,timeout,wrong
 * A function that calls itself, which OpenCL C does not have: compilers that inline everything do not come back. */
#define TS ${TS}

float power(float a, int n)
{
    return n > 1 ? a * power(a, n - 1) : a;
}

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
        barrier(CLK_LOCAL_MEM_FENCE); // tiles are loaded
        for (int k = 0; k < TS; k++)
            acc += power(As[ly][k], 1 + (t & 1)) * Bs[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE); // tiles are used up
    }
    if (row < M && col < N) {
        const int at = row * N + col;
        C[at] = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[at];
    }
}
