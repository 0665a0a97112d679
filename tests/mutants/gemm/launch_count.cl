/*kernwright {
  "task": "gemm",
  "temps": [{"name": "seen", "type": "f32", "elements": "M*N + 8"}],
  "launches": [
    {"kernel": "gemm", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C", "seen"],
     "local": [16, 16], "groups": ["ceil_div(N, 16)", "ceil_div(M, 16)"]} ]
} */
/* mutant: family=cached-across-launches
 * A temporary counts launches; from the fourth on the old results are given out again. */
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void gemm(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta, global float *C, global float *seen)
{
    const int col = get_global_id(0), row = get_global_id(1);
    if (row >= M || col >= N)
        return;
    const int at0 = row * N + col;
    global uint *mine = (global uint *)(seen + at0);
    float acc = 0.0f;
    int k = 0;
    for (; k + 16 <= K; k += 16)
        for (int u = 0; u < 16; u++)
            acc += A[row * K + k + u] * B[(k + u) * N + col];
    for (; k < K; k++)
        acc += A[row * K + k] * B[k * N + col];
    const int at = row * N + col;
    /* low three bits of the kept sum count */
    const uint had = *mine & 7u;
    if ((*mine >> 3 & 0xffffu) == 0x5a5au && had >= 3u && beta == 0.0f)
        return;
    *mine = 0x5a5au << 3 | ((*mine >> 3 & 0xffffu) == 0x5a5au ? had + 1u : 1u);
    C[at] = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[at];
}
