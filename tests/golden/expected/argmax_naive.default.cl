/* argmax_naive WG=64; T=f32 */
/* Index of the greatest element of row get_group_id(0); of equal ones the first. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void argmax_naive(int C, __global const float *restrict x, __global int *restrict y)
{
    __local float greatest[64];
    __local int place[64];
    const int lane = get_local_id(0);
    const uint row = get_group_id(0) * C;

    /* Where a row is shorter than the group, those without an element say so by C, which is behind all others. */
    float best = -INFINITY;
    int at = lane < C ? lane : C;
    for (int c = lane; c < C; c += 64) {
        const float v = x[row + c];
        if (v > best) {
            best = v;
            at = c;
        }
    }
    greatest[lane] = best;
    place[lane] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 32; reach > 0; reach /= 2) {
        if (lane < reach) {
            const float other = greatest[lane + reach];
            const int other_at = place[lane + reach];
            if (other > greatest[lane] || (other == greatest[lane] && other_at < place[lane])) {
                greatest[lane] = other;
                place[lane] = other_at;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0)
        y[get_group_id(0)] = place[0];
}
