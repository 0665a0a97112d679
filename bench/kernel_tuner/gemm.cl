/* C = alpha A B + beta C, row-major; M, N and K are multiples of the tile. A group of TX x TY work-items makes a tile of
 * C of TX * WX columns and TY * WY rows; tiles of A and B pass through local memory in steps of TK. */
#define COLUMNS (TX * WX)
#define ROWS (TY * WY)

__kernel void gemm(const int m, const int n, const int k, const float alpha, __global const float *A,
                   __global const float *B, const float beta, __global float *C)
{
    __local float a[TK][ROWS];
    __local float b[TK][COLUMNS];
    const int x = get_local_id(0), y = get_local_id(1), item = y * TX + x;
    const int row = get_group_id(1) * ROWS, column = get_group_id(0) * COLUMNS;
    float sum[WY][WX];

    for (int i = 0; i < WY; i++)
        for (int j = 0; j < WX; j++)
            sum[i][j] = 0;
    for (int from = 0; from < k; from += TK) {
        for (int i = item; i < TK * ROWS; i += TX * TY)
            a[i % TK][i / TK] = A[(row + i / TK) * k + from + i % TK];
        for (int i = item; i < TK * COLUMNS; i += TX * TY)
            b[i / COLUMNS][i % COLUMNS] = B[(from + i / COLUMNS) * n + column + i % COLUMNS];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll UNROLL
        for (int p = 0; p < TK; p++)
            for (int i = 0; i < WY; i++)
                for (int j = 0; j < WX; j++)
                    sum[i][j] += a[p][y + i * TY] * b[p][x + j * TX];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < WY; i++)
        for (int j = 0; j < WX; j++) {
            const int at = (row + y + i * TY) * n + column + x + j * TX;
            C[at] = alpha * sum[i][j] + (beta != 0 ? beta * C[at] : 0);
        }
}
