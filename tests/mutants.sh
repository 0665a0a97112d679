#!/bin/sh
# A few kernels of the mutation corpus: each is refused, and a right kernel is not. `make mutants` has all of them.
# Skipped without PoCL.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

unset KERNWRIGHT_FAKE OCL_ICD_VENDORS KERNWRIGHT_DEVICE
export POCL_CACHE_DIR="$work/pocl"
mkdir "$POCL_CACHE_DIR"
if ! "$kw" devices 2>/dev/null | grep -q 'pocl/'; then
    skip 'mutants' 'no PoCL'
    finish mutants
fi
cd "$root" || exit 3

# Runs the runner; sets status, output, errors, and the last line.
judge() {
    output=$("$BUILD/tests/run_mutants" --device pocl --configs 0 --no-deep "$@" 2>"$work/errors" </dev/null)
    status=$?
    errors=$(cat "$work/errors")
    last=$(printf '%s\n' "$output" | tail -1)
}

mkdir -p "$work/wrong" "$work/right" "$work/free"
while read -r name outcome; do
    mkdir -p "$work/wrong/${name%/*}"
    cp "tests/mutants/$name.cl" "$work/wrong/$name.cl"
    printf '%s %s\n' "$name" "$outcome" >>"$work/expected"
done <<'END'
argmax/last_of_equals wrong
gemm/ignores_beta wrong
gemm/skips_last_k_step wrong
gemm/recursion crash
reduce_sum/missing_barrier_in_tree wrong
saxpy/done_before wrong
saxpy/one_past_end out_of_bounds
saxpy/scales_x input_modified
scan/no_carry wrong
END
judge "$work/wrong"
check 'all are refused' same "$last" 'mutants: detected=9/9 fast=9/9 false_alarms=0/0'
check 'exit status 0' same "$status" 0
while read -r name outcome; do
    check "$name is $outcome" has "$(printf '%s\n' "$output" | grep "^$name ")" " $outcome "
done <"$work/expected"

# A right kernel that claims to be a mutant is not detected; the same one as a control is no false alarm.
sed 's/expect=ok/family=none/' tests/mutants/saxpy/right_plain.cl >"$work/right/plain.cl"
judge "$work/right"
check 'a right kernel passes' same "$last" 'mutants: detected=0/1 fast=0/1 false_alarms=0/0'
check 'which is a failure of the evaluator' same "$status" 1
cp tests/mutants/saxpy/right_plain.cl "$work/right/plain.cl"
judge "$work/right"
check 'a control passes' same "$last" 'mutants: detected=0/0 fast=0/0 false_alarms=0/1'
check 'and is counted as one' same "$status" 0

# What does not compile by mistake is no detected mutant.
sed 's/expect=ok/family=none/; s/a \* x\[i\]/a * z[i]/' tests/mutants/saxpy/right_plain.cl >"$work/right/plain.cl"
judge "$work/right"
check 'a kernel that does not compile' same "$last" 'mutants: detected=0/1 fast=0/1 false_alarms=0/0'
check 'is shown as such' has "$output" compile_error

sed 's/expect=ok/expect=wrng/' tests/mutants/saxpy/right_plain.cl >"$work/right/plain.cl"
judge "$work/right"
check 'an outcome that there is not' has "$errors" "no outcome 'wrng'"
check 'is bad input' same "$status" 2
judge "$work/free"
check 'an empty folder' same "$status" 2

finish mutants
