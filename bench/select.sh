#!/bin/sh
# Cost of selection, and of writing and compiling large headers. Last line: "select: key=value ...". Nothing is tuned
# and no device is needed. Environment: BUILD, CC, CXX.
set -eu
build=${BUILD:-build} cc=${CC:-gcc} cxx=${CXX:-g++}
work=$build/bench
mkdir -p "$work/large" "$work/trees" "$work/thousand"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$work/select_header" bench/select_header.c "$build/libkernwright.a" \
    $(pkg-config --cflags --libs $modules) -lm -ldl -pthread

milliseconds() { # COMMAND...: its processor time, which a busy machine does not stretch
    ("$@" && times) | awk 'END { split($1 " " $2, t, /[ms ]+/); print int(60000 * (t[1] + t[3]) + 1000 * (t[2] + t[4]) + 0.5) }'
}

# rows, devices, variants
"$work/select_header" "$work/large/kw_gemm.h" 10000 20 64 grid >"$work/large.txt"
"$work/select_header" "$work/trees/kw_gemm.h" 10000 20 64 tree >"$work/trees.txt"
"$work/select_header" "$work/thousand/kw_gemm.h" 1000 1 100 grid >"$work/thousand.txt"
read -r emit_large bytes_large text_large <"$work/large.txt"
read -r emit_thousand bytes_thousand text_thousand <"$work/thousand.txt"

cat >"$work/unit.c" <<'UNIT'
#include "kw_gemm.h"
int main(void)
{
    kw_gemm *g = 0;
    cl_mem b = 0;
    kw_gemm_shape s = {1, 2, 3};
    return kw_gemm_create(0, 0, &g) || kw_gemm_enqueue(g, 0, s, 1, 0, b, 0, b, 0, b, 0, b, 0, 0, 0);
}
UNIT
compile_large=$(milliseconds "$cc" -std=c99 -O2 -I"$work/large" -c -o "$work/unit.o" "$work/unit.c")
compile_large_cxx=$(milliseconds "$cxx" -x c++ -std=c++11 -O2 -I"$work/large" -c -o "$work/unit.o" "$work/unit.c")
compile_thousand=$(milliseconds "$cc" -std=c99 -O2 -I"$work/thousand" -c -o "$work/unit.o" "$work/unit.c")

"$cc" -std=c99 -O2 -I"$work/large" -o "$work/select" bench/select.c
"$cc" -std=c99 -O2 -I"$work/trees" -o "$work/select_trees" bench/select.c
times=$("$work/select" | sed 's/ns_tree=/ns_grid=/')
times="$times $("$work/select_trees" | sed -n 's/.*\(ns_tree=[0-9.]*\).*/\1/p')"
echo "10,000 rows, 20 devices, 64 variants: emitted in $emit_large ms, $bytes_large bytes," \
    "$((bytes_large - text_large)) without kernel text"
echo "1,000 rows, 100 variants: emitted in $emit_thousand ms, $bytes_thousand bytes," \
    "$((bytes_thousand - text_thousand)) without kernel text"
echo "select: $times emit_10000_ms=$emit_large emit_1000_ms=$emit_thousand compile_10000_c_ms=$compile_large" \
    "compile_10000_cxx_ms=$compile_large_cxx compile_1000_c_ms=$compile_thousand" \
    "bytes_10000=$((bytes_large - text_large))"
