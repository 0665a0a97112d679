#!/bin/sh
# Dispatch: what a header loses on shapes that were never tuned (bench/dispatch.c), and what selection, writing and
# compiling cost (bench/select.sh). Last line: "dispatch: key=value ...". Environment: BUILD, CC, CXX; RESULTS=file: a
# results file with a matrix of shapes x variants (default: the synthetic model); TASK (gemm), VARIANTS (8; or auto),
# DEVICE=KEY; SHAPES=file: these shapes are left out, the others known; KNOWN=N: only N of them; AGAIN=file: results of
# the best variants measured once more, by which shapes are judged.
set -eu
build=${BUILD:-build} cc=${CC:-gcc} task=${TASK:-gemm} variants=${VARIANTS:-8}
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$build/bench/dispatch" bench/dispatch.c bench/dispatch_data.c bench/dispatch_luck.c \
    bench/dispatch_rules.c "$build/libkernwright.a" \
    $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
"$build/bench/dispatch" "$task" "${RESULTS:-synthetic}" ${SHAPES:+--shapes "$SHAPES"} --variants "$variants" \
    ${DEVICE:+--device "$DEVICE"} ${KNOWN:+--known "$KNOWN"} ${AGAIN:+--again "$AGAIN"} >"$build/bench/dispatch.txt"
bench/select.sh >"$build/bench/select.txt"
grep -v '^dispatch: ' "$build/bench/dispatch.txt"
grep -v '^select: ' "$build/bench/select.txt"
echo "$(tail -n 1 "$build/bench/dispatch.txt") $(sed -n 's/^select: //p' "$build/bench/select.txt")"
