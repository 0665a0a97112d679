#!/bin/sh
# kernwright crossover: two scripted devices, and PoCL with Intel's CPU runtime where that is installed.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
vendors=${OCL_ICD_VENDORS:-}
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

# Larger groups are faster; the small device takes 64 at most. A slow fallback, which both run.
before='#pragma fake time_ns=${64000000 // WG}' && template rows.cl
params='"WG": {"values": [16], "default": 16}' more='"fallback": true,' before='#pragma fake time_ns=9000000' &&
    template slow.cl
tune='tune saxpy --template rows.cl --template slow.cl --store c.db --no-probe'
# shellcheck disable=SC2086 # words
works 'tuned on one' $tune --dims N=1000 --device fake:0
refuses 'one device is not enough' 1 'for 1 device' crossover saxpy --store c.db
refuses 'not tuned there' 1 'tune saxpy` there first' crossover saxpy --store c.db --device fake:1
for n in 1000 2000; do
    # shellcheck disable=SC2086 # words
    works "tuned on the other, $n" $tune --dims "N=$n" --device fake:1
done

field() { # NAME BEST_OF ON
    printf '%s\n' "$output" | grep "\"best_of\":\"fake/scripted/$2\",\"on\":\"fake/scripted/$3\"" |
        sed "s/.*\"$1\":\([0-9.]*\).*/\1/"
}
works 'compared from the store alone' crossover saxpy --store c.db --json
check 'a line for each pair' [ "$(lines "$output")" -eq 4 ]
check 'shapes in common' [ "$(field shapes large/64 small/4)" -eq 1 ]
check 'own rows are 1' [ "$(field slowdown_geomean small/4 small/4)" = 1 ]
check 'what the small one found first was measured on the large one as well' \
    [ "$(field slowdown_geomean small/4 large/64)" = 2 ]
check 'the large one'\''s best was tried on the small one, or is missing' \
    [ "$(($(field failed large/64 small/4) + $(field missing large/64 small/4)))" -eq 1 ]

works 'measured where something lacks' crossover saxpy --store c.db --device fake:0 --device fake:1 --json
check 'nothing is missing' [ "$(field missing large/64 small/4)" -eq 0 ]
check 'it does not fit' [ "$(field failed large/64 small/4)" -eq 1 ]
works 'the second time nothing is measured' crossover saxpy --store c.db --device fake:0 --device fake:1
check 'says so' has "$errors" 'fake/scripted/small/4: measured 0'
check 'the figure' has "$output" 'hardware speed-up: 2.000'
check 'counts are whole numbers' [ "$(printf '%s\n' "$output" | grep -cE '[0-9]\.0000')" -eq 0 ]
refuses_at_once 'trees measure, and nobody said where' 2 '--device' crossover saxpy --store c.db --between-shapes 4

works 'exported' results export --store c.db --all -o c.jsonl
works 'compared from text' crossover saxpy --from c.jsonl
check 'the same figure' has "$output" 'hardware speed-up: 2.000'
refuses_at_once 'text cannot take measurements' 2 'needs a store' crossover saxpy --from c.jsonl --device fake:0
refuses_at_once 'no task' 2 'give one task' crossover
refuses_at_once 'no such task' 2 'saxpi' crossover saxpi --store c.db
refuses_at_once 'no store' 2 'no store at none.db' crossover saxpy --store none.db

# ---- two real devices ----
unset KERNWRIGHT_FAKE OCL_ICD_VENDORS KERNWRIGHT_DEVICE
[ -z "$vendors" ] || export OCL_ICD_VENDORS="$vendors"
kernwright devices
if has "$output" ' intel/' && has "$output" ' pocl/'; then
    for device in pocl/ intel/; do
        works "saxpy on $device" tune saxpy --dims N=100000 --device "$device" --budget 6 --no-probe --store real.db
    done
    works 'PoCL and Intel' crossover saxpy --store real.db --device pocl/ --device intel/ --json
    check 'nothing is missing there' [ "$(printf '%s\n' "$output" | grep -c '"missing":0')" -eq 4 ]
    check 'all were timed' [ "$(printf '%s\n' "$output" | grep -c '"timed":1')" -eq 4 ]
else
    skipped=$((skipped + 1))
    echo "skipped: PoCL and Intel's CPU runtime: not both installed (PyPI: intel-opencl-rt, and OCL_ICD_VENDORS to find it)"
fi
finish cli_crossover
