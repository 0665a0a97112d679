/*kernwright {"task": "gemm", "language": "opencl",
 "params": {"TM": {"values": [16, 32], "default": 32}, "SPEC": {"values": [true, false]}, "S": {"values": ["a", "b"]},
  "R": {"values": "range(1, 5)"}},
 "constraints": ["TM*TM <= device.max_work_group_size", {"expr": "TM % R == 0", "why": "x"}],
 "requires": ["M % TM == 0 or K > 3"], "specialize": {"K": "SPEC"}, "options": ["-DX=${TM}"], "defines": {"Q": 1, "T4": "${vec(T, 4)}"},
 "temps": [{"name": "part", "type": "ACC", "elements": "M * N", "when": "TM > 16"}],
 "launches": [{"kernel": "k", "args": ["M", "alpha", "A", "part", {"local": "TM * 4"}, {"expr": "K // 2", "type": "i32"}],
   "when": "K > 0", "local": ["TM", 2], "groups": ["ceil_div(M, TM)", "N"]}]} */
//@let A2 = TM * 2
//@require A2 > 1 "positive"
kernel void k(int M, float a, global const ${T} *A, global ${ACC} *p, local float *l, int k2)
{
//@for I in 0..TM step 4
//@if I % 8 == 0 and SPEC
    x[${I}] = ${lit(T, 0.5)} * $${K} + ${K};
//@elif I == 4
    /* ${S} */
//@else
//@for J in 0..2
    y(${I + J}, ${sizeof(T)});
//@end
//@end
//@end
}
