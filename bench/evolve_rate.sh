#!/bin/sh
# How busy the loop of evolution keeps models and device: bench/evolve_rate.c, which says what its options mean. Without
# arguments: replies of 2 s, 4 in flight, once bound by the models and once by the device.
# Last line: "evolve_rate: key=value ...". Environment: BUILD, CC, SAN.
set -eu
build=${BUILD:-build} cc=${CC:-gcc}
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 ${SAN:+-fsanitize=$SAN} -D_GNU_SOURCE -I. -o "$build/bench/evolve_rate" bench/evolve_rate.c \
    "$build/libkernwright.a" $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
export KERNWRIGHT_FAKE=1 OCL_ICD_VENDORS=/nonexistent
rate() {
    "$build/bench/evolve_rate" --worker "$build/kernwright worker --stdio" "$@"
}
[ $# -gt 0 ] || rate --sleep-us 20000
rate "$@"
