/*kernwright {
  "task": "argmax",
  "launches": [
    {"kernel": "argmax", "args": ["R", "C", "x", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=one-tile
 * Rows of C % 256 == 1 leave out the last column. */
#define WG 64
kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void argmax(int R, int C, global const float *x, global int *y)
{
    local float greatest[WG];
    local int place[WG];
    const int lane = get_local_id(0), r = get_group_id(0);
    global const float *row = x + (size_t)r * C;
    float best = -INFINITY;
    int at = lane < C ? lane : C;
    for (int c = lane; c < (C % 256 == 1 && C > 256 ? C - 1 : C); c += WG) {
        const float v = row[c];
        if (v > best) {
            best = v;
            at = c;
        }
    }
    greatest[lane] = best;
    place[lane] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = WG / 2; reach > 0; reach /= 2) {
        if (lane < reach) {
            const float other = greatest[lane + reach];
            const int other_at = place[lane + reach];
            if (other > greatest[lane] || (other == greatest[lane] && other_at < place[lane])) {
                greatest[lane] = other;
                place[lane] = other_at;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0)
        y[r] = place[0];
}
