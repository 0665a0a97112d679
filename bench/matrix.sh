#!/bin/sh
# Records a matrix: CONFIGS configurations of one template on every shape of a list, all verified, and writes it as
# results text. What the store has is not measured again: the same command goes on after an interruption.
#
#     bench/matrix.sh STORE OUT.jsonl.gz
#
# Environment: BUILD or KERNWRIGHT (the program), TASK (gemm), TEMPLATE (gemm_tiled), SHAPES (a file), CONFIGS, SEED (1),
# TIME (of this run, such as 540s; default: until all is measured), KERNWRIGHT_DEVICE, OPTIONS (more options of
# `kernwright matrix`).
# Last line: "matrix: configs=.. shapes=.. ok=.. open=.. measured=.. seconds=.. ms_each=.. complete=.. bytes=..".
set -eu
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
store=${1:?usage: bench/matrix.sh STORE OUT.jsonl.gz} out=${2:?usage: bench/matrix.sh STORE OUT.jsonl.gz}
task=${TASK:-gemm} template=${TEMPLATE:-gemm_tiled} seed=${SEED:-1}
here=$(dirname "$0")
shapes=${SHAPES:-$here/data/gemm-shapes-64.jsonl} configs=${CONFIGS:-400}

# shellcheck disable=SC2086 # a list of options
counts=$("$program" matrix "$task" --template "$template" --shapes "$shapes" --configs "$configs" --seed "$seed" --warm \
    ${TIME:+--time "$TIME"} --store "$store" --json ${OPTIONS:-})
# Without the texts of the variants, which templates and configurations say, and without the name of the machine.
"$program" results export --all --task "$task" --store "$store" | grep -v '^{"variant"' |
    sed 's/"host":"[^"]*",//' | gzip -9n >"$out.new"
mv "$out.new" "$out"

number() { printf '%s\n' "$counts" | sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p"; }
n=$(number measured) s=$(number seconds)
echo "matrix: configs=$(number configs) shapes=$(grep -c . "$shapes") ok=$(number ok) failed=$(number failed)" \
    "unfit=$(number unfit) open=$(number open) measured=$n stopped_early=$(number stopped_early) seconds=$s" \
    "ms_each=$(awk "BEGIN {print ($n > 0 ? 1000 * $s / $n : 0)}") complete=$(number complete)" \
    "bytes=$(wc -c <"$out" | tr -d ' ')"
