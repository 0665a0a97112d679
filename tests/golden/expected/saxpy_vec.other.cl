/* saxpy_vec WG=128 VEC=2 PER=8 BLOCK=true; T=f32 */
/* y = a x + y: 8 vectors of 2 elements per work-item. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void saxpy_vec(int N, float a, __global const float *restrict x, __global float *restrict y)
{
    __global const float2 *xs = (__global const float2 *)x;
    __global float2 *ys = (__global float2 *)y;
    const uint vectors = N / 2;
    const uint first = get_global_id(0) * 8;
    if (first + 0 < vectors)
        ys[first + 0] = a * xs[first + 0] + ys[first + 0];
    if (first + 1 < vectors)
        ys[first + 1] = a * xs[first + 1] + ys[first + 1];
    if (first + 2 < vectors)
        ys[first + 2] = a * xs[first + 2] + ys[first + 2];
    if (first + 3 < vectors)
        ys[first + 3] = a * xs[first + 3] + ys[first + 3];
    if (first + 4 < vectors)
        ys[first + 4] = a * xs[first + 4] + ys[first + 4];
    if (first + 5 < vectors)
        ys[first + 5] = a * xs[first + 5] + ys[first + 5];
    if (first + 6 < vectors)
        ys[first + 6] = a * xs[first + 6] + ys[first + 6];
    if (first + 7 < vectors)
        ys[first + 7] = a * xs[first + 7] + ys[first + 7];

    const uint rest = vectors * 2 + get_global_id(0);
    if (rest < (uint)N)
        y[rest] = a * x[rest] + y[rest];
}
