#!/bin/sh
# simulate: what it prints, and files that are no recorded spaces.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"
toy=$root/tests/recorded/searches/toy

works 'the toy space' simulate "$toy.kt.json" --strategy random,local --at 20,5 --repeat 4
check 'a table per count, ascending' has "$output" 'best/optimum at 5 '
check 'and the other' has "$output" 'best/optimum at 20'
check 'with the exact figure' has "$output" 'exact random'
check 'the assumed unit is said' has "$errors" 'taken as ms'
works 'several spaces of different formats' simulate "$toy.kt.json" "$toy.T4.json" "$toy.ktt.json" --at 22 --repeat 2
check 'all configurations were tried' has "$output" '1.000           1.000           1.000           1.000'
works 'the score' simulate "$toy.kt.json" --strategy local --repeat 3 --score
check 'has its range' has "$output" 'toy (2..'

works 'JSON' simulate "$toy.kt.json" "$toy.clblast.json" --strategy random,local --at 2,7 --repeat 3 --json
check 'is an array' has "$output" '[{"space":"toy","strategy":"random","at":[2,7],"ratio":['
check 'of four' same "$(lines "$output")" 4
first=$output
works 'again' simulate "$toy.kt.json" "$toy.clblast.json" --strategy random,local --at 2,7 --repeat 3 --json --jobs 1
check 'is the same' same "$output" "$first"
works 'another seed' simulate "$toy.kt.json" "$toy.clblast.json" --strategy random,local --at 2,7 --repeat 3 --json --seed 2
if [ "$output" = "$first" ]; then bad 'is another'; else ok 'is another'; fi

works 'noise' simulate "$toy.kt.json" --strategy random,local --at 2,7 --repeat 3 --noise 0.05
check 'says how far the runs are apart' has "$output" 'winners of 5 runs apart at 7'
works 'noise, JSON' simulate "$toy.kt.json" --strategy random,local --at 2,7 --repeat 3 --noise 0.05 --runs 2 --json
check 'has it too' has "$output" '"apart":['
works 'without noise' simulate "$toy.kt.json" --strategy random,local --at 2,7 --repeat 3 --runs 2 --json
check 'runs are the same' has "$output" '"apart":[0,0]'
refuses_at_once 'noise that is none' 2 '--noise wants' simulate "$toy.kt.json" --noise much
refuses_at_once 'no runs' 2 '--runs' simulate "$toy.kt.json" --runs 0

refuses_at_once 'noise of more than all' 2 'from 0 to 1' simulate "$toy.kt.json" --noise 1.5
# With as many seeds and runs and two strategies the number of bytes is 0 to a machine word.
refuses 'more results than memory' 3 'give fewer seeds' simulate "$toy.kt.json" --strategy local --repeat 524288 \
    --runs 524288 --at 8388608

mkdir -p gemm pnpoly
cp "$toy.kt.json" gemm/A100.json
cp "$toy.kt.json" pnpoly/A100.kt.json
cp "$toy.kt.json" A100.json
cp "$toy.kt.json" pnpoly/other.json
works 'files of one name' simulate gemm/A100.json pnpoly//A100.kt.json A100.json pnpoly/other.json --strategy random \
    --repeat 1 --at 3 --json
check 'have their folders before it' has "$output" '"space":"gemm/A100"'
check 'each its own' has "$output" '"space":"pnpoly/A100"'
check 'one here has none' has "$output" '"space":"A100"'
check 'nor has one of another name' has "$output" '"space":"other"'

gzip -c "$toy.kt.json" >packed
works 'gzipped, without an ending' simulate packed --repeat 1 --at 3
head -c 300 packed >cut.gz
refuses_at_once 'gzip cut off' 2 'cut.gz: the gzip data end early' simulate cut.gz
head -c 1000 "$toy.kt.json" >half
refuses_at_once 'a cache cut off within an entry' 2 'half:' simulate half
: >empty
refuses_at_once 'an empty file' 2 'empty: not a recorded space but empty' simulate empty
echo '{"tune_params_keys": ["A"], "tune_params": {"A": [1]}, "cache": {"1": {"A": 1, "time": 0}}}' >failed.json
refuses_at_once 'all failed' 2 'failed.json: all 1 configurations failed' simulate failed.json
echo '{"tune_params_keys": ["A"], "tune_params": {"A": [1, 2]}, "cache": {"1": {"A": 1, "time": 3}}}' >one.json
works 'one configuration' simulate one.json --score --repeat 2
echo 'kernel void f() {}' >kernel.cl
refuses_at_once 'a kernel' 2 'kernel.cl: not a recorded space but no JSON' simulate kernel.cl
refuses_at_once 'one bad file of two' 2 'kernel.cl' simulate "$toy.kt.json" kernel.cl
refuses_at_once 'no such file' 2 'nowhere.json' simulate nowhere.json
sed 's/"schema":1/"schema":2/' "$toy.results.jsonl" >newer.jsonl
refuses_at_once 'results of a newer program' 2 'newer.jsonl:1: results of schema 2' simulate newer.jsonl
head -c 100000 /dev/zero >zeros
refuses_at_once 'zeros' 2 'zeros: a NUL byte in it' simulate zeros
gzip -c zeros >zeros.gz
refuses_at_once 'zeros, packed' 2 'zeros.gz: a NUL byte in it' simulate zeros.gz
refuses_at_once 'zeros for a space' 2 'zeros.gz: a NUL byte in it' space zeros.gz
refuses_at_once 'no file' 2 'at least one' simulate
refuses_at_once 'unknown strategy' 2 "did you mean 'random'?" simulate "$toy.kt.json" --strategy rndom
refuses_at_once 'no strategy' 2 'no strategy' simulate "$toy.kt.json" --strategy ,
refuses_at_once 'a count of zero' 2 '--at wants' simulate "$toy.kt.json" --at 0
refuses_at_once 'a count that is none' 2 '--at wants' simulate "$toy.kt.json" --at 5,x
refuses_at_once 'no seeds' 2 '--repeat' simulate "$toy.kt.json" --repeat 0
refuses_at_once 'unknown unit' 2 'ns, us, ms, s' simulate "$toy.kt.json" --unit hours

# ---- progress ----
works 'progress' simulate "$toy.kt.json" --strategy random --repeat 2 --at 3 --jobs 2
check 'each state once' [ -z "$(printf '%s\n' "$errors" | sort | uniq -d)" ]

# ---- signals ----
for name in INT TERM; do
    for jobs in 1 2; do
        "$kw" simulate "$toy.kt.json" --strategy random --repeat 1000000 --jobs $jobs >out 2>err &
        pid=$!
        catches "$pid"
        kill -s $name "$pid"
        wait "$pid"
        status=$? output=$(cat out) errors=$(cat err)
        check "SIG$name, processes $jobs: status 130" same "$status" 130
        check 'and is said' has "$errors" 'kernwright simulate: interrupted'
        check 'without output' [ -z "$output" ]
    done
done
finish cli_simulate
