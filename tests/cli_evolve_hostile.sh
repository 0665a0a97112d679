#!/bin/sh
# evolve: folders that others write in, replies that are no text, records that were cut, options that changed.
# shellcheck disable=SC2154,SC2086 # variables come from support/cli.sh; $copied and $option are words
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"
record=$root/tests/recorded/evolve-saxpy
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
# batch FOLDER OPTIONS...: one batch of two questions.
batch() {
    folder=$1
    shift
    kernwright evolve $copied --llm "folder:$folder" --leave-when-waiting --budget 2 --in-flight 2 "$@"
}
# answer FOLDER KEY FILE
answer() {
    cp "$3" "$1/$2.reply.md"
    : >"$1/$2.done"
}

# Questions and replies that cannot be written: a run that goes on without them would wait for ever, or never go on again.
mkdir -p no-room/generate-000002.json
refuses 'a prompt that cannot be written' 3 'no-room/generate-000002.json' evolve $copied --llm folder:no-room \
    --leave-when-waiting --budget 3 --in-flight 3
rmdir no-room/generate-000002.json
batch no-room
check 'with room it goes on' has "$output" '2 prompts wait for replies in no-room'
check 'and both are asked' test -s no-room/generate-000002.prompt.md
mkdir -p no-reply/generate-000001.reply.md no-prompt/generate-000001.prompt.md
refuses 'a reply that cannot be kept' 3 'no-reply/generate-000001.reply.md' evolve $copied --llm 'command:cat better.md' \
    --record no-reply --budget 1
check 'is none' same "$(grep -c '"event":"reply"' no-reply/journal.jsonl)" 0
rmdir no-reply/generate-000001.reply.md
works 'with room it is asked again' evolve $copied --llm 'command:cat better.md' --record no-reply --budget 1
check 'and tried' has "$output" '1 right'
refuses 'a question that cannot be kept' 3 'no-prompt/generate-000001.prompt.md' evolve $copied \
    --llm 'command:cat better.md' --record no-prompt --budget 1

# Replies that are no files: a link is read with our rights and its text would leave in the next prompt.
batch odd
echo 'the secret of somebody else' >secret
ln -s ../secret odd/generate-000001.reply.md
mkfifo odd/generate-000002.reply.md
batch odd
check 'no link, no pipe is taken' has "$output" '2 prompts wait for replies in odd'
check 'the link is named' has "$errors" 'odd/generate-000001.reply.md: a link lies where a file is expected'
check 'the pipe is named' has "$errors" 'odd/generate-000002.reply.md: a pipe or a device lies where'
check 'the secret stays one' same "$(grep -rl 'secret of' odd | wc -l)" 0
rm odd/generate-00000?.reply.md
mkdir odd/generate-000001.reply.md
answer odd generate-000002 better.md
ln -s ../secret odd/generate-000002.template.cl
batch odd
check 'a folder is named' has "$errors" 'odd/generate-000001.reply.md: a folder lies where'
check 'the reply beside it is tried' has "$output" '1 right'
check 'nothing is written through a link' same "$(cat secret)" 'the secret of somebody else'
printf 'no end of line' >secret
mkdir linked
ln -s ../secret linked/journal.jsonl
refuses_at_once 'a journal that is a link' 3 'linked/journal.jsonl: a link lies where' evolve $copied --llm none --record linked
check 'what it leads to stays' same "$(cat secret)" 'no end of line'
mv odd/generate-000002.reply.md moved.md
ln -s ../moved.md odd/generate-000002.reply.md
refuses 'a reply that became a link' 3 'odd/generate-000002.reply.md: a link lies where' evolve $copied --llm folder:odd \
    --leave-when-waiting --budget 2
works 'a record is read through links' evolve copied --template plain.cl --dims N=1000 --llm replay:odd \
    --measurements recorded
rm odd/generate-000002.reply.md
cp moved.md odd/generate-000002.reply.md
bad_name=$(printf 'x\033[31m\nkernwright evolve: all is well')
: >"odd/$bad_name.reply.md"
batch odd
check 'a name is one line' has "$errors" 'odd/x?[31m?kernwright evolve: all is well.reply.md: no prompt of that name'

# What cannot be read as a reply stays as it came.
batch large --repairs 0
head -c 17000000 /dev/zero | tr '\0' x >large/generate-000001.reply.md
: >large/generate-000001.done
answer large generate-000002 better.md
echo '{bad' >large/generate-000002.meta.json
batch large --repairs 0
check 'both are no answers' has "$output" '2 without code'
check 'a reply that is too large stays' same "$(wc -c <large/generate-000001.reply.md)" 17000000
check 'a reply beside a broken file stays' cmp -s large/generate-000002.reply.md better.md
batch large --repairs 0
check 'and it is done' has "$output" 'the budget of candidates is used'
batch rubbish --repairs 0
head -c 5000000 /dev/urandom >rubbish/generate-000001.reply.md
printf 'a\0b\0```c\0' >rubbish/generate-000002.reply.md
: >rubbish/generate-000001.done
: >rubbish/generate-000002.done
batch rubbish --repairs 0
check 'rubbish is no code' has "$output" '2 without code'
check 'and ends well' same "$status" 0

# Exchanges are kept in --record, wherever they are asked.
works 'asked in one folder, kept in another' evolve $copied --llm folder:asked --record kept --leave-when-waiting --budget 1
check 'the folder that is waited for is named' has "$output" 'wait for replies in asked'
answer asked generate-000001 better.md
for _ in 1 2; do
    works 'the reply is taken' evolve $copied --llm folder:asked --record kept --leave-when-waiting --budget 1
    check 'and tried' has "$output" '1 right'
done
check 'all of it is kept' cmp -s kept/generate-000001.reply.md better.md
check 'the prompt too' cmp -s kept/generate-000001.prompt.md asked/generate-000001.prompt.md
works 'and repeats' evolve copied --template plain.cl --dims N=1000 --llm replay:kept --measurements recorded

# A disk that is full half-way: one line, and with room it goes on where it was.
for blocks in 1 8 24 200 400; do
    output=$(ulimit -f "$blocks" && "$kw" evolve $copied --llm 'command:cat better.md' --record "small$blocks" --budget 1 \
        --store "small$blocks.db" 2>"$work/errors")
    status=$?
    errors=$(tail -1 "$work/errors")
    [ "$status" -eq 0 ] || check "$blocks blocks: its status" same "$status" 3
    [ "$status" -eq 0 ] || check "$blocks blocks: what is full" has "$errors" "small$blocks"
    works "$blocks blocks: with room it goes on" evolve $copied --llm 'command:cat better.md' --record "small$blocks" \
        --budget 1 --store "small$blocks.db"
    check "$blocks blocks: to its end" has "$output" '1 right'
done

# A run in batches that has what was asked for waits for nobody.
batch enough
check 'before' has "$output" '2 prompts wait for replies in enough'
batch enough --stop 0.9
check 'good enough' has "$output" 'ended: the best is as good as was asked for'
check 'and over' has "$(tail -1 enough/journal.jsonl)" '"event":"end"'

# A budget is of the whole run, however often it is stopped, and where nobody reports tokens.
works 'tokens are counted' evolve $copied --llm 'command:cat better.md' --record spent --budget 1 --json
tokens=$(printf '%s' "$output" | sed 's/.*"tokens":\([0-9]*\).*/\1/')
check 'by bytes' has "$output" '"tokens_estimated":true'
check 'of prompt and reply' test "$tokens" -gt 3000
works 'once more' evolve $copied --llm 'command:cat better.md' --record spent --budget 1 --json
check 'nothing is counted twice' has "$output" "\"tokens\":$tokens,"
works 'a budget that the first part of the run has used' evolve $copied --llm 'command:cat other.md' --record spent \
    --budget 2 --max-tokens $((tokens + 9000))
check 'is spent' has "$output" 'ended: the budget of'
check 'says how much' has "$output" "spent: $tokens tokens (partly estimated) in 1 replies"

# Options that changed: which, and what to do.
batch changed
for option in '--seed 2' '--dims N=500' '--without gradient' '--repairs 3' '--rungs 1,2,3' '--warm' \
    '--independent' '--operators 0.5'; do
    refuses "changed: $option" 2 'began with other options' evolve $copied --llm folder:changed --leave-when-waiting $option
done
check 'what was and what is' has "$errors" '"operators" was 0, now 0.5; give the same again, or another folder'
batch changed --max-prompt 5000
check 'what may change is told' has "$errors" 'the run goes on with another "max_prompt": it was 24000, now 5000'
check 'and stands in the journal' same "$(grep -c '"event":"settings"' changed/journal.jsonl)" 2
# A journal of an older version, which did not have all of it.
cp -r changed older
sed -i -e 's/,"rungs":\[4,12,32\],"cold":true,"probe":false//' -e '/"event":"settings"/d' older/journal.jsonl
check 'older' same "$(grep -c rungs older/journal.jsonl)" 0
batch older
check 'it goes on' has "$output" '2 prompts wait for replies in older'
batch changed --template better.cl
check 'a template that comes late' has "$errors" 'better.cl: the run in changed began without it, and goes on without it'
check 'does no harm' has "$output" '2 prompts wait for replies in changed'
# The store is a cache: a run goes on without it.
answer changed generate-000001 better.md
batch changed
rm kept.db
answer changed generate-000002 other.md
batch changed
check 'a store that was deleted' has "$output" '2 right'

sed 's/other/another/' changed/generate-000002.reply.md >later.md
cp -r changed edited
cp later.md edited/generate-000002.reply.md
refuses 'a reply that was changed later' 1 'edited/generate-000002.reply.md was changed since it was taken' evolve $copied --llm folder:edited \
    --leave-when-waiting --budget 2 --in-flight 2

# Records with holes.
cp -r changed holes
rm holes/generate-000001.reply.md
works 'a record without its first reply' evolve $copied --llm replay:holes
check 'the others are tried' has "$output" '2 candidates asked for: 1 right'
check 'the first is none' has "$output" '1 without code'
refuses_at_once 'repeating it' 2 'holes/generate-000001.reply.md' evolve copied --template plain.cl --dims N=1000 --llm replay:holes \
    --measurements recorded
batch left
works 'a record of a run that was left' evolve copied --template plain.cl --dims N=1000 --llm replay:left \
    --measurements recorded
check 'it says that there was more to come' has "$output" 'the record ends before its run does'
cp -r "$record" cut
lines=$(wc -l <"$record/journal.jsonl")
at=1
while [ "$at" -lt "$lines" ]; do
    head -n "$at" "$record/journal.jsonl" >cut/journal.jsonl
    kernwright evolve saxpy --llm replay:cut --measurements recorded
    case $status in
    0) check "cut behind line $at: said" has "$output" 'the record ends before its run does' ;;
    1) check "cut behind line $at" has "$errors" 'cut/journal.jsonl: it ends before the run does' ;;
    *) bad "cut behind line $at" ;;
    esac
    at=$((at + 1))
done
finish cli_evolve_hostile
