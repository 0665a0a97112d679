#!/bin/sh
# kernwright matrix: options, counts, interruption by time, and compressed results text.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

before='#pragma fake time_ns=${100 * WG}' more='"fallback": true,' && template good.cl
printf '{"N": 1000}\n{"N": 64, "count": 3}\n' >shapes.jsonl
works 'two shapes' matrix saxpy --template good.cl --shapes shapes.jsonl --store m.db
check 'all is there' has "$output" 'be done'
check 'nothing is left' has "$output" ', 0 to be done'
works 'once more' matrix saxpy --template good.cl --shapes shapes.jsonl --store m.db --json
check 'nothing new' has "$output" '"measured":0'
check 'complete' has "$output" '"complete":true'

before='#pragma fake run=lost' more='"fallback": true,' && template lost.cl
refuses 'all fail' 1 'none of 4 configurations' matrix saxpy --template lost.cl --shapes shapes.jsonl --store lost.db
check 'they are named' has "$errors" 'N=1000  crash'
check 'no time is made up' [ "$(printf '%s\n' "$errors" | grep -c 'inf')" -eq 0 ]

refuses 'no template' 2 'which template' matrix saxpy --shapes shapes.jsonl
refuses 'two templates' 2 'which template' matrix saxpy --template good.cl --template good.cl
refuses 'no task' 2 'give one task' matrix --template good.cl
refuses 'no such strategy' 2 "did you mean 'random'" matrix saxpy --template good.cl --strategy randon
refuses 'no time' 2 '--configs says' matrix saxpy --template good.cl --time 40
refuses 'none wanted' 2 'configs' matrix saxpy --template good.cl --configs 0
refuses 'no shapes' 2 'none.jsonl' matrix saxpy --template good.cl --shapes none.jsonl
works 'help' matrix --help
check 'help says how it goes on' has "$output" 'not measured again'

# ---- importance ----
refuses 'too few' 1 'it takes at least 20' results show --importance --store m.db
refuses 'none' 2 'no store' results show --importance --store nothing.db
refuses 'two views' 2 'give one of' results show --importance --failed --store m.db
cat >many.cl <<'END'
/*kernwright {"task": "saxpy", "language": "opencl", "fallback": true,
  "params": {"A": {"values": [1, 2, 4, 8, 16]}, "B": {"values": [1, 2, 3]}, "C": {"values": [false, true]}},
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
#pragma fake time_ns=${1000 * A} registers=${B} spill_bytes=${8 if C else 0}
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
}
END
works 'thirty' matrix saxpy --template many.cl --shapes shapes.jsonl --store i.db
works 'importance' results show --importance --store i.db
check 'the one that decides is first' has "$(printf '%s\n' "$output" | sed -n 3p)" 'A '
check 'with its best value' has "$(printf '%s\n' "$output" | sed -n 3p)" ' 1'
check 'how many' has "$output" '60 times of 30 configurations on 2 shapes'
works 'as JSON' results show --importance --json --store i.db
check 'one line' [ "$(lines "$output")" -eq 1 ]
check 'names' has "$output" '"name":"A","best":"1"'

# ---- compressed results ----
if command -v gzip >/dev/null; then
    works 'the matrix as text' results export --all --store m.db -o m.jsonl
    gzip -kn m.jsonl
    works 'compressed' results import m.jsonl.gz --store new.db
    works 'and back' results export --all --store new.db -o new.jsonl
    check 'the same' cmp -s m.jsonl new.jsonl
    works 'a header of it' emit saxpy --from m.jsonl.gz -o m.h
    head -c 300 m.jsonl.gz >cut.jsonl.gz
    refuses 'cut off' 2 'cut off' results import cut.jsonl.gz --store other.db
    { head -c 200 m.jsonl.gz; head -c 400 /dev/zero; } >bad.jsonl.gz
    refuses 'damaged' 2 'bad.jsonl.gz' results import bad.jsonl.gz --store other.db
    # What stands behind a member: another one, zeros that fill a block, or something that would be lost.
    cat m.jsonl.gz m.jsonl.gz >twice.jsonl.gz
    works 'two that were joined' results merge twice.jsonl.gz -o merged.jsonl
    check 'are one' cmp -s m.jsonl merged.jsonl
    { cat m.jsonl.gz; head -c 1000 /dev/zero; } >padded.jsonl.gz
    works 'padded' results merge padded.jsonl.gz -o merged.jsonl
    check 'is the same' cmp -s m.jsonl merged.jsonl
    cat m.jsonl.gz m.jsonl >mixed.jsonl.gz
    for command in 'results merge mixed.jsonl.gz -o mixed.jsonl' 'results import mixed.jsonl.gz --store other.db' \
        'emit saxpy --from mixed.jsonl.gz -o mixed.h'; do
        # shellcheck disable=SC2086 # words
        refuses "$command" 2 'something that is not compressed follows' $command
    done
    check 'nothing is written' [ ! -e mixed.jsonl ]
    check 'no header either' [ ! -e mixed.h ]
else
    skip 'compressed results' 'no gzip'
fi
finish cli_matrix
