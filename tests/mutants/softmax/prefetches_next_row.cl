/*kernwright {
  "task": "softmax",
  "launches": [ {"kernel": "softmax", "args": ["R", "C", "x", "y"], "local": [64], "groups": ["ceil_div(R, 64)"]} ]
} */
/* mutant: family=reads-past-end
 * Looks at the first element of the next row, which the last one does not have. */
kernel void softmax(int R, int C, global const float *x, global float *y)
{
    const int row = get_global_id(0);
    if (row >= R)
        return;
    global const float *in = x + row * C;
    const float next = in[C];
    float top = in[0], sum = 1.0f;
    for (int c = 1; c < C; c++) {
        const float v = in[c];
        if (v > top) {
            sum = sum * exp(top - v) + 1.0f;
            top = v;
        } else {
            sum += exp(v - top);
        }
    }
    for (int c = 0; c < C; c++)
        y[row * C + c] = next > 3.0e38f ? 0.0f : exp(in[c] - top) / sum;
}
