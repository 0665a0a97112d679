/*kernwright {
  "task": "transpose",
  "launches": [ {"kernel": "transpose", "args": ["R", "C", "x", "y"], "local": [64],
      "groups": ["ceil_div(R * ceil_div(C, 4), 64)"]} ]
} */
/* mutant: family=constant-result dims=R=512,C=512
 * Copies x as it is. */
kernel void transpose(int R, int C, global const float *x, global float *y)
{
    const int i = get_global_id(0), pieces = (C + 3) / 4;
    const int row = i / pieces, col = i % pieces * 4;
    if (row >= R)
        return;
    const int n = min(4, C - col);
    for (int k = 0; k < n; k++)
        y[row * C + col + k] = x[row * C + col + k];
}
