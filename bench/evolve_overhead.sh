#!/bin/sh
# What the loop of evolution itself costs: a run of N candidates (240) is recorded with a scripted model on the scripted
# device, then repeated from its journal with `--measurements recorded`, which leaves out compiling, running and waiting,
# and nothing else: choices, prompts, replies, archive, sections, journal. Five times; the median counts.
#
#     bench/evolve_overhead.sh [N] [DIR TASK]      DIR: a recorded run of TASK instead
#
# With perf installed it says where the time goes. Environment: BUILD or KERNWRIGHT (the program).
# Last line: "evolve_overhead: key=value ...".
set -eu
program=${KERNWRIGHT:-${BUILD:-build}/kernwright}
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
n=${1:-240} record=${2:-} task=${3:-saxpy}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -z "$record" ] || record=$(cd "$record" && pwd)
cd "$work"
export KERNWRIGHT_FAKE=1 OCL_ICD_VENDORS=/nonexistent KERNWRIGHT_LOG=warn

front() {
    cat <<END
/*kernwright {"task": "saxpy", "fallback": true, "params": {"A": {"values": [1, 2, 4, 8]}},
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
END
}

body() { # of the plain kernel
    cat <<'END'
#pragma fake time_ns=${2000000 + A}
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
END
}

# The device computes saxpy whatever the text is: bodies are of several kinds, so that the archive fills.
model() {
    cat <<'END'
cat >/dev/null
id=$$
case $((id % 6)) in
0) body='int i = get_global_id(0); y[i] = a * x[i] + y[i];' ;;
1) body='int i = get_global_id(0); float4 v = vload4(i, x); vstore4(a * v + vload4(i, y), i, y);' ;;
2) body='local float t[64]; int i = get_global_id(0); t[get_local_id(0)] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); y[i] = fma(a, t[get_local_id(0)], y[i]);' ;;
3) body='int i = get_global_id(0); float4 v = vload4(i, x); float s = sub_group_reduce_add(v.x); vstore4(mad(v, a, s), i, y);' ;;
4) body='int i = get_global_id(0); for (int k = 0; k < 4; k++) y[4 * i + k] = fma(a, x[4 * i + k], y[4 * i + k]);' ;;
*) body='local float t[256]; int i = get_global_id(0); vstore4(vload4(i, x), get_local_id(0), t); barrier(CLK_LOCAL_MEM_FENCE); atomic_add((volatile global int *)y, 1);' ;;
esac
[ $((id % 7)) != 3 ] || { echo 'I would rather talk.'; exit; }
[ $((id % 7)) != 5 ] || wrong='#pragma fake result=wrong'
echo 'Here it is.'
echo '```c'
cat "$FRONT"
printf '#pragma fake time_ns=${%s + A}\n%s\n' $((1000000 + id * 37 % 900000)) "${wrong:-}"
printf '/* %s */\nkernel void fake_saxpy(int n, float a, global const float *x, global float *y)\n{\n    %s\n}\n' $id "$body"
echo '```'
END
}

if [ -z "$record" ]; then
    front >front.txt
    export FRONT="$work/front.txt"
    model >model.sh
    { front; body; } >base.cl
    record=$work/record
    began=$(date +%s.%N)
    "$program" evolve saxpy --template base.cl --llm "command:sh $work/model.sh" --device fake:0 --no-probe --store s.db \
        --record "$record" --dims N=100 --budget "$n" --compile-workers 2 >first.txt 2>first.err ||
        { cat first.err >&2; exit 1; }
    echo "recorded in $(date +%s.%N | awk -v b="$began" '{ printf "%.1f", $1 - b }') s: $(head -n 1 first.txt)"
fi
repeat() {
    "$program" evolve "$task" --llm "replay:$record" --measurements recorded >again.txt 2>again.err ||
        { cat again.err >&2; exit 1; }
}
for _ in 1 2 3 4 5; do
    began=$(date +%s.%N)
    repeat
    date +%s.%N | awk -v b="$began" '{ print $1 - b }' >>times.txt
done
median=$(sort -n times.txt | sed -n 3p)
asked=$(sed -n 's/ candidates asked for.*//p' again.txt | head -n 1)
if command -v perf >/dev/null && perf record -q -o data -- "$program" evolve "$task" --llm "replay:$record" \
    --measurements recorded >/dev/null 2>&1; then
    echo 'where the time of a repeat goes (perf, shares of samples):'
    perf report -i data --stdio 2>/dev/null | grep -v '^#' | grep . | head -n 12
fi
awk -v n="$asked" -v s="$median" 'BEGIN { printf "%d candidates in %.3f s (median of 5)\n", n, s
    printf "evolve_overhead: candidates=%d seconds=%.3f per_candidate_ms=%.2f per_minute=%.0f\n", n, s, 1000 * s / n, 60 * n / s }'
