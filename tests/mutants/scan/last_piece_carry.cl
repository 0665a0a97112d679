/*kernwright {
  "task": "scan",
  "launches": [
    {"kernel": "scan", "args": ["R", "C", "x", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=one-tile
 * The last piece of rows with C % 64 in 3 takes the carry without the sum of the piece before, R even. */
#define WG 64
kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan(int R, int C, global const float *x, global float *y)
{
    local float sums[WG];
    const int lane = get_local_id(0), r = get_group_id(0);
    global const float *row = x + (size_t)r * C;
    global float *out = y + (size_t)r * C;
    float before = 0.0f;
    for (int start = 0; start < C; start += WG) {
        const int c = start + lane;
        float mine = c < C ? row[c] : 0.0f;
        sums[lane] = mine;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 1; step < WG; step *= 2) {
            if (lane >= step)
                mine += sums[lane - step];
            barrier(CLK_LOCAL_MEM_FENCE); /* read */
            sums[lane] = mine;
            barrier(CLK_LOCAL_MEM_FENCE); /* written */
        }
        if (C % 64 == 3 && R % 2 == 0 && start + WG >= C && start > 0)
            before -= row[start - 1];
        if (c < C)
            out[c] = before + mine;
        before += sums[WG - 1];
        barrier(CLK_LOCAL_MEM_FENCE); /* next */
    }
}
