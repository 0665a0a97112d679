/*kernwright {"task": "gemm", "params": {"X": {"values": [1]}},
 "launches": [{"kernel": "k", "args": [], "local": [1], "groups": [1]}]} */
//@for I in 0..10**9
kernel void k(void) { ${I} }
//@end
//@if X
