/*kernwright {
  "task": "saxpy",
  "doc": "x comes through local memory or directly; padding exists only where it does.",
  "params": {
    "WG":    {"values": [64, 128], "doc": "work-items per group"},
    "STAGE": {"values": [false, true], "doc": "x through local memory"},
    "PAD":   {"values": [0, 1, 2, 4], "when": "STAGE", "doc": "elements left free after each 32"} },
  "constraints": ["WG <= device.max_work_group_size", "PAD < 4 or WG == 64"],
  "launches": [
    {"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, WG)"]} ]
} */
kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
void saxpy(int N, float a, global const ${T} *x, global ${T} *y)
{
    const int i = get_global_id(0);
//@if STAGE
    local ${T} staged[${WG // 32 * (32 + PAD)}];
    const int at = get_local_id(0) / 32 * ${32 + PAD} + get_local_id(0) % 32;
    staged[at] = i < N ? x[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < N)
        y[i] = a * staged[at] + y[i];
//@else
    if (i < N)
        y[i] = a * x[i] + y[i];
//@end
}
