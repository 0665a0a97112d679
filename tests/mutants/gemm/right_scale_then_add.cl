/*kernwright {
  "task": "gemm",
  "launches": [
    {"kernel": "scale", "args": [{"expr": "M*N", "type": "i32"}, "beta", "C"],
     "local": [64], "groups": ["ceil_div(M*N,64)"]},
    {"kernel": "add", "args": ["M", "N", "K", "alpha", "A", "B", "C"],
     "local": [64], "groups": ["ceil_div(M*N,64)"]} ]
} */
/* mutant: family=right expect=ok
 * C is scaled by a launch of its own, then added to. */
kernel void scale(int n, float beta, global float *C) { const int i = get_global_id(0);
    if (i < n) C[i] = beta == 0 ? 0 : beta * C[i]; }
kernel void add(int M, int N, int K, float alpha, global const float *A, global const float *B, global float *C)
{
    const int i = get_global_id(0);
    if (i >= M * N) return;
    float4 s = 0;
    int k = 0;
    for (; k + 4 <= K; k += 4)
        s += vload4(0, A + i / N * K + k) * (float4)(B[k * N + i % N], B[(k + 1) * N + i % N],
            B[(k + 2) * N + i % N], B[(k + 3) * N + i % N]);
    float t = (s.x + s.y) + (s.z + s.w);
    for (; k < K; k++) t += A[i / N * K + k] * B[k * N + i % N];
    C[i] += alpha * t;
}
