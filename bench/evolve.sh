#!/bin/sh
# What steering of evolution is worth, on simulated landscapes: bench/evolve.c. Arguments go to it: --seeds, --budget,
# --from JOURNAL (several), --landscape NAME ... Last line: "evolve: key=value ...". Environment: BUILD, CC, SAN.
set -eu
build=${BUILD:-build} cc=${CC:-gcc}
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 ${SAN:+-fsanitize=$SAN} -D_GNU_SOURCE -I. -o "$build/bench/evolve" bench/evolve.c bench/evolve_landscape.c \
    "$build/libkernwright.a" $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
"$build/bench/evolve" "$@"
