#!/bin/sh
# Ctrl-C, SIGTERM and kill -9 in the middle of a search: everything measured is kept, nobody is left behind, and the next
# run goes on. Counts decide, never times: all waits are bounded and end when what is waited for has come.
# shellcheck disable=SC2016,SC2154,SC2317 # ${} is the templates'; variables come from support/cli.sh, which calls functions
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

if [ ! -r /proc/self/stat ]; then
    skip 'signals' 'no /proc'
    finish cli_interrupt
fi

rows() {
    "$kw" results show --json --store s.db 2>/dev/null | grep -c '"outcome"'
}

more_than() { # N: rows in the store
    [ "$(rows)" -gt "$1" ]
}

has_children() {
    [ "$(children "$1" | wc -l)" -ge "$2" ]
}

# The stage that the worker of this stage announced last: where a candidate hangs nothing follows. The device was probed
# before, so the first compilation is the candidate's; the stages of the task's own check stand above it.
is_at() { # STAGE
    at_work=0
    [ "$1" = compile ] && at_work=1
    [ "$(sed -n '/in stage compile$/,$p' errors | sed -n "s/.*worker $at_work: job [0-9]* in stage \\([a-z]*\\)\$/\\1/p" | tail -1)" = "$1" ]
}

store_is_there() {
    "$kw" results show --store hang.db >/dev/null 2>&1
}

# So many that a search never comes to its end before it is stopped.
params='"A": {"values": "range(20000)"}' local='64' more='"fallback": true,'
before='#pragma fake host_sleep_us=2000 time_ns=${1000000 + A}' && template slow.cl
tune='tune saxpy --template slow.cl --dims N=100 --compile-workers 1 --strategy random --store s.db'

# Starts a search, waits for more rows than there were, sends a signal, waits for its end.
stop_with() { # SIGNAL
    had=$(rows)
    # shellcheck disable=SC2086 # words
    "$kw" $tune --budget 20000 >out 2>errors &
    coordinator=$!
    if ! until_true more_than $((had + 3)); then
        bad "$1: rows come"
    fi
    workers=$(children "$coordinator")
    kill -s "$1" "$coordinator"
    wait "$coordinator"
    status=$? output=$(cat out) errors=$(cat errors)
    check "$1: there were workers" [ "$(lines "$workers")" -ge 2 ]
    # shellcheck disable=SC2086 # words
    check "$1: no worker is left" until_true gone $workers
    kept=$(rows)
    check "$1: what was measured is kept" [ "$kept" -gt $((had + 3)) ]
}

for signal in INT TERM; do
    stop_with "$signal"
    check "$signal: status 130" [ "$status" -eq 130 ]
    check "$signal: it is said" has "$errors" 'everything measured so far is kept'
    check "$signal: nothing more comes" [ "$(rows)" -eq "$kept" ]
done

stop_with KILL
check 'KILL: status' [ "$status" -eq 137 ]
check 'KILL: no transaction is half done' "$kw" results export --all --store s.db -o all.jsonl

before_resume=$(rows)
# shellcheck disable=SC2086 # words
works 'the next run goes on' $tune --budget $((before_resume + 4))
check 'what is stored counts' has "$output" " 4+$before_resume "
after=$(rows)
# shellcheck disable=SC2086 # words
works 'the same command again' $tune --budget $((before_resume + 4))
check 'measures nothing' has "$output" " 0+$((before_resume + 4)) "
check 'not even a second time' [ "$(rows)" -eq "$after" ]

# ---- a hanging candidate, and its coordinator killed ----
params='"A": {"values": [1]}' local='64' before='#pragma fake run=hang' && template hang.cl
"$kw" tune saxpy --template hang.cl --dims N=100 --compile-workers 1 --compile-limit 600 --run-limit 600 --store hang.db >out 2>errors &
coordinator=$!
check 'workers start' until_true has_children "$coordinator" 2
check 'the store is made' until_true store_is_there
workers=$(children "$coordinator")
kill -s KILL "$coordinator"
wait "$coordinator" 2>/dev/null
# shellcheck disable=SC2086 # words
check 'a worker that hangs ends with its coordinator' until_true gone $workers

# ---- SIGTERM in every stage that a worker announces ----
stage_of() { # DIRECTIVES that crash: the stage they do so in
    params='"A": {"values": [1]}' local='64' before="#pragma fake time_ns=1000000 $1" && template stage.cl
    rm -f stage.db
    kernwright tune saxpy --template stage.cl --dims N=100 --compile-workers 1 --store stage.db
    kernwright results show --failed --json --store stage.db
    printf '%s\n' "$output" | grep '"crash"' | sed 's/.*"stage":"\([a-z]*\)".*/\1/' | head -1
}

# How many runs come before timing depends on how much is verified.
first_timed=
for n in 4 8 12 16 18 20 22 24 28 32 48 64 96; do
    if [ "$(stage_of "run=crash after=$n")" = time ]; then
        first_timed=$n
        break
    fi
done
check 'there is a run that is timed' [ -n "$first_timed" ]
check 'the first is the smoke test' same "$(stage_of 'run=crash')" smoke
check 'then comes verification' same "$(stage_of 'run=crash after=4')" verify

works 'the device is probed' probe --store probed.db
while read -r stage directives; do
    rm -f hang.db hang.db-wal hang.db-shm
    cp probed.db hang.db
    params='"A": {"values": [1]}' local='64' before="#pragma fake time_ns=1000000 $directives" && template hang.cl
    KERNWRIGHT_LOG=debug "$kw" tune saxpy --template hang.cl --dims N=100 --compile-workers 1 --compile-limit 600 --run-limit 600 --store hang.db >out 2>errors &
    coordinator=$!
    check "$stage: a worker comes to it" until_true is_at "$stage"
    workers=$(children "$coordinator")
    check "$stage: there are workers" [ "$(lines "$workers")" -ge 2 ]
    kill -s TERM "$coordinator"
    wait "$coordinator"
    status=$? errors=$(cat errors)
    check "SIGTERM while one hangs in $stage: status 130" [ "$status" -eq 130 ]
    check "$stage: it was there until the end" is_at "$stage"
    check "$stage: it is said" has "$errors" 'everything measured so far is kept'
    # shellcheck disable=SC2086 # words
    check "$stage: and the worker is gone" until_true gone $workers
    works "$stage: nothing is blamed on the candidate" results show --json --store hang.db
    check "$stage: no row" [ -z "$output" ]
done <<END
compile build=hang
smoke run=hang
verify run=hang after=4
time run=hang after=$first_timed
END

# ---- a reader who leaves ----
# shellcheck disable=SC2086 # words
{
    "$kw" $tune --budget 20000 --json 2>errors
    echo $? >left
} | head -1 >/dev/null
status=$(cat left) errors=$(cat errors)
check 'a closed standard output ends the search: status 3' [ "$status" -eq 3 ]
check 'and is said' has "$errors" 'standard output cannot be written'

finish cli_interrupt
