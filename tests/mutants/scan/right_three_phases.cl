/*kernwright {
  "task": "scan",
  "temps": [{"name": "sums", "type": "f32", "elements": "R * ceil_div(C, 50)"}],
  "launches": [
    {"kernel": "part", "args": ["R", "C", "x", "sums"],
     "local": [16, 1], "groups": ["ceil_div(C,800)", "R"]},
    {"kernel": "write", "args": ["R", "C", "x", "sums", "y"],
     "local": [16, 1], "groups": ["ceil_div(C,800)", "R"]} ]
} */
/* mutant: family=right expect=ok
 * Sums of blocks of 50 first, then every block. */
kernel void part(int R, int C, global const float *x, global float *sums)
{
    const int row = get_group_id(1), b = get_global_id(0);
    float s = 0;
    for (int c = b * 50; c < min(C, b * 50 + 50); c++) s += x[(size_t)row * C + c];
    if (b * 50 < C) sums[row * ((C + 49) / 50) + b] = s;
}
kernel void write(int R, int C, global const float *x, global const float *sums, global float *y)
{
    const int row = get_group_id(1), b = get_global_id(0);
    if (b * 50 >= C) return;
    float s = 0;
    for (int k = 0; k < b; k++) s += sums[row * ((C + 49) / 50) + k];
    for (int c = b * 50; c < min(C, b * 50 + 50); c++) { s += x[(size_t)row * C + c]; y[(size_t)row * C + c] = s; }
}
