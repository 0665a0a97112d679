#!/bin/sh
# A store that another program has changed: whatever stands in a column, every command ends with a message or goes on, and
# none crashes. Needs sqlite3, the command.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

if ! command -v sqlite3 >/dev/null; then
    skip 'hostile stores' 'no sqlite3'
    finish cli_store_hostile
fi

before='#pragma fake time_ns=${WG}' more='"fallback": true,' && template good.cl
works 'a store to begin with' tune saxpy --template good.cl --dims N=100 --store good.db
# The constraints of the tables go: nothing else stops a program that means harm.
sqlite3 good.db 'PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE;
    CREATE TABLE m AS SELECT * FROM measurement; DROP TABLE measurement; ALTER TABLE m RENAME TO measurement;
    CREATE TABLE v AS SELECT * FROM variant; DROP TABLE variant; ALTER TABLE v RENAME TO variant;' >/dev/null
works 'without constraints it is read as before' results show --store good.db

# Runs all commands on bad.db; each ends with 0, or with 1 to 3 and one line that says why.
try_all() { # WHAT
    for command in 'results show' 'results show --failed' 'results show --json' 'results export' 'results export --all --samples' \
        'emit saxpy -o out.h' 'tune saxpy --template good.cl --dims N=100 --budget 4 --compile-workers 0'; do
        cp bad.db now.db
        # shellcheck disable=SC2086 # words
        kernwright $command --store now.db
        tried=$((tried + 1))
        if [ "$status" -gt 3 ] || { [ "$status" -ne 0 ] && ! has "$errors" 'kernwright'; } ||
            printf '%s\n' "$errors" | grep -qE 'Sanitizer|runtime error|Assertion'; then
            bad "$1: $command"
        fi
    done
}

damage() { # TABLE COLUMN VALUE
    cp good.db bad.db
    sqlite3 bad.db "UPDATE $1 SET $2=$3 WHERE rowid=(SELECT min(rowid) FROM $1);"
}

tried=0
for column in task task_hash shape scalars source_hash config outcome n median_ns samples_ns extra; do
    for value in NULL "x'00ff01'" "'{'" "'a'||char(0)||'b'" -7; do
        damage measurement "$column" "$value"
        case $column$value in # a column of each kind with all commands, the others with one
        task_hashNULL | shape\'* | configNULL | config\'* | n-7 | samples_ns* | outcome-7) try_all "$column=$value" ;;
        *)
            kernwright results export --all --samples --store bad.db
            tried=$((tried + 1))
            [ "$status" -le 3 ] || bad "$column=$value"
            ;;
        esac
    done
done
for column in source_hash language json; do
    for value in NULL "x'00ff01'" "'{}'"; do
        damage variant "$column" "$value"
        try_all "variant: $column=$value"
    done
done
check 'all were tried' [ "$tried" -gt 100 ]

damage measurement task_hash NULL
refuses 'a missing name' 2 'task_hash of row 1 of the table measurement is missing: another program changed it' \
    results show --store bad.db
damage measurement shape "x'00'"
refuses 'no text' 2 'shape of row 1 of the table measurement is no text' results show --store bad.db
damage measurement n -7
refuses 'no count' 2 'n of row 1 of the table measurement is no count' results show --store bad.db
cp good.db bad.db
sqlite3 bad.db 'UPDATE variant SET json=NULL'
refuses 'a variant without its text' 2 'of the table variant is missing' emit saxpy -o other.h --store bad.db
check 'no header' [ ! -e other.h ]

finish cli_store_hostile
