/* saxpy_vec WG=128 VEC=4 PER=1 BLOCK=false; T=f32 */
/* y = a x + y: 1 vectors of 4 elements per work-item. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void saxpy_vec(int N, float a, __global const float *restrict x, __global float *restrict y)
{
    __global const float4 *xs = (__global const float4 *)x;
    __global float4 *ys = (__global float4 *)y;
    const uint vectors = N / 4;
    const uint first = get_group_id(0) * 128 + get_local_id(0);
    if (first + 0 < vectors)
        ys[first + 0] = a * xs[first + 0] + ys[first + 0];

    const uint rest = vectors * 4 + get_global_id(0);
    if (rest < (uint)N)
        y[rest] = a * x[rest] + y[rest];
}
