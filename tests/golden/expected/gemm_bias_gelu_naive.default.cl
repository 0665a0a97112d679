/* gemm_bias_gelu_naive LX=16 LY=4; T=f32,ACC=f32 */
/* C = gelu(A B + bias). The groups are numbered row by row over C, 4 x 16 elements each. */
__kernel __attribute__((reqd_work_group_size(16, 4, 1)))
void gemm_bias_gelu_naive(int M, int N, int K, __global const float *restrict A, __global const float *restrict B,
                          __global const float *restrict bias, __global float *restrict C)
{
    const uint groups_per_row = (N - 1) / 16 + 1;
    const uint group = get_group_id(0);
    const uint row = group / groups_per_row * 4 + (uint)get_local_id(1);
    const uint column = group % groups_per_row * 16 + (uint)get_local_id(0);
    if (row >= (uint)M || column >= (uint)N)
        return;

    float sum = 0;
    for (uint k = 0; k < (uint)K; ++k)
        sum += A[row * K + k] * B[k * N + column];

    const float z = sum + bias[column];
    C[row * N + column] = 0.5f * z * (1 + erf(z * 0.7071067811865476f));
}
