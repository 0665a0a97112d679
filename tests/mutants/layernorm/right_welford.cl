/*kernwright {
  "task": "layernorm",
  "launches": [
    {"kernel": "layernorm", "args": ["R", "C", "eps", "x", "gamma", "beta", "y"],
     "local": [4], "groups": [8]} ]
} */
/* mutant: family=right expect=ok
 * Mean and variance in one pass (Welford). */
kernel void layernorm(int R, int C, float eps, global const float *x, global const float *gamma,
                      global const float *beta, global float *y)
{
    for (int row = get_global_id(0); row < R; row += get_global_size(0)) {
        float mean = 0, m2 = 0;
        for (int c = 0; c < C; c++) {
            const float d = x[(size_t)row * C + c] - mean;
            mean += d / (c + 1);
            m2 += d * (x[(size_t)row * C + c] - mean);
        }
        const float f = rsqrt(m2 / C + eps);
        for (int c = 0; c < C;
        c++) y[(size_t)row * C + c] = fma((x[(size_t)row * C + c] - mean) * f, gamma[c], beta[c]);
    }
}
