/*kernwright {
  "task": "softmax",
  "launches": [
    {"kernel": "softmax", "args": ["R", "C", "x", "y"],
     "local": [7], "groups": ["ceil_div(R,7)"]} ]
} */
/* mutant: family=right expect=ok
 * One work-item per row, maximum and sum in one pass, powers of two. */
kernel void softmax(int R, int C, global const float *x, global float *y)
{
    const int row = get_global_id(0);
    if (row >= R) return;
    x += (size_t)row * C; y += (size_t)row * C;
    float m = -FLT_MAX, s = 0;
    for (int c = 0; c < C; c++) {
        const float n = fmax(m, x[c]);
        s = fma(s, exp2((m - n) * M_LOG2E_F), exp2((x[c] - n) * M_LOG2E_F));
        m = n;
    }
    const float f = 1 / s;
    for (int c = C - 1; c >= 0; c--) y[c] = exp2((x[c] - m) * M_LOG2E_F) * f;
}
