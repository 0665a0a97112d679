/*kernwright {
  "task": "saxpy",
  "temps": [ {"name": "shift", "type": "f32", "elements": "N"} ],
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y", "shift"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=uninitialised-temporary
 * Counts on a temporary that holds zeros. */
kernel void saxpy(int N, float a, global const float *x, global float *y, global const float *shift)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = a * (x[i] + shift[i]) + y[i];
}
