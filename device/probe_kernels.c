/* The kernels of the roofline probe. Nothing that they compute is of interest, but all of it is used, so that a
 * compiler cannot leave it out: sums are compared with a number that does not occur, repetitions read other places or
 * write to places that depend on an argument. */
#include "device/probe_internal.h"

/* clang-format off */

/* probe_copy, probe_read and probe_write: a 16-byte word (eight of them) per work-item, neighbours side by side.
 * The chunk kernels suit CPUs: every work-item goes through a part of its own with wide vectors, `steps` times, each
 * time from a place a little further on. The cache kernels suit GPUs: work-items wander over a small buffer, away from
 * the first-level cache of their compute unit; `slots` is 1. */
const char probe_memory_source[] =
    "//fake: time_ns=1 ns_per_step=0.0003 noise=0.5\n"
    "kernel void probe_empty(int x)\n"
    "{\n"
    "}\n"
    "kernel void probe_copy(global const float4 *restrict from, global float4 *restrict to)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = from[i];\n"
    "}\n"
    "kernel void probe_read(global const float4 *restrict from, global float4 *restrict to, float never)\n"
    "{\n"
    "    size_t n = get_local_size(0), i = get_group_id(0) * n * 8 + get_local_id(0);\n"
    "    float4 a = from[i], b = from[i + n], c = from[i + 2 * n], d = from[i + 3 * n];\n"
    "    float4 e = from[i + 4 * n], f = from[i + 5 * n], g = from[i + 6 * n], h = from[i + 7 * n];\n"
    "    float4 sum = ((a + b) + (c + d)) + ((e + f) + (g + h));\n"
    "    if (sum.x + sum.y + sum.z + sum.w == never)\n"
    "        to[i] = sum;\n"
    "}\n"
    "kernel void probe_write(global float4 *restrict to, float x)\n"
    "{\n"
    "    to[get_global_id(0)] = (float4)(x);\n"
    "}\n"
    "kernel void probe_chunk_copy(global const float16 *restrict from, global float16 *restrict to, int span,\n"
    "                             int steps)\n"
    "{\n"
    "    size_t base = get_global_id(0) * (size_t)span;\n"
    "    global float16 *t = to + base;\n"
    "    for (int s = 0; s < steps; s++) {\n"
    "        global const float16 *f = from + base + (s & 3);\n"
    "        for (int i = 0; i < span; i++)\n"
    "            t[i] = f[i];\n"
    "    }\n"
    "}\n"
    "kernel void probe_chunk_read(global const float16 *restrict from, global float16 *restrict to, float never,\n"
    "                             int span, int steps)\n"
    "{\n"
    "    size_t base = get_global_id(0) * (size_t)span;\n"
    "    float16 a = 0, b = 0, c = 0, d = 0;\n"
    "    for (int s = 0; s < steps; s++) {\n"
    "        global const float16 *f = from + base + (s & 3);\n"
    "        for (int i = 0; i < span; i += 4) {\n"
    "            a += f[i];\n"
    "            b += f[i + 1];\n"
    "            c += f[i + 2];\n"
    "            d += f[i + 3];\n"
    "        }\n"
    "    }\n"
    "    float16 sum = (a + b) + (c + d);\n"
    "    float8 half_sum = sum.lo + sum.hi;\n"
    "    float4 quarter = half_sum.lo + half_sum.hi;\n"
    "    if (quarter.x + quarter.y + quarter.z + quarter.w == never)\n"
    "        to[base] = sum;\n"
    "}\n"
    "kernel void probe_cache_copy(global const float4 *restrict from, global float4 *restrict to, int mask,\n"
    "                             int slots, int steps)\n"
    "{\n"
    "    uint i = get_global_id(0), n = get_global_size(0), p = i, k = 0;\n"
    "    for (int s = 0; s < steps; s++) {\n"
    "        float4 a = from[p & mask], b = from[(p + 9472) & mask];\n"
    "        float4 c = from[(p + 18944) & mask], d = from[(p + 28416) & mask];\n"
    "        to[i + (k & slots) * n] = a;\n"
    "        to[i + ((k + 1) & slots) * n] = b;\n"
    "        to[i + ((k + 2) & slots) * n] = c;\n"
    "        to[i + ((k + 3) & slots) * n] = d;\n"
    "        p += 37888;\n"
    "        k += 4;\n"
    "    }\n"
    "}\n"
    "kernel void probe_cache_read(global const float4 *restrict from, global float4 *restrict to, int mask,\n"
    "                             float never, int steps)\n"
    "{\n"
    "    uint i = get_global_id(0), p = i;\n"
    "    float4 a = 0, b = 0, c = 0, d = 0;\n"
    "    for (int s = 0; s < steps; s++) {\n"
    "        a += from[p & mask];\n"
    "        b += from[(p + 9472) & mask];\n"
    "        c += from[(p + 18944) & mask];\n"
    "        d += from[(p + 28416) & mask];\n"
    "        p += 37888;\n"
    "    }\n"
    "    float4 sum = (a + b) + (c + d);\n"
    "    if (sum.x + sum.y + sum.z + sum.w == never)\n"
    "        to[i] = sum;\n"
    "}\n";

/* Eight sums of vectors hide the latency of a multiply-add; eight additions to each per step make the loop's own cost
 * small. Each adds a multiple of the next one, so that no product stays the same; the factor is so small that rounding
 * leaves all as they are. The same three times, since it depends on driver and device which is one instruction: an
 * expression that may be contracted, mad() and fma(). */
#define FMA_KERNEL(name, expression) \
    "#define FMA(x, y) x = " expression ";\n" \
    "kernel void " name "(global VEC *out, float factor, int steps)\n" \
    "{\n" \
    "    size_t i = get_global_id(0);\n" \
    "    VEC a = (VEC)((REAL)factor);\n" \
    "    VEC x0 = (VEC)((REAL)(float)(i & 15)), x1 = x0 + 1, x2 = x1 + 1, x3 = x2 + 1;\n" \
    "    VEC x4 = x3 + 1, x5 = x4 + 1, x6 = x5 + 1, x7 = x6 + 1;\n" \
    "    for (int s = 0; s < steps; s++) {\n" \
    "        ALL ALL ALL ALL ALL ALL ALL ALL\n" \
    "    }\n" \
    "    out[i] = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));\n" \
    "}\n" \
    "#undef FMA\n"

const char probe_compute_source[] =
    "//fake: time_ns=1 ns_per_step=0.0005 noise=0.5\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#endif\n"
    "#ifdef cl_khr_fp16\n"
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#endif\n"
    "#define ALL FMA(x0, x1) FMA(x1, x2) FMA(x2, x3) FMA(x3, x4) FMA(x4, x5) FMA(x5, x6) FMA(x6, x7) FMA(x7, x0)\n"
    FMA_KERNEL("probe_fma_plain", "a * y + x")
    "#ifndef PLAIN\n"
    FMA_KERNEL("probe_fma_mad", "mad(a, y, x)")
    FMA_KERNEL("probe_fma_fma", "fma(a, y, x)")
    "#endif\n";

/* Neighbours read neighbouring vectors, eight per step, one further on in every step. */
const char probe_local_source[] =
    "//fake: time_ns=1 ns_per_step=0.0001 noise=0.5\n"
    "kernel void probe_local(global VEC *out, float value, int steps)\n"
    "{\n"
    "    local VEC tile[MASK + 1 + 8 * STRIDE];\n"
    "    int p = get_local_id(0);\n"
    "    for (int i = p; i < MASK + 1 + 8 * STRIDE; i += GROUP)\n"
    "        tile[i] = (VEC)(value + i);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    VEC a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;\n"
    "    for (int s = 0; s < steps; s++) {\n"
    "        a += tile[p];\n"
    "        b += tile[p + STRIDE];\n"
    "        c += tile[p + 2 * STRIDE];\n"
    "        d += tile[p + 3 * STRIDE];\n"
    "        e += tile[p + 4 * STRIDE];\n"
    "        f += tile[p + 5 * STRIDE];\n"
    "        g += tile[p + 6 * STRIDE];\n"
    "        h += tile[p + 7 * STRIDE];\n"
    "        p = (p + 1) & MASK;\n"
    "    }\n"
    "    out[get_global_id(0)] = ((a + b) + (c + d)) + ((e + f) + (g + h));\n"
    "}\n";
