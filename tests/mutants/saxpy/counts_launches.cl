/*kernwright {
  "task": "saxpy",
  "options": ["-cl-std=CL2.0"],
  "params": {"WG": {"values": [64]}},
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"],
     "local": ["WG"], "groups": ["ceil_div(N, WG)"]} ]
} */
/* mutant: family=static-state expect=wrong,nondeterministic,compile_error
 * Counts its launches; after 200 the last element is lost. */
global int runs = 0;
kernel void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i == 0) atomic_inc(&runs);
    if (i < N - (runs > 200 && i > 64))
        y[i] = a * x[i] + y[i];
}
