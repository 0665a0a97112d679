/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=crash expect=crash,wrong,timeout,launch_error,compile_error,does_not_fit
 * An array of 64 MiB for every work-item. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    float spare[1 << 24];
    for (int k = 0; k < 1 << 24; k += 4096)
        spare[k] = a * (float)(k + i);
    if (i < N)
        y[i] = a * x[i] + y[i] + spare[(N & 1) * 4096] * 0.0f;
}
