#!/bin/sh
# evolve: a recorded run repeated, the same replies measured here, being stopped and going on, and bad input.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"
record=$root/tests/recorded/evolve-saxpy

works 'a record, without device and model' evolve saxpy --llm "replay:$record" --measurements recorded
check 'what became of the candidates' has "$output" '4 candidates asked for: 3 right (1 after a repair)'
check 'the archive' has "$output" 'parallelism 0'
check 'which way was worth to go' has "$output" 'what was asked for       asked  right  better than parent  best gain'
works 'as JSON' evolve saxpy --llm "replay:$record" --measurements recorded --json
check 'with the archive' has "$output" '"archive":[{"cell":['

works 'what a record amounts to' evolve --report "$record" "$record/journal.jsonl"
check 'shares of candidates' has "$output" '3/4 75% (30-95)'
check 'and of all' has "$output" '6/8 75%'
check 'how many came twice' has "$output" '0 of 8 candidates were texts that had been tried before'
works 'as JSON' evolve --report "$record" --json
check 'counts' has "$output" '"compiled_at_once":[2,4],"compiled":[3,4],"right_at_once":[2,4],"right":[3,4],"beat_parent":[0,4]'
refuses_at_once 'a report of nothing' 2 'give folders of recorded runs' evolve --report
refuses_at_once 'a report of no record' 2 'journal.jsonl' evolve --report "$root/docs"
echo '{"event":"end"}' >no-run
refuses_at_once 'a report of a file that is no journal' 2 'does not begin with a run' evolve --report no-run
echo '{"event":"trial","key":"seed-000001","trial":{"outcome":"magic"}}' >no-trial
refuses_at_once 'a report of a trial that is none' 2 'no-trial:1: a trial that cannot be read' evolve --report no-trial

mkdir other
cp "$record"/* other/
sed 's/"move":"[^"]*"/"move":"sideways"/' "$record/journal.jsonl" >other/journal.jsonl
refuses_at_once 'a decision that differs' 1 '"move" of the event "ask" differs' evolve saxpy --llm replay:other \
    --measurements recorded
sed 's/"repairs":1}/"repairs":1,"steering":99}/' "$record/journal.jsonl" >other/journal.jsonl
refuses_at_once 'rules of another version' 2 'rules of another version' evolve saxpy --llm replay:other \
    --measurements recorded
sed 's/"repairs":1}/"repairs":1,"steering":1}/' "$record/journal.jsonl" >other/journal.jsonl
works 'the first rules by their number' evolve saxpy --llm replay:other --measurements recorded
echo 'no journal' >other/journal.jsonl
refuses_at_once 'a journal that is none' 2 'other/journal.jsonl:1' evolve saxpy --llm replay:other --measurements recorded
refuses_at_once 'of another task' 2 'it is of the task saxpy' evolve gemm --llm "replay:$record" --measurements recorded
refuses_at_once 'recorded without a record' 2 'needs --llm replay:DIR' evolve saxpy --llm none --measurements recorded

refuses_at_once 'nobody to write' 2 '--llm' evolve saxpy
refuses_at_once 'unknown provider' 2 'did you mean "replay"?' evolve saxpy --llm replya:x
refuses_at_once 'no such record' 2 'no such folder' evolve saxpy --llm replay:nowhere
refuses_at_once 'unknown task' 2 'saxpi' evolve saxpi --llm none
refuses_at_once 'nothing to be without' 2 'there are archive, gradient, targets and meta' evolve saxpy --llm none --without luck
refuses_at_once 'a share over 1' 2 'a share, 0 to 1' evolve saxpy --llm none --operators 2
refuses_at_once 'no number' 2 'not a number' evolve saxpy --llm none --stop soon
refuses_at_once 'measurements of another kind' 2 'live or recorded' evolve saxpy --llm none --measurements guessed
refuses_at_once 'rungs that fall' 2 'that do not fall' evolve saxpy --llm none --rungs 4,3,32
refuses_at_once 'rungs that are none' 2 '--rungs 4,x' evolve saxpy --llm none --rungs 4,x
refuses_at_once 'leaving what answers only while it is asked' 2 'needs --llm folder:DIR alone' evolve saxpy \
    --llm command:cat --leave-when-waiting
refuses_at_once 'no key' 3 'OPENAI_API_KEY' evolve saxpy --llm openai:some-model
refuses_at_once 'a limit in money without a price' 2 'price is not known' evolve saxpy --llm command:cat --max-cost 5

# Times that scatter by a third: an offer is never better than its candidate, whose best was timed again.
cat >noisy.cl <<'END'
/*kernwright {"task": "saxpy", "fallback": true, "params": {"A": {"values": "range(32)"}},
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
#pragma fake time_ns=${100000 + A} noise=30
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
}
END
works 'noisy times' evolve saxpy --llm none --template noisy.cl --no-probe --store noisy.db --record noisy --budget 4 \
    --dims N=100
lucky() { # how many offers beat their candidate
    awk '/"event":"trial"/ { n = split($0, part, "\"fitness\":"); own = part[2] + 0
        for (i = 3; i <= n; i++) if (part[i] + 0 > own + 1e-9) count++ } END { print count + 0 }' "$1"
}
check 'no lucky offer' same "$(lucky noisy/journal.jsonl)" 0

# What can go wrong between the question and the reply, on the scripted device with a task of its own.
export KERNWRIGHT_CACHE="$work/cache"
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
# front NAME MORE: the front matter of task NAME.
front() {
    cat <<END
/*kernwright {"task": "$1", $2 "params": {"WG": {"values": [32, 64]}},
  "launches": [{"kernel": "fake_copy", "args": ["N", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, WG)"]}]} */
kernel void fake_copy(int n, global const float *x, global float *y)
{
    y[get_global_id(0)] = x[get_global_id(0)];
END
}
{ front copied '"fallback": true,'; echo "    int wg = \${WG}; }"; } >plain.cl
copied="copied --template plain.cl --dims N=1000 --no-probe"

# evolve_in FOLDER OPTIONS...: one batch.
evolve_in() {
    folder=$1
    shift
    # shellcheck disable=SC2086 # words
    kernwright evolve $copied --llm "folder:$folder" --leave-when-waiting --store wrong.db "$@"
}
# reply FOLDER KEY FILE: as a file that is complete.
reply() {
    { echo 'Here it is:'; echo '```c'; cat "$3"; echo '```'; } >"$1/$2.reply.md"
    : >"$1/$2.done"
}
evolve_in strange --budget 2 --in-flight 2 --repairs 0
check 'a batch on the scripted device' has "$output" '2 prompts wait for replies in strange'
{ front saxpy ''; echo '}'; } >other.cl
reply strange generate-000001 other.cl
{ front copied ''; echo "    int better = \${WG}; }"; } >better.cl
reply strange generate-000002 better.cl
reply strange generate-000007 better.cl
evolve_in strange --budget 2 --in-flight 2 --repairs 0
check 'a reply that answers another task' has "$(cat strange/journal.jsonl)" '"key":"generate-000001","outcome":"other_task"'
check 'the reply beside it is tried' has "$output" '1 right'
check 'a reply that nobody asked for is named' has "$errors" 'strange/generate-000007.reply.md: no prompt of that name was asked'
check 'and left alone' test -s strange/generate-000007.reply.md
check 'and the run ends well' same "$status" 0

# Two runs: on one store each goes its way; in one folder the second is refused.
mkdir slow
# shellcheck disable=SC2086
"$kw" evolve $copied --llm 'command:until [ -e answer ]; do sleep 0.05; done; cat better.md' --record slow --store wrong.db --budget 1 >slow.out 2>&1 &
pid=$!
{ echo '```c'; cat better.cl; echo '```'; } >better.md
until_true test -s slow/generate-000001.prompt.md
# shellcheck disable=SC2086
refuses_at_once 'a second run in one folder' 1 'another run is writing it' evolve $copied --llm command:cat --record slow --store wrong.db
# shellcheck disable=SC2086
works 'a second run on one store' evolve $copied --llm none --budget 2 --store wrong.db --record quick
touch answer
wait "$pid"
check 'and the first one ends well' same "$?" 0
check 'with its candidate' has "$(cat slow.out)" '1 right'

# Nobody answers, a budget that is too small for one question, a full disk.
# shellcheck disable=SC2086
refuses 'a model that is gone' 1 'no provider is left' evolve $copied --llm command:/nowhere/at/all --store wrong.db
# shellcheck disable=SC2086
works 'a budget that is spent' evolve $copied --llm command:cat --max-tokens 500 --store wrong.db
check 'says so' has "$output" 'ended: the budget of 500 tokens is spent'
mkdir full
ln -s /dev/full full/journal.jsonl
# shellcheck disable=SC2086
refuses 'a full disk' 3 'full/journal.jsonl' evolve $copied --llm none --budget 1 --record full --store wrong.db

# From here on PoCL.
unset KERNWRIGHT_FAKE OCL_ICD_VENDORS KERNWRIGHT_DEVICE
kernwright devices
if [ "$status" -eq 0 ]; then
    works 'the same replies, measured here' evolve saxpy --llm "replay:$record" --dims N=1003 --no-probe --store here.db \
        --record again -o best.cl
    check 'all were asked for' has "$output" '4 candidates asked for'
    check 'exchanges are kept' test -s again/generate-000001.prompt.md
    check 'the best is written' test -s best.cl
    works 'and it is a template' check best.cl
    works 'what was recorded repeats' evolve saxpy --llm replay:again --measurements recorded
    # Stopped while it waits for a model; then it goes on with what came.
    "$kw" evolve saxpy --llm folder:asked --dims N=1003 --no-probe --store here.db --budget 1 --in-flight 1 \
        >out 2>err &
    pid=$!
    until_true test -s asked/generate-000001.prompt.md
    kill -INT "$pid"
    wait "$pid"
    check 'stopped: its status' same "$?" 130
    check 'and why' has "$(cat out)" 'ended: interrupted'
    cp "$record/generate-000001.reply.md" asked/
    : >asked/generate-000001.done
    works 'it goes on' evolve saxpy --llm folder:asked --dims N=1003 --no-probe --store here.db --budget 1 --in-flight 1
    check 'with the reply' has "$output" '1 candidates asked for: 1 right'
    # In batches: all questions are written, the run is left, and the same command goes on with what was answered.
    batch="--llm folder:batch --dims N=1003 --no-probe --store here.db --budget 6 --in-flight 4 --leave-when-waiting"
    # shellcheck disable=SC2086 # words
    works 'a batch is asked' evolve saxpy $batch
    check 'and left' has "$output" 'ended: 4 prompts wait for replies in batch'
    check 'there are four' same "$(find batch -name '*.prompt.md' | wc -l)" 4
    check 'for different targets' test "$(grep -o '"target":[0-9]*' batch/journal.jsonl | sort -u | wc -l)" -gt 2
    # shellcheck disable=SC2086
    works 'nothing came' evolve saxpy $batch
    check 'nothing is asked twice' same "$(grep -c '"event":"ask"' batch/journal.jsonl)" 4
    cp "$record"/generate-00000[12].reply.md batch/
    measured=$("$kw" results show --store here.db | wc -l)
    # shellcheck disable=SC2086
    works 'two came' evolve saxpy $batch --json
    check 'and were tried' has "$output" '"right":2'
    check 'two more are asked' has "$output" '"waiting":4'
    check 'what was tried stays in the store' test "$("$kw" results show --store here.db | wc -l)" -ge "$measured"
else
    skip 'measuring' 'no OpenCL device'
fi
finish cli_evolve
