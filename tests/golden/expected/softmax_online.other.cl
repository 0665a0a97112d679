/* softmax_online WG=256 VEC=4 PER=4 NATIVE=false; T=f32,ACC=f32 */
/* Softmax of row get_group_id(0). */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void softmax_online(int C, __global const float *restrict x, __global float *restrict y)
{
    __local float maxima[256], sums[256];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    /* The sum is that of exp(x - greatest) over what this work-item has seen. It begins with a finite number, so that
     * elements of -INFINITY (masked ones) add nothing rather than NaN. */
    float greatest = -FLT_MAX, sum = 0;
    for (uint c = lane * 4; c < (uint)C; c += 4096) {
        float greater = greatest;
        float4 v0 = -INFINITY;
            v0 = *(__global const float4 *)(x + row + c + 0);
        float4 v1 = -INFINITY;
        if (c + 1024 < (uint)C)
            v1 = *(__global const float4 *)(x + row + c + 1024);
        float4 v2 = -INFINITY;
        if (c + 2048 < (uint)C)
            v2 = *(__global const float4 *)(x + row + c + 2048);
        float4 v3 = -INFINITY;
        if (c + 3072 < (uint)C)
            v3 = *(__global const float4 *)(x + row + c + 3072);
        greater = fmax(greater, v0.s0);
        greater = fmax(greater, v0.s1);
        greater = fmax(greater, v0.s2);
        greater = fmax(greater, v0.s3);
        greater = fmax(greater, v1.s0);
        greater = fmax(greater, v1.s1);
        greater = fmax(greater, v1.s2);
        greater = fmax(greater, v1.s3);
        greater = fmax(greater, v2.s0);
        greater = fmax(greater, v2.s1);
        greater = fmax(greater, v2.s2);
        greater = fmax(greater, v2.s3);
        greater = fmax(greater, v3.s0);
        greater = fmax(greater, v3.s1);
        greater = fmax(greater, v3.s2);
        greater = fmax(greater, v3.s3);
        sum *= exp(greatest - greater);
        greatest = greater;
        v0 = exp(v0 - greatest);
        sum += (v0.s0 + v0.s1) + (v0.s2 + v0.s3);
        v1 = exp(v1 - greatest);
        sum += (v1.s0 + v1.s1) + (v1.s2 + v1.s3);
        v2 = exp(v2 - greatest);
        sum += (v2.s0 + v2.s1) + (v2.s2 + v2.s3);
        v3 = exp(v3 - greatest);
        sum += (v3.s0 + v3.s1) + (v3.s2 + v3.s3);
    }

    maxima[lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 128; reach > 0; reach /= 2) {
        if (lane < reach)
            maxima[lane] = fmax(maxima[lane], maxima[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums[lane] = sum * exp(greatest - maxima[0]); /* 0 of a work-item that has seen nothing */
    greatest = maxima[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 128; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const float factor = 1 / sums[0];
    for (uint c = lane * 4; c < (uint)C; c += 1024) {
        const float4 v = *(__global const float4 *)(x + row + c);
        *(__global float4 *)(y + row + c) = exp(v - greatest) * factor;
    }
}
