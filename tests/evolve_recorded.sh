#!/bin/sh
# Runs of evolution that were recorded on a large GPU, with a language model that answered their prompts: each repeats
# exactly without model and device, and their replies go through the whole loop on PoCL.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

for record in "$root"/tests/recorded/*/journal.jsonl; do
    record=$(dirname "$record")
    task=$(sed -n '1s/.*"task":"\([^"]*\)".*/\1/p' "$record/journal.jsonl")
    works "$task: the recorded archive, again" evolve "$task" --llm "replay:$record" --measurements recorded --json
    check "$task: its best" has "$output" '"best_fitness":'
    case $record in
    */evolve-*) continue ;;
    esac
    check "$task: 24 candidates" same "$(grep -c '"event":"attempt"' "$record/journal.jsonl")" 24
    if command -v xz >/dev/null; then
        check "$task: a prompt for every reply" same "$(tar tJf "$record/prompts.tar.xz" | wc -l)" \
            "$(find "$record" -name '*.reply.md' | wc -l)"
    else
        skip "$task: a prompt for every reply" 'no xz'
    fi
    # The template that was taken into the library is one of the run's candidates but for its first comment.
    key=$(cat "$root"/templates/"${task}"_*.cl | sed -n "s|.*Evolved: \([a-z0-9-]*\) of tests/recorded/$task,.*|\1|p")
    check "$task: the library's template is of this run" test -s "$record/$key.reply.md"
done

# One changed time: the repetition says where.
mkdir changed
cp "$root"/tests/recorded/layernorm/*.md "$root"/tests/recorded/layernorm/*.cl changed
awk '/"event":"attempt"/ && !done { sub(/"fitness":1\./, "\"fitness\":1.0"); done = 1 } { print }' \
    "$root/tests/recorded/layernorm/journal.jsonl" >changed/journal.jsonl
refuses 'a changed record' 1 'differs' evolve layernorm --llm replay:changed --measurements recorded

unset KERNWRIGHT_FAKE OCL_ICD_VENDORS KERNWRIGHT_DEVICE
"$kw" devices --json >devices.json 2>/dev/null || true
device=$(sed -n 's/.*"spec": *"\(opencl:[0-9:]*\)".*/\1/p' devices.json | head -n 1)
if [ -z "$device" ]; then
    skip 'replies of a GPU on PoCL' 'no OpenCL device'
else
    works 'replies of a GPU on PoCL' evolve softmax --llm "replay:$root/tests/recorded/softmax" --device "$device" \
        --store pocl.db
    check 'to the end' has "$output" '24 candidates asked for'
    check 'what does not compile there is said to' test "$(printf '%s' "$output" | sed -n 's/.* \([0-9]*\) did not compile.*/\1/p')" -gt 0
    works 'and they repeat what was recorded here' evolve rmsnorm_residual --llm "replay:$root/tests/recorded/rmsnorm_residual" \
        --device "$device" --store pocl.db --record pocl --rungs 1,1,1 --no-probe --budget 8
    check 'on shapes for a CPU' has "$(head -1 pocl/journal.jsonl)" '"shapes":[{"R":128,"C":1024},{"R":1024,"C":64}]'
    works 'without the device' evolve rmsnorm_residual --llm replay:pocl --measurements recorded
    check 'and what is portable is right there' test "$(grep '"event":"attempt"' pocl/journal.jsonl | grep -c '"outcome":"ok"')" -gt 0
fi
finish evolve_recorded
