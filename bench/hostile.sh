#!/bin/sh
# Candidates of which a tenth crash, a tenth hang and a tenth are wrong, in one search: are all good ones measured, is each
# failure booked as what it is, and does nothing pile up - processes, memory, descriptors?
#
#     bench/hostile.sh [N] [fake|DEVICE]     default: 1000 on the scripted device; e.g. bench/hostile.sh 100 opencl:0:0
#
# Halves of the crashing and of the hanging ones do so while they are compiled (on the scripted device; a real compiler is
# not made to), the others in a run. Environment: BUILD or KERNWRIGHT (the program), RUN_LIMIT (deadline of a run in
# seconds, 1), COMPILE_LIMIT (1; on a device 8: PoCL compiles at the first launch, so that is where a kernel hangs there).
# Last line: "hostile: candidates=.. good=.. crash=.. timeout=.. wrong=.. seconds=.. leaked=.. rss_kib_early=.. ...";
# status 1 if a count is not what it must be, something is left over or memory or descriptors grow.
set -eu
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
n=${1:-1000} device=${2:-fake}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GROWTH_KIB=${GROWTH_KIB:-8192} # of 1,000 rows that are kept, and of SQLite's cache

if [ "$device" = fake ]; then
    export KERNWRIGHT_FAKE=1 OCL_ICD_VENDORS=/nonexistent
    device=fake:0 compile_limit=${COMPILE_LIMIT:-1}
    cat >hostile.cl <<END
/*kernwright {"task": "saxpy", "fallback": true, "params": {"A": {"values": "range($n)"}},
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
//@if A % 20 == 1
#pragma fake build=crash
//@elif A % 20 == 11
#pragma fake run=crash after=2
//@elif A % 20 == 3
#pragma fake build=hang
//@elif A % 20 == 13
#pragma fake run=hang
//@elif A % 10 == 7
#pragma fake result=wrong
//@end
#pragma fake time_ns=\${1000000 + A}
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
}
END
else
    compile_limit=${COMPILE_LIMIT:-8}
    cat >hostile.cl <<END
/*kernwright {"task": "saxpy", "fallback": true, "params": {"A": {"values": "range($n)"}},
  "launches": [{"kernel": "saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
__kernel void saxpy(int n, float a, __global const float *x, __global float *y)
{
    const int i = get_global_id(0);
    if (i >= n)
        return;
//@if A % 10 == 1
    y[i + ((size_t)1 << 40)] = 1;
//@elif A % 10 == 3
    for (volatile int k = 0; k >= 0; k = (k + 1) & 1023)
        ;
//@elif A % 10 == 7
    if (i == n - 1)
        return;
//@end
    y[i] = a * x[i] + y[i] + 0 * \${A}.0f;
}
END
fi

export HOSTILE_MARK="$work"
start=$(date +%s)
"$program" tune saxpy --template hostile.cl --dims N=5000 --device "$device" --strategy exhaustive --budget "$n" --seed 1 \
    --no-probe --warm --compile-limit "$compile_limit" --run-limit "${RUN_LIMIT:-1}" --store hostile.db --json \
    >lines 2>log &
coordinator=$!

fds=0 rss=0 rows=0
look() { # reads rss (KiB) and fds of the coordinator; false when it has ended
    rss=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$coordinator/status" 2>/dev/null) || return 1
    [ -n "$rss" ] || return 1
    fds=$(find "/proc/$coordinator/fd" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)
    rows=$(grep -c '"purpose":"search"' lines || true)
}
below() { # all processes under the coordinator
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v root="$coordinator" '
        { pid = $1; sub(/^.*\) /, ""); split($0, f, " "); parent[pid] = f[2] }
        END {
            known[root] = 1
            do {
                grown = 0
                for (p in parent) if (!(p in known) && parent[p] in known) { known[p] = 1; grown = 1; print p }
            } while (grown)
        }'
}
early_rss=0 early_fds=0 late_rss=0 late_fds=0
while look; do
    if [ "$rows" -ge $((n / 10)) ] && [ "$early_rss" -eq 0 ]; then
        early_rss=$rss early_fds=$fds
    fi
    # Then the winner is chosen, beside a simulator with descriptors of its own.
    [ "$rows" -lt "$n" ] && late_rss=$rss late_fds=$fds
    below >>descendants
    sleep 0.2
done
status=0
wait "$coordinator" || status=$?
seconds=$(($(date +%s) - start))

# Those that were seen below the coordinator, and those that carry the mark in their environment (where it can be read).
left_over() {
    {
        sort -u descendants
        for p in /proc/[0-9]*; do
            { tr '\0' '\n' <"$p/environ" | grep -qx "HOSTILE_MARK=$work" && echo "${p#/proc/}"; } 2>/dev/null
        done
    } | sort -u | while read -r pid; do
        [ "$pid" = $$ ] || { tr '\0' ' ' <"/proc/$pid/cmdline" | grep 'kernwright worker'; } 2>/dev/null
    done | wc -l
}
leaked=0
try=0
while [ "$try" -lt 120 ]; do # the last ones may be about to end
    try=$((try + 1))
    leaked=$(left_over)
    [ "$leaked" -eq 0 ] && break
    sleep 0.5
done

count() { # OUTCOME
    grep '"purpose":"search"' lines | grep -c "\"outcome\":\"$1\"" || true
}
good=$(count ok) crash=$(count crash) timeout=$(count timeout) wrong=$(count wrong)
tenth=$((n / 10))
fault=0
must() { # WHAT CONDITION...
    what=$1
    shift
    "$@" || { fault=1; echo "hostile: $what" >&2; }
}
must "status $status: $(tail -n 1 log)" [ "$status" -eq 0 ]
must 'not every good candidate was measured' [ "$good" -eq $((n - 3 * tenth)) ]
must 'crashes' [ "$crash" -eq "$tenth" ]
must 'timeouts' [ "$timeout" -eq "$tenth" ]
must 'wrong ones' [ "$wrong" -eq "$tenth" ]
must "$leaked processes are left" [ "$leaked" -eq 0 ]
# Who was not looked at early cannot be compared.
must 'nobody looked while the first tenth was measured' [ "$early_rss" -gt 0 ]
must "memory grows: $early_rss to $late_rss KiB" [ $((late_rss - early_rss)) -le "$GROWTH_KIB" ]
must "descriptors grow: $early_fds to $late_fds" [ $((late_fds - early_fds)) -le 4 ]
echo "hostile: candidates=$n good=$good crash=$crash timeout=$timeout wrong=$wrong seconds=$seconds leaked=$leaked" \
    "rss_kib_early=$early_rss rss_kib_late=$late_rss fds_early=$early_fds fds_late=$late_fds"
exit "$fault"
