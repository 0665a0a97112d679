/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=crash expect=crash,wrong,launch_error
 * An integer division by a cast of a, which is 0 for two of its values. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N && N % (int)a >= 0)
        y[i] = a * x[i] + y[i];
}
