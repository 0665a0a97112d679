#!/bin/sh
# A whole run of `kernwright evolve` with the very small model of `make check-llm`, at a server on 127.0.0.1:PORT. The
# model writes rubbish: that is the test. Whatever it writes, the run comes to its end, every exchange is kept, every
# candidate has an outcome, limits hold, and the run repeats from its record and goes on from its journal.
#     BUILD=build PORT=8080 tests/llm/check_evolve.sh
# Small on purpose: few candidates, short prompts and replies, one shape, one configuration, one question at a time: a
# minute or two on two quiet cores. A machine on which that takes longer than the deadline interrupts the run, and looks at
# what there is.
set -eu
unset KERNWRIGHT_LLM_CONFIG KERNWRIGHT_STORE
: "${BUILD:=build}" "${PORT:?the port of the server}"
candidates=2 repairs=1 max_reply=80 max_prompt=1000 deadline=400
case $BUILD in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac
kw=$BUILD/kernwright
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
checks=0 failures=0

check() { # WHAT CONDITION...
    what=$1
    shift
    checks=$((checks + 1))
    "$@" && return
    failures=$((failures + 1))
    echo "check-llm: evolve: $what" >&2
}

same() { # A B
    [ "$1" = "$2" ] || { echo "    \"$1\" is not \"$2\"" >&2; return 1; }
}

number() { # NAME; of the result, the first of that name
    grep -o "\"$1\":[0-9]*" result.json | head -n 1 | cut -d: -f2
}

events() { # EVENT; how many the journal has
    grep -c "\"event\":\"$1\"" run/journal.jsonl || true
}

# Without an OpenCL device the scripted one, which runs no kernel of a model's: replies are read and expanded all the same.
if ! "$kw" devices >/dev/null 2>&1; then
    echo "check-llm: evolve: no OpenCL device, so the scripted one" >&2
    KERNWRIGHT_FAKE=1 KERNWRIGHT_DEVICE=fake:0
    export KERNWRIGHT_FAKE KERNWRIGHT_DEVICE
fi
cat >plain.cl <<'END'
/*kernwright {"task": "saxpy", "fallback": true, "params": {"WG": {"values": [64]}},
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, WG)"]}]} */
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}
END

run() { # interrupted at the deadline, as a person would
    timeout --foreground --preserve-status -s INT -k 60 "$deadline" "$kw" evolve saxpy --template plain.cl --dims N=1000 \
        --rungs 1,1,1 --no-probe --store run.db --llm "openai:smollm2@http://127.0.0.1:$PORT" --record run --budget $candidates \
        --repairs $repairs --in-flight 1 --max-prompt $max_prompt --max-reply $max_reply --json >result.json 2>log
}

status=0
run || status=$?
if [ "$status" -eq 130 ]; then
    echo "check-llm: evolve: interrupted after $deadline s: this machine is slow, or busy" >&2
else
    check 'its exit status' same "$status" 0
    check 'the last event' same "$(tail -n 1 run/journal.jsonl)" '{"event":"end","why":"the budget of candidates is used"}'
    check 'candidates asked for' same "$(number attempts)" $candidates
    check 'none is open' same "$(number pending)" 0
fi
[ "$failures" -eq 0 ] || { tail -n 20 log >&2; exit 1; }
ended=$status
check 'each candidate that ended has an outcome' same "$(events attempt)" $(($(number attempts) - $(number pending)))
sum=0
for outcome in right wrong failed no_compile not_a_template no_code unchanged duplicate not_asked pending; do
    sum=$((sum + $(number $outcome)))
done
check 'and is counted under one of them' same "$sum" "$(number attempts)"
check 'each question that ended has its reply' same "$(events reply)" $(($(events ask) - $(number pending)))
check 'no more questions than repairs and shorter prompts allow' test "$(events ask)" -le $((candidates * (1 + repairs) * 4))
check 'somebody answered' test "$(events reply)" -gt 0
sed -n 's/.*"event":"reply","key":"\([^"]*\)".*/\1/p' run/journal.jsonl >keys
while read -r key; do
    for part in prompt.md json reply.md meta.json; do
        check "$key.$part is kept" test -e "run/$key.$part"
    done
    output=$(sed -n 's/.*"output":\([0-9]*\).*/\1/p' "run/$key.meta.json")
    check "$key: no longer than asked for" test "${output:-0}" -le $max_reply
done <keys
check 'with texts' test "$(cat run/*.reply.md | wc -c)" -gt 0
check 'tokens are counted' test "$(number tokens)" -gt 0

cp result.json first.json
status=0
"$kw" evolve saxpy --template plain.cl --llm replay:run --measurements recorded --json >result.json 2>log || status=$?
check 'repeated from its record: its exit status' same "$status" 0
check 'the same archive' same "$(sed 's/.*"archive"://' result.json)" "$(sed 's/.*"archive"://' first.json)"
asked=$(events ask)
if [ "$ended" -eq 0 ]; then
    run || status=$?
    check 'the same command again: its exit status' same "$status" 0
    check 'nothing is asked again' same "$(events ask)" "$asked"
fi

sed 's/,"archive".*//; s/^{//; s/"//g' first.json
echo "check-llm-evolve: candidates=$candidates exchanges=$asked status=$ended checks=$checks failures=$failures"
[ "$failures" -eq 0 ]
