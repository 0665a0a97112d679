/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=half-precision
 * The product is rounded to half precision. */
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N) {
        ushort bits;
        vstore_half(a * x[i], 0, (half *)&bits);
        y[i] = vload_half(0, (half *)&bits) + y[i];
    }
}
