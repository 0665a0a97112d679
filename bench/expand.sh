#!/bin/sh
# Time to expand the templates, 200 random valid configurations each. Last line: "expand: worst_median_ms=.. ..".
set -eu
build=${BUILD:-build} cc=${CC:-gcc}
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$build/bench/expand" bench/expand.c "$build/libkernwright.a" \
    $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
"$build/bench/expand"
