#!/bin/sh
# What a retune is worth: a device tuned from what another one taught, by replay (bench/retune.c). Without files, the
# recorded matrices here, and in ../shared/data/spaces the kernels that were recorded on several devices.
#
#     bench/retune.sh
#
# Environment: BUILD, CC, BUDGET (evaluations of a full tune; 100), SHARE (of them for the others; 0.2), SEEDS (20),
# SHAPES (of each matrix, at most; 16), ARMS (all, or names joined by commas), MATRICES (files; may be empty), SPACES (a
# folder), EACH=1 (a line for each shape as well). Last line: "retune: key=value ...": an arm's figure is the time of the full tune's best over that of its own, a
# geometric mean over shapes and seeds with the 95% interval over seeds (_lo, _hi), and its share of the full tune's
# evaluations (_share); _over_cold is the same against auto without lessons.
set -eu
build=${BUILD:-build} cc=${CC:-gcc} spaces=${SPACES:-../shared/data/spaces}
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$build/bench/retune" bench/retune.c bench/retune_spaces.c \
    "$build/libkernwright.a" $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
# shellcheck disable=SC2086 # a list
set -- ${MATRICES-bench/data/gemm-h200-400x64.jsonl.gz bench/data/gemm-pocl-60x16.jsonl.gz} --
for f in "$spaces"/*__*.kt.json.gz; do
    if [ -f "$f" ]; then set -- "$@" "$f"; fi
done
[ -f "$spaces/README.md" ] || echo "retune: $spaces is absent: the matrices only" >&2
"$build/bench/retune" "${BUDGET:-100}" "${SHARE:-0.2}" "${SEEDS:-20}" "${SHAPES:-16}" "${ARMS:-all}" "$@"
