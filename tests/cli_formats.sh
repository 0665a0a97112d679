#!/bin/sh
# Formats of other tuners, written: T4 results and T1 problems, which this program reads back.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"
toy=$root/tests/recorded/searches/toy

# ---- T4 results ----
works 'results imported' results import "$toy.results.jsonl"
works 'and exported as T4' results export --format t4 -o out.json
check 'the unit is stated' grep -q '"timeunit":"milliseconds"' out.json
check 'one line per configuration' same "$(grep -c '"configuration"' out.json)" 22
check 'samples are joined' grep -q '"runtimes":\[[0-9.]*,[0-9.]*\]' out.json
check 'failures are named' grep -q '"runtimes":\[\],*}*,"invalidity":"compile","correctness":0' out.json
works 'reading them back' simulate out.json --strategy random --at 3,9 --repeat 5 --json
back=$output
works 'and the results' simulate "$toy.results.jsonl" --strategy random --at 3,9 --repeat 5 --json
check 'is the same search' same "$(echo "$output" | sed 's/toy.results/out/')" "$back"
works 'chosen' results export --format t4 --task toy --template toy --shape N=64 --device Toy
check 'all of it' same "$(echo "$output" | grep -c '"configuration"')" 22
refuses_at_once 'another shape' 2 'nothing that was measured' results export --format t4 --shape N=65
refuses_at_once 'a shape with more' 2 'nothing that was measured' results export --format t4 --shape N=64,M=1
refuses_at_once 'no shape' 2 "'N' is no shape" results export --format t4 --shape N
refuses_at_once 'another device' 2 'nothing that was measured' results export --format t4 --device Cuckoo
refuses_at_once 'an unknown format' 2 "there is: t4" results export --format t5
refuses_at_once 'a choice without a format' 2 '--format t4' results export --shape N=64
sed 's/"N":64/"N":65/' "$toy.results.jsonl" >other.jsonl
works 'another shape imported' results import other.jsonl
refuses_at_once 'two searches' 2 'these differ' results export --format t4
check 'both are named' has "$errors" '{"N":64}'
check 'both are named (2)' has "$errors" '{"N":65}'
works 'one of them' results export --format t4 --shape N=65
works 'both in one file of results' simulate other.jsonl "$toy.results.jsonl" --strategy random --at 3 --repeat 2

# ---- T1 problems ----
for name in gemm_tiled saxpy_vec; do
    [ -f "$root/templates/$name.cl" ] || continue
    works "$name as T1" space "$root/templates/$name.cl" --format t1
    printf '%s\n' "$output" >problem.json
    works "$name counted" space "$root/templates/$name.cl" --count --json
    count=${output%%,\"cartesian*}
    works "$name read back" space problem.json --count --json
    check "$name has as many configurations" same "${output%%,\"cartesian*}" "$count"
done
works 'a shape is folded in' space gemm_tiled --dims M=64,N=64,K=64 --format t1
check 'as numbers' has "$output" '(64 % TM)'
works 'without one' space gemm_tiled --format t1
check 'launches use the problem size' has "$output" '-ProblemSize[0] // TM'
params='"WG": {"values": [16, 64]}, "MODE": {"values": ["a", "b'"'"'c"]}, "ON": {"values": [false, true]}'
constraints='"not ON or WG <= 64"' && template kinds.cl
works 'kinds of values' space kinds.cl --format t1
check 'truth values' has "$output" '"Values": "[False, True]"'
check 'text' has "$output" "\"Values\": \"['a', 'b\\\\'c']\""
printf '%s\n' "$output" >kinds.json
works 'read back' space kinds.json --list
constraints='"log2(WG) > 3"' && template log.cl
refuses_at_once 'a function that Python lacks' 2 "log2" space log.cl --format t1
refuses_at_once 'a recorded space' 2 'is not recorded' space "$toy.kt.json" --format t1
refuses_at_once 'another format' 2 'there is: t1' space gemm_tiled --format t7
refuses_at_once 'two answers' 2 'give one of' space gemm_tiled --format t1 --count
finish cli_formats
