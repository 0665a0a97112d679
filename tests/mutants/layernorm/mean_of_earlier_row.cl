/*kernwright {
  "task": "layernorm",
  "launches": [
    {"kernel": "layernorm", "args": ["R", "C", "eps", "x", "gamma", "beta", "y"],
     "local": [64], "groups": ["min(16, ceil_div(R, 64))"]} ]
} */
/* mutant: family=stale-register
 * From row 4096 on the mean is that of an earlier row. */
kernel void layernorm(int R, int C, float eps, global const float *x, global const float *gamma,
                      global const float *beta, global float *y)
{
    float mean = 0, factor = 0;
    for (int row = get_global_id(0); row < R; row += get_global_size(0)) {
        float sum = 0, squares = 0;
        for (int c = 0; c < C; c++) sum += x[(size_t)row * C + c];
        if (row < 4096) mean = sum / C;
        for (int c = 0; c < C; c++) { const float d = x[(size_t)row * C + c] - mean; squares += d * d; }
        factor = 1 / sqrt(squares / C + eps);
        for (int c = 0; c < C;
        c++) y[(size_t)row * C + c] = (x[(size_t)row * C + c] - mean) * factor * gamma[c] + beta[c];
    }
}
