/* saxpy_staged WG=64 STAGE=true PAD=2; T=f32 */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    local float staged[68];
    const int at = get_local_id(0) / 32 * 34 + get_local_id(0) % 32;
    staged[at] = i < N ? x[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < N)
        y[i] = a * staged[at] + y[i];
}
