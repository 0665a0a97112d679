#!/bin/sh
# Runs test programs and test scripts, JOBS at a time, shows the output of those that fail, and adds up their counts.
#     tools/run-tests.sh TITLE TEST...
# A program's counts are taken from cmocka's lines; a script (and a fuzz replay) prints "NAME: passed=N failed=N
# skipped=N" as its last line. A test that ends badly without counting a failure counts as one failure.
# Environment: BUILD (logs go to $BUILD/test-logs), JOBS (default: number of cores, at most 2),
# TEST_TIMEOUT in seconds for one program (default 1800: a busy machine takes ten times as long), TEST_WRAPPER (a command
# to put in front of programs).
set -u

title=$1
shift
: "${BUILD:=build}"
: "${TEST_TIMEOUT:=1800}"
: "${TEST_WRAPPER:=}"
logs=$BUILD/test-logs
if [ -z "${JOBS:-}" ]; then
    JOBS=$(nproc 2>/dev/null || echo 1)
    [ "$JOBS" -gt 2 ] && JOBS=2
fi
mkdir -p "$logs" || exit 3

# Results must not depend on what the user tunes with.
unset KERNWRIGHT_STORE KERNWRIGHT_DATA KERNWRIGHT_LOG KERNWRIGHT_COMPARE KERNWRIGHT_BATCH KERNWRIGHT_RUNNER KERNWRIGHT_BINARY_CACHE KERNWRIGHT_CACHE_MIB
# Nor do they fill the user's caches.
mkdir -p "$BUILD/test-cache" || exit 3
KERNWRIGHT_CACHE=$(cd "$BUILD/test-cache" && pwd)
export KERNWRIGHT_CACHE
[ "$title" = check-gpu ] || unset KERNWRIGHT_DEVICE
export BUILD

name_of() {
    base=${1##*/}
    echo "${base%.sh}"
}

run_one() {
    test=$1
    name=$(name_of "$test")
    # shellcheck disable=SC2086 # a wrapper may have arguments
    case $test in
    *.sh) timeout "$TEST_TIMEOUT" "$test" ;;
    *) timeout "$TEST_TIMEOUT" $TEST_WRAPPER "$test" ;;
    esac >"$logs/$name.log" 2>&1 </dev/null
    echo $? >"$logs/$name.rc.new"
    mv "$logs/$name.rc.new" "$logs/$name.rc"
}

# Prints "passed failed skipped" of one finished test.
counts_of() {
    awk -v rc="$(cat "$logs/$1.rc")" '
        /^\[       OK \] /                  { ok++ }
        /^\[  PASSED  \] [0-9]+ test/       { passed += $4; summary = 1 }
        /^\[  FAILED  \] .*[0-9]+ test\(s\)/ { for (i = 4; i < NF; i++) if ($(i + 1) ~ /^test\(s\)/) failed += $i }
        /^\[  SKIPPED \] .*[0-9]+ test\(s\)/ { for (i = 4; i < NF; i++) if ($(i + 1) ~ /^test\(s\)/) skipped += $i }
        /: passed=[0-9]+ failed=[0-9]+ skipped=[0-9]+$/ { line = $0 }
        END {
            if (line != "") {
                n = split(line, part, /[ =]/)
                passed = part[n - 4]; failed = part[n - 2]; skipped = part[n]
            } else if (!summary) {
                passed = ok
            }
            if (rc != 0 && failed + 0 == 0) failed = 1
            if (rc == 0 && passed + failed + skipped == 0) failed = 1
            print passed + 0, failed + 0, skipped + 0
        }' "$logs/$1.log"
}

report() {
    name=$1
    read -r p f s <<END
$(counts_of "$name")
END
    rc=$(cat "$logs/$name.rc")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    if [ "$f" -eq 0 ]; then
        printf '  ok    %-32s %4d passed' "$name" "$p"
        [ "$s" -gt 0 ] && printf ', %d skipped' "$s"
        printf '\n'
        return
    fi
    printf '  FAIL  %-32s %4d failed (exit status %s), its output:\n' "$name" "$f" "$rc"
    [ "$rc" -eq 124 ] && echo "        it did not end within $TEST_TIMEOUT s"
    sed 's/^/        | /' "$logs/$name.log"
}

passed=0 failed=0 skipped=0
running='' # names, in order of start
count=0

# Waits until one of them has ended, whichever it is: its status file appears.
wait_any() {
    while :; do
        left=''
        for one in $running; do
            if [ -f "$logs/$one.rc" ]; then
                report "$one"
                count=$((count - 1))
            else
                left="$left$one "
            fi
        done
        running=$left
        [ "$count" -lt "${1:-$JOBS}" ] && return
        sleep 0.05
    done
}

# Scripts first, since some of them take long: the last to end should be a short one.
for test in $(printf '%s\n' "$@" | grep '\.sh$') $(printf '%s\n' "$@" | grep -v '\.sh$'); do
    [ "$count" -ge "$JOBS" ] && wait_any
    name=$(name_of "$test")
    rm -f "$logs/$name.rc" "$logs/$name.rc.new"
    run_one "$test" &
    running="$running$name "
    count=$((count + 1))
done
[ "$count" -gt 0 ] && wait_any 1
wait

echo "$title: passed=$passed failed=$failed skipped=$skipped"
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
