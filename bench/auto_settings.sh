#!/bin/sh
# The settings of the strategy `auto`, chosen with each family of kernels left out: see bench/auto_settings.c.
# usage: bench/auto_settings.sh [SEEDS]; KERNWRIGHT_TEST_SPACES names the folder of the recorded spaces.
# Last line: "auto_settings: spaces=.. seeds=.. left_out_at_50=.. ..".
set -eu
build=${BUILD:-build} cc=${CC:-gcc} seeds=${1:-20}
folder=${KERNWRIGHT_TEST_SPACES:-../shared/data/spaces}
set -- "$folder"/*.kt.json.gz
if [ ! -f "$1" ]; then
    echo "auto_settings: skipped=no_recorded_spaces (KERNWRIGHT_TEST_SPACES names their folder)"
    exit 0
fi
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$build/bench/auto_settings" bench/auto_settings.c "$build/libkernwright.a" \
    $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
exec "$build/bench/auto_settings" "$seeds" "$@"
