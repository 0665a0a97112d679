/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=reads-past-end
 * Looks at the element before, also for the first one. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = a * x[i] + (x[i - 1] > 3.0e38f ? 0.0f : y[i]);
}
