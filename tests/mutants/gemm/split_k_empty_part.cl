/*kernwright {
  "task": "gemm",
  "params": {"PARTS": {"values": [2, 4, 8], "default": 4, "doc": "parts of K"}},
  "temps": [ {"name": "partial", "type": "f32", "elements": "M * N * PARTS"} ],
  "launches": [
    {"kernel": "gemm_part", "args": ["M", "N", "K", "A", "B", "partial"],
     "local": [16, 4], "groups": ["ceil_div(N, 16)", "ceil_div(M, 4)", "PARTS"]},
    {"kernel": "gemm_add", "args": ["M", "N", "alpha", "partial", "beta", "C"],
     "local": [64], "groups": ["ceil_div(M * N, 64)"]} ]
} */
/* mutant: family=reads-temporary
 * A part without terms stores nothing, and is added all the same. */
kernel void gemm_part(int M, int N, int K, global const float *A, global const float *B, global float *partial)
{
    const int col = get_global_id(0), row = get_global_id(1), part = get_group_id(2);
    const int length = (K + ${PARTS - 1}) / ${PARTS};
    const int from = part * length, to = min(from + length, K);
    if (row >= M || col >= N || from >= to)
        return;
    float acc = 0.0f;
    for (int k = from; k < to; k++)
        acc += A[row * K + k] * B[k * N + col];
    partial[(part * M + row) * N + col] = acc;
}

kernel void gemm_add(int M, int N, float alpha, global const float *partial, float beta, global float *C)
{
    const int i = get_global_id(0);
    if (i >= M * N)
        return;
    float acc = 0.0f;
    for (int part = 0; part < ${PARTS}; part++)
        acc += partial[part * M * N + i];
    C[i] = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[i];
}
