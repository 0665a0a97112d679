#!/bin/sh
# The probe on the scripted device, and what tuning makes of its figures.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

# ---- the command ----
works 'probe' probe --store p.db
check 'names the device' has "$output" 'Fake large (fake/scripted/large/64), driver 1'
check 'copy bandwidth' has "$output" 'copy, read + written'
check 'noise' has "$output" 'A/A noise, copying'
check 'measured now' [ "$(printf '%s\n' "$output" | grep -c 'from the store')" -eq 0 ]
works 'again' probe --store p.db
check 'from the store' has "$output" 'from the store, --again measures anew'
works 'as JSON' probe --store p.db --json
check 'one line' [ "$(lines "$output")" -eq 1 ]
check 'figures' has "$output" '"figures":{"copy_bytes_per_s":'
check 'not measured again' has "$output" '"fresh":false'
works 'measured anew' probe --store p.db --json --again
check 'fresh' has "$output" '"fresh":true'
works 'another device' probe --device fake:1 --store p.db --json
check 'has figures of its own' has "$output" '"fresh":true'
check 'no double precision there' [ "$(printf '%s\n' "$output" | grep -c fma_f64)" -eq 0 ]
refuses_at_once 'an argument' 2 "takes no argument (got 'fast')" probe fast
refuses_at_once 'an option' 2 '--again' probe --agian
refuses 'no such device' 2 'fake:7' probe --device fake:7 --store none.db
check 'no store for it' [ ! -e none.db ]
echo 'this is text' >text.db
refuses 'a bad store' 2 'text.db' probe --store text.db

# ---- a task whose work takes a millisecond at the device's rate: a billion multiply-adds for every element ----
mkdir -p tasks/heavy
cat >tasks/heavy/task.json <<'END'
{ "task": "heavy", "dims": {"N": {"min": 1}}, "types": {"T": ["f32"]},
  "tensors": [ {"name": "x", "type": "T", "shape": ["N"], "access": "in"},
               {"name": "y", "type": "T", "shape": ["N"], "access": "out"} ],
  "flops": "1000000000*N", "bytes": "8*N" }
END
cat >heavy.cl <<'END'
/*kernwright {"task": "heavy", "params": {"NS": {"values": [2000, 500000, 900000, 3000000]}},
  "launches": [{"kernel": "fake_copy", "args": ["N", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
#pragma fake time_ns=${NS}
kernel void fake_copy(int n, global const float *x, global float *y) {}
END
heavy='tune heavy --template heavy.cl --dims N=1000 --strategy exhaustive --budget 10'
# shellcheck disable=SC2086 # words
works 'impossible times' $heavy --store h.db --json
check 'probed once' [ "$(printf '%s\n' "$errors" | grep -c 'measuring what the device can do')" -eq 1 ]
check 'what came of it' has "$errors" 'probe: copy '
check 'two are implausible' [ "$(printf '%s\n' "$output" | grep -c '"outcome":"implausible","stage":"time"')" -eq 2 ]
check 'it says why' has "$output" 'a run of this shape takes at least'
check 'and by what' has "$output" 'on this device (fma)'
check 'the fastest possible one wins' has "$output" '"config":{"NS":900000},"naive_ns"'
check 'near its limit' [ "$(printf '%s\n' "$output" | grep -cE '"limited_by":"fma","percent_of_limit":10[78]\.')" -eq 2 ]
check 'noise' has "$output" '"noise":0.00'
check 'what stopping saved' has "$output" '"stopped_early":'
# shellcheck disable=SC2086
works 'as a table' $heavy --store h.db
check 'share of the limit' has "$output" '108% fma'
check 'columns' has "$output" 'of limit  A/A noise'
check 'nothing is probed again' [ "$(printf '%s\n' "$errors" | grep -c 'measuring what the device can do')" -eq 0 ]
works 'failures' results show --failed --store h.db
check 'by cause' has "$output" 'implausible'
works 'results' results show --store h.db
check 'with their share' has "$output" '108% fma'
works 'results as JSON' results show --json --store h.db
check 'with their limit' has "$output" '"limited_by":"fma"'
works 'exported' results export --all -o h.jsonl --store h.db
works 'and imported' results import h.jsonl --store copy.db
works 'the copy' results show --store copy.db
check 'has the share too' has "$output" '108% fma'

# shellcheck disable=SC2086
works 'without the probe' $heavy --store n.db --no-probe --json
check 'nothing is implausible' [ "$(printf '%s\n' "$output" | grep -c implausible)" -eq 0 ]
check 'nor known' [ "$(printf '%s\n' "$output" | grep -c limited_by)" -eq 0 ]

finish cli_probe
