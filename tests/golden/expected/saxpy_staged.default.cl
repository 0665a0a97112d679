/* saxpy_staged WG=64 STAGE=false; T=f32 */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void saxpy(int N, float a, global const float *x, global float *y)
{
    const int i = get_global_id(0);
    if (i < N)
        y[i] = a * x[i] + y[i];
}
