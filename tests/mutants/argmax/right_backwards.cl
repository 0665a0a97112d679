/*kernwright {
  "task": "argmax",
  "launches": [
    {"kernel": "argmax", "args": ["R", "C", "x", "y"],
     "local": [9], "groups": ["ceil_div(R,9)"]} ]
} */
/* mutant: family=right expect=ok
 * From the last element to the first. */
kernel void argmax(int R, int C, global const float *x, global int *y)
{
    const int row = get_global_id(0);
    if (row >= R) return;
    int at = C - 1;
    for (int c = C - 2; c >= 0; c--)
        if (x[(size_t)row * C + c] >= x[(size_t)row * C + at]) at = c;
    y[row] = at;
}
