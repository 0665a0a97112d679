/*kernwright {
  "task": "layernorm", "language": "opencl",
  "doc": "ROWS rows per group, held in registers and, by cp.async, in local memory; moments merged in one pass with one barrier; gamma and beta serve all rows. NVIDIA sm_80 and later (inline PTX). Evolved: generate-000018 of tests/recorded/layernorm, from generate-000013, generate-000004, layernorm_naive.",
  "params": {
    "WG": {"values": [64, 128, 256, 512], "default": 128, "doc": "work-items per group"},
    "ROWS": {"values": [1, 2, 4], "default": 1, "doc": "rows per group; gamma and beta are loaded once for all"},
    "TILE": {"values": [0, 5, 8, 11], "default": 0, "doc": "float4 per work-item held in local memory, at most"},
    "MAXREG": {"values": [64, 128, 255], "default": 64, "doc": "registers per work-item, at most"},
    "EARLY": {"values": [0, 1, 2, 4], "default": 1, "doc": "float4 of gamma and beta per work-item asked for before the sums"},
    "STREAM": {"values": [false, true], "default": true, "doc": "y is evicted first"},
    "SPECC": {"values": [false, true], "default": true, "doc": "C as a constant"} },
  "constraints": [
    "WG <= device.max_work_group_size",
    "device.preferred_multiple == 32",
    {"expr": "SPECC", "why": "the number of registers is derived from C"},
    {"expr": "MAXREG * WG <= 65536", "why": "a group fits the register file"},
    {"expr": "16 * WG * TILE + 512 <= device.local_mem_bytes", "why": "the tile in local memory"} ],
  "requires": [
    "C % 4 == 0",
    {"expr": "ROWS == 1 or R >= ROWS", "why": "more rows than there are"},
    {"expr": "4 * (ROWS * ceil_div(C, 4 * WG) - min(TILE, ROWS * ceil_div(C, 4 * WG))) + 8 * min(EARLY, ceil_div(C, 4 * WG)) + 20 <= MAXREG", "why": "what is not in the tile fits the registers"},
    {"expr": "MAXREG == 64 or 4 * (ROWS * ceil_div(C, 4 * WG) - min(TILE, ROWS * ceil_div(C, 4 * WG))) + 40 > MAXREG // 2", "why": "no larger limit than is of use"} ],
  "specialize": {"C": "SPECC"},
  "options": ["-cl-nv-maxrregcount=${MAXREG}"],
  "launches": [
    {"kernel": "layernorm_shared", "args": ["R", "C", "eps", "x", "gamma", "beta", "y"], "local": ["WG"], "groups": ["ceil_div(R, ROWS)"]} ]
} */
//@let N4 = C // 4
//@let CH4 = N4
//@let SLOTS = ceil_div(CH4, WG)
//@let PRE = min(TILE, ROWS * SLOTS)
//@let WARPS = WG // 32
//@let FULL = CH4 // WG
//@let REST = CH4 % WG
float from_lane(float v, int mask)
{
    float other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(other) : "f"(v), "r"(mask));
    return other;
}

float warp_sum(float v)
{
//@for P in 0..5
    v += from_lane(v, ${2**(4 - P)});
//@end
    return v;
}

float add4(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

float4 get(__global const float4 *p)
{
    float a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(p));
    return (float4)(a, b, c, d);
}

float4 keep(__global const float4 *p)
{
    float a, b, c, d;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(p));
    return (float4)(a, b, c, d);
}

void put(__global float4 *p, float4 v)
{
//@if STREAM
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 : : "l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
//@else
    *p = v;
//@end
}

/* How many elements warp w of a group holds. */
float held(int w)
{
    return (float)(${128 * FULL} + 4 * clamp(${REST} - 32 * w, 0, 32));
}

/* A required size makes the compiler choose registers by itself: it is left out where the option is to count. */
//@if WG > 256 or MAXREG * WG > 32768
__kernel __attribute__((reqd_work_group_size(${WG}, 1, 1)))
//@else
__kernel
//@end
void layernorm_shared(int R, int C_arg, float eps, __global const float *restrict x, __global const float *restrict gamma,
        __global const float *restrict beta, __global float *restrict y)
{
    __local float sums[${ROWS * WARPS}], squares[${ROWS * WARPS}];
    const int lane = get_local_id(0);
    const int top = (int)(get_group_id(0)) * ${ROWS};
    __global const float4 *scale = (__global const float4 *)gamma + lane;
    __global const float4 *shift = (__global const float4 *)beta + lane;
    /* rows below the last one are read as the last one and not written */
//@for Q in 0..ROWS
    const size_t row${Q} = (size_t)min(top + ${Q}, R - 1) * ${N4} + lane;
    __global const float4 *from${Q} = (__global const float4 *)x + row${Q};
//@end
//@if PRE > 0
    __local float4 tile[${PRE * WG}];
    ulong wide;
    asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(wide) : "l"(tile) : "memory");
    const uint slot = (uint)wide + 16 * lane;
//@for S in 0..SLOTS
//@for Q in 0..ROWS
//@if S * ROWS + Q < PRE
//@if (S + 1) * WG > CH4
    if (lane + ${S * WG} < ${CH4})
//@end
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     : : "r"(slot + ${16 * WG * (S * ROWS + Q)}), "l"(from${Q} + ${S * WG}) : "memory");
//@end
//@end
//@end
//@end
//@for Q in 0..ROWS
//@for S in 0..SLOTS
//@if S * ROWS + Q >= PRE
    float4 v${Q}_${S} = (float4)(0.0f);
//@if (S + 1) * WG > CH4
    if (lane + ${S * WG} < ${CH4})
//@end
        v${Q}_${S} = get(from${Q} + ${S * WG});
//@end
//@end
//@end

//@for S in max(0, SLOTS - EARLY)..SLOTS
    float4 g${S} = (float4)(0.0f), b${S} = (float4)(0.0f);
//@if (S + 1) * WG > CH4
    if (lane + ${S * WG} < ${CH4})
//@end
    {
        g${S} = keep(scale + ${S * WG});
        b${S} = keep(shift + ${S * WG});
    }
//@end
    const float own = held(lane >> 5);
//@if PRE > 0
    asm volatile("cp.async.wait_all;" : : : "memory");
//@end
//@for Q in 0..ROWS
    {
        float4 t = (float4)(0.0f);
//@for S in 0..SLOTS
//@if (S + 1) * WG > CH4
        if (lane + ${S * WG} < ${CH4})
//@end
//@if S * ROWS + Q < PRE
            t += tile[lane + ${WG * (S * ROWS + Q)}];
//@else
            t += v${Q}_${S};
//@end
//@end
        const float sum = warp_sum(add4(t));
        const float m = own > 0.0f ? sum / own : 0.0f;
        t = (float4)(0.0f);
//@for S in 0..SLOTS
//@if (S + 1) * WG > CH4
        if (lane + ${S * WG} < ${CH4})
//@end
        {
//@if S * ROWS + Q < PRE
            const float4 d = tile[lane + ${WG * (S * ROWS + Q)}] - m;
//@else
            const float4 d = v${Q}_${S} - m;
//@end
            t += d * d;
        }
//@end
        const float square = warp_sum(add4(t));
        if ((lane & 31) == 0) {
            sums[${Q * WARPS} + (lane >> 5)] = sum;
            squares[${Q * WARPS} + (lane >> 5)] = square;
        }
    }
//@end
    barrier(CLK_LOCAL_MEM_FENCE);

    const int w = lane & ${WARPS - 1};
    const float count = held(w);
//@for Q in 0..ROWS
    float mean${Q}, factor${Q};
    float q${Q} = squares[${Q * WARPS} + w];
    {
        const float s = sums[${Q * WARPS} + w];
        float total = s;
//@for P in 0..log2(WARPS)
        total += from_lane(total, ${2**P});
//@end
        mean${Q} = total / (float)${4 * CH4};
        const float off = count > 0.0f ? s / count - mean${Q} : 0.0f;
        q${Q} += count * off * off;
//@for P in 0..log2(WARPS)
        q${Q} += from_lane(q${Q}, ${2**P});
//@end
    }
//@end
//@for Q in 0..ROWS
    factor${Q} = 1.0f / sqrt(q${Q} / (float)C + eps);
//@end

    /* registers first: they become free for what follows */
//@for I in 0..SLOTS
//@let S = SLOTS - 1 - I
//@if (S + 1) * WG > CH4
    if (lane + ${S * WG} < ${CH4})
//@end
    {
//@if S >= SLOTS - EARLY
        const float4 g = g${S}, b = b${S};
//@else
        const float4 g = scale[${S * WG}], b = shift[${S * WG}];
//@end
//@for Q in 0..ROWS
//@if Q > 0
        if (top + ${Q} < R)
//@end
//@if S * ROWS + Q < PRE
            put((__global float4 *)y + row${Q} + ${S * WG}, (tile[lane + ${WG * (S * ROWS + Q)}] - mean${Q}) * factor${Q} * g + b);
//@else
            put((__global float4 *)y + row${Q} + ${S * WG}, (v${Q}_${S} - mean${Q}) * factor${Q} * g + b);
//@end
//@end
    }
//@end
}
