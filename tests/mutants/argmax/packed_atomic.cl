/*kernwright {
  "task": "argmax",
  "requires": ["C <= 4096"],
  "launches": [ {"kernel": "argmax", "args": ["R", "C", "x", "y"], "local": [64], "groups": ["R"]} ]
} */
/* mutant: family=wrong-tie-breaking
 * Value and column are packed into one number for an atomic maximum; 20 bits are left of the value. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void argmax(int R, int C, global const float *x, global int *y)
{
    local uint best;
    const int lid = get_local_id(0), row = get_group_id(0) * C;
    if (lid == 0)
        best = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = lid; c < C; c += 64) {
        uint key = as_uint(x[row + c]);
        key ^= key >> 31 ? 0xffffffffu : 0x80000000u;
        atomic_max(&best, (key & 0xfffff000u) | (uint)(4095 - c));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        y[get_group_id(0)] = 4095 - (int)(best & 0xfffu);
}
