/*kernwright {
  "task": "saxpy",
  "params": {"WG": {"values": [64]}},
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"],
     "local": ["WG"], "groups": ["ceil_div(N, WG)"]} ]
} */
/* mutant: family=size-2k
 * The last element is lost of more than three million. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < (N > 3000000 ? N - 1 : N))
        y[i] = a * x[i] + y[i];
}
