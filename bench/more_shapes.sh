#!/bin/sh
# What a recorded matrix (bench/matrix.sh) leaves open about dispatch, measured on the same device, without network:
#
#     bench/more_shapes.sh MATRIX.jsonl.gz OUT_DIR
#
# again-1, again-2: its AGAIN (48) most useful configurations, timed twice more on all its shapes: how much of a best of
#     hundreds of times is luck, and what a header is worth against a best that was timed again.
# more-1: its CONFIGS (100) most useful on SHAPES (96) shapes that it does not have, drawn by bench/matrix_shapes.py with
#     SEED (2): what more measured shapes are worth, and shapes that no choice of the method was made on.
# more-2: the AGAIN most useful on those once more.
#
# Each is a store, OUT_DIR/NAME.db, and OUT_DIR/NAME.jsonl.gz; the same command goes on after an interruption.
# Environment: BUILD or KERNWRIGHT (the program), SECONDS_OF (40 100 35 45: of again-1, more-1, again-2, more-2 at most),
# LARGEST (8192), OPTIONS, KERNWRIGHT_DEVICE as for bench/matrix.sh.
# Last line: "more_shapes: again-1=.. more-1=.. again-2=.. more-2=.. seconds=..", with the times of each.
set -eu
usage="usage: bench/more_shapes.sh MATRIX.jsonl.gz OUT_DIR"
matrix=${1:?$usage} out=${2:?$usage}
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
here=$(dirname "$0")
start=$(date +%s)
summary=
mkdir -p "$out"

# NAME COUNT SHAPES SECONDS: COUNT configurations on the shapes of a file, known from their rows on a few of the old ones.
record() {
    "$here/more_shapes.py" pick "$matrix" "$2" "$out/$1.pick.jsonl" "$out/$1.old.jsonl"
    cat "$3" "$out/$1.old.jsonl" | awk '!seen[$0]++' >"$out/$1.shapes.jsonl"
    [ -e "$out/$1.db" ] || "$program" results import "$out/$1.pick.jsonl" --store "$out/$1.db"
    line=$(KERNWRIGHT=$program SHAPES=$out/$1.shapes.jsonl CONFIGS=$2 TIME=${4}s \
        "$here/matrix.sh" "$out/$1.db" "$out/$1.jsonl.gz" | tail -n 1)
    echo "$1: $line"
    summary="$summary $1=$(printf '%s\n' "$line" | sed -n 's/.* ok=\([0-9]*\).*/\1/p')"
}

"$here/more_shapes.py" shapes "$matrix" >"$out/known.jsonl"
"$here/matrix_shapes.py" "${SHAPES:-96}" "${LARGEST:-8192}" "${SEED:-2}" | "$here/more_shapes.py" new "$matrix" >"$out/new.jsonl"
again=${AGAIN:-48}
# shellcheck disable=SC2086 # four numbers
set -- ${SECONDS_OF:-40 100 35 45}
record again-1 "$again" "$out/known.jsonl" "$1"
record more-1 "${CONFIGS:-100}" "$out/new.jsonl" "$2"
record again-2 "$again" "$out/known.jsonl" "$3"
record more-2 "$again" "$out/new.jsonl" "$4"
echo "more_shapes:$summary seconds=$(($(date +%s) - start))"
