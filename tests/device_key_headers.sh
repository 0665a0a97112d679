#!/bin/sh
# The two files of the device key that emitted headers contain compile as C99 and C++11, without a warning, against every
# OpenCL version that an application may have chosen, in several translation units of one program.
set -eu
cc=${CC:-gcc} cxx=${CXX:-g++}
work=$(mktemp -d "${TMPDIR:-/tmp}/kwkey.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Werror"

cat device/device_key_body.h device/device_key_query.h > "$work/embedded.h"
for unit in one two; do
    cat > "$work/$unit.c" <<UNIT
#include "embedded.h"
#include "embedded.h"
void $unit(cl_device_id device, char *key, kw_key_limits *limits);
void $unit(cl_device_id device, char *key, kw_key_limits *limits)
{
    kw_key_query(device, key, KW_KEY_SIZE, limits);
}
UNIT
    cp "$work/$unit.c" "$work/$unit.cpp"
done

passed=0 failed=0
compile() # compiler flags file
{
    if ! command -v "$1" > "$work/where"; then
        return 0
    fi
    for version in "" -DCL_TARGET_OPENCL_VERSION=120 -DCL_TARGET_OPENCL_VERSION=200 -DCL_TARGET_OPENCL_VERSION=300; do
        # shellcheck disable=SC2086
        if "$1" $2 $warnings $version -I"$work" -c -o "$work/out.o" "$3" > "$work/log" 2>&1; then
            passed=$((passed + 1))
        else
            echo "$1 $2 $version fails:"
            cat "$work/log"
            failed=$((failed + 1))
        fi
    done
}

for compiler in $(printf '%s\n' "$cc" gcc clang | sort -u); do
    compile "$compiler" -std=c99 "$work/one.c"
    compile "$compiler" -std=c17 "$work/two.c"
done
for compiler in $(printf '%s\n' "$cxx" g++ clang++ | sort -u); do
    compile "$compiler" -std=c++11 "$work/one.cpp"
    compile "$compiler" -std=c++17 "$work/two.cpp"
done
echo "device_key_headers: passed=$passed failed=$failed skipped=0"
[ "$failed" -eq 0 ]
