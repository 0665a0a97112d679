/*kernwright {
  "task": "reduce_sum",
  "launches": [
    {"kernel": "sum", "args": ["N", "x", "y"],
     "local": [1], "groups": [1]} ]
} */
/* mutant: family=right expect=ok
 * A sum over a vector of 16 by halves. */
kernel void sum(int N, global const float *x, global float *y)
{
    float16 s = 0;
    int i = 0;
    for (; i + 16 <= N; i += 16) s += vload16(0, x + i);
    float8 a = s.lo + s.hi; float4 b = a.lo + a.hi; float2 c = b.lo + b.hi;
    float t = 0;
    for (int k = N - 1; k >= i; k--) t += x[k];
    y[0] = (c.x + c.y) + t;
}
