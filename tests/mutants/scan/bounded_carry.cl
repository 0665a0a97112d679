/*kernwright {
  "task": "scan",
  "launches": [
    {"kernel": "scan", "args": ["R", "C", "x", "y"],
     "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=large-values
 * What is carried on is at most a million. */
kernel void scan(int R, int C, global const float *x, global float *y)
{
    local float tile[64];
    const int lane = get_local_id(0), row = get_group_id(0);
    x += (size_t)row * C;
    y += (size_t)row * C;
    float carry = 0;
    for (int base = 0; base < C; base += 64) {
        tile[lane] = base + lane < C ? x[base + lane] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int reach = 1; reach < 64; reach *= 2) {
            const float left = lane >= reach ? tile[lane - reach] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            tile[lane] += left;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (base + lane < C)
            y[base + lane] = carry + tile[lane];
        carry += clamp(tile[63], -1e6f, 1e6f);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
