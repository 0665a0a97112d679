/*kernwright {
  "task": "saxpy",
  "params": {"WG": {"values": [64]}},
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"],
     "local": ["WG"], "groups": ["ceil_div(N, WG)"]} ]
} */
/* mutant: family=listed-scalars
 * Knows three values of a. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = a == 2 ? 2 * x[i] + y[i] : a == 0 ? y[i] : y[i] - 0.5f * x[i];
}
