#!/bin/sh
# evolve: a recorded run repeated, the same replies measured here, being stopped and going on, and bad input.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"
record=$root/tests/recorded/evolve-saxpy

works 'a record, without device and model' evolve saxpy --llm "replay:$record" --measurements recorded
check 'what became of the candidates' has "$output" '4 candidates asked for: 3 right (1 after a repair)'
check 'the archive' has "$output" 'parallelism 0'
works 'as JSON' evolve saxpy --llm "replay:$record" --measurements recorded --json
check 'with the archive' has "$output" '"archive":[{"cell":['

mkdir other
cp "$record"/* other/
sed 's/"move":"[^"]*"/"move":"sideways"/' "$record/journal.jsonl" >other/journal.jsonl
refuses_at_once 'a decision that differs' 1 '"move" of the event "ask" differs' evolve saxpy --llm replay:other \
    --measurements recorded
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
    for _ in $(seq 600); do
        [ -s asked/generate-000001.prompt.md ] && break
        sleep 0.1
    done
    kill -INT "$pid"
    wait "$pid"
    check 'stopped: its status' same "$?" 130
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
