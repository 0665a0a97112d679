/*kernwright {
  "task": "argmax",
  "launches": [ {"kernel": "argmax", "args": ["R", "C", "x", "y"], "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=rare-race
 * Work-items update one maximum in local memory, each as if it were alone. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void argmax(int R, int C, global const float *x, global int *y)
{
    local float best;
    local int place;
    const int lid = get_local_id(0), row = get_group_id(0) * C;
    float top = -INFINITY;
    int at = C;
    for (int c = lid; c < C; c += 64)
        if (x[row + c] > top) {
            top = x[row + c];
            at = c;
        }
    if (lid == 0) {
        best = top;
        place = at;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (top > best || (top == best && at < place)) {
        best = top;
        place = at;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        y[get_group_id(0)] = place;
}
