#!/bin/sh
# The bench of steering on a few seeds: it runs, repeats itself, and refuses what it cannot read.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"
cd "$root" || exit 3

bench() { # ARGUMENTS
    output=$(BUILD=$BUILD bench/evolve.sh "$@" 2>"$work/errors")
    status=$?
    errors=$(cat "$work/errors")
}

last() { # TEXT
    printf '%s\n' "$1" | tail -n 1
}

bench --seeds 4 --budget 60
check 'it runs' same "$status" 0
check 'the last line' has "$(last "$output")" 'evolve: seeds=4 budget=60 cells='
for name in valley blind recorded; do
    check "with $name" has "$(last "$output")" " ${name}_archive="
done
first=$output
bench --seeds 4 --budget 60 --from tests/recorded/evolve-saxpy/journal.jsonl
check 'the same again, and the recorded run is the one that it takes by itself' same "$output" "$first"
bench --seeds 4 --budget 60 --first 9
if [ "$output" = "$first" ]; then bad 'other seeds give others'; else ok 'other seeds give others'; fi
# A model that does nothing but fail reaches nothing: every run counts as its whole budget.
bench --seeds 3 --budget 20 --landscape cells --fail 1
check 'a model that is never right' has "$(last "$output")" 'cells=20.0 cells_reached=0.00'
bench --seeds 3 --budget 400 --landscape blind --fail 0 --skill 1 --follow 1
check 'one that is always right gets there' has "$(last "$output")" 'blind_reached=1.00'
bench --from docs
check 'no journal: its status' same "$status" 2
check 'no journal: which' has "$errors" 'docs/journal.jsonl'
bench --landscape flat
check 'no such landscape' has "$errors" 'cells, valley, blind and recorded'
bench --seeds none
check 'no count' has "$errors" 'a count'

# The other two: that they come to their last line with every candidate; how fast is for a quiet machine.
output=$(BUILD=$BUILD bench/evolve_rate.sh --reply 0.2 --in-flight 2 --n 8 --sleep-us 100 2>"$work/errors")
check 'rate' has "$(last "$output")" 'candidates=8 bound='
output=$(BUILD=$BUILD bench/evolve_overhead.sh 12 2>"$work/errors")
check 'overhead' has "$(last "$output")" 'evolve_overhead: candidates=12 '
output=$(BUILD=$BUILD bench/evolve_overhead.sh 4 tests/recorded/evolve-saxpy saxpy 2>"$work/errors")
check 'overhead of a recorded run' has "$(last "$output")" 'evolve_overhead: candidates=4 '
finish bench_evolve
