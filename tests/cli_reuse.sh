#!/bin/sh
# What was measured is not measured again when a template changes in what does not change its text.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

write() { # PARAMS
    params=$1 local='64' before='#pragma fake time_ns=${1000000 + A}' more='"fallback": true,' && template one.cl
}
tune='tune saxpy --template one.cl --dims N=100 --strategy exhaustive --budget 100 --store s.db'

write '"A": {"values": [1, 2, 3]}, "GONE": {"values": [0]}'
# shellcheck disable=SC2086 # words
works 'three configurations' $tune
check 'are measured' has "$output" ' 3+0 '
rows=$(sqlite3 s.db 'SELECT count(*) FROM measurement' 2>/dev/null)

write '"A": {"values": [1, 2, 3]}, "GONE": {"values": [0]}, "NEW": {"values": [5, 6], "default": 6}'
# shellcheck disable=SC2086 # words
works 'a parameter more, of which the text knows nothing' $tune
check 'nothing is measured' has "$output" ' 0+3 '

write '"A": {"values": [1, 2, 3]}'
# shellcheck disable=SC2086 # words
works 'a parameter less' $tune
check 'nothing is measured either' has "$output" ' 0+3 '
check 'no row came' same "$rows" "$(sqlite3 s.db 'SELECT count(*) FROM measurement' 2>/dev/null)"

write '"A": {"values": [1, 2, 3, 4]}'
# shellcheck disable=SC2086 # words
works 'a value more' $tune
check 'only that is measured' has "$output" ' 1+3 '

finish cli_reuse
