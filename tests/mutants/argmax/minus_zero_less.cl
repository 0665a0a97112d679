/*kernwright {
  "task": "argmax",
  "launches": [
    {"kernel": "argmax", "args": ["R", "C", "x", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=signed-zero
 * The order of bits: -0 is less than 0. */
kernel void argmax(int R, int C, global const float *x, global int *y)
{
    local float most[64];
    local int where[64];
    const int lane = get_local_id(0), row = get_group_id(0);
    x += (size_t)row * C;
    float m = -INFINITY;
    int at = C;
    for (int c = lane; c < C; c += 64)
        if ((as_int(x[c]) ^ (as_int(x[c]) >> 31 & 0x7fffffff)) > (as_int(m) ^ (as_int(m) >> 31 & 0x7fffffff))
            || at == C) {
            m = x[c];
            at = c;
        }
    most[lane] = m;
    where[lane] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 32; reach > 0; reach /= 2) {
        if (lane < reach) {
            const float o = most[lane + reach];
            const int p = where[lane + reach];
            if (o > most[lane] || (o == most[lane] && p < where[lane])) {
                most[lane] = o;
                where[lane] = p;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0)
        y[row] = where[0];
}
