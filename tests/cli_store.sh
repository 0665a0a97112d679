#!/bin/sh
# Stores that cannot be used and outputs that cannot be written: what was there stays, nothing is left half-written.
# shellcheck disable=SC2016,SC2154,SC2317,SC2172 # ${} is the templates'; variables come from support/cli.sh, which calls functions; signal 25 has no portable name
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

before='#pragma fake time_ns=${WG}' more='"fallback": true,' && template good.cl
tune='tune saxpy --template good.cl --dims N=100'
# shellcheck disable=SC2086 # words
works 'a store to begin with' $tune --store good.db
works 'a header to begin with' emit saxpy -o good.h --store good.db
works 'and its text' results export -o good.jsonl --store good.db

# ---- stores ----
unchanged() { # FILE: does it hold what COPY holds?
    cmp -s "$1" "$1.copy"
}

# Every command that opens a store says the same of a bad one, and leaves it as it is.
bad_store() { # WHAT STATUS PART FILE
    what=$1 wanted=$2 part=$3 file=$4
    cp "$file" "$file.copy"
    # shellcheck disable=SC2086 # words
    for command in "$tune" 'results show' 'results export' 'results import good.jsonl' 'emit saxpy -o out.h' \
        'time good.cl --dims N=100 --keep'; do
        refuses "$what: $command" "$wanted" "$part" $command --store "$file"
    done
    check "$what: it is left as it is" unchanged "$file"
    check "$what: no header" [ ! -e out.h ]
    kernwright doctor --store "$file"
    check "$what: doctor says so" has "$output" 'FAIL  store'
}

cp good.db newer.db
printf '\000\000\000\143' | dd of=newer.db bs=1 seek=60 conv=notrunc 2>/dev/null # user_version 99
bad_store 'a newer schema' 2 'has schema 99' newer.db
head -c 10000 good.db >cut.db
bad_store 'a truncated store' 2 'cut.db' cut.db
echo 'SELECT * FROM measurements;' >text.db
bad_store 'not a database' 2 'text.db' text.db
head -c 5000 /dev/zero >zeros.db
bad_store 'zeros' 2 'zeros.db' zeros.db
refuses 'a folder' 2 'is a folder' results show --store "$work"
refuses 'no store to show' 2 'no store at none.db: run `kernwright tune` first' results show --store none.db
refuses 'no store to emit from' 2 'no store at none.db' emit saxpy -o out.h --store none.db
check 'none is made by looking' [ ! -e none.db ]
# shellcheck disable=SC2086 # words
refuses 'a folder that is not there' 3 'does not exist' $tune --store nowhere/new.db
KERNWRIGHT_STORE=text.db refuses 'the store of the environment' 2 'text.db' results show

# ---- results as text ----
printf 'what is this\n' >bad.jsonl
refuses 'no results' 2 'bad.jsonl:1' results import bad.jsonl --store good.db
{
    cat good.jsonl
    printf '{"measurement": {"task": 5}}\n'
} >bad.jsonl
refuses 'a bad line' 2 "bad.jsonl:$(lines "$(cat bad.jsonl)")" results import bad.jsonl --store new.db
kernwright results show --store new.db --json
check 'all or nothing' [ "$(lines "$output")" -eq 0 ]
refuses 'emit from a bad line' 2 'bad.jsonl' emit saxpy -o out.h --from bad.jsonl
refuses 'merge with a bad line' 2 'nofile.jsonl' results merge good.jsonl nofile.jsonl -o merged.jsonl
check 'no merged text' [ ! -e merged.jsonl ]
works 'merge' results merge good.jsonl good.jsonl -o merged.jsonl
check 'of two alike is one' cmp -s good.jsonl merged.jsonl
works 'emit from text' emit saxpy -o from.h --from merged.jsonl
check 'the same header from store and text' cmp -s good.h from.h

# ---- nothing to emit ----
refuses 'emit of a task without rows' 1 'holds nothing for task gemm' emit gemm -o out.h --store good.db
refuses 'emit for an unknown device' 1 'amd/gfx' emit saxpy -o out.h --store good.db --device amd/gfx942/mi300/304
refuses 'a prefix that makes no name' 2 '9x' emit saxpy -o out.h --store good.db --prefix 9x
check 'no header was left' [ ! -e out.h ]

# ---- outputs ----
mkdir folder
for where in nowhere/x folder /proc/x; do
    refuses "emit -o $where" 3 "$where" emit saxpy -o "$where" --store good.db
    refuses "results export -o $where" 3 "$where" results export -o "$where" --store good.db
    refuses "results merge -o $where" 3 "$where" results merge good.jsonl -o "$where"
    refuses "expand -o $where" 3 "$where" expand good.cl -o "$where"
    # shellcheck disable=SC2086 # words
    refuses "tune --trace $where" 3 "$where" $tune --trace "$where" --store trace.db
done
check 'no trace, no work' [ ! -e trace.db ]
check 'nothing half-written' [ -z "$(find . -name '*.tmp.*')" ]

# A file system that is full in the middle of a file: writing ends after 8 blocks. Signal 25 is that limit's;
# the program does not die of it.
if (trap '' 25 && ulimit -f 8 && ! head -c 100000 /dev/zero >limit.out) 2>/dev/null; then
    "$kw" results export --all --samples --store good.db -o whole.jsonl
    for pair in "emit saxpy --store good.db -o kept.h" "results merge whole.jsonl -o kept.h" "results export --all --samples --store good.db -o kept.h" \
        "expand wide.cl -o kept.h"; do
        echo 'the old file' >kept.h
        before=$(printf '// %.0sx' $(seq 3000)) && template wide.cl
        # shellcheck disable=SC2086 # words
        output=$(ulimit -f 8 && "$kw" $pair 2>&1)
        status=$?
        check "full disk: $pair: status 3" [ "$status" -eq 3 ]
        check "full disk: $pair: it is said" has "$output" 'kept.h: cannot write'
        check "full disk: $pair: the old file stands" [ "$(cat kept.h)" = 'the old file' ]
        check "full disk: $pair: nothing half-written" [ -z "$(find . -name '*.tmp.*')" ]
    done
    # The store: what was measured before stays, and the run ends.
    params='"WG": {"values": "range(1, 1000)"}' local='64' before='#pragma fake time_ns=${WG}' && template many.cl
    output=$(ulimit -f 400 &&
        "$kw" tune saxpy --template many.cl --dims N=100 --budget 1000 --store full.db 2>&1)
    status=$?
    check 'full disk: tune: status 3' [ "$status" -eq 3 ]
    check 'full disk: tune: it is said' has "$output" 'full.db'
    check 'full disk: tune: what to do' has "$output" 'ulimit -f'
    (ulimit -f 8 && "$kw" results export --all --samples --store good.db >limit.out 2>errors)
    status=$? errors=$(cat errors) output=''
    check 'standard output at the limit: status 3' [ "$status" -eq 3 ]
    check 'standard output at the limit: it is said' has "$errors" 'standard output'
    check 'standard output at the limit: in one line' [ "$(lines "$errors")" -eq 1 ]
    works 'full disk: the store can be read' results show --store full.db --json
    check 'full disk: rows are kept' [ "$(lines "$output")" -gt 0 ]
    kept=$(lines "$output")
    works 'full disk: later the search goes on' tune saxpy --template many.cl --dims N=100 --budget "$((kept + 5))" \
        --store full.db
    check 'full disk: from where it was' has "$output" "+$kept "
else
    skipped=$((skipped + 1))
    echo 'skipped: file sizes cannot be limited here'
fi

# Standard output.
if [ -w /dev/full ]; then
    "$kw" expand good.cl >/dev/full 2>errors
    status=$? errors=$(cat errors) output=''
    check 'a full standard output: status 3' [ "$status" -eq 3 ]
    check 'a full standard output: one line' [ "$(lines "$errors")" -eq 1 ]
    "$kw" tasks >/dev/full 2>errors
    status=$? errors=$(cat errors)
    check 'a full standard output of a list: status 3' [ "$status" -eq 3 ]
    check 'a full standard output of a list: it is said' has "$errors" 'standard output cannot be written'
    for option in --help --version; do
        "$kw" $option >/dev/full 2>errors
        status=$? errors=$(cat errors)
        check "a full standard output of $option: status 3" [ "$status" -eq 3 ]
    done
fi

finish cli_store
