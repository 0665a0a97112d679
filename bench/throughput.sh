#!/bin/sh
# How fast configurations are compiled, verified and timed, from empty caches and a store that has the probe alone: wall time, shares,
# how long the device waits, and compile throughput against one compile worker. The figures are read from traces by
# bench/throughput.py.
#
#     bench/throughput.sh [DIMS]          default M=4096,N=4096,K=4096 on a GPU, M=256,N=256,K=256 elsewhere
#
# Environment: BUILD or KERNWRIGHT (the program), TASK (gemm), TEMPLATE (gemm_tiled; or the path of a sidecar),
# CONFIGURATIONS (480 on a GPU, 60 elsewhere), SEED (1), KERNWRIGHT_DEVICE, GPU (1 or 0; default: whether there
# is one), OPTIONS (more options of tune), OUT (folder
# for what was written), SINGLE (configurations for the run with one compile worker; 0: no such run; default 16).
# Last line: "throughput: configurations=.. verified=.. wall_s=.. search_s=.. idle_percent=.. smi_idle_percent=.. ...": idle_percent is the
# share of the time after the first 5 s in which no timing worker verifies or times, smi_idle_percent that in which the GPU has no
# kernel, by nvidia-smi; with "search" in their names, up to the last candidate (search_s): what follows is choosing the winner.
set -eu
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
task=${TASK:-gemm} template=${TEMPLATE:-gemm_tiled} seed=${SEED:-1} single=${SINGLE:-16}
work=${OUT:-${BUILD:-build}/bench/throughput}
if [ -z "${GPU:-}" ]; then
    GPU=0
    "$program" devices --json 2>/dev/null | grep -q '"is_gpu": *1' && GPU=1
fi
if [ "$GPU" = 1 ]; then
    n=${CONFIGURATIONS:-480} dims=${1:-M=4096,N=4096,K=4096}
else
    n=${CONFIGURATIONS:-60} dims=${1:-M=256,N=256,K=256}
fi
mkdir -p "$work"

# Runs tune from empty caches: NAME CONFIGURATIONS OPTION...
tune() {
    name=$1 budget=$2
    shift 2
    rm -rf "$work/cache" "$work/$name".*
    mkdir -p "$work/cache"
    # What the device can do is measured once per device and driver, by itself.
    begin=$(date +%s%N)
    "$program" probe --store "$work/$name.db" >"$work/$name.probe" 2>&1 || { cat "$work/$name.probe" >&2; exit 1; }
    echo "$name: probed in $((($(date +%s%N) - begin) / 1000000)) ms, before the time that is told"
    smi=
    if [ "$GPU" = 1 ] && command -v nvidia-smi >/dev/null; then
        nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits -lms 100 >"$work/$name.smi" 2>/dev/null &
        smi=$!
    fi
    # shellcheck disable=SC2086 # a list of options
    env -u CUDA_CACHE_PATH -u POCL_CACHE_DIR KERNWRIGHT_CACHE="$work/cache" \
        "$program" tune "$task" --dims "$dims" --template "$template" --strategy random --seed "$seed" --warm \
        --budget "$budget" --store "$work/$name.db" --trace "$work/$name.trace" --json ${OPTIONS:-} "$@" \
        >"$work/$name.lines" 2>"$work/$name.log" || { cat "$work/$name.log" >&2; exit 1; }
    [ -z "$smi" ] || kill "$smi" 2>/dev/null || true
    "$program" results export --all --store "$work/$name.db" >"$work/$name.rows"
}

echo "throughput: $task, $template, $dims, $n configurations"
tune all "$n"
if [ "$single" -gt 0 ]; then
    tune one "$single" --compile-workers 1
fi
rm -rf "$work/cache"
python3 bench/throughput.py "$work" "$n"
