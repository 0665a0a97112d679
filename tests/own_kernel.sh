#!/bin/sh
# The way from somebody's own kernel to a header, as README.md describes it, with examples/own-kernel on PoCL: new, fill
# in, check, time, tune, emit, a program that includes the header. Environment: BUILD, CC (see the Makefile).
set -u
root=$(pwd)
build=${BUILD:-build} cc=${CC:-gcc}
case $build in /*) ;; *) build=$root/$build ;; esac
example=$root/examples/own-kernel
work=$build/own-kernel
passed=0 failed=0 skipped=0
rm -rf "$work"
mkdir -p "$work/walk" || exit 3
export KERNWRIGHT_CACHE="$work/cache" KERNWRIGHT_STORE="" CC="$cc"
kw=$build/kernwright

ok() {
    passed=$((passed + 1))
}

bad() { # WHAT
    failed=$((failed + 1))
    echo "FAILED: $1 (status $status)"
    sed 's/^/    /' "$work/log"
}

skip() { # WHAT REASON
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

finish() {
    echo "own_kernel: passed=$passed failed=$failed skipped=$skipped"
    [ "$failed" -eq 0 ]
    exit
}

# Runs a command; its output goes to the log.
run() {
    "$@" >"$work/log" 2>&1
    status=$?
}

expect() { # WHAT STATUS TEXT...: of the last run
    what=$1 wanted=$2
    shift 2
    [ "$status" -eq "$wanted" ] || { bad "$what: not status $wanted"; return; }
    for text in "$@"; do
        grep -qF -e "$text" "$work/log" || { bad "$what: no \"$text\""; return; }
    done
    ok
}

# --- README.md shows the files as they are ---
same_as_shown() { # FILE: the block after <!-- FILE --> is in the file, line after line
    awk -v mark="<!-- $1 -->" '$0 == mark { wait = 1; next } wait && /^```/ { wait = 0; inside = 1; next }
        inside && /^```/ { exit } inside' "$root/README.md" >"$work/shown"
    status=0
    [ -s "$work/shown" ] || status=1
    awk 'NR == FNR { shown[n++] = $0; next } { file[m++] = $0 }
        END { for (i = 0; i + n <= m; i++) { for (k = 0; k < n && shown[k] == file[i + k]; k++) ; if (k == n) exit 0 } exit 1 }' \
        "$work/shown" "$root/$1" || status=1
    cp "$work/shown" "$work/log"
    if [ "$status" -eq 0 ]; then ok; else bad "README.md shows $1"; fi
}
sed -n 's/^<!-- \(.*\) -->$/\1/p' "$root/README.md" >"$work/marks"
while read -r file; do
    same_as_shown "$file"
done <"$work/marks"

# --- new: what it writes, and what it leaves open ---
cd "$work/walk" || exit 3
cp "$example/fir.cl" .
run "$kw" new fir.cl
expect "new" 0 "wrote fir.kw.json" "wrote tasks/fir/reference.c" "kernwright check tasks/fir fir.kw.json"
run sh -c 'find . -type f | LC_ALL=C sort | tr "\n" " "'
expect "files of new" 0 \
    "./fir.cl ./fir.kw.json ./tasks/fir/reference.c ./tasks/fir/shapes/default.json ./tasks/fir/shapes/edge.json ./tasks/fir/task.json"
run cmp fir.cl "$example/fir.cl"
expect "the kernel stays as it is" 0
run "$kw" new fir.cl --task other
expect "new overwrites nothing" 2 "fir.kw.json exists already; nothing was written"
[ -e tasks/other ] && { status=0; bad "new wrote a part"; }
run "$kw" new fir.cl
expect "new for a task that exists" 2 "there is a task fir already"
run "$kw" check tasks/fir
expect "gaps of the task" 2 "tasks/fir/task.json:4:" "unknown name 'FILL_IN'"
cp "$example/tasks/fir/task.json" tasks/fir/task.json
run "$kw" check fir.kw.json
expect "gaps of the sidecar" 2 "fir.kw.json:" "unknown name 'FILL_IN'"
run "$kw" check tasks/fir
expect "gaps of the reference" 2 "tasks/fir/reference.c:" "compute value[i] and scale[i] below, then remove this line"
sed -i '/^#error/d' tasks/fir/reference.c
run "$kw" check tasks/fir
expect "the reference as written compiles, and computes nothing" 2 "does not use its input x"

# --- filled in ---
cp -r "$example/." .
run "$kw" check tasks/fir fir.kw.json
expect "check" 0 "task fir is sound" "parameters 3, combinations 40, valid 40"
run "$kw" check fir.kw.json --set WG=48
expect "a value that is not listed" 2 "WG=48 is not among its values"
run "$kw" expand fir.kw.json --set ITEMS=4
expect "expand" 0 "#define ITEMS 4"
mkdir -p "$work/sidecar"
cp fir.cl "$work/sidecar"
run sh -c 'cd "$1" && "$2" new fir.cl --task saxpy' - "$work/sidecar" "$kw"
expect "a sidecar for a task that exists" 0 "wrote fir.kw.json" "kernwright tune saxpy --template fir.kw.json"
[ -e "$work/sidecar/tasks" ] && { status=0; bad "--task of an existing task wrote a task"; }

if ! "$kw" devices 2>/dev/null | grep -q ' pocl/'; then
    skip "time, tune, emit and run" "PoCL is not installed"
    finish
fi
export KERNWRIGHT_DEVICE=pocl/

# --- measured ---
run "$kw" time fir.kw.json --dims n=1000,r=3 --set WG=32
expect "time" 0 "ok, " "of its bound"
sed -i 's/double term/doubel term/' tasks/fir/reference.c
run "$kw" tune fir --template fir.kw.json --budget 2
expect "a reference that does not compile" 2 "the reference of task fir does not compile" "reference.c:" "doubel"
lines=$(grep -c '^kernwright tune: ' "$work/log")
[ "$lines" -eq 1 ] || bad "one line for it"
cp "$example/tasks/fir/reference.c" tasks/fir/reference.c
sed 's/ceil_div(n, WG \* ITEMS)/n \/\/ (WG * ITEMS)/' fir.kw.json >few.kw.json
run "$kw" time few.kw.json --dims n=1000,r=3
expect "too few groups" 1 "wrong in stage" "never written"
rm few.kw.json
echo '{"n": 20000, "r": 4}' >small.json
run "$kw" tune fir --template fir.kw.json --shapes small.json --budget 4
expect "tune" 0 "n=20000,r=4" "general"
run "$kw" emit fir -o kw_fir.h
expect "emit" 0 "kw_fir.h: "
run "$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror program.c -o program -lOpenCL -lm
expect "a program with the header" 0
run ./program
expect "its results" 0 "right"

# --- results as text, on a machine that never tuned ---
run "$kw" results export --task fir -o fir.results.jsonl
expect "export" 0
mkdir -p "$work/elsewhere"
cp -r tasks fir.results.jsonl "$work/elsewhere"
cd "$work/elsewhere" || exit 3
run "$kw" results merge fir.results.jsonl fir.results.jsonl -o merged.jsonl
expect "merge" 0
run cmp fir.results.jsonl merged.jsonl
expect "merging a file with itself changes nothing" 0
run "$kw" emit fir -o kw_fir.h --from merged.jsonl
expect "emit --from" 0 "kw_fir.h: "
[ -e kernwright.db ] && { status=0; bad "emit --from made a store"; }
run cmp kw_fir.h "$work/walk/kw_fir.h"
expect "the same header" 0
finish
