#!/bin/sh
# Searches repeated in a space too large to be recorded, on times drawn after a recorded matrix: see bench/large.c.
#
#     bench/large.sh [DIMS] [STRATEGY]
#
# Environment: BUILD, CC, MATRIX (bench/data/gemm-h200-400x64.jsonl.gz), TEMPLATE (templates/gemm_tiled.cl), BUDGET (300),
# DEPTH (16: proposals under way at once), NOISE (0.002), LANDSCAPES (6), SEEDS (1), REPEATS (3). Last line: "large:
# key=value ...": over_measured is the geometric mean of the winners' true times over the best in the matrix, apart_*
# how far the winners of one landscape and seed are apart.
set -eu
build=${BUILD:-build} cc=${CC:-gcc}
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$build/bench/large" bench/large.c "$build/libkernwright.a" \
    $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
exec "$build/bench/large" "${MATRIX:-bench/data/gemm-h200-400x64.jsonl.gz}" "${TEMPLATE:-templates/gemm_tiled.cl}" \
    "${1:-M=2048,N=2048,K=2048}" "${BUDGET:-300}" "${DEPTH:-16}" "${NOISE:-0.002}" "${LANDSCAPES:-6}" "${SEEDS:-1}" \
    "${REPEATS:-3}" "${2:-auto}"
