#!/bin/sh
# kernwright space: templates, problem files and recorded files, told apart by content; bad ones; limits and Ctrl-C.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

param() { # NAME VALUES
    printf '{"Name": "%s", "Type": "int", "Values": "%s"}' "$1" "$2"
}

problem() { # FILE PARAMS CONDITION...
    file=$1 list=$2 between='' conditions=''
    shift 2
    for c in "$@"; do
        conditions="$conditions$between{\"Expression\": \"$c\", \"Parameters\": []}" between=', '
    done
    printf '{"ConfigurationSpace": {"TuningParameters": [%s],\n"Conditions": [%s]}}\n' "$list" "$conditions" >"$file"
}

# ---- a problem file ----
problem p.json "$(param A '[1, 2, 4, 8]'), $(param B 'list(range(1, 5))')" 'A * B <= 8' 'A % B == 0'
works 'counts a problem file' space p.json --count
check 'the count is said' has "$output" 'valid configurations: 6'
works 'and as JSON' space p.json --count --json
check 'with four members' has "$(printf '%s' "$output" | sed 's/"construct_ms":[0-9.e-]*/"construct_ms":T/; s/"bytes":[0-9]*/"bytes":B/')" \
    '{"count":6,"cartesian":16,"construct_ms":T,"bytes":B}'
works 'lists it' space p.json --list
check 'all of it' same "$(printf '%s\n' "$output" | sort | tr '\n' ';')" \
    'A=1 B=1;A=2 B=1;A=2 B=2;A=4 B=1;A=4 B=2;A=8 B=1;'
works 'lists it as JSON' space p.json --list --json
check 'one line each' same "$(lines "$output")" 6
check 'of objects' has "$output" '{"A":4,"B":2}'
works 'samples' space p.json --sample 5 --seed 3
first=$output
check 'as many as wanted' same "$(lines "$output")" 5
works 'again' space p.json --sample 5 --seed 3
check 'the same by the seed' same "$output" "$first"
works 'explains a valid one' space p.json --explain A=4,B=2
check 'as valid' same "$output" 'valid: 1 configuration'
kernwright space p.json --explain A=8,B=3
check 'status 1 for a rejected one' same "$status" 1
check 'the constraint and the values' same "$output" "rejected: 'A * B <= 8' is false for A=8, B=3"
works 'a part of one' space p.json --explain B=2 --json
check 'counts what agrees' same "$output" '{"valid":true,"count":2,"text":""}'
gzip -c p.json >p.gz
works 'a gzipped one under another name' space p.gz
check 'is the same' has "$output" 'valid configurations: 6'

# ---- a template with a parameter that does not always exist ----
# shellcheck disable=SC2034 # template reads it
params='"WG": {"values": [32, 64]}, "STAGE": {"values": [false, true]}, "PAD": {"values": [0, 1, 2], "when": "STAGE"}'
before='#pragma fake time_ns=${1000 + 10 * PAD + WG + (200 if STAGE else 0)}' && template pad.cl
works 'counts a template' space pad.cl --list
check 'once where PAD does not exist' same "$(printf '%s\n' "$output" | grep -c STAGE=false)" 2
check 'and without it' has "$output" "WG=32 STAGE=false
"
check 'and each value where it does' same "$(lines "$output")" 8
kernwright space pad.cl --explain STAGE=false,PAD=2
check 'another value is rejected' same "$status" 1
check 'by the rule' has "$output" "(STAGE) or PAD == 0"
works 'without it it is one' space pad.cl --explain WG=32,STAGE=false
check 'whole configuration' same "$output" 'valid: 1 configuration'
works 'check counts the same' check pad.cl
check 'eight' has "$output" 'combinations 12, valid 8'
works 'expands without it' expand pad.cl
check 'in the first line' has "$output" '/* pad WG=32 STAGE=false; '
refuses_at_once 'expand says why not' 1 'PAD exists only where STAGE' expand pad.cl --set PAD=2
works 'tunes each once' tune saxpy --template pad.cl --dims N=100 --strategy exhaustive
works 'and stores' results show --json
check 'what exists' has "$output" '"config":{"WG":32,"STAGE":false}'
check 'and nothing twice' same "$(printf '%s\n' "$output" | grep -o '"config":{[^}]*STAGE[^}]*}' | sort -u | wc -l | tr -d ' ')" 8
works 'a shape counts' space pad.cl --dims N=100
refuses_at_once 'a shape is for templates' 2 '--dims and --type are for templates' space p.json --dims N=3

# ---- recorded files ----
cat >cache.json <<'END'
{"device_name": "d", "kernel_name": "k", "problem_size": 1, "tune_params_keys": ["A", "B"],
"tune_params": {"A": [1, 2], "B": [1, 2, 3]}, "objective": "time",
"cache": {
"1,1": {"A": 1, "B": 1, "time": 2.5},
"2,3": {"A": 2, "B": 3, "time": 1.5},
END
works 'an unfinished cache file' space cache.json --count --json
check 'holds what was recorded' has "$output" '{"count":2,"cartesian":6,'
kernwright space cache.json --explain A=1,B=2
check 'what was not recorded' same "$output" 'rejected: not among the recorded configurations; their file has no constraints'

# ---- bad input ----
refuses_at_once 'no file' 2 'give one template' space
refuses_at_once 'no such file' 2 'there is no file nowhere.json' space nowhere.json
mkdir -p templates && cp "$root/templates/gemm_naive.cl" templates
refuses 'a template of neither folder' 2 'known: ' tune gemm --template qqqqqqqq
check 'one in both is listed once' has "${errors#*gemm_naive}" 'gemm_tiled'
check 'once' [ "${errors#*gemm_naive*gemm_naive}" = "$errors" ]
rm -r templates
refuses_at_once 'no such template' 2 "no template 'nowhere'" space nowhere
refuses_at_once 'two answers' 2 'give one of --count' space p.json --list --count
refuses_at_once 'a sample of none' 2 '--sample needs an integer from 1' space p.json --sample 0
printf '{"a": 1}' >other.json
refuses_at_once 'another kind of JSON' 2 'neither a template nor a problem file' space other.json
printf '{"ConfigurationSpace": {"TuningParameters": [' >cut.json
refuses_at_once 'cut off' 2 'cut.json:1:46: ' space cut.json
head -c 60 p.gz >cut.gz
refuses_at_once 'cut off when packed' 2 'cut off' space cut.gz
problem function.json "$(param A '[1, 2]')" 'popcount(A) == 1'
refuses_at_once 'an unknown function' 2 "function.json:2:32: unknown function 'popcount'" space function.json
problem empty.json "$(param A '[]')"
refuses_at_once 'an empty list' 2 "the parameter 'A' has no values" space empty.json
problem twice.json "$(param A '[1, 2, 1]')"
refuses_at_once 'a value twice' 2 'lists the value 1 twice' space twice.json
problem huge.json "$(param A 'list(range(1000000000))')"
refuses_at_once 'a huge list' 2 'huge.json:1:' space huge.json
problem spaces.json "$(param 'block size' '[1, 2]')" 'block size < 2'
refuses_at_once 'a name with spaces in a condition' 2 "the parameter's name 'block size' cannot stand" space spaces.json
problem spaces.json "$(param 'block size' '[1, 2]')"
works 'and elsewhere' space spaces.json --list
check 'it is a name' has "$output" 'block size=2'
problem zero.json "$(param A '[1, 2, 3]'), $(param B '[0, 1, 2]')" 'A % B == 0'
works 'division by zero for some values rejects them' space zero.json --list
check 'and no others' same "$(lines "$output")" 4
kernwright space zero.json --explain A=1,B=0
check 'and is explained' has "$output" "fails for A=1, B=0: "
problem always.json "$(param A '[1, 2, 3]')" 'A % (1 - 1) == 0'
refuses_at_once 'division by zero everywhere' 1 'always.json: no configuration is valid' space always.json
problem one.json "$(param A '[1, 2, 3]'), $(param B '[5]')" 'A == 2'
works 'a space with one configuration' space one.json --list --json
check 'is that one' same "$output" '{"A":2,"B":5}'
refuses_at_once 'an unknown name to explain' 2 "there is no parameter 'C'" space one.json --explain C=2
refuses_at_once 'a name given twice' 2 'A is given twice' space one.json --explain A=1,A=2
refuses_at_once 'a value that is not listed' 2 'A=9 is not among' space one.json --explain A=9

# ---- limits and Ctrl-C ----
list='' sum=0 scale=1
for n in a b c d e f; do
    list="$list${list:+, }$(param $n 'list(range(100))')" sum="$sum + $scale*$n" scale=${scale}00
done
problem hard.json "$list" "($sum) % 97 == 0"
refuses_at_once 'too much memory' 2 'hard.json: the search space needs more than 8 MiB' space hard.json --max-mib 8
check 'the constraint is named' has "$errors" '% 97 == 0'
"$kw" space hard.json --max-mib 1000000 >out 2>err &
pid=$!
catches "$pid"
kill -INT "$pid"
wait "$pid"
status=$? output=$(cat out) errors=$(cat err)
check 'Ctrl-C while a space is built: status 130' same "$status" 130
check 'and what it was' has "$errors" 'interrupted while the search space was being built'

# ---- what templates says of conditions ----
mkdir -p templates
cp "$root/tests/golden/saxpy_staged.cl" templates
works 'templates' templates saxpy --json
check 'when a parameter exists' has "$output" '"PAD": "STAGE"'
check 'an object for every template' has "$output" '"when": {}'

finish cli_space
