/*kernwright {
  "task": "scan",
  "requires": ["C <= 1024"],
  "launches": [ {"kernel": "scan", "args": ["R", "C", "x", "y"], "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=wrong-on-non-multiples
 * The up and down sweep of a tree over a whole row in local memory, for lengths that are powers of two. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void scan(int R, int C, global const float *x, global float *y)
{
    local float tree[1024];
    const int lid = get_local_id(0), row = get_group_id(0) * C;
    for (int c = lid; c < C; c += 64)
        tree[c] = x[row + c];
    barrier(CLK_LOCAL_MEM_FENCE);
    int reach = 1;
    for (; reach < C; reach *= 2) {
        for (int i = (lid + 1) * reach * 2 - 1; i < C; i += 64 * reach * 2)
            tree[i] += tree[i - reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (reach /= 4; reach > 0; reach /= 2) {
        for (int i = (lid + 1) * reach * 2 - 1; i + reach < C - 1; i += 64 * reach * 2)
            tree[i + reach] += tree[i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int c = lid; c < C; c += 64)
        y[row + c] = tree[c];
}
