/* softmax_online WG=128 VEC=1 PER=2 NATIVE=false; T=f32,ACC=f32 */
/* Softmax of row get_group_id(0). */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void softmax_online(int C, __global const float *restrict x, __global float *restrict y)
{
    __local float maxima[128], sums[128];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    /* The sum is that of exp(x - greatest) over what this work-item has seen. It begins with a finite number, so that
     * elements of -INFINITY (masked ones) add nothing rather than NaN. */
    float greatest = -FLT_MAX, sum = 0;
    for (uint c = lane * 1; c < (uint)C; c += 256) {
        float greater = greatest;
        float v0 = -INFINITY;
            v0 = *(__global const float *)(x + row + c + 0);
        float v1 = -INFINITY;
        if (c + 128 < (uint)C)
            v1 = *(__global const float *)(x + row + c + 128);
        greater = fmax(greater, v0);
        greater = fmax(greater, v1);
        sum *= exp(greatest - greater);
        greatest = greater;
        v0 = exp(v0 - greatest);
        sum += v0;
        v1 = exp(v1 - greatest);
        sum += v1;
    }

    maxima[lane] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 64; reach > 0; reach /= 2) {
        if (lane < reach)
            maxima[lane] = fmax(maxima[lane], maxima[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums[lane] = sum * exp(greatest - maxima[0]); /* 0 of a work-item that has seen nothing */
    greatest = maxima[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 64; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const float factor = 1 / sums[0];
    for (uint c = lane * 1; c < (uint)C; c += 128) {
        const float v = *(__global const float *)(x + row + c);
        *(__global float *)(y + row + c) = exp(v - greatest) * factor;
    }
}
