/*kernwright {
  "task": "saxpy",
  "params": {"WG": {"values": [64]}},
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"],
     "local": ["WG"], "groups": ["ceil_div(N, WG)"]} ]
} */
/* mutant: family=exact-tile
 * The last element is lost where N is a multiple of 480. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N - (N % 480 == 0))
        y[i] = a * x[i] + y[i];
}
