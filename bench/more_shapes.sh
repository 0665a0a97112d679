#!/bin/sh
# What a recorded matrix (bench/matrix.sh) leaves open about dispatch, measured on the same device, without network:
#
#     bench/more_shapes.sh MATRIX.jsonl.gz OUT_DIR
#
# 1. OUT_DIR/again.jsonl.gz: the AGAIN (60) most useful of its configurations, timed once more on all its shapes: how
#    much of a best of hundreds of times is luck, and what a header is worth against a best that was timed again.
# 2. OUT_DIR/more.jsonl.gz: the CONFIGS (150) most useful on SHAPES (112) shapes that it does not have, drawn by
#    bench/matrix_shapes.py with SEED (2): what more measured shapes are worth, and shapes that no choice of the method
#    was made on.
#
# Each has its own store, OUT_DIR/*.db; the same command goes on after an interruption. Environment: BUILD or KERNWRIGHT
# (the program), AGAIN_TIME (60s), MORE_TIME (160s), LARGEST (8192), OPTIONS, KERNWRIGHT_DEVICE as for bench/matrix.sh.
# Last line: "more_shapes: again=.. more=.. seconds=..".
set -eu
matrix=${1:?usage: bench/more_shapes.sh MATRIX.jsonl.gz OUT_DIR} out=${2:?usage: bench/more_shapes.sh MATRIX.jsonl.gz OUT_DIR}
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
here=$(dirname "$0")
start=$(date +%s)
mkdir -p "$out"

# NAME COUNT SHAPES TIME: COUNT configurations on the shapes of a file, known from their rows on a few of the old ones.
record() {
    "$here/more_shapes.py" pick "$matrix" "$2" "$out/$1.pick.jsonl" "$out/$1.old.jsonl"
    cat "$3" "$out/$1.old.jsonl" | awk '!seen[$0]++' >"$out/$1.shapes.jsonl"
    [ -e "$out/$1.db" ] || "$program" results import "$out/$1.pick.jsonl" --store "$out/$1.db"
    KERNWRIGHT=$program SHAPES=$out/$1.shapes.jsonl CONFIGS=$2 TIME=$4 "$here/matrix.sh" "$out/$1.db" "$out/$1.jsonl.gz"
}

"$here/more_shapes.py" shapes "$matrix" >"$out/known.jsonl"
"$here/matrix_shapes.py" "${SHAPES:-112}" "${LARGEST:-8192}" "${SEED:-2}" | "$here/more_shapes.py" new "$matrix" >"$out/new.jsonl"
again=$(record again "${AGAIN:-60}" "$out/known.jsonl" "${AGAIN_TIME:-60s}" | tail -n 1)
echo "$again"
more=$(record more "${CONFIGS:-150}" "$out/new.jsonl" "${MORE_TIME:-160s}" | tail -n 1)
echo "$more"
number() { printf '%s\n' "$1" | sed -n 's/.* ok=\([0-9]*\).*/\1/p'; }
echo "more_shapes: again=$(number "$again") more=$(number "$more") seconds=$(($(date +%s) - start))"
