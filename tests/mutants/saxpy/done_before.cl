/*kernwright {
  "task": "saxpy",
  "temps": [ {"name": "done", "type": "i32", "elements": "ceil_div(N, 64)"} ],
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y", "done"], "local": [64], "groups": ["ceil_div(N, 64)"]} ]
} */
/* mutant: family=result-cached
 * Groups that have run once say so in a temporary, and do nothing from then on. */
kernel void saxpy(int N, float a, global const float *x, global float *y, global int *done)
{
    const int i = get_global_id(0);
    if (done[get_group_id(0)] == N)
        return;
    if (i < N)
        y[i] = a * x[i] + y[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        done[get_group_id(0)] = N;
}
