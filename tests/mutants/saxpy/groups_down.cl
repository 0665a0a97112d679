/*kernwright {
  "task": "saxpy",
  "launches": [
    {"kernel": "f", "args": ["N", "a", "x", "y"],
     "local": [64], "groups": ["N // 64 if N > 100000 else ceil_div(N,64)"]} ]
} */
/* mutant: family=non-multiples
 * One group too few where N is no multiple of 64 and more than 100000. */
kernel __attribute__((reqd_work_group_size(64,1,1)))
void f(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = a * x[i] + y[i];
}
