/* scale_add WG=256 WIDTH=1; T=f32 */
#define WG 256
#define WIDTH 1
#define REAL float
#define REAL2 float2
#define REAL4 float4
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
