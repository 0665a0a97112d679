#!/bin/sh
# Hostile candidates, seen from the program: outcomes are right, nothing is left behind (processes, temporary folders),
# and the same on a real CPU driver, whose kernels run in a process of their own.
# shellcheck disable=SC2016,SC2154,SC2317 # ${} is the templates'; variables come from support/cli.sh, which calls functions
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

if [ ! -r /proc/self/stat ]; then
    skip 'the sandbox' 'no /proc'
    finish sandbox
fi
mkdir tmp
export TMPDIR="$work/tmp"

no_folder() {
    [ -z "$(ls tmp)" ]
}

with_runner() { # is there a runner among the children of PID
    for pid in $(children "$1"); do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q -- --runner && return 0
    done
    return 1
}

# ---- what doctor says ----
works 'doctor' doctor
check 'the sandbox is described' has "$output" 'sandbox'
export KERNWRIGHT_SANDBOX=off
works 'doctor, sandbox off' doctor
check 'that it is off' has "$output" 'off (KERNWRIGHT_SANDBOX)'
unset KERNWRIGHT_SANDBOX

# ---- every kind of failure, with the scripted device behind a runner ----
export KERNWRIGHT_RUNNER=always KERNWRIGHT_MEMORY_MB=400
params='"D": {"values": ["time_ns=900000000", "build=error log_mb=100", "build=crash", "build=hang", "build=eat", "run=crash",
        "run=hang", "run=lost", "result=wrong", "result=oob", "modify=input", "only=first", "run=crash after=3",
        "time_ns=700000000"]}'
local='64' before='#pragma fake ${D}' && template mixed.cl
of() { # DIRECTIVE; outcome and stage of its row
    printf '%s\n' "$output" | grep -F "{\"D\":\"$1\"}" | sed 's/.*"outcome":"\([a-z_]*\)","stage":"\([a-z]*\)".*/\1 \2/'
}
works 'tuning goes on to the end' tune saxpy --template mixed.cl --dims N=300 --strategy exhaustive --budget 100 \
    --compile-limit 10 --run-limit 10 --compile-workers 1 --store s.db
check 'the best of the good ones wins' has "$output" ' 700.0 '
check 'no folder is left' no_folder
works 'failures as JSON' results show --failed --json --store s.db
while read -r directive wanted stage; do
    check "$directive is $wanted" same "$(of "$(echo "$directive" | tr + ' ')")" "$wanted $stage"
done <<END
build=error+log_mb=100 compile_error compile
build=crash crash compile
build=hang timeout compile
build=eat crash compile
run=crash crash smoke
run=hang timeout smoke
run=lost crash smoke
result=wrong wrong smoke
result=oob out_of_bounds smoke
modify=input input_modified smoke
only=first nondeterministic smoke
run=crash+after=3 crash verify
END
check 'why it died' has "$output" 'killed by signal 6'
check 'how much memory' has "$output" 'held more than 400 MiB of memory'

# ---- SIGTERM in every stage ----
output=''
for hang in 'build=hang' 'run=hang' 'run=hang after=4' 'time_ns=500000000 run=hang after=14'; do
    params='"A": {"values": [1]}' local='64' before="#pragma fake $hang" && template hang.cl
    "$kw" time hang.cl --dims N=100 --compile-limit 600 --run-limit 600 >out 2>errors &
    coordinator=$!
    check "$hang: a runner starts" until_true with_runner "$coordinator"
    sleep 0.2
    workers=$(children "$coordinator")
    kill -s TERM "$coordinator"
    wait "$coordinator"
    status=$? errors=$(cat errors)
    check "$hang: status 130" [ "$status" -eq 130 ]
    # shellcheck disable=SC2086 # words
    check "$hang: nobody is left" until_true gone $workers
    check "$hang: no folder is left" no_folder
done
unset KERNWRIGHT_RUNNER KERNWRIGHT_MEMORY_MB

# ---- sources that are no text ----
local='64' before='// A' && template plain.cl
tr A '\000' <plain.cl >nul.cl
refuses_at_once 'a NUL' 2 'nul.cl' time nul.cl --dims N=100
tr A '\377' <plain.cl >utf8.cl
refuses_at_once 'no UTF-8' 2 'UTF-8' time utf8.cl --dims N=100

# ---- more memory than the device has ----
cat >huge.cl <<'END'
/*kernwright {"task": "saxpy", "index": "i64", "params": {"G": {"values": [256]}},
  "temps": [{"name": "t", "type": "f32", "elements": "G * 1073741824"}],
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y", "t"], "local": [64],
  "groups": ["ceil_div(N, 64)"]}]} */
kernel void fake_saxpy(long n, float a, global const float *x, global float *y, global float *t)
{
}
END
refuses 'a temporary of a TiB' 1 'a temporary needs 1.0 TiB, the device allows' time huge.cl --dims N=100

# ---- a real CPU driver ----
unset KERNWRIGHT_FAKE OCL_ICD_VENDORS KERNWRIGHT_DEVICE
export POCL_CACHE_DIR="$work/pocl"
mkdir "$POCL_CACHE_DIR"
if ! "$kw" devices 2>/dev/null | grep -q 'pocl/'; then
    skip 'native kernels' 'no PoCL'
    finish sandbox
fi
for mode in auto always never fresh; do
    export KERNWRIGHT_RUNNER="$mode"
    works "PoCL, runner $mode" time saxpy_naive --dims N=1000 --device pocl
done
unset KERNWRIGHT_RUNNER
export KERNWRIGHT_SANDBOX=off
works 'PoCL, sandbox off' time saxpy_naive --dims N=1000 --device pocl
unset KERNWRIGHT_SANDBOX
local='64' kernel=wild && template wild.cl
cat >wild.cl <<'END'
/*kernwright {"task": "saxpy", "launches": [{"kernel": "wild", "args": ["N", "a", "x", "y"], "local": [64],
  "groups": ["ceil_div(N, 64)"]}]} */
kernel void wild(int n, float a, global const float *x, global float *y)
{
    y[(ulong)1 << 40] = a * x[0];
}
END
refuses 'a wild write' 1 'the process that runs kernels' time wild.cl --dims N=1000 --device pocl
check 'no folder is left' no_folder

finish sandbox
