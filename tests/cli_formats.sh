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
# ---- T1 problems, tuned ----
cat >add.cl <<'END'
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
}
END
problem() { # FILE, from the variables below
    cat >"$1" <<END
{ "General": {"BenchmarkName": "$name"},
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "WG", "Type": "int", "Values": "[16 * i for i in range(1, 5)]", "Default": 32},
      {"Name": "ITEMS", "Type": "int", "Values": "[1, 2, 4]"}],
    "Conditions": [{"Parameters": ["WG"], "Expression": "WG * ITEMS <= ProblemSize[0] // 8"}]},
  "KernelSpecification": {
    "Language": "$language", "KernelName": "fake_saxpy", "KernelFile": "$file", "GlobalSizeType": "CUDA",
    "ProblemSize": [1000],
    "LocalSize": {"X": "WG"}, "GlobalSize": {"X": "(ProblemSize[0] + WG * ITEMS - 1) // (WG * ITEMS)"},
    "Arguments": [
      {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1000},
      {"Name": "a", "Type": "float", "MemoryType": "Scalar", "FillValue": 2.0},
      {"Name": "x", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": "max(ITEMS) * $size"},
      {"Name": "y", "Type": "$type", "MemoryType": "$memory", "AccessType": "$access", "Size": $y_size}]}}
END
    usual
}
usual() {
    name='vector add' language=OpenCL file=add.cl size='ProblemSize[0]' type=float memory=Vector access=ReadWrite
    y_size=1000
}
usual
problem add.T1.json
works 'a problem checked' check add.T1.json
check 'its space' has "$output" 'combinations 12, valid 8'
works 'expanded' expand add.T1.json
check 'with its default' has "$output" '#define WG 32'
works 'tuned' tune add.T1.json --budget 20 --store t1.db
check 'without a reference' has "$output" '8+0         -      no '
check 'all of it' has "$output" 'size0=1000'
works 'one configuration' time add.T1.json --set WG=64
refuses 'not in a header' 1 '--unverified' emit add.T1.json -o add.h --store t1.db
refuses_at_once 'a size of its own' 2 'its own size' tune add.T1.json --dims size0=5
refuses_at_once 'no crossover' 2 'by tasks only' crossover add.T1.json --store t1.db
refuses_at_once 'a kernel of its own' 2 'its own kernel' tune add.T1.json --template add.cl
file=nowhere.cl && problem file.json
refuses_at_once 'no kernel file' 2 'file.json: KernelSpecification: there is no file ./nowhere.cl' tune file.json
language=Vulkan && problem language.json
refuses_at_once 'another language' 2 'OpenCL or CUDA' tune language.json
size='WG' && problem size.json
refuses_at_once 'a size that depends on the configuration' 2 "size of 'x'" tune size.json
type=custom && problem type.json
refuses_at_once 'an unknown type' 2 "'y'" tune type.json
memory=Symbol && problem memory.json
refuses_at_once 'a symbol' 2 'Vector, Scalar or Local' tune memory.json
access=ReadOnly && problem access.json
refuses_at_once 'no output' 2 'no argument is written' tune access.json
type=float16 y_size='"4611686018427387904"' && problem large.json
refuses_at_once 'more elements than there are numbers' 2 '"Size" is too large' tune large.json
for name in '2D convolution' 'step' 'a name of more than the sixty-four characters that the name of a task can have'; do
    problem name.json
    works 'any name' check name.json
done
finish cli_formats
