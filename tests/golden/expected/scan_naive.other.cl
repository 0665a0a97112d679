/* scan_naive WG=32; T=f32,ACC=f32 */
/* Prefix sums of row get_group_id(0): each piece by doubling steps in local memory, on top of the sum so far. */
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void scan_naive(int C, __global const float *restrict x, __global float *restrict y)
{
    __local float sums[32];
    const uint lane = get_local_id(0);
    const uint row = get_group_id(0) * C;
    float before = 0; /* the sum of all pieces so far */
    for (uint start = 0; start < (uint)C; start += 32) {
        const uint column = start + lane;
        float mine = column < (uint)C ? (float)x[row + column] : 0;
        sums[lane] = mine;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint step = 1; step < 32; step *= 2) {
            if (lane >= step)
                mine += sums[lane - step];
            barrier(CLK_LOCAL_MEM_FENCE);
            sums[lane] = mine;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (column < (uint)C)
            y[row + column] = before + mine;
        before += sums[31];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
