#!/bin/sh
# Short kernels: the same configuration timed in batches behind a kernel that keeps the device busy (queue), and in batches by
# the host's clock (host), in turns, each time by a process of its own, warm. How long, and how far apart are the repeats?
#
#     bench/short.sh [DIMS...]            default: gemm of 4, 64, 128, 256 and 512 in every dim
#
# Environment: BUILD or KERNWRIGHT (the program), TEMPLATE (gemm_tiled), RUNS (7), BUSY (0: processes that keep the host's
# cores busy meanwhile), KERNWRIGHT_DEVICE. Last line: "short: runs=.. queue_spread_percent=.. host_spread_percent=.. ..":
# the largest spread, (largest - least) / least of the repeats' medians, over the shapes whose runs are under 30 us.
set -eu
program=${KERNWRIGHT:-${BUILD:-build}/kernwright} template=${TEMPLATE:-gemm_tiled} runs=${RUNS:-7} busy=${BUSY:-0}
[ $# -gt 0 ] || set -- M=4,N=4,K=4 M=64,N=64,K=64 M=128,N=128,K=128 M=256,N=256,K=256 M=512,N=512,K=512
work=$(mktemp -d)
pids=
finish() {
    for pid in $pids; do
        kill "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT
i=0
while [ "$i" -lt "$busy" ]; do
    (while :; do :; done) &
    pids="$pids $!"
    i=$((i + 1))
done
for dims in "$@"; do
    i=0
    while [ "$i" -lt "$runs" ]; do
        for way in queue host; do
            KERNWRIGHT_BATCH=$way "$program" time "$template" --dims "$dims" --warm --json 2>/dev/null |
                sed -n 's/.*"method":"batch".*"median_ns":\([0-9.]*\).*/\1/p' >>"$work/$way"
        done
        i=$((i + 1))
    done
    for way in queue host; do
        [ -s "$work/$way" ] && sort -n "$work/$way" | awk -v dims="$dims" -v way="$way" '{t[NR] = $1} END {
            printf "%s %s %d %.1f %.1f %.1f %.2f\n", dims, way, NR, t[int((NR + 1) / 2)], t[1], t[NR], 100 * (t[NR] / t[1] - 1)}'
        rm -f "$work/$way"
    done
done >"$work/all"
awk '{printf "%-22s %-6s %d repeats, median %9.1f ns (%.1f..%.1f), apart %.2f%%\n", $1, $2, $3, $4, $5, $6, $7}' "$work/all"
awk -v runs="$runs" -v busy="$busy" '
    $7 > worst[$2] + 0 {worst[$2] = $7}
    {m[$1, $2] = $4; seen[$1] = 1}
    END {
        for (d in seen) if (m[d, "queue"] > 0 && m[d, "host"] / m[d, "queue"] > most) most = m[d, "host"] / m[d, "queue"]
        printf "short: runs=%d busy=%d queue_spread_percent=%.2f host_spread_percent=%.2f most_host_over_queue=%.2f\n",
            runs, busy, worst["queue"], worst["host"], most}' "$work/all"
