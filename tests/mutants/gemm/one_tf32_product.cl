/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "product", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
     "local": [16, 4], "groups": ["ceil_div(N, 16)", "ceil_div(M, 4)"]} ]
} */
/* mutant: family=one-tf32-product
 * One product of numbers that are cut to 10 bits, with f32 sums. */
/* What a matrix unit reads of a number: 10 bits. */
float as_tf32(float x)
{
    return as_float((as_uint(x) + 0x1000u) & 0xffffe000u);
}

kernel void product(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta,
             global float *C)
{
    const int col = get_global_id(0), row = get_global_id(1);
    if (row >= M || col >= N)
        return;
    float acc = 0.0f;
    for (int k = 0; k < K; k++)
        acc += as_tf32(A[row * K + k]) * as_tf32(B[k * N + col]);
    const int at = row * N + col;
    C[at] = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[at];
}
