/*kernwright {
  "task": "scan",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [ {"kernel": "scan", "args": ["R", "C", "x", "y"], "local": ["WG"], "groups": ["R"]} ]
} */
/* mutant: family=wrong-stride dims=R=512,C=512
 * Rows of y are R apart instead of C. */
kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void scan(int R, int C, global const float *x, global float *y)
{
    local float sums[2][${WG}];
    const int lid = get_local_id(0);
    global const float *in = x + get_group_id(0) * C;
    global float *out = y + get_group_id(0) * R;
    float carry = 0.0f;
    for (int c0 = 0; c0 < C; c0 += ${WG}) {
        int from = 0;
        sums[0][lid] = c0 + lid < C ? in[c0 + lid] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE); // piece is loaded
        for (int step = 1; step < ${WG}; step *= 2) {
            sums[1 - from][lid] = sums[from][lid] + (lid >= step ? sums[from][lid - step] : 0.0f);
            from = 1 - from;
            barrier(CLK_LOCAL_MEM_FENCE); // step is done
        }
        if (c0 + lid < C)
            out[c0 + lid] = carry + sums[from][lid];
        carry += sums[from][${WG - 1}];
        barrier(CLK_LOCAL_MEM_FENCE); // piece is used up
    }
}
