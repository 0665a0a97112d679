#!/bin/sh
# A community's base: what several contributors have measured is merged, and headers are emitted from the union. Nothing
# is tuned and no device is needed. Last line: "results: key=value ...".
# Environment: N (lines; default 1000000: of 20 tasks; 20000000 needs 60 GB), FILES (default 4 contributors), FOLDER (default one
# under BUILD, emptied afterwards), TREES=0 leaves out the header with trees, BUILD, CC.
set -eu
build=${BUILD:-build} cc=${CC:-gcc} lines=${N:-1000000} files=${FILES:-4}
work=${FOLDER:-$build/bench}/results
kw=$build/kernwright
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$work/results_lines" bench/results_lines.c "$build/libkernwright.a" \
    $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
# shellcheck disable=SC2046 # four numbers
set -- $("$work/results_lines" "$work" "$lines" "$files")
written=$1 different=$2 devices=$3 shapes=$4
echo "$different lines of 20 tasks, $devices devices, $shapes shapes; with repetitions $written, in $files files:" \
    "$(du -cm "$work"/*.jsonl | tail -1 | cut -f1) MB"

# Wall time, processor time (which a busy machine does not stretch) and the peak of resident memory.
measure() { # NAME COMMAND...
    name=$1
    shift
    if ! /usr/bin/time -f '%e %U %S %M' -o "$work/time" "$@" 2>"$work/log"; then
        cat "$work/log" >&2
        exit 1
    fi
    read -r wall user system kib <"$work/time"
    cpu=$(echo "$user $system" | awk '{ print $1 + $2 }')
    rate=$(echo "$count $wall" | awk '{ print int($1 / ($2 > 0.01 ? $2 : 0.01)) }')
    cpu_rate=$(echo "$count $cpu" | awk '{ print int($1 / ($2 > 0.01 ? $2 : 0.01)) }')
    echo "$name: $count lines in $wall s ($cpu s of processor): $rate lines/s, peak of memory $((kib / 1024)) MiB"
    keys="$keys ${name}_lines_s=$rate ${name}_cpu_lines_s=$cpu_rate ${name}_s=$wall ${name}_mib=$((kib / 1024))"
}

keys="lines=$different written=$written devices=$devices shapes=$shapes"
count=$written
measure merge "$kw" results merge "$work"/contributor*.jsonl -o "$work/all.jsonl"
[ "$(wc -l <"$work/all.jsonl")" -eq $((different + 1)) ] || {
    echo "results: $((different + 1)) lines expected in the union" >&2
    exit 1
}
rm -f "$work"/contributor*.jsonl
count=$different
measure emit "$kw" emit gemm --from "$work/all.jsonl" --variants 0 -o "$work/gemm.h"
grep -h 'not believed' "$work/log" || true
echo "header: $(wc -c <"$work/gemm.h") bytes"
key=$(sed -n '2s/.*"device_key":"\([^"]*\)".*/\1/p' "$work/all.jsonl")
measure emit_device "$kw" emit gemm --from "$work/all.jsonl" --device "$key" -o "$work/one.h"
if [ "${TREES:-1}" != 0 ]; then
    measure emit_trees "$kw" emit gemm --from "$work/all.jsonl" -o "$work/trees.h"
fi
echo "results: $keys"
