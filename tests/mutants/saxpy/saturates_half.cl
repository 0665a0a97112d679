/*kernwright {
  "task": "saxpy",
  "params": {"WG": {"values": [64]}},
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"],
     "local": ["WG"], "groups": ["ceil_div(N, WG)"]} ]
} */
/* mutant: family=large-values
 * Results stay within the range of half. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = clamp(a * x[i] + y[i], -65504.0f, 65504.0f);
}
