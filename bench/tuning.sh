#!/bin/sh
# How much of a tuning run is not compiling, verifying or timing: tunes reduce_sum over at least 100 configurations on the
# default device, cold store and cold driver cache, and reads the idle share from the trace.
# Last line: "tuning: configurations=.. wall_ms=.. idle_percent=..". Environment: BUILD, BUDGET (default 120).
set -eu
build=${BUILD:-build} budget=${BUDGET:-120}
work=$build/bench/tuning
rm -rf "$work"
mkdir -p "$work/cache"
POCL_CACHE_DIR=$PWD/$work/cache CUDA_CACHE_PATH=$PWD/$work/cache "$build/kernwright" tune reduce_sum --no-probe --dims N=4194304 \
    --budget "$budget" --store "$work/store.db" --trace "$work/trace.json" --json >"$work/lines.json" 2>"$work/log"
configurations=$(grep -c '"purpose":"search"' "$work/lines.json")
sed -n 's/^trace .*: wall \([0-9.]*\) ms, idle \([0-9.]*\)%.*/\1 \2/p' "$work/log" | {
    read -r wall idle
    echo "tuning: configurations=$configurations wall_ms=$wall idle_percent=$idle"
}
