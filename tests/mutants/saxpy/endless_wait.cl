/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=infinite-loop expect=timeout
 * Waits for a flag in y that nobody sets. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = a * x[i] + y[i];
    volatile global float *flag = y;
    while (i == 0 && flag[0] != 1.0e30f)
        continue;
}
