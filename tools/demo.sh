#!/bin/sh
# The demo: tunes gemm for three shapes, emits the header, builds a program with it, runs it and compares the results.
# A second run reuses what is stored. KERNWRIGHT_DEVICE picks another device; KERNWRIGHT_DEMO_BUDGET another budget.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
CC=${CC:-gcc}
out=$BUILD/demo
kernwright=$BUILD/kernwright
store=$out/kernwright.db
shapes=examples/demo/shapes.json
budget=${KERNWRIGHT_DEMO_BUDGET:-24,30s}
mkdir -p "$out"

echo "== tuning gemm for the shapes of $shapes (budget a shape: $budget)"
"$kernwright" tune gemm --shapes "$shapes" --budget "$budget" --store "$store"
# The device that was used, as OpenCL platform and device numbers.
spec=$("$kernwright" devices | awk '$1 == "*" { print $2 }')
case $spec in
opencl:*) ;;
*) echo "demo: the device $spec is no OpenCL device: its header cannot be run here"; exit 3 ;;
esac
platform=${spec#opencl:}
device=${platform#*:}
platform=${platform%%:*}

echo "== emitting the header"
"$kernwright" emit gemm -o "$out/kw_gemm.h" --store "$store"

echo "== building and running a program that includes it"
"$CC" -std=c99 -O2 -Wall -Wextra -I"$out" examples/demo/consumer.c -o "$out/consumer" -lOpenCL -lm
# shellcheck disable=SC2046 # one word for each shape
"$out/consumer" "$platform" "$device" $(sed 's/[^0-9,]//g' "$shapes")

echo "== files"
echo "  $store           everything measured"
echo "  $out/kw_gemm.h              the header to ship"
echo "  examples/demo/consumer.c          the program, built as $out/consumer"
