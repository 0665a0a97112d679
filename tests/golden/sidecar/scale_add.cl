/* Somebody's own kernel: tuned through the sidecar beside it, never changed. */
#ifndef WIDTH
#define WIDTH 4
#endif
#if WIDTH == 1
typedef REAL vec_t;
#elif WIDTH == 2
typedef REAL2 vec_t;
#else
typedef REAL4 vec_t;
#endif

__kernel void scale_add(const int n, const REAL a, __global const vec_t* x, __global vec_t* y)
{
  const int i = get_global_id(0);   // ${not a template}
  if (i < n) y[i] = a * x[i] + y[i];
}
