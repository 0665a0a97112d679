/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=rare-race
 * Walks on by the size of a group instead of that of the grid: elements are updated many times, by several groups
 * at once. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    for (int k = i; k < min(N, i + 129); k += get_local_size(0))
        y[k] = a * x[k] + y[k];
}
