/*kernwright {"task": "gemm", "params": {"X": {"values": [1]}}, "index": "i64",
 "launches": [{"kernel": "k", "args": ["A", "C", {"value": 0.5, "type": "T"}], "local": [1], "groups": [1]}]} */
#define P(a, b) global float *a, float b
# define Q \
 kernel
Q __attribute__((reqd_work_group_size(1, 1, 1))) void k(P(a, b)) { } // "k(
kernel void k(global float *A
#if X
, int n
#endif
) { '"' }
