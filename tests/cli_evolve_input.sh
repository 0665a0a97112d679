#!/bin/sh
# evolve: options, providers, keys, programs, records and journals that are not what they should be. Each time one line that
# says what, where and what to do; nothing that was there is lost, no program is left behind.
# shellcheck disable=SC2154,SC2086,SC2317,SC2016 # variables come from support/cli.sh; $copied is words; texts of programs
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"
export KERNWRIGHT_CACHE="$work/cache"
unset OPENAI_API_KEY ANTHROPIC_API_KEY KERNWRIGHT_LLM_CONFIG
mkdir -p tasks/copied
cat >tasks/copied/task.json <<'END'
{"task": "copied", "dims": {"N": {"min": 1}}, "types": {"T": ["f32"]},
 "tensors": [{"name": "x", "type": "T", "shape": ["N"]}, {"name": "y", "type": "T", "shape": ["N"], "access": "out"}],
 "reference": "own"}
END
cat >tasks/copied/reference.c <<'END'
#include "kw_reference.h"
#include <math.h>
void own(const kw_ref *r, int tensor, size_t n, const uint64_t *e, double *value, double *scale)
{
    (void)tensor;
    for (size_t i = 0; i < n; i++) {
        value[i] = r->tensors[0][e[i]];
        scale[i] = fabs(value[i]);
    }
}
END
# candidate FILE NAME MORE: a template that is right; NAME makes its text its own.
candidate() {
    cat >"$1" <<END
/*kernwright {"task": "copied", $3 "params": {"WG": {"values": [32, 64]}},
  "launches": [{"kernel": "fake_copy", "args": ["N", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, WG)"]}]} */
kernel void fake_copy(int n, global const float *x, global float *y)
{
    int $2 = \${WG};
    y[get_global_id(0)] = x[get_global_id(0)];
}
END
}
candidate plain.cl plain '"fallback": true,'
candidate better.cl better ''
candidate other.cl other ''
{ echo '```c'; cat better.cl; echo '```'; } >better.md
{ echo '```c'; cat other.cl; echo '```'; } >other.md
copied="copied --template plain.cl --dims N=1000 --no-probe --store kept.db"
repeat="copied --template plain.cl --dims N=1000 --measurements recorded"
none() { # FILES...: nothing of the key
    ! grep -rl SEKRIT "$@" >found 2>/dev/null
}

# Options and specifications, refused before anything begins.
at_once() { # STATUS PART OPTIONS...
    wanted=$1 part=$2
    shift 2
    refuses_at_once "$*" "$wanted" "$part" evolve $copied "$@"
}
at_once 2 'an integer from 1 to 1000000,' --llm none --budget 0
at_once 2 'needs an integer' --llm none --budget 1.5
at_once 2 'an integer from 1 to 1000000000000000,' --llm none --max-tokens 9223372036854775807
at_once 2 'a weight is a number above 0' --llm 'openai:m*0'
at_once 2 'a weight is a number above 0' --llm 'command:cat better.md*-3'
at_once 2 'a weight is a number above 0' --llm 'replay:x*nan'
at_once 2 'behind "none" stands a colon, or nothing' --llm 'none,'
at_once 2 'is no character of a line' --llm "openai:m
x@http://localhost:1"
at_once 2 'must not hold a password' --llm 'openai:m@http://user:SEKRIT@localhost/v1'
check 'the password is not told' none errors
at_once 2 'must not hold a key' --llm 'openai:m@http://localhost/v1?api_key=SEKRIT'
check 'the key is not told' none errors
at_once 2 'there is no folder nowhere' --llm none -o nowhere/best.cl
at_once 2 'it is a folder' --llm none -o tasks
mkdir empty
refuses 'a record without replies' 2 'replay:empty: it has no reply' evolve $copied --llm replay:empty
works 'a limit that a real run has' evolve $copied --llm none --budget 1 --max-tokens 50000000

# Keys, and the file with endpoints.
for key in '' 'SEKRIT 1' "SEKRIT
1" ' '; do
    OPENAI_API_KEY=$key
    export OPENAI_API_KEY
    at_once 3 'OPENAI_API_KEY' --llm openai:m
    check 'is not told' none errors
done
unset OPENAI_API_KEY
config() { # JSON PART
    printf '%s' "$1" >config.json
    at_once 2 "$2" --llm openai:m@lab --config config.json
    check 'is not told' none errors
}
config 'no JSON' 'config.json:1:1'
config '' 'config.json:1:1'
config '{"endpoints": {"lab": {"url": "http://localhost:1", "key_env": "sk-SEKRIT"}}}' 'endpoints.lab.key_env'
config '{"endpoints": {"lab": {"url": "http://u:SEKRIT@localhost:1"}}}' 'must not hold a password'
OPENAI_API_KEY=sk-SEKRIT0123456789
export OPENAI_API_KEY
refuses 'a host that is not there' 1 'no provider is left' evolve $copied --llm openai:m@https://nowhere.invalid --record nowhere \
    --budget 1
check 'the key is kept nowhere' none nowhere kept.db errors
unset OPENAI_API_KEY

# Programs.
refuses 'a program that fails' 1 'none of 2 questions was answered: "exit 1" ended with status 1 and said nothing' evolve \
    $copied --llm 'command:exit 1' --record failing --budget 2
check 'said when it happens, once' same "$(printf '%s\n' "$errors" | grep -c 'generate-00000[12]: "exit 1" ended')" 1
works 'what nobody answered repeats' evolve $repeat --llm replay:failing
works 'one failure of two' evolve $copied --llm 'command:[ -e once ] || { touch once; exit 1; }; cat better.md' --budget 2 \
    --in-flight 1
check 'is named' has "$errors" 'ended with status 1'
refuses 'a program that is none' 1 'cannot be run' evolve $copied --llm command:./plain.cl --budget 1
refuses 'a program that says nothing' 1 'wrote nothing' evolve $copied --llm 'command:exec >&-' --budget 1
refuses 'a program that writes for ever' 1 'wrote more than 64 MiB and was ended' evolve $copied --llm 'command:yes' --budget 1
refuses 'and on standard error' 1 'wrote more than 64 MiB and was ended' evolve $copied --llm 'command:yes >&2' --budget 1
works 'a program that reads nothing, and leaves one behind' evolve $copied \
    --llm 'command:exec <&-; sleep 600 & echo $! >left; cat better.md' --budget 1
left=$(cat left)
gone() { # PID; a process that was killed may still be listed for a moment
    for _ in $(seq 600); do
        kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}
check 'nothing is left of it' gone "$left"
check 'said: nothing is kept' has "$errors" '--record DIR keeps it'

# What a model writes by the megabyte is kept, and does not come back in the next prompt.
works 'rubbish by the megabyte' evolve $copied --llm 'command:head -c 3000000 /dev/urandom' --record rubbish --budget 1 \
    --max-prompt 9000
check 'its repair is asked for' test -s rubbish/generate-000001-r1.prompt.md
check 'within the limit of a prompt' test "$(wc -c <rubbish/generate-000001-r1.prompt.md)" -lt 30000
works 'and repeats' evolve $repeat --llm replay:rubbish

# Journals. `line N SED`: one line is edited; as `spoilt`.
works 'a run' evolve $copied --llm 'command:[ -e next ] && cat other.md; cat better.md; touch next' --record good --budget 2 \
    --in-flight 1 --repairs 0
spoil() { # AWK
    rm -rf spoilt
    cp -r good spoilt
    awk "$1" good/journal.jsonl >spoilt/journal.jsonl
    cmp -s good/journal.jsonl spoilt/journal.jsonl && bad "nothing is spoilt: $1"
    cp -r spoilt before
}
stays() { # the folder is as it was
    check "$1: nothing is lost" diff -r before spoilt
    rm -rf before
}
cannot() { # STATUS PART AWK: neither repeated nor gone on with
    spoil "$3"
    refuses_at_once "repeated: $3" "$1" "$2" evolve $repeat --llm replay:spoilt
    refuses "gone on with: $3" "$1" "$2" evolve $copied --llm 'command:cat better.md' --record spoilt --budget 2 \
        --in-flight 1 --repairs 0
    stays "$3"
}
cannot 1 'spoilt/journal.jsonl:7: a reply to generate-000001, which is not asked here; the record was edited' \
    '{ print } /"event":"reply"/ && !n++ { print }'
cannot 1 'a reply to ../../etc/passwd, which is not asked here' '/"event":"reply"/ { sub(/generate-000001/, "../../etc/passwd") } 1'
cannot 1 'the event "magic" does not belong here' '/"event":"ask"/ { sub(/"event":"ask"/, "\"event\":\"magic\"") } 1'
cannot 1 'a reply to generate-000001, which is not asked here' '!(/"event":"ask"/ && !n++)'
cannot 1 'the event "run" does not belong here' '{ print; line[NR] = $0 } END { for (i = 1; i <= NR; i++) print line[i] }'
cannot 1 '"target" of the event "ask" differs: recorded "not", now 0' '/"event":"ask"/ { sub(/"target":[0-9]+/, "\"target\":\"not\"") } 1'
cannot 2 'spoilt/journal.jsonl:2: a trial whose fitness is none' '{ sub(/"fitness":1,"read"/, "\"fitness\":\"x\",\"read\"") } 1'
cannot 2 'a trial whose fitness is none' '{ sub(/"fitness":1,"read"/, "\"fitness\":1e300,\"read\"") } 1'
cannot 2 'a trial whose count of measurements is none' '{ sub(/"measured":[0-9]+/, "\"measured\":-2") } 1'
cannot 2 'times of a shape that are none' '{ sub(/"shapes":\[\[[0-9.]+/, "\"shapes\":[[{}") } 1'
cannot 2 'without offers' '{ sub(/"offers":\[/, "\"offers\":5,\"x\":[") } 1'
cannot 2 'an offer that cannot be read' 'NR == 2 { sub(/"cell":\[0/, "\"cell\":[7") } 1'
cannot 2 'a reply whose status is none' '/"event":"reply"/ { sub(/"status":"ok"/, "\"status\":\"fine\"") } 1'
cannot 2 'spoilt/journal.jsonl:5:1' 'NR == 5 { print "\001\002" } 1'
cannot 1 'its template was changed since' 'NR == 2 { sub(/"hash":"[0-9a-f]*"/, "\"hash\":\"x\"") } 1'
only_repeated() { # PART AWK
    spoil "$2"
    refuses_at_once "repeated: $2" 2 "$1" evolve $repeat --llm replay:spoilt
    stays "$2"
}
only_repeated '"shapes" of its run cannot be read' '{ sub(/"shapes":\[\{"N":1000\}\]/, "\"shapes\":[]") } 1'
only_repeated '"seed" of its run cannot be read' '{ sub(/"seed":0/, "\"seed\":\"x\"") } 1'
only_repeated '"repairs" of its run cannot be read' '{ sub(/"repairs":0/, "\"repairs\":999999999999") } 1'
only_repeated '"operators" of its run cannot be read' '{ sub(/"operators":0/, "\"operators\":1e300") } 1'
only_repeated '"meta" of its run cannot be read' '{ sub(/"meta":true/, "\"meta\":\"no\"") } 1'
only_repeated '"future" of its run is not known here' '{ sub(/"seed":0/, "\"seed\":0,\"future\":1") } 1'
only_repeated 'does not begin with a run' 'NR > 1'
cat good/journal.jsonl good/journal.jsonl >twice
refuses_at_once 'a repetition that is to be kept' 2 'leave --record away' evolve $repeat --llm replay:good --record other
refuses_at_once 'a repetition of two' 2 'needs --llm replay:DIR alone' evolve $repeat --llm replay:good,replay:good
refuses_at_once 'a report of two runs in one journal' 2 "twice:$(($(wc -l <good/journal.jsonl) + 1)): a second run begins here" evolve --report twice

# Files of a record that were changed, or are gone.
record() { # WHAT STATUS PART COMMAND...: the record is changed by COMMAND in it
    rm -rf spoilt
    cp -r good spoilt
    what=$1 wanted=$2 part=$3
    shift 3
    (cd spoilt && "$@")
    refuses_at_once "$what" "$wanted" "$part" evolve $repeat --llm replay:spoilt
}
record 'a reply that is gone' 2 'spoilt/generate-000001.reply.md: cannot open' rm generate-000001.reply.md
check 'what says that it was there' has "$errors" 'says that it came: put it back'
record 'a reply that is empty' 1 'spoilt/generate-000001.reply.md was changed since' truncate -s 0 generate-000001.reply.md
record 'a reply that was edited where nobody looks' 1 'spoilt/generate-000002.reply.md was changed since' \
    sed -i '1s/^/Well. /' generate-000002.reply.md
record 'a template that was edited' 1 'spoilt/seed-000001.template.cl: it is not the template that the run began with' \
    sed -i 's/plain/plane/' seed-000001.template.cl
rm -rf spoilt
cp -r good spoilt
echo '{"status":"ok","tokens":{"input":9007199254740991,"output":9007199254740991},"cost":-1}' >spoilt/generate-000001.meta.json
works 'counts and costs that are none' evolve $repeat --llm replay:spoilt --json
check 'are not known' has "$output" '"tokens":'
check 'and not negative' test "$(printf '%s' "$output" | sed 's/.*"tokens":\(-*[0-9]*\).*/\1/')" -ge 0
rm -rf lost
cp -r good lost
rm lost/journal.jsonl
cp -r lost before
refuses_at_once 'replies whose journal is gone are not written over' 2 'lost: it has replies, but no journal' evolve $copied \
    --llm 'command:cat better.md' --record lost --budget 2
check 'they stay' diff -r before lost
: >lost/journal.jsonl
refuses_at_once 'nor those of an empty one' 2 'lost: it has replies, but no journal' evolve $copied \
    --llm 'command:cat better.md' --record lost --budget 2
works 'but they can be taken' evolve $copied --llm replay:lost --record found-again
check 'all of them' has "$output" '2 candidates asked for'
cp good/generate-000001.reply.md lost/generate-900000.reply.md
works 'a reply far behind all others' evolve $copied --llm replay:lost
check 'is named and left alone' has "$errors" 'lost/generate-900000.reply.md: far behind all other replies'
check 'and no candidate' has "$output" '2 candidates asked for'

# A terminal that goes away interrupts, in order; ended without being asked, the run goes on all the same.
for signal in HUP KILL; do
    rm -rf asked left
    "$kw" evolve $copied --llm 'command:echo $$ >left; cat >/dev/null; exec sleep 600' --record asked --budget 1 >out 2>err &
    pid=$!
    for _ in $(seq 600); do
        [ -s left ] && break
        sleep 0.1
    done
    kill -"$signal" "$pid"
    wait "$pid" 2>/dev/null
    status=$?
    if [ $signal = HUP ]; then
        check 'gone terminal: its status' same "$status" 130
        check 'gone terminal: said' has "$(cat err)" 'interrupted; the run goes on when it is started again'
        check 'gone terminal: no program is left' gone "$(cat left)"
    else
        kill -KILL "$(cat left)" 2>/dev/null
    fi
    works "$signal: it goes on" evolve $copied --llm 'command:cat better.md' --record asked --budget 1
    check "$signal: to its end" has "$output" '1 right'
done
finish cli_evolve_input
