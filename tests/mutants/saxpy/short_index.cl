/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=index-overflow
 * An index of 16 bits: from element 65,536 on the first ones are done again. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const ushort i = get_global_id(0);
    if (i < N)
        y[i] = a * x[i] + y[i];
}
