/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=only-target-shape dims=N=1000000
 * The length that it was tuned for is written in. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < 1000000)
        y[i] = a * x[i] + y[i];
}
