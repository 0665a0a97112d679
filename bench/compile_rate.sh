#!/bin/sh
# How many configurations a second are compiled by N processes against one: ratio of the rates, in turns, each time other
# configurations and empty caches. Compiling only; nothing is verified or timed.
#
#     bench/compile_rate.sh [WORKERS]      default: one less than there are processors
#
# Environment: BUILD or KERNWRIGHT (the program), KERNWRIGHT_DEVICE, TASK (gemm), TEMPLATE (gemm_tiled), DIMS
# (M=512,N=512,K=512), ROUNDS (2), MANY (configurations for all workers in a round, 8 for each), SINGLE (for the one, 24),
# SEED (1). Last line: "compile_rate: workers=.. ratio=.. low=.. high=.. ...". On a GPU machine with 16 processors it takes
# about a minute.
set -eu
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
workers=${1:-$(($(nproc) > 1 ? $(nproc) - 1 : 1))}
unset CUDA_CACHE_PATH POCL_CACHE_DIR CUDA_CACHE_DISABLE
KERNWRIGHT=$program python3 "$here/compile_rate.py" --workers "$workers" --folder "$work" --rounds "${ROUNDS:-2}" \
    --single "${SINGLE:-24}" --many "${MANY:-$((8 * workers))}" --task "${TASK:-gemm}" --template "${TEMPLATE:-gemm_tiled}" \
    --dims "${DIMS:-M=512,N=512,K=512}" --seed "${SEED:-1}"
