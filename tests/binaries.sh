#!/bin/sh
# Headers with compiled programs beside the text: used on the device and driver that made them, the text elsewhere.
# Environment: BUILD, CC, CXX (see the Makefile).
# shellcheck disable=SC2317 # emit is called through check
set -u
build=${BUILD:-build} cc=${CC:-gcc} cxx=${CXX:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kw=$build/kernwright
results=$work/results.jsonl
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Werror'
passed=0 failed=0 skipped=0

ok() {
    passed=$((passed + 1))
}

bad() { # WHAT
    failed=$((failed + 1))
    echo "FAILED: $1"
    sed 's/^/    /' "$work/log"
}

check() { # WHAT COMMAND...
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then ok; else bad "$what (status $?): $*"; fi
}

refuses() { # WHAT STATUS PART ARGUMENT...
    what=$1 wanted=$2 part=$3
    shift 3
    "$kw" "$@" >"$work/log" 2>&1
    status=$?
    if [ "$status" -eq "$wanted" ] && tail -1 "$work/log" | grep -qF -e "$part"; then ok; else bad "$what (status $status)"; fi
}

finish() {
    echo "binaries: passed=$passed failed=$failed skipped=$skipped"
    [ "$failed" -eq 0 ]
    exit
}

cp examples/saxpy/saxpy.results.jsonl "$results"

# ---- without a device ----
OCL_ICD_VENDORS=/nonexistent refuses 'no device' 3 'no compute device' emit saxpy --from "$results" -o "$work/no.h" --binaries ''
check 'no device: no header' [ ! -e "$work/no.h" ]
KERNWRIGHT_FAKE=1 refuses 'a device without binaries' 1 'there are no binaries of programs' \
    emit saxpy --from "$results" -o "$work/no.h" --binaries fake:0
refuses 'no such device' 2 'no_such' emit saxpy --from "$results" -o "$work/no.h" --binaries no_such

key=$("$kw" devices --json 2>/dev/null | sed -n 's/.*"key": *"\([^"]*\)".*/\1/p' | head -1)
if [ -z "$key" ]; then
    skipped=$((skipped + 1))
    echo 'skipped: binaries: no OpenCL device'
    finish
fi

# ---- on a device: the results are made this one's, whatever it is ----
sed -i "s|\"device_key\":\"[^\"]*\"|\"device_key\":\"$key\"|" "$results"
emit() { # FOLDER OPTION...
    mkdir -p "$1"
    folder=$1
    shift
    "$kw" emit saxpy --from "$results" -o "$folder/kw_saxpy.h" --binaries '' "$@" 2>"$work/said"
}
# Compiles FOLDER's header into a program, and runs it; USED says whether the binaries have to serve.
serves() { # WHAT FOLDER USED OPTION...
    name=$1 folder=$2 used=$3
    shift 3
    # shellcheck disable=SC2086 # a list of flags
    check "$name: compile" "$cc" -std=c99 $warnings -I"$folder" -Itests/consumer "$@" -o "$work/program" \
        -x c tests/consumer/binary.c -x none -lOpenCL -lm -pthread
    check "$name: run" "$work/program" "$used"
}

check 'emit' emit "$work/plain"
check 'the sizes are told' grep -q 'binaries of 3 of 3 variants, [0-9.]* KiB, for' "$work/said"
check 'the header tells them too' grep -q '^ \* Binary of variant 0, [0-9]* bytes, for ' "$work/plain/kw_saxpy.h"
serves 'the same driver' "$work/plain" 1
serves 'binaries left out' "$work/plain" 0 -DKW_NO_BINARIES

mkdir "$work/driver" "$work/byte" "$work/split"
driver=$(sed -n 's/^ \* Binary of variant 0, .* for [^|]*|[^|]*|\([^|]*\)|.*/\1/p' "$work/plain/kw_saxpy.h")
check 'the driver is told' [ -n "$driver" ]
sed "/_binaries\[\] = {/,/^};/s/|$driver|/|$driver.1|/" "$work/plain/kw_saxpy.h" >"$work/driver/kw_saxpy.h"
serves 'another driver' "$work/driver" 0

# One byte of each binary's first row of bytes.
awk '/_binary_pieces\[\] = {/ { rows = NR } rows && NR > rows && /^};/ { rows = 0 }
     rows && /^    "/ { sub(/"\\[0-7][0-7][0-7]|"[^\\]/, "\"\\377") } { print }' \
    "$work/plain/kw_saxpy.h" >"$work/byte/kw_saxpy.h"
check 'bytes were changed' sh -c "! cmp -s '$work/plain/kw_saxpy.h' '$work/byte/kw_saxpy.h'"
serves 'changed bytes' "$work/byte" 0

for trouble in 1 2 3 4; do
    serves "trouble $trouble" "$work/plain" 0 -DTROUBLE="$trouble"
done
serves 'small groups promised' "$work/plain" 1 -DTROUBLE=5

# shellcheck disable=SC2086 # a list of flags
{
    check 'C++' "$cxx" -x c++ -std=c++11 $warnings -I"$work/plain" -Itests/consumer -o "$work/program" \
        tests/consumer/binary.c -x none -lOpenCL -lm -pthread
    check 'C++: run' "$work/program" 1
    check 'split' emit "$work/split" --split
    check 'split: the bytes are in one file' [ "$(grep -c '_binary_[0-9a-f]*\[\] = {' "$work/split/kw_saxpy.h")" -eq 0 ]
    check 'split: compile' "$cc" -std=c99 $warnings -I"$work/split" -Itests/consumer -o "$work/program" \
        tests/consumer/binary.c "$work/split/kw_saxpy.c" -lOpenCL -lm -pthread
    check 'split: run' "$work/program" 1
    check 'split, C++: compile' "$cxx" -x c++ -std=c++11 $warnings -I"$work/split" -Itests/consumer -o "$work/program" \
        tests/consumer/binary.c "$work/split/kw_saxpy.c" -x none -lOpenCL -lm -pthread
    check 'split, C++: run' "$work/program" 1
}

# Results of another device: its default is compiled all the same, and a warning says so.
sed -i "s|\"device_key\":\"[^\"]*\"|\"device_key\":\"a/b/c/4\"|" "$results"
check 'results of another device' emit "$work/other"
check 'results of another device: a warning' grep -q 'no row of the header is of' "$work/said"
check 'results of another device: the default' grep -q 'binaries of 1 of' "$work/said"
finish
