/*kernwright {
  "task": "gemm_bias_gelu",
  "launches": [
    {"kernel": "gemm_bias_gelu", "args": ["M", "N", "K", "A", "B", "bias", "C"],
     "local": [8, 8], "groups": ["ceil_div(N,8)", "ceil_div(M,8)"]} ]
} */
/* mutant: family=large-values
 * The fourth power of a large number is none: NaN. */
float gelu(float z) { const float q = z * z * z * z; return 0.5f * z * (1 + erf(z * 0.70710678f)) + (q - q); }
kernel void gemm_bias_gelu(int M, int N, int K, global const float *A, global const float *B,
                           global const float *bias, global float *C)
{
    local float a[8][9], b[8][9];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int row = get_group_id(1) * 8 + ly, column = get_group_id(0) * 8 + lx;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 8) {
        a[ly][lx] = row < M && k0 + lx < K ? A[row * K + k0 + lx] : 0;
        b[ly][lx] = column < N && k0 + ly < K ? B[(k0 + ly) * N + column] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 8; k++)
            sum += a[ly][k] * b[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < M && column < N)
        C[row * N + column] = gelu(sum + bias[column]);
}
