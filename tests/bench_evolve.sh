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

# A journal of a run: the plain kernel, and four candidates of which three are right.
candidate() { # NUMBER MOVE TARGET OUTCOME FITNESS CELL
    echo "{\"event\":\"ask\",\"key\":\"generate-00000$1\",\"kind\":\"generate\",\"parent\":\"h0\",\"target\":$3,\"move\":\"$2\"}"
    echo "{\"event\":\"trial\",\"key\":\"generate-00000$1\",\"trial\":{\"hash\":\"h$1\",\"fitness\":$5,\"read\":true,\"outcome\":\"$4\",\"stage\":\"done\",\"measured\":4,\"shapes\":[],\"offers\":[{\"cell\":$6,\"fitness\":$5}]}}"
    echo "{\"event\":\"attempt\",\"key\":\"generate-00000$1\",\"outcome\":\"$4\"}"
}
{
    echo '{"event":"run","info":{"task":"saxpy"}}'
    candidate 0 none -1 ok 1.0 '[0,0,0]' | sed -n '2s/generate-000000/seed-000001/p'
    candidate 1 'raise memory' 16 ok 1.4 '[1,0,0]'
    candidate 2 'raise compute' 4 wrong 0.4 '[0,1,0]'
    candidate 3 'raise compute' 4 ok 0.9 '[0,1,0]'
    candidate 4 'raise memory' 16 ok 1.5 '[1,0,1]' | sed '2s/generate-000004/generate-000004-r1-s1/'
} >"$work/journal.jsonl"
kernwright evolve --report --json "$work/journal.jsonl"
check 'the journal as a report' has "$output" '"compiled_at_once":[3,4],"compiled":[4,4],"right_at_once":[2,4],"right":[3,4],"beat_parent":[2,4],"target_hit":[2,3],"target_hit_of_moves":[2,3]'
bench --seeds 4 --budget 60 --from "$work/journal.jsonl" --from tests/recorded/evolve-saxpy
check 'it runs' same "$status" 0
check 'the last line' has "$(last "$output")" 'evolve: seeds=4 budget=60 cells='
for name in valley blind recorded; do
    check "with $name" has "$(last "$output")" " ${name}_archive="
done
check 'recorded runs' has "$output" 'recorded run of saxpy: 4 candidates, 3 right'
check 'one that says nothing is left out' has "$(last "$output")" 'recorded_runs=1'
first=$output
bench --seeds 4 --budget 60 --from "$work/journal.jsonl" --from tests/recorded/evolve-saxpy
check 'the same again' same "$output" "$first"
bench --seeds 4 --budget 60 --from "$work/journal.jsonl" --from tests/recorded/evolve-saxpy --first 9
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
output=$(BUILD=$BUILD bench/evolve_rate.sh --replies 0.2 --n 8 2>"$work/errors")
status=$?
check 'rate: no such option' same "$status" 2
output=$(BUILD=$BUILD bench/evolve_overhead.sh 12 2>"$work/errors")
check 'overhead' has "$(last "$output")" 'evolve_overhead: candidates=12 '
output=$(BUILD=$BUILD bench/evolve_overhead.sh 4 tests/recorded/evolve-saxpy saxpy 2>"$work/errors")
check 'overhead of a recorded run' has "$(last "$output")" 'evolve_overhead: candidates=4 '
finish bench_evolve
