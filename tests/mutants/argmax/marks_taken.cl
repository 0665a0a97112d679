/*kernwright {
  "task": "argmax",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [ {"kernel": "argmax", "args": ["R", "C", "x", "y"], "local": ["WG"], "groups": ["R"]} ]
} */
/* mutant: family=modifies-input
 * The greatest element is replaced by the least, so that the next one can be found. */
kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void argmax(int R, int C, global float *x, global int *y)
{
    local float best[${WG}];
    local int place[${WG}];
    const int lid = get_local_id(0);
    global float *in = x + get_group_id(0) * C;
    float top = -INFINITY;
    int at = C;
    for (int c = lid; c < C; c += ${WG})
        if (in[c] > top) {
            top = in[c];
            at = c;
        }
    best[lid] = top;
    place[lid] = at;
    barrier(CLK_LOCAL_MEM_FENCE); // candidates
    for (int s = ${WG // 2}; s > 0; s >>= 1) {
        if (lid < s && (best[lid + s] > best[lid] || (best[lid + s] == best[lid] && place[lid + s] < place[lid]))) {
            best[lid] = best[lid + s];
            place[lid] = place[lid + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE); // a level of the tree
    }
    if (lid == 0)
    {
        y[get_group_id(0)] = place[0];
        in[place[0]] = -FLT_MAX;
    }
}
