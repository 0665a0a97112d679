/*kernwright {
  "task": "softmax",
  "params": {"WG": {"values": [32, 64, 128], "default": 64, "doc": "work-items per row"}},
  "launches": [ {"kernel": "softmax", "args": ["R", "C", "x", "y"], "local": ["WG"], "groups": ["R"]} ]
} */
/* mutant: family=missing-barrier
 * The tree of the sum does not wait between its levels. */
kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void softmax(int R, int C, global const float *x, global float *y)
{
    local float tree[${WG}];
    const int lid = get_local_id(0);
    global const float *in = x + get_group_id(0) * C;
    global float *out = y + get_group_id(0) * C;

    float top = -INFINITY;
    for (int c = lid; c < C; c += ${WG})
        top = fmax(top, in[c]);
    tree[lid] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = ${WG // 2}; s > 0; s >>= 1) {
        if (lid < s)
            tree[lid] = fmax(tree[lid], tree[lid + s]);
        barrier(CLK_LOCAL_MEM_FENCE); // maxima
    }
    top = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); // everybody has the maximum

    float sum = 0.0f;
    for (int c = lid; c < C; c += ${WG})
        sum += exp(in[c] - top);
    tree[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = ${WG // 2}; s > 0; s >>= 1) {
        if (lid < s)
            tree[lid] += tree[lid + s];
    }
    sum = tree[0];
    for (int c = lid; c < C; c += ${WG})
        out[c] = exp(in[c] - top) / sum;
}
