#!/bin/sh
# emit: trees, portfolios, split files; results that cannot be used, and what is said of them.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

# A fast one per range of sizes would need a device: here all shapes have the same favourite.
before='#pragma fake time_ns=${64000000 // WG}' more='"fallback": true,' && template g.cl
for n in 100 200 300 400 500; do
    works "tuned for $n" tune saxpy --template g.cl --dims "N=$n" --no-probe --store a.db
done
works 'emitted' emit saxpy --store a.db -o a.h
check 'the tree is reported' has "$errors" 'fake/scripted/large/64: tree of 1 leaves'
check 'and what to choose' has "$errors" 'recommended: --variants 1'
check 'and the size of the text' has "$errors" 'kernel text of'
check 'it is in the header' grep -q 'kw_saxpy_leaves' a.h
check 'provenance says what it is worth' grep -q 'regret of shapes left out: mean 1.000' a.h
works 'no trees' emit saxpy --store a.db -o b.h --variants 0
check 'none there' has "$(cat b.h)" 'No device has a tree'
printf '{"N":100,"count":1000}\n{"N":7}\n' >shapes.jsonl
works 'weights' emit saxpy --store a.db -o b.h --shapes shapes.jsonl
refuses_at_once 'too many variants' 2 'give 0 (no trees) to 32' emit saxpy --store a.db -o b.h --variants 33
refuses_at_once 'fewer than none' 2 'give 0 (no trees) to 32' emit saxpy --store a.db -o b.h --variants -1
refuses_at_once 'no number' 2 'or auto' emit saxpy --store a.db -o b.h --variants 8x
refuses_at_once 'an empty number' 2 'or auto' emit saxpy --store a.db -o b.h --variants ''
refuses_at_once 'no such list' 2 'none.jsonl' emit saxpy --store a.db -o b.h --shapes none.jsonl
refuses_at_once 'split to standard output' 2 'give -o FILE' emit saxpy --store a.db -o - --split
refuses_at_once 'a worker for nothing' 2 'was not given' emit saxpy --store a.db -o a.h --worker-command x
works 'split' emit saxpy --store a.db -o s.h --split
mkdir taken.h && echo 'the old text' >taken.c
refuses 'a pair of which one cannot be written' 3 'taken.h: cannot write' emit saxpy --store a.db -o taken.h --split
check 'leaves the other as it was' [ "$(cat taken.c)" = 'the old text' ]
check 'and no half of it' [ -z "$(find . -name '*.tmp.*')" ]
check 'two files' [ -s s.h ] && check 'the second' grep -q 'fake_saxpy' s.c
check 'the text is in one' [ "$(grep -c 'global const float' s.h)" -eq 0 ]

# ---- trees need times of few variants on many shapes: the bests of shapes, on all of them ----
params='"WG": {"values": [16, 32, 64], "default": 64}, "FIX": {"values": [1, 2, 3, 4, 5]}' \
    before='#pragma fake time_ns=${1000000 * (6 - FIX) + 10000 * WG}' more='"fallback": true,' && template p.cl
for n in 100 200 300 400; do
    works "few configurations for $n" tune saxpy --template p.cl --dims "N=$n" --no-probe --store p.db \
        --strategy random --seed "$n" --budget 2
done
works 'before' emit saxpy --store p.db -o p.h
works 'between shapes' crossover saxpy --store p.db --device fake:0 --between-shapes 8
check 'something was missing' [ "$(printf '%s\n' "$errors" | grep -c ' ok ')" -gt 0 ]
check 'and is measured' has "$errors" 'of them failed 0'
works 'once' crossover saxpy --store p.db --device fake:0 --between-shapes 8
check 'not again' has "$errors" 'measured 0'
works 'after' emit saxpy --store p.db -o p2.h
check 'the header knows more' [ "$(grep -c 'FIX=' p2.h)" -ge 1 ]
check 'sizes are reported' has "$errors" 'recommended: --variants'
works 'as many as recommended' emit saxpy --store p.db -o p3.h --variants auto
check 'that says what is taken' has "$errors" 'auto takes as many as the default'
check 'few variants: the default' sh -c 'sed 1,9d p2.h >p2.cut && sed 1,9d p3.h | cmp -s - p2.cut'
refuses_at_once 'fewer than none between' 2 'between-shapes' crossover saxpy --store p.db --between-shapes -1

# ---- without template or device ----
works 'exported' results export --store a.db -o good.jsonl
rm g.cl
works 'the template is gone' emit saxpy --from good.jsonl -o b.h
check 'the same header' cmp -s a.h b.h
before='#pragma fake time_ns=${WG}' more='"fallback": true,' && template g.cl
works 'the template is another one' emit saxpy --from good.jsonl -o b.h
check 'what was measured is emitted' cmp -s a.h b.h
rm g.cl

# ---- results that cannot be used ----
spoilt() { # WHAT STATUS PART SED-SCRIPT
    sed "$4" good.jsonl >bad.jsonl
    rm -f bad.h
    refuses "$1" "$2" "$3" emit saxpy --from bad.jsonl -o bad.h
    check "$1: no header" [ ! -e bad.h ]
}
spoilt 'a newer schema' 2 'use a newer kernwright' 's/"schema":1/"schema":2/'
spoilt 'a newer schema further down' 2 'bad.jsonl:3: results of schema 2' '2a {"kernwright":"results","schema":2}'
spoilt 'a row that is not even JSON' 2 'bad.jsonl:3' '2a {"measurement":{"task":"saxpy",'
for time in 0 -5 null '"x"' 1e300; do
    spoilt "a time of $time" 2 'bad.jsonl:' "s/\"median_ns\":[0-9.]*/\"median_ns\":$time/"
done
spoilt 'an infinite time' 2 'out of range' 's/"median_ns":[0-9.]*/"median_ns":1e999/'
spoilt 'not a number' 2 "found 'N'" 's/"median_ns":[0-9.]*/"median_ns":NaN/'
spoilt 'a shape of zero' 2 'N=0 is outside' 's/"N":100}/"N":0}/'
spoilt 'a negative shape' 2 'bad.jsonl:2: "shape" must be an object of whole numbers' 's/"N":100}/"N":-1}/'
spoilt 'a shape of text' 2 'bad.jsonl:2: "shape" must be' 's/"N":100}/"N":"100"}/'
spoilt 'a dim over 2^31' 2 'N=3000000000 is outside' 's/"N":100}/"N":3000000000}/'
spoilt 'another dim' 2 'dim N is not given' 's/"N":100}/"M":100}/'
spoilt 'a text that was changed' 2 'it was changed' '/"variant":/s/fake_saxpy(int n/fake_saxpy(long n/'
spoilt 'no texts' 1 'bad.jsonl holds no OpenCL source' '/"variant":/d'
spoilt 'an older task' 1 'before its definition changed' \
    's/"task_hash":"[0-9a-f]*"/"task_hash":"00000000000000000000000000000000"/'
spoilt 'a key that is none' 2 'is not vendor/arch/name/units' 's#fake/scripted/large/64#fake#'

# Rows that contradict each other: two times are pooled, right and wrong makes wrong.
sed -n 's/"median_ns":[0-9.]*,"lo_ns":[0-9.]*,"hi_ns":[0-9.]*/"median_ns":900000,"lo_ns":900000,"hi_ns":900000/p' good.jsonl |
    sed 's/"host":"[^"]*"/"host":"other"/' >more.jsonl
cat more.jsonl >>good.jsonl
works 'two times' emit saxpy --from good.jsonl -o b.h
sed -n '2s/"outcome":"ok"/"outcome":"wrong"/p' good.jsonl |
    sed 's/"verified":"[a-z]*"/"verified":"no"/; s/"n":.*"hi_ns":[0-9.]*,//' >wrong.jsonl
check 'a contradiction to try' [ -s wrong.jsonl ]
cat wrong.jsonl >>good.jsonl
refuses 'right and wrong' 1 'came out ok' emit saxpy --from good.jsonl -o bad.h
finish cli_dispatch
