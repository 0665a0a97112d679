/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=constant-result
 * Writes x. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = x[i];
}
