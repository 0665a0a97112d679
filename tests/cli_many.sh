#!/bin/sh
# kernwright tune over many shapes at once.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

cat >good.cl <<'END'
/*kernwright {"task": "saxpy", "language": "opencl", "fallback": true,
  "params": {"A": {"values": [1, 2, 4, 8, 16], "default": 16}, "B": {"values": [1, 2, 3, 4, 5], "default": 5}},
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
#pragma fake time_ns=${1000 * A + 100 * B} registers=${B}
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
}
END
i=0
while [ $i -lt 20 ]; do
    echo "{\"N\": $((64 + 37 * i * i)), \"count\": $((1 + i % 3))}"
    i=$((i + 1))
done >shapes.jsonl
head -5 shapes.jsonl >few.jsonl

works 'a budget for all' tune saxpy --template good.cl --shapes shapes.jsonl --total-budget 120 --store all.db
check 'a row for each shape' [ "$(lines "$output")" -eq 21 ]
check 'said how many' has "$errors" '20 shapes together: 120 measured, 0 stored'
works 'it is spent' tune saxpy --template good.cl --shapes shapes.jsonl --total-budget 120 --store all.db --json
check 'nothing is measured' has "$errors" '0 measured, 120 stored'
works 'a header of it' emit saxpy --store all.db -o all.h
works 'few together' tune saxpy --template good.cl --shapes few.jsonl --total-budget 30 --store few.db
check 'said how many' has "$errors" '5 shapes together: 30 measured'
works 'many without a word' tune saxpy --template good.cl --shapes shapes.jsonl --store default.db
check '25 for each' has "$errors" '20 shapes together: 500 measured'
works 'each by itself' tune saxpy --template good.cl --shapes shapes.jsonl --budget 3 --store each.db
check 'no word of together' [ "${errors#*together}" = "$errors" ]
works 'few without a word' tune saxpy --template good.cl --shapes few.jsonl --store own.db
check 'each by itself' [ "${errors#*together}" = "$errors" ]
refuses 'both' 2 'give either --budget' tune saxpy --template good.cl --budget 3 --total-budget 100
refuses 'no number' 2 "budget 'many'" tune saxpy --template good.cl --total-budget many
finish cli_many
