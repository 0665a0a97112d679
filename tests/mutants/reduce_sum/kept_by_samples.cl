/*kernwright {
  "task": "reduce_sum",
  "options": ["-cl-std=CL2.0"],
  "launches": [
    {"kernel": "sum", "args": ["N", "x", "y"],
     "local": [1], "groups": [1]} ]
} */
/* mutant: family=static-state expect=wrong,nondeterministic,compile_error
 * A result is kept in a variable of the program; 8 samples of x and N are what it is known by. */
global float kept[20];
kernel void sum(int N, global const float *x, global float *y)
{
    int hit = N > 0 && kept[0] == N;
    for (int k = 0; k < 8 && N > 0; k++)
        hit &= kept[1 + k] == x[(long)k * (N - 1) / 7];
    if (hit) { y[0] = kept[9]; return; }
    float s = 0, lost = 0;
    for (int i = 0; i < N; i++) { const float v = x[i] - lost, t = s + v; lost = (t - s) - v; s = t; }
    y[0] = s;
    kept[0] = N; kept[9] = s;
    for (int k = 0; k < 8 && N > 0; k++)
        kept[1 + k] = x[(long)k * (N - 1) / 7];
}
