#!/bin/sh
# Run to run: the same search several times, each from an empty store and empty caches, with the same seed. How far apart
# are the winners, and how much of that is the timing, how much the search?
#
#     bench/repeat.sh [DIMS]              default M=2048,N=2048,K=2048 on a GPU, M=128,N=128,K=128 elsewhere
#
# The winners of all runs are timed once more, in turns (ROUNDS rows each), so that the spread of the winners is told
# apart from a drift of the device between the runs. Environment: BUILD or KERNWRIGHT (the program), TASK (gemm), TEMPLATE
# (gemm_tiled), RUNS (5; 3 without a GPU), BUDGET (100; 30), SEED (1), STRATEGY (the default one), ROUNDS (3), KERNWRIGHT_DEVICE, OPTIONS (more
# options of tune), OUT (folder). Last line: "repeat: runs=.. spread_percent=.. ...": spread is (largest - least) / least of
# the times that the runs themselves report; again_percent the same of the times in turns; same_winner counts the runs
# that ended with the most frequent winner, same_proposals those that proposed the same set as the first run.
set -eu
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
task=${TASK:-gemm} template=${TEMPLATE:-gemm_tiled} seed=${SEED:-1}
work=${OUT:-${BUILD:-build}/bench/repeat}
if "$program" devices --json 2>/dev/null | grep -q '"is_gpu": *1'; then
    runs=${RUNS:-5} budget=${BUDGET:-100}
    [ -n "${1:-}" ] || set -- M=2048,N=2048,K=2048
else
    runs=${RUNS:-3} budget=${BUDGET:-30}
    [ -n "${1:-}" ] || set -- M=128,N=128,K=128
fi
rm -rf "$work"
mkdir -p "$work"
echo "repeat: $task, $template, $1, $runs searches of $budget configurations, seed $seed"
run=1
while [ "$run" -le "$runs" ]; do
    rm -rf "$work/cache"
    mkdir -p "$work/cache"
    # shellcheck disable=SC2086 # a list of options
    env -u CUDA_CACHE_PATH -u POCL_CACHE_DIR KERNWRIGHT_CACHE="$work/cache" \
        "$program" tune "$task" --dims "$1" --template "$template" --seed "$seed" --warm --budget "$budget" --no-probe \
        ${STRATEGY:+--strategy "$STRATEGY"} --store "$work/$run.db" --json ${OPTIONS:-} \
        >"$work/$run.lines" 2>"$work/$run.log" || { cat "$work/$run.log" >&2; exit 1; }
    "$program" results export --store "$work/$run.db" >"$work/$run.winners"
    run=$((run + 1))
done
rm -rf "$work/cache"
python3 "$(dirname "$0")/repeat.py" "$work" "$runs" "$program" "$template" "$1" "${ROUNDS:-3}"
