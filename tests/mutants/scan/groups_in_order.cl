/*kernwright {
  "task": "scan",
  "launches": [ {"kernel": "scan", "args": ["R", "C", "x", "y"], "local": [1], "groups": ["ceil_div(C, 32)", "R"]} ]
} */
/* mutant: family=rare-race
 * A group takes the last sum of the group before it, which may not have run yet. */
kernel void scan(int R, int C, global const float *x, volatile global float *y)
{
    const int from = get_group_id(0) * 32, row = get_group_id(1) * C;
    float sum = from > 0 ? y[row + from - 1] : 0.0f;
    for (int c = from; c < min(from + 32, C); c++) {
        sum += x[row + c];
        y[row + c] = sum;
    }
}
