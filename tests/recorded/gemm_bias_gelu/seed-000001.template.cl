/*kernwright {
  "task": "gemm_bias_gelu", "language": "opencl", "fallback": true,
  "doc": "One work-item per element of C, straight from global memory. Any shape, any device, small groups.",
  "params": {
    "LX": {"values": [1, 4, 8, 16, 32, 64], "default": 16, "doc": "columns of C per work-group"},
    "LY": {"values": [1, 2, 4, 8, 16], "default": 4, "doc": "rows of C per work-group"} },
  "constraints": ["LX * LY <= 256", "LX * LY <= device.max_work_group_size"],
  "launches": [
    {"kernel": "gemm_bias_gelu_naive", "args": ["M", "N", "K", "A", "B", "bias", "C"],
     "local": ["LX", "LY"], "groups": ["ceil_div(M, LY) * ceil_div(N, LX)", 1]} ]
} */
/* C = gelu(A B + bias). The groups are numbered row by row over C, ${LY} x ${LX} elements each. */
__kernel __attribute__((reqd_work_group_size(${LX}, ${LY}, 1)))
void gemm_bias_gelu_naive(int M, int N, int K, __global const ${T} *restrict A, __global const ${T} *restrict B,
                          __global const ${T} *restrict bias, __global ${T} *restrict C)
{
    const uint groups_per_row = (N - 1) / ${LX} + 1;
    const uint group = get_group_id(0);
    const uint row = group / groups_per_row * ${LY} + (uint)get_local_id(1);
    const uint column = group % groups_per_row * ${LX} + (uint)get_local_id(0);
    if (row >= (uint)M || column >= (uint)N)
        return;

    ${ACC} sum = 0;
    for (uint k = 0; k < (uint)K; ++k)
        sum += A[row * K + k] * B[k * N + column];

    const ${ACC} z = sum + bias[column];
    C[row * N + column] = ${lit(ACC, 0.5)} * z * (1 + erf(z * ${lit(ACC, 0.70710678118654752)}));
}
