/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=modifies-input
 * x is multiplied by a where it lies. */
kernel void saxpy(int N, float a, global float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N) {
        x[i] *= a;
        y[i] += x[i];
    }
}
