/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "product", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"],
     "local": [16, 4], "groups": ["ceil_div(N, 16)", "ceil_div(M, 4)"]} ]
} */
/* mutant: family=bfloat-inside
 * Every number is two bfloat16, which makes 16 bits of 24. */
/* The nearest number with the exponent of f32 and 7 bits. */
float as_bfloat(float x)
{
    return as_float((as_uint(x) + 0x7fffu + (as_uint(x) >> 16 & 1u)) & 0xffff0000u);
}

kernel void product(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta,
             global float *C)
{
    const int col = get_global_id(0), row = get_global_id(1);
    if (row >= M || col >= N)
        return;
    float acc = 0.0f;
    for (int k = 0; k < K; k++) {
        const float a = A[row * K + k], b = B[k * N + col];
        const float ah = as_bfloat(a), al = as_bfloat(a - ah), bh = as_bfloat(b), bl = as_bfloat(b - bh);
        acc += al * bh;
        acc += ah * bl;
        acc += ah * bh;
    }
    const int at = row * N + col;
    C[at] = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[at];
}
