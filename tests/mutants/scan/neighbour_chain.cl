/*kernwright {
  "task": "scan",
  "launches": [ {"kernel": "scan", "args": ["R", "C", "x", "y"], "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=rare-race
 * Every work-item adds to the sum of its neighbour on the left, hoping that it is there already: so it is where
 * work-items run in order. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void scan(int R, int C, global const float *x, volatile global float *y)
{
    const int lid = get_local_id(0), row = get_group_id(0) * C;
    for (int c0 = 0; c0 < C; c0 += 64) {
        const int c = c0 + lid;
        if (c < C)
            y[row + c] = x[row + c] + (c > 0 ? y[row + c - 1] : 0.0f);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}
