#!/bin/sh
# The demo: tunes gemm for three shapes, emits the header, builds a program that includes it and runs it; the program
# checks its results itself. A second run reuses what is stored. Environment: KERNWRIGHT_DEVICE picks another device,
# KERNWRIGHT_DEMO_BUDGET another budget for each shape, BUILD and CC as in the Makefile.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
BUILD=${BUILD#"$PWD"/}
CC=${CC:-gcc}
out=$BUILD/demo
kernwright=$BUILD/kernwright
store=$out/kernwright.db
shapes=examples/demo/shapes.json
program=examples/demo/consumer.c
budget=${KERNWRIGHT_DEMO_BUDGET:-32,20s}
started=$(date +%s)
mkdir -p "$out"

echo "== 1. tuning gemm for the shapes in $shapes (budget for each: $budget)"
"$kernwright" tune gemm --shapes "$shapes" --budget "$budget" --store "$store"
# The device that tune took: the one marked in this list.
spec=$("$kernwright" devices | awk '$1 == "*" && $2 != "is" { print $2 }')
case $spec in
opencl:*:*) ;;
*)
    echo "demo: $spec is no OpenCL device, the header cannot run on it" >&2
    exit 3
    ;;
esac

echo "== 2. emitting the header"
"$kernwright" emit gemm -o "$out/kw_gemm.h" --store "$store"

echo "== 3. building a program that includes it: $CC -std=c99 -O2 -I$out $program -lOpenCL -lm"
"$CC" -std=c99 -O2 -Wall -Wextra -Wpedantic -I"$out" "$program" -o "$out/consumer" -lOpenCL -lm

echo "== 4. running it on $spec: the tuned shapes, and one that the header has never seen"
# shellcheck disable=SC2046 # one word for each shape
"$out/consumer" "$spec" $(sed 's/[^0-9,]//g' "$shapes") 100,200,300

echo "== done in $(($(date +%s) - started)) s; the files:"
while read -r file what; do
    printf '  %-26s %s\n' "$file" "$what"
done <<END
$shapes the shapes
$store everything that was measured
$out/kw_gemm.h the header, all that an application needs
$program the program that includes it
$out/consumer the same, built
END
