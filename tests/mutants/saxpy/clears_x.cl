/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=modifies-input
 * The last element of x serves as a flag that the work is done. */
kernel void saxpy(int N, float a, global float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = a * x[i] + y[i];
    if (i == N - 1)
        x[i] = 0.0f;
}
