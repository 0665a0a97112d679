#!/bin/sh
# kernwright retune: what a device lacks, from what others taught.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
vendors=${OCL_ICD_VENDORS:-}
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

write() { # FILE TIME MORE
    cat >"$1" <<END
/*kernwright {"task": "saxpy", "language": "opencl", $3
  "params": {"A": {"values": [1, 2, 4, 8, 16, 32], "default": 32}, "B": {"values": [1, 2, 3, 4, 5, 6], "default": 6}},
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
#pragma fake time_ns=$2 registers=\${B}
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
}
END
}
write good.cl '${1000 * A + 100 * B}' '"fallback": true,'
for n in 64 1000 4096; do echo "{\"N\": $n}"; done >shapes.jsonl
common='saxpy --template good.cl --shapes shapes.jsonl --no-probe'

field() { # NAME; of the last line
    printf '%s\n' "$output" | tail -1 | sed "s/.*\"$1\":\"\{0,1\}\([a-z0-9. ]*\).*/\1/"
}
count() { # PART; lines of the output with it
    printf '%s\n' "$output" | grep -c "$1"
}

# ---- from one device to another ----
# shellcheck disable=SC2086 # words, here and below
{
    works 'the first device is tuned' tune $common --device fake:0 --budget 36 --store s.db
    works 'a plan for the second' retune $common --device fake:1 --store s.db --plan --json
    check 'all is lacking' [ "$(count '"state":"new"')" -eq 3 ]
    check 'and a summary' [ "$(field lacking)" = 3 ]
    check 'three lessons' [ "$(field lessons)" = 3 ]
    planned=$output
    works 'a plan without a store' retune $common --device fake:1 --store absent.db --plan --json
    check 'all is lacking there' [ "$(field lacking)" = 3 ]
    check 'says so' has "$errors" 'no store at absent.db yet'
    check 'and makes none' [ ! -e absent.db ]
    works 'the same in words' retune $common --device fake:1 --store s.db --dry-run
    check 'says what lacks' has "$output" '3 of 3 shapes lack something; 3 lessons'
    works 'planned once more' retune $common --device fake:1 --store s.db --plan --json
    check 'a plan measures nothing' same "$output" "$planned"
    works 'the second is retuned' retune $common --device fake:1 --store s.db --json
    check 'each shape' [ "$(count '"tuned_ns":1100,')" -eq 3 ]
    check 'nothing failed' [ "$(field "done")" = 3 ]
    check 'with fewer than half of the evaluations' [ "$(field measured)" -lt 54 ]
    works 'once more' retune $common --device fake:1 --store s.db --json
    check 'nothing lacks' [ "$(field lacking)" = 0 ]
    check 'nothing is measured' [ "$(field measured)" = 0 ]
    works 'planned again' retune $common --device fake:1 --store s.db --plan --json
    check 'all is done' [ "$(count '"state":"done"')" -eq 3 ]
    works 'one shape more' retune saxpy --template good.cl --dims N=2000 --no-probe --device fake:1 --store s.db --json
    check 'is retuned' [ "$(field "done")" = 1 ]
    check 'its own device taught it too' [ "$(field lessons)" = 7 ]
    works 'a header of it' emit saxpy --store s.db -o all.h

    # ---- from a file; a template more; a template changed ----
    works 'exported' results export --store s.db --all --samples -o all.jsonl
    works 'learnt from a file' retune $common --device fake:1 --store own.db --from all.jsonl --json
    check 'everything was measured here' [ "$(field "done")" = 3 ]
    write more.cl '${900 * A + 90 * B}' ''
    works 'a template more' retune saxpy --template good.cl --template more.cl --shapes shapes.jsonl --no-probe \
        --device fake:1 --store own.db --plan --json
    check 'is said to lack' [ "$(count '"lacks":"more"')" -eq 3 ]
    works 'and measured' retune saxpy --template good.cl --template more.cl --shapes shapes.jsonl --no-probe \
        --device fake:1 --store own.db --json
    check 'it wins' [ "$(count '"template":"more"')" -eq 3 ]
    both='saxpy --template good.cl --template more.cl --shapes shapes.jsonl --no-probe --device fake:1'
    works 'with both' retune $both --store own.db --plan --json
    check 'nothing lacks' [ "$(field lacking)" = 0 ]
    sed 's/^{/{ \/* a remark *\//' more.cl >remark.cl && mv remark.cl more.cl
    works 'a comment in one of them' retune $both --store own.db --plan --json
    check 'is no change' [ "$(field lacking)" = 0 ]
    write more.cl '${800 * A + 80 * B}' ''
    works 'one of two changed' retune $both --store own.db --plan --json
    check 'is seen though all was done' [ "$(count '"state":"changed"')" -eq 3 ]
    works 'measured again' retune $both --store own.db --json
    check 'the new text wins' [ "$(count '"tuned_ns":880,')" -eq 3 ]
    works 'with both, again' retune $both --store own.db --plan --json
    check 'nothing lacks any more' [ "$(field lacking)" = 0 ]
    write more.cl '${700 * A + 70 * B}' ''
    works 'changed once more' retune $both --store own.db --plan --json
    check 'is seen again' [ "$(count '"state":"changed"')" -eq 3 ]
    write good.cl '${2000 * A + 100 * B}' '"fallback": true,'
    works 'a template that changed' retune $common --device fake:1 --store own.db --plan --json
    check 'is seen' [ "$(count '"state":"changed"')" -eq 3 ]
    write good.cl '${1000 * A + 100 * B}' '"fallback": true,'

    # ---- another driver ----
    sed 's/"driver":"1"/"driver":"0.9"/' all.jsonl >same.jsonl
    works 'rows of an earlier driver' results import same.jsonl --store same.db
    works 'are seen' retune $common --device fake:1 --store same.db --plan --json
    check 'not judged yet' [ "$(count '"state":"earlier driver"')" -eq 3 ]
    check 'and named' [ "$(field driver_before)" = 0.9 ]
    works 'judged' retune $common --device fake:1 --store same.db --json
    check 'they hold' [ "$(field earlier_rows)" = hold ]
    check 'a sample was timed' [ "$(field timed_again)" -gt 1 ]
    check 'nothing is measured but that' [ "$(field measured)" = 0 ]
    check 'says so' has "$errors" "its times still hold"
    works 'a template more than the earlier driver had' retune $both --store same.db --plan --json
    check 'is said to lack' [ "$(count '"state":"changed".*"lacks":"more"')" -eq 3 ]
    works 'and measured' retune $both --store same.db --json
    check 'it wins' [ "$(count '"template":"more"')" -eq 3 ]
    works 'with both' retune $both --store same.db --plan --json
    check 'nothing lacks' [ "$(field lacking)" = 0 ]
    works 'what holds, again' results import same.jsonl --store edited.db
    works 'is judged' retune $common --device fake:1 --store edited.db --json
    write good.cl '${1000 * A + 90 * B}' '"fallback": true,'
    works 'a text that changed since the earlier driver' retune $common --device fake:1 --store edited.db --plan --json
    check 'is seen' [ "$(count '"state":"changed"')" -eq 3 ]
    write good.cl '${1000 * A + 100 * B}' '"fallback": true,'
    sed 's/"driver":"1"/"driver":"0.9"/; s/,"samples_ns":\[[^]]*\]//; s/\("\(median\|lo\|hi\)_ns":[0-9]*\)/\10/g' \
        all.jsonl >moved.jsonl
    works 'rows whose times have moved' results import moved.jsonl --store moved.db
    works 'judged' retune $common --device fake:1 --store moved.db --json
    check 'they are stale' [ "$(field earlier_rows)" = stale ]
    check 'says so' has "$errors" 'its rows are stale, since times have moved'
    check 'everything was measured anew' [ "$(count '"tuned_ns":1100,')" -eq 3 ]
    works 'once more' retune $common --device fake:1 --store moved.db --json
    check 'nothing is measured' [ "$(field measured)" = 0 ]
    works 'rows of an earlier driver' results import same.jsonl --store unseen.db
    works 'without a sample' retune $common --device fake:1 --store unseen.db --sample 0 --json
    check 'they count as stale' [ "$(field earlier_rows)" = stale ]

    # ---- in two parts ----
    works 'a small budget' retune $common --device fake:1 --store part.db --budget 5 --json
    works 'and the rest' retune $common --device fake:1 --store part.db --json
    check 'goes on: a model of five results is no reason to stop' [ "$(field "done")" = 3 ]
    check 'each shape is one lesson' [ "$(field lessons)" = 3 ]

    # ---- interrupted ----
    write slow.cl '${1000 * A + 100 * B}' '"fallback": true,'
    sed 's/#pragma fake /#pragma fake host_sleep_us=3000 /' slow.cl >slow2.cl && mv slow2.cl slow.cl
    slow='saxpy --template slow.cl --shapes shapes.jsonl --no-probe --device fake:1 --store slow.db'
    # A machine that stands still at the wrong moment lets it come to its end: then once more, from nothing.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        stopped=''
        rm -f slow.db slow.db-wal slow.db-shm
        for signal in INT TERM; do
            "$kw" retune $slow --json >stopped.jsonl 2>stopped.log </dev/null &
            pid=$!
            catches "$pid"
            sleep 1 # in the middle, most likely
            kill -s "$signal" "$pid"
            wait "$pid"
            status=$? output=$(cat stopped.jsonl) errors=$(cat stopped.log)
            stopped="$stopped $status"
        done
        [ "$stopped" = ' 0 0' ] || [ "$stopped" = ' 130 0' ] || break
    done
    check 'stopped by SIGINT, then by SIGTERM' same "$stopped" ' 130 130'
    works 'it goes on' retune $slow --json
    check 'to the end' [ "$(field lacking)" -ge 1 ]
    works 'and is done' retune $slow --json
    check 'nothing lacks' [ "$(field lacking)" = 0 ]

    # ---- what is refused ----
    refuses_at_once 'no task' 2 'give one task' retune
    refuses_at_once 'no such task' 2 'saxpi' retune saxpi --store s.db
    refuses_at_once 'no such file' 2 'none.jsonl' retune $common --from none.jsonl --store s.db
    refuses_at_once 'a gain of nothing' 2 'such as 1%' retune $common --gain much --store s.db
    refuses_at_once 'a gain over all' 2 'such as 1%' retune $common --gain 2 --store s.db
    refuses 'no such device' 2 'fake:7' retune $common --device fake:7 --store s.db
    echo '{"kernwright":"results","schema":99}' >newer.jsonl
    refuses_at_once 'a newer schema' 2 '99' retune $common --from newer.jsonl --store s.db
    sed 's/"task":"saxpy"/"task":"gemm"/' all.jsonl >other.jsonl
    refuses 'results of another task' 2 'nothing in it can teach saxpy' retune $common --device fake:1 --store n.db \
        --from other.jsonl
    sed 's/"task_hash":"..../"task_hash":"0000/' all.jsonl >version.jsonl
    refuses 'of another version of the task' 2 'another version of saxpy' retune $common --device fake:1 --store n.db \
        --from version.jsonl
    sed 's/"template":"good"/"template":"gone"/' all.jsonl >gone.jsonl
    sed 's/"template":"good",//' all.jsonl >nameless.jsonl
    refuses 'of no template' 2 'rows do not name their template' retune $common --device fake:1 --store n.db \
        --from nameless.jsonl
    works 'a store with rows of a template that is gone' results import gone.jsonl --store gone.db
    refuses 'the reason is of the file' 2 'another version of saxpy' \
        retune $common --device fake:1 --store gone.db --from version.jsonl
    refuses 'of a template that is gone' 2 'such as gone' retune $common --device fake:1 --store n.db --from gone.jsonl
    echo '{"kernwright":"results","schema":1}' >empty.jsonl
    refuses 'no results' 2 'nothing in it can teach saxpy' retune $common --device fake:1 --store n.db --from empty.jsonl
    write broken.cl '1' '"fallback": true,'
    sed 's/time_ns=1/run=launch_error/' broken.cl >broken2.cl
    refuses 'nothing runs' 1 '3 of 3 shapes failed' retune saxpy --template broken2.cl --shapes shapes.jsonl --no-probe \
        --device fake:1 --store n.db
    works 'nothing is known' retune $common --device fake:1 --store fresh.db --json
    check 'says so' has "$errors" 'nothing is known from elsewhere'
    check 'and tunes' [ "$(field "done")" = 3 ]
}

# ---- a real device, taught by a scripted one ----
unset OCL_ICD_VENDORS KERNWRIGHT_DEVICE
[ -z "$vendors" ] || export OCL_ICD_VENDORS="$vendors"
kernwright devices
if has "$output" ' pocl/'; then
    works 'PoCL has a tune' tune saxpy --dims N=100000 --device pocl/ --budget 8 --no-probe --store real.db
    works 'another shape is retuned there' retune saxpy --dims N=50000 --device pocl/ --budget 8 --no-probe \
        --store real.db --json
    check 'it found something' [ "$(field "done")" = 1 ]
    works 'planned again' retune saxpy --dims N=50000 --device pocl/ --budget 8 --no-probe --store real.db --plan --json
    check 'nothing lacks' [ "$(field lacking)" = 0 ]
else
    skip 'PoCL' 'not installed'
fi
finish cli_retune
