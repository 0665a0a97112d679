/*kernwright {
  "task": "scan",
  "launches": [ {"kernel": "scan", "args": ["R", "C", "x", "y"], "local": [1], "groups": ["R"]} ]
} */
/* mutant: family=catastrophic-cancellation
 * Every sum is the total less all that follows: exact for few digits only. */
kernel void scan(int R, int C, global const float *x, global float *y)
{
    const int row = get_group_id(0) * C;
    float total = 0.0f;
    for (int c = 0; c < C; c++)
        total += x[row + c];
    for (int c = C - 1; c >= 0; c--) {
        y[row + c] = total;
        total -= x[row + c];
    }
}
