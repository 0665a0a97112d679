#!/bin/sh
# Tuning many shapes at once against tuning each by itself, by replay on a recorded matrix (bench/matrix.sh).
#
#     bench/many_shapes.sh [MATRIX.jsonl.gz]
#
# Environment: BUILD, CC, BUDGET (evaluations of each shape by itself; 100), SHARE (of all of those, for all
# together; 0.25), SEEDS (10). Last line: "many_shapes: key=value ...": ratios are geometric means over shapes of the best
# time found over the best there is; loss_percent is together against separate, in geometric mean, with a 95%
# interval of the mean over seeds.
set -eu
build=${BUILD:-build} cc=${CC:-gcc} matrix=${1:-bench/data/gemm-pocl-60x16.jsonl.gz}
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$build/bench/many_shapes" bench/many_shapes.c "$build/libkernwright.a" \
    $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
"$build/bench/many_shapes" "$matrix" "${BUDGET:-100}" "${SHARE:-0.25}" "${SEEDS:-10}"
