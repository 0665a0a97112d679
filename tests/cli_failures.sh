#!/bin/sh
# Candidates that fail in every way: each failure is its own, good ones are measured all the same.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

params='"D": {"values": ["time_ns=9000", "build=error", "build=crash", "build=hang", "run=crash", "run=hang", "run=lost",
        "result=wrong", "result=nan", "result=constant", "result=oob", "result=oob_before", "modify=input",
        "run=launch_error", "run=does_not_fit", "only=first", "run=crash after=3", "time_ns=7000"]}'
local='64' before='#pragma fake ${D}' && template mixed.cl

count() { # OUTCOME; how many rows of results show --failed --json have it
    printf '%s\n' "$output" | grep -c "\"outcome\":\"$1\""
}

of() { # DIRECTIVE; outcome and stage of its row
    printf '%s\n' "$output" | grep -F "{\"D\":\"$1\"}" | sed 's/.*"outcome":"\([a-z_]*\)","stage":"\([a-z]*\)".*/\1 \2/'
}

works 'tuning goes on to the end' tune saxpy --template mixed.cl --dims N=300 --strategy exhaustive --budget 100 \
    --compile-limit 10 --run-limit 10 --store s.db
check 'all are tried' has "$output" ' 18+0 '
check 'the best of the good ones wins' has "$output" ' 0.007000 '

works 'failures as JSON' results show --failed --json --store s.db
# Sixteen of the search, and the task's own fallback, which every header needs and which this device cannot run.
check 'seventeen rows' [ "$(lines "$output")" -eq 17 ]
while read -r directive wanted stage; do
    check "$directive is $wanted" same "$(of "$(echo "$directive" | tr + ' ')")" "$wanted $stage"
done <<END
build=error compile_error compile
build=crash crash compile
build=hang timeout compile
run=crash crash smoke
run=hang timeout smoke
run=lost crash smoke
result=wrong wrong smoke
result=nan wrong smoke
result=constant wrong smoke
result=oob out_of_bounds smoke
result=oob_before out_of_bounds smoke
modify=input input_modified smoke
run=launch_error launch_error smoke
run=does_not_fit does_not_fit smoke
only=first nondeterministic smoke
run=crash+after=3 crash verify
END
check 'crashes' [ "$(count crash)" -eq 4 ]
check 'timeouts' [ "$(count timeout)" -eq 2 ]
check 'every one says why' [ "$(printf '%s\n' "$output" | grep -c '"detail":"[^"]')" -eq 17 ]
check 'which stage did not end' has "$output" 'no end of stage smoke within 10000 ms'

works 'failures by cause' results show --failed --store s.db
check 'grouped' has "$output" 'out_of_bounds'
check 'counted' has "$errors" '17 measurements'
works 'the good ones' results show --json --store s.db
check 'are measured' [ "$(count ok)" -ge 2 ]

works 'the same command again' tune saxpy --template mixed.cl --dims N=300 --strategy exhaustive --budget 100 \
    --compile-limit 10 --run-limit 10 --store s.db
check 'repeats no failure' has "$output" ' 0+18 '

# ---- nothing good ----
params='"D": {"values": ["result=wrong", "build=error", "result=nan"]}' local='64' before='#pragma fake ${D}' &&
    template bad.cl
refuses 'nothing valid: what failed most, and an example' 1 \
    'N=300: all of 3 configurations failed, 2 of them as wrong, the fallback template too, so that the' \
    tune saxpy --template bad.cl --dims N=300 --store bad.db
check 'no table' [ -z "$output" ]
refuses 'nothing to emit from it' 1 'saxpy' emit saxpy -o bad.h --store bad.db
check 'no header' [ ! -e bad.h ]
printf '{"N": 300}\n{"N": 400}\n' >shapes.json
refuses 'several shapes' 1 '2 of 2 shapes failed' tune saxpy --template bad.cl --shapes shapes.json --store bad.db
check 'each is said' [ "$(printf '%s\n' "$errors" | grep -c '^error: N=')" -eq 2 ]

# ---- one configuration ----
while read -r directive wanted; do
    before="#pragma fake $directive" local='64' && template one.cl
    refuses "time: $directive" 1 "$wanted" time one.cl --dims N=100 --run-limit 10 --compile-limit 10 --keep --store one.db
    check "time: $directive: the reason on standard output too" [ "$(lines "$output")" -ge 2 ]
done <<END
result=wrong wrong in stage smoke: N=
build=error compile_error in stage compile:
run=crash crash in stage smoke: worker died of signal
run=hang timeout in stage smoke: no end of stage smoke within 10000 ms
END
works 'failures are kept as well' results show --failed --json --store one.db
check 'all four' [ "$(lines "$output")" -eq 4 ]

# ---- the task itself is at fault: no candidate is to blame ----
mkdir -p tasks/own/shapes
cat >tasks/own/task.json <<'END'
{ "task": "own", "dims": {"N": {"min": 1}}, "types": {"T": ["f32"]},
  "tensors": [ {"name": "x", "type": "T", "shape": ["N"], "access": "in"},
               {"name": "y", "type": "T", "shape": ["N"], "access": "out"} ],
  "reference": "own_reference" }
END
echo 'this is no C' >tasks/own/reference.c
cat >own.cl <<'END'
/*kernwright {"task": "own", "launches": [{"kernel": "fake_copy", "args": ["N", "x", "y"], "local": [64],
  "groups": ["ceil_div(N, 64)"]}]} */
kernel void fake_copy(int n, global const float *x, global float *y) {}
END
refuses 'a reference that does not compile' 2 'reference' tune own --template own.cl --dims N=64 --store own.db
check 'nobody crashed' [ "$(printf '%s\n' "$errors" | grep -c crash)" -eq 0 ]
works 'no row' results show --json --store own.db
check 'no row' [ -z "$output" ]

# ---- a task with neither reference nor cost formulas ----
sed -i '/"reference"/d; s/"out"} \],/"out"} ]}/' tasks/own/task.json
works 'it can be tuned' tune own --template own.cl --dims N=64 --store own.db
check 'without rates' [ "$(printf '%s\n' "$output" | grep -c 'GFLOP\|GB/s')" -eq 0 ]
check 'and without a layer that it did not earn' has "$output" '-      no'
refuses 'a header wants what was checked' 1 '--unverified' emit own -o own.h --store own.db
check 'no header' [ ! -e own.h ]

finish cli_failures
