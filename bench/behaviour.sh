#!/bin/sh
# Kinds of kernels by their source and by the program that the compiler made of it: on a device whose binary can be
# read (NVIDIA's is PTX), for some configurations of every template of the library.
#
#     bench/behaviour.sh [TEMPLATE...]        default: all of templates/
#
# Environment: BUILD or KERNWRIGHT (the program), KERNWRIGHT_DEVICE, BUDGET (configurations a template, 12), OUT (folder).
# Prints where the two differ, and why. Last line: "behaviour: compared=N agree=M kernels=K"; kernels without a counted
# program (all of them, where the binary is no PTX) are among K only.
set -eu
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
work=${OUT:-${BUILD:-build}/bench/behaviour}
rm -rf "$work"
mkdir -p "$work"
[ $# -gt 0 ] || set -- templates/*.cl

# A shape of some size that most templates take.
dims_of() {
    case $1 in
    gemm | gemm_bias_gelu) echo M=512,N=512,K=512 ;;
    saxpy | reduce_sum) echo N=1048576 ;;
    *) echo R=512,C=1024 ;;
    esac
}
for template; do
    task=$(sed -n 's/.*"task": *"\([^"]*\)".*/\1/p' "$template" | head -1)
    echo "behaviour: $template" >&2
    "$program" tune "$task" --template "$template" --dims "$(dims_of "$task")" --budget "${BUDGET:-12}" --no-probe \
        --store "$work/store.db" >>"$work/log" 2>&1 || echo "behaviour: $template: see $work/log" >&2
done
"$program" results show --behaviour --store "$work/store.db" >"$work/table"
cat "$work/table"
