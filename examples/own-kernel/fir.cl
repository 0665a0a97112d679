/* y[i] = sum over k = 0 .. 2r of w[k] x[i + k - r]; outside of 0 .. n-1 x counts as 0.
 *
 * A group makes WG * ITEMS elements of y. With USE_LOCAL it first copies what it needs of x to local memory.
 * Compile with -DWG=..., -DITEMS=..., -DUSE_LOCAL=... */
#ifndef WG
#define WG 64 /* work-items per group */
#endif
#ifndef ITEMS
#define ITEMS 1 /* elements of y per work-item */
#endif
#ifndef USE_LOCAL
#define USE_LOCAL 0
#endif

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void fir(__global const float *restrict x, __global const float *restrict w, __global float *restrict y, int n, int r,
         __local float *tile)
{
    const int lane = get_local_id(0), first = get_group_id(0) * (WG * ITEMS);
#if USE_LOCAL
    for (int j = lane; j < WG * ITEMS + 2 * r; j += WG) {
        const int at = first + j - r;
        tile[j] = at >= 0 && at < n ? x[at] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int item = 0; item < ITEMS; item++) {
        const int j = item * WG + lane, i = first + j;
        if (i >= n)
            break;
        float sum = 0.0f;
#if USE_LOCAL
        for (int k = 0; k <= 2 * r; k++)
            sum += w[k] * tile[j + k];
#else
        for (int k = max(0, r - i); k <= min(2 * r, n - 1 + r - i); k++)
            sum += w[k] * x[i + k - r];
#endif
        y[i] = sum;
    }
}
