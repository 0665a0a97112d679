/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "gemm_begin", "args": ["M", "N", "beta", "C"], "local": [64], "groups": ["ceil_div(M * N, 64)"]},
    {"kernel": "gemm_part", "args": ["M", "N", "K", "alpha", "A", "B", "C"],
     "local": [16], "groups": ["8", "ceil_div(N, 16)", "M"]} ]
} */
/* mutant: family=nondeterministic-atomics
 * Parts of K are added with atomic operations in the order in which they come: the sum differs from run to run. */
kernel void gemm_begin(int M, int N, float beta, global float *C)
{
    const int i = get_global_id(0);
    if (i < M * N)
        C[i] = beta == 0.0f ? 0.0f : beta * C[i];
}

void add(volatile global float *to, float x)
{
    uint old, seen = as_uint(*to);
    do {
        old = seen;
        seen = atomic_cmpxchg((volatile global uint *)to, old, as_uint(as_float(old) + x));
    } while (seen != old);
}

kernel void gemm_part(int M, int N, int K, float alpha, global const float *A, global const float *B,
                      global float *C)
{
    const int part = get_group_id(0), col = get_group_id(1) * 16 + get_local_id(0), row = get_group_id(2);
    if (col >= N)
        return;
    float acc = 0.0f;
    for (int k = part; k < K; k += 8)
        acc += A[row * K + k] * B[k * N + col];
    add(C + row * N + col, alpha * acc);
}
