#!/bin/sh
# Bad input, through the program: one clear line, the right exit status, nothing lost.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

# ---- front matter ----
echo 'kernel void f(int n) {}' >none.cl
refuses_at_once 'no front matter' 2 'none.cl:1:1: no front matter' check none.cl
printf '/*kernwright {\n  "task": "saxpy",\n  "params": {"WG": },\n  "launches": []\n} */\n' >value.cl
refuses_at_once 'JSON without a value' 2 "value.cl:3:20: expected a value, found '}'" check value.cl
printf '/*kernwright {"task": "saxpy"' >open.cl
refuses_at_once 'JSON that ends early' 2 'open.cl:1:' check open.cl
printf '/*kernwright {"task": "saxpy", "launches": []} more\n*/\n' >junk.cl
refuses_at_once 'JSON with trailing junk' 2 'junk.cl:1:48' check junk.cl
printf '/*kernwright {"task": "saxpy", "task": "saxpy", "launches": []} */\n' >twice.cl
refuses_at_once 'a key twice' 2 'twice.cl:1:' check twice.cl
printf '/*kernwright {"task": "saxpyy", "launches": []} */\n' >task.cl
refuses_at_once 'unknown task' 2 'did you mean "saxpy"' check task.cl
more='"requirs": [],' && template key.cl
refuses_at_once 'unknown key' 2 'requires' check key.cl
params='"WG": {"values": [16, 32], "default": 64}' && template default.cl
refuses_at_once 'a default that is no value' 2 'default.cl:3:' check default.cl
refuses_at_once 'no such file' 2 'nowhere.cl' check nowhere.cl
: >empty.cl
refuses_at_once 'an empty file' 2 'empty.cl' check empty.cl

# ---- variables ----
export KERNWRIGHT_BATCH=qeue
refuses_at_once 'a word that a variable has not' 2 'KERNWRIGHT_BATCH is "qeue", and can be "queue" or "host"' tasks
works 'a worker goes on all the same' worker --stdio
unset KERNWRIGHT_BATCH

# ---- expressions and spaces ----
constraints='"WGG <= 64"' && template name.cl
refuses_at_once 'unknown parameter' 2 "name.cl:4:20: unknown name 'WGG'; did you mean 'WG'?" check name.cl
constraints='"WG <= 64", "WG *"' && template half.cl
refuses_at_once 'half an expression' 2 'half.cl:4:' check half.cl
constraints='"N > 4"' && template dim.cl
refuses_at_once 'a dim in a constraint' 2 'N' check dim.cl
params='"WG": {"values": [16, 64]}, "Z": {"values": [0]}' constraints='"WG // Z == 3"' && template zero.cl
refuses_at_once 'division by zero in a constraint' 1 'division by zero' check zero.cl
check 'it names the constraint' has "$errors" 'WG // Z == 3'
refuses 'the same when tuning' 1 'division by zero' tune saxpy --template zero.cl --dims N=10
constraints='"WG <= 64", "WG > 1000"' && template none.cl
refuses_at_once 'an empty space names the constraint' 1 "'WG > 1000'" check none.cl
refuses 'the same when tuning' 1 "'WG > 1000'" tune saxpy --template none.cl --dims N=10
requires='"N % 7 == 0"' && template seven.cl
refuses 'a shape that no configuration takes' 1 "'N % 7 == 0'" tune saxpy --template seven.cl --dims N=10
check 'the shape is named' has "$errors" 'N=10'

params='"WG": {"values": [64]}' sum=0
for p in A B C D E F G H I J K L; do
    params="$params, \"$p\": {\"values\": \"range(10)\"}" sum="10 * ($sum) + $p"
done
constraints='"A + B < 5", "C != D", "E * F <= G"' before="#pragma fake registers=\${$sum}" && template huge.cl
works 'a space of 10^12 combinations' check huge.cl
check 'it is counted' has "$output" 'combinations 1e+12, valid '
works 'and tuned' tune saxpy --template huge.cl --dims N=10 --budget 5
check 'with a budget of five' has "$output" '5+0'

# ---- kernels ----
local='2048' && template group.cl
refuses 'local size over the limit of the device' 1 "local size 2048 = 2048 over the device's limit 1024" \
    tune saxpy --template group.cl --dims N=10
refuses 'one such configuration' 1 'over the device' time group.cl --dims N=10
local='"WG"' constraints='"WG <= device.max_work_group_size"' && template fits.cl
works 'a smaller device' time fits.cl --dims N=10 --device fake:1
refuses 'is a reason to reject' 1 'rejected by WG <= device.max_work_group_size' \
    time fits.cl --dims N=10 --device fake:1 --set WG=128
kernel=fake_saxpi && template kernel.cl
refuses_at_once 'kernel name not in the source' 2 'no kernel fake_saxpi in the source; did you mean fake_saxpy' \
    check kernel.cl
arguments='"N", "x", "y"' && template count.cl
refuses_at_once 'argument count' 2 'takes 4 arguments, but the launch passes 3' check count.cl
arguments='"N", "x", "a", "y"' && template kind.cl
refuses_at_once 'argument kind' 2 'argument 2 of kernel fake_saxpy' check kind.cl
arguments='"N", "a", "x", "yy"' && template argument.cl
refuses_at_once 'unknown argument' 2 'yy' check argument.cl

# ---- expansion ----
before='//@for I in 0..10**9
// ${I}
//@end' && template endless.cl
refuses_at_once 'a template that does not end' 2 'this loop would run 1000000000 times; the limit' \
    expand endless.cl -o endless.out
check 'it leaves no output' [ ! -e endless.out ]
refuses 'tuning says so too' 1 'the limit of one expansion' tune saxpy --template endless.cl --dims N=10
before='//@for I in 0..3' && template block.cl
refuses_at_once 'a block that is not closed' 2 'block.cl:9:' check block.cl
before='// ${WG' && template brace.cl
refuses_at_once 'a brace that is not closed' 2 'brace.cl:9:' check brace.cl
before='// ${1 // 0}' && template inside.cl
refuses_at_once 'division by zero in the text' 2 'inside.cl:9:' check inside.cl
before='//@require WG < 64 "too wide"' && template require.cl
refuses_at_once '//@require' 1 'too wide' expand require.cl
works 'a configuration that it allows' expand require.cl --set WG=32

# ---- one configuration ----
constraints='"WG <= 32"' && template narrow.cl
refuses 'expand of a configuration that is not valid' 1 'WG <= 32' expand narrow.cl
refuses 'time of it' 1 'rejected in stage expand: rejected by WG <= 32' time narrow.cl --dims N=10
works 'a valid one' time narrow.cl --dims N=10 --set WG=16
refuses 'check of one' 1 'WG <= 32' check narrow.cl --set WG=64
refuses_at_once 'a value not listed' 2 'WG=63 is not among its values: 16, 32, 64, 128' expand narrow.cl --set WG=63
refuses_at_once 'unknown parameter' 2 'did you mean WG' expand narrow.cl --set WGX=64
refuses_at_once 'no value' 2 'NAME=VALUE' expand narrow.cl --set WG
refuses 'time of a shape that is not taken' 1 'rejected by N % 7 == 0' time seven.cl --dims N=10

# ---- devices ----
template good.cl
refuses 'device index out of range' 2 'device index 9 is out of range; there are: 0 = fake:0' \
    tune saxpy --template good.cl --device 9
refuses 'no such device' 2 'there is no device opencl:0:9' tune saxpy --template good.cl --device opencl:0:9
refuses 'a name that fits none' 2 '"h200" is part of no' time good.cl --device h200
refuses 'a name that fits two' 2 'fits more than one' time good.cl --device fake
for command in devices 'tune saxpy --store no.db' 'time good.cl' doctor; do
    # shellcheck disable=SC2086 # words
    output=$(env -u KERNWRIGHT_FAKE "$kw" $command 2>&1 </dev/null)
    status=$?
    check "no OpenCL platform: $command: status 3" [ "$status" -eq 3 ]
    check "no OpenCL platform: $command: advice" has "$output" 'apt-get install pocl-opencl-icd'
done
check 'without a device no store is made' [ ! -e no.db ]
refuses 'a worker that cannot start' 3 'it ended with status 5; its last words: no licence' \
    tune saxpy --worker-command 'echo no licence >&2; exit 5' --store no.db
refuses 'a worker that prints garbage' 3 'what it sent is refused' devices --worker-command 'echo garbage'
check 'without a worker no store is made' [ ! -e no.db ]

# ---- options ----
refuses_at_once 'unknown command' 2 "unknown command 'tun', did you mean 'tune'" tun
refuses_at_once 'unknown option' 2 'unknown option --stratgy, did you mean --strategy' tune saxpy --stratgy local
refuses_at_once 'unknown strategy' 2 "did you mean 'random'" tune saxpy --strategy rando
refuses_at_once 'unknown strategy, nothing near' 2 'there are: auto, exhaustive, random' tune saxpy --strategy q
refuses_at_once 'unknown task' 2 'did you mean "saxpy"' tune saxpi
refuses_at_once 'no task' 2 'give one task' tune
refuses_at_once 'two tasks' 2 'give one task' tune saxpy softmax
refuses_at_once 'unknown template' 2 'did you mean saxpy_naive' tune saxpy --template saxpy_naiv
refuses_at_once 'a template of another task' 2 'the task at hand is saxpy' tune saxpy --template gemm_naive
refuses_at_once 'unknown type' 2 'allowed: f32' tune saxpy --type f64
refuses_at_once 'unknown type symbol' 2 'did you mean T' tune saxpy --type X=f32
for budget in 0 -5 60x '60s,' 1.5 '' '5,6'; do
    refuses_at_once "budget '$budget'" 2 'give a number of configurations' tune saxpy --budget "$budget"
done
refuses_at_once 'an option without its value' 2 '--budget needs a value' tune saxpy --budget
refuses_at_once 'a flag with a value' 2 '--json takes no value' devices --json=yes
refuses_at_once 'not a number' 2 "--seed needs an integer, not 'abc'" tune saxpy --seed abc
refuses_at_once 'a negative number of workers' 2 '--compile-workers needs an integer from 0' \
    tune saxpy --compile-workers -3
refuses_at_once 'a deadline of nothing' 2 '--run-limit needs an integer from 1' time good.cl --run-limit 0
for command in devices tasks doctor; do
    refuses_at_once "$command takes no argument" 2 'takes no argument' "$command" thing
done
refuses_at_once 'results: what?' 2 'say what to do' results
refuses_at_once 'results: an unknown word' 2 "did you mean 'show'" results shw
refuses_at_once 'results import without a file' 2 'needs at least one results file' results import
refuses_at_once 'emit without a file' 2 'give one task and -o FILE' emit saxpy
refuses_at_once 'emit in a language' 2 'opencl' emit saxpy -o x.h --language fortran
refuses_at_once 'worker without --stdio' 2 '--stdio' worker
kernwright
check 'no command: status 2' [ "$status" -eq 2 ]
check 'no command: the list' has "$errors" 'tune'
for command in '' devices doctor tasks templates new check expand time tune results emit worker; do
    # shellcheck disable=SC2086 # nothing, or a word
    works "help $command" $command --help
    check "help $command: usage" has "$output" 'usage: kernwright'
done
works 'version' --version

# ---- shapes ----
refuses_at_once 'no dims' 2 'dim N is not given' tune saxpy --dims ''
refuses_at_once 'a missing dim' 2 'dim K is not given' tune gemm --dims M=1,N=2
refuses_at_once 'an unknown dim' 2 'no dim M' tune saxpy --dims M=10
refuses_at_once 'a negative dim' 2 "N=-10 is outside the task's range 1 to 2147483647" tune saxpy --dims N=-10
refuses_at_once 'a dim that is too large' 2 'outside' tune saxpy --dims N=99999999999999
refuses_at_once 'not a number' 2 'N=1x is not an integer' tune saxpy --dims N=1x
refuses_at_once 'a dim twice' 2 'twice' tune saxpy --dims N=1,N=2
refuses_at_once 'dims and shapes' 2 'not both' tune saxpy --dims N=1 --shapes some.json
printf '{"N": 10}\n{"N": -1}\n' >shapes.json
refuses_at_once 'shapes: a bad value' 2 'shapes.json:2: N=-1 is outside' tune saxpy --shapes shapes.json
printf '{"N": 10}\n\n{"M": 1}\n' >shapes.json
refuses_at_once 'shapes: a missing dim' 2 'shapes.json:3: dim N is not given' tune saxpy --shapes shapes.json
printf '{"N": 10} x\n' >shapes.json
refuses_at_once 'shapes: trailing junk' 2 'shapes.json:1:11' tune saxpy --shapes shapes.json
printf '{"N": 10}\n{"N": 11' >shapes.json
refuses_at_once 'shapes: cut off' 2 'shapes.json:2:' tune saxpy --shapes shapes.json
printf '[1]\n' >shapes.json
refuses_at_once 'shapes: no object' 2 'shapes.json:1' tune saxpy --shapes shapes.json
: >shapes.json
refuses_at_once 'shapes: nothing' 2 'no shape' tune saxpy --shapes shapes.json
refuses_at_once 'shapes: no file' 2 'nofile.json: cannot open' tune saxpy --shapes nofile.json
refuses_at_once 'shapes: a folder' 2 'cannot read' tune saxpy --shapes "$work"

# ---- tasks ----
mkdir -p tasks/own
printf '{"task": "own"} x' >tasks/own/task.json
refuses_at_once 'a task with trailing junk' 2 'tasks/own/task.json:1:17' check tasks/own
printf '{"task": "own", "dims": {"N": {}}}' >tasks/own/task.json
refuses_at_once 'a task with too little' 2 'tasks/own/task.json' check tasks/own/task.json
refuses 'two files, both are said' 2 'nowhere.cl' check tasks/own nowhere.cl
check 'both are said' has "$errors" 'tasks/own'

# ---- hardly a file may be open ----
for n in 8 12; do
    # shellcheck disable=SC2016 # $ is for that shell
    output=$(timeout -k 5 300 sh -c 'ulimit -n "$1" && shift && exec "$@"' - "$n" "$kw" tune saxpy --dims N=100 \
        --store "few$n.db" 2>"$work/errors" </dev/null)
    status=$? errors=$(cat "$work/errors")
    check "$n open files: status 3" [ "$status" -eq 3 ]
    check "$n open files: one line" [ "$(lines "$errors")" -eq 1 ]
    check "$n open files: and what to do" has "$errors" 'files'
done

finish cli_input
