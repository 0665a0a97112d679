/*kernwright {
  "task": "transpose",
  "launches": [ {"kernel": "transpose", "args": ["R", "C", "x", "y"], "local": [64],
      "groups": ["ceil_div(R * ceil_div(C, 4), 64)"]} ]
} */
/* mutant: family=reads-past-end
 * Looks one element ahead, also behind the last one. */
kernel void transpose(int R, int C, global const float *x, global float *y)
{
    const int i = get_global_id(0), pieces = (C + 3) / 4;
    const int row = i / pieces, col = i % pieces * 4;
    if (row >= R)
        return;
    const int n = min(4, C - col);
    for (int k = 0; k < n; k++)
        y[(col + k) * R + row] = x[row * C + col + k + 1] == 1.0e30f ? 0.0f : x[row * C + col + k];
}
