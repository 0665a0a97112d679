#!/bin/sh
# Building search spaces, sampling and neighbours, beside Kernel Tuner and pyATF: see bench/space.py. The peers come from
# PyPI into a virtual environment in the build folder; without them only our own figures are taken.
# Last line: "space: hotspot_ms=.. hotspot_ratio=.. ..".
set -eu
build=${BUILD:-build} cc=${CC:-gcc}
folder=${KERNWRIGHT_TEST_SPACES:-../shared/data/spaces/problems/construct}
if [ ! -f "$folder/COUNTS.tsv" ]; then
    echo "space: skipped=no_problem_files (KERNWRIGHT_TEST_SPACES names their folder)"
    exit 0
fi
mkdir -p "$build/bench"
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -O2 -D_GNU_SOURCE -I. -o "$build/bench/space" bench/space.c "$build/libkernwright.a" \
    $(pkg-config --cflags --libs $modules) -lm -ldl -pthread
venv=$build/bench/venv-space
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import kernel_tuner, pyatf' 2>/dev/null; then
    python3 -m venv "$venv" && "$venv/bin/pip" -q install kernel-tuner pyatf python-constraint2 >&2 ||
        echo "the peers could not be installed; only our own figures follow" >&2
fi
python=$venv/bin/python
[ -x "$python" ] || python=python3
exec "$python" bench/space.py --program "$build/bench/space" --folder "$folder" "$@"
