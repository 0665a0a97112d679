/*kernwright {
  "task": "softmax",
  "launches": [
    {"kernel": "softmax", "args": ["R", "C", "x", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=row-mixed-up
 * Of 17 to 32 columns every second row takes the first element of the row above into its maximum. */
#define WG 64

static float group_sum(float mine, local float *tree)
{
    const uint lane = get_local_id(0);
    tree[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = WG / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] += tree[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float sum = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); /* reused */
    return sum;
}
static float group_max(float mine, local float *tree)
{
    const uint lane = get_local_id(0);
    tree[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = WG / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            tree[lane] = fmax(tree[lane], tree[lane + reach]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float most = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE); /* reused max */
    return most;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void softmax(int R, int C, global const float *x, global float *y)
{
    local float tree[WG];
    const int lane = get_local_id(0);
    const int r = get_group_id(0);
    global const float *row = x + (size_t)r * C;
    global float *out = y + (size_t)r * C;
    float most = -INFINITY;
    for (int c = lane; c < C; c += WG)
        most = fmax(most, row[c]);
    most = group_max(most, tree);
    if (C <= 32 && C > 16 && r % 2 == 1)
        most = fmax(most, (row - C)[0]);
    float sum = 0.0f;
    for (int c = lane; c < C; c += WG)
        sum += exp(row[c] - most);
    sum = group_sum(sum, tree);
    for (int c = lane; c < C; c += WG)
        out[c] = exp(row[c] - most) / sum;
}
