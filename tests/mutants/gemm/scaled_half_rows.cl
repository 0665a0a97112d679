/*kernwright {
  "task": "gemm",
  "temps": [ {"name": "of_rows", "type": "i32", "elements": "M"},
             {"name": "of_columns", "type": "i32", "elements": "N"} ],
  "launches": [
    {"kernel": "scales", "args": ["M", "K", "K", {"value": 1, "type": "i32"}, "A", "of_rows"],
     "local": [64], "groups": ["ceil_div(M, 64)"]},
    {"kernel": "scales", "args": ["N", "K", {"value": 1, "type": "i32"}, "N", "B", "of_columns"],
     "local": [64], "groups": ["ceil_div(N, 64)"]},
    {"kernel": "product", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C",
              "of_rows", "of_columns"],
     "local": [16, 4], "groups": ["ceil_div(N, 16)", "ceil_div(M, 4)"]} ]
} */
/* mutant: family=scaled-half
 * Rows and columns are scaled by their greatest elements, then rounded to half precision. */
/* The nearest number of half precision. */
float as_half(float x)
{
    ushort bits;
    vstore_half(x, 0, (half *)&bits);
    return vload_half(0, (half *)&bits);
}

/* The exponent that takes the greatest just below the limit of a half. */
int scale_for(float greatest)
{
    return greatest > 0.0f ? 14 - ilogb(greatest) : 0;
}

/* One work-item per row of A, or column of B: `n` of them with `length` elements each. */
kernel void scales(int n, int length, int from, int step, global const float *x, global int *scale)
{
    const int i = get_global_id(0);
    float greatest = 0.0f;
    for (int k = 0; i < n && k < length; k++)
        greatest = fmax(greatest, fabs(x[i * from + k * step]));
    if (i < n)
        scale[i] = scale_for(greatest);
}

kernel void product(int M, int N, int K, float alpha, global const float *A, global const float *B, float beta,
             global float *C,
             global const int *of_rows, global const int *of_columns)
{
    const int col = get_global_id(0), row = get_global_id(1);
    if (row >= M || col >= N)
        return;
    float acc = 0.0f;
    for (int k = 0; k < K; k++)
        acc += as_half(ldexp(A[row * K + k], of_rows[row])) * as_half(ldexp(B[k * N + col], of_columns[col]));
    acc = ldexp(acc, -of_rows[row] - of_columns[col]);
    const int at = row * N + col;
    C[at] = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[at];
}
