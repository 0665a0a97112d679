/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["max(1, N // 64)"]} ]
} */
/* mutant: family=skips-last-step
 * The number of groups is rounded down. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = a * x[i] + y[i];
}
