#!/bin/sh
# Bad candidates from the command line: each is told apart and named, a good one beside it is measured and wins, and nothing
# that was measured is lost.
# shellcheck disable=SC2016,SC2034,SC2154 # ${} is the templates'; variables go to and come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

# ---- sources that are no text ----
before='int x@;' && template nul.cl
tr '@' '\000' <nul.cl >nul.new && mv nul.new nul.cl
refuses_at_once 'a NUL byte' 2 'nul.cl: contains a NUL byte' tune saxpy --template nul.cl --dims N=100 --store none.db
before='int x@;' && template utf.cl
tr '@' '\377' <utf.cl >utf.new && mv utf.new utf.cl
refuses_at_once 'a byte that is not UTF-8' 2 'a byte here is not UTF-8' tune saxpy --template utf.cl --dims N=100 --store none.db
check 'no store is made' [ ! -e none.db ]

# ---- one bad and one good ----
while read -r name outcome cause directives; do
    params='"A": {"values": [1, 2]}' local='64' more='"fallback": true,'
    before='#pragma fake time_ns=${100000 + A} ${"'$(echo "$directives" | tr + ' ')'" if A == 1 else "build=ok"}'
    template one.cl
    rm -f s.db
    export KERNWRIGHT_MEMORY_MB=500
    works "$name: the search goes on" tune saxpy --template one.cl --dims N=100 --strategy exhaustive --compile-limit 10 \
        --run-limit 10 --no-probe --store s.db
    unset KERNWRIGHT_MEMORY_MB
    check "$name: both are measured" has "$output" ' 2+0 '
    works "$name: failures" results show --failed --json --store s.db
    check "$name: one" [ "$(lines "$output")" -eq 1 ]
    check "$name: booked as $outcome" has "$output" "\"outcome\":\"$outcome\""
    check "$name: says why" has "$output" "$(echo "$cause" | tr _ ' ')"
    check "$name: in few words" [ "${#output}" -lt 200000 ]
    works "$name: the good one" results show --json --store s.db
    check "$name: is there" has "$output" '{"A":2}'
done <<END
log compile_error the_source_asks_for_a_build_error build=error+log_mb=100
minutes timeout no_end_of_stage_compile_within_10000_ms slow_ms=600000
memory crash worker_ended_with_status_71 build=eat
constant wrong expected result=constant
device crash device_is_lost run=lost
refused launch_error memory run=no_memory
END

# ---- a clock that runs backwards ----
before='#pragma fake time_ns=${50000 + WG} backwards_timer=1' more='"fallback": true,' && template back.cl
works 'a timer that runs backwards' tune saxpy --template back.cl --dims N=100 --store back.db
works 'is not believed' results export --all --store back.db
check 'batches are timed instead' [ "$(printf '%s\n' "$output" | grep -c '"method":"batch"')" -ge 4 ]
check 'all of them' [ "$(printf '%s\n' "$output" | grep -c '"method":"events"')" -eq 0 ]

# ---- a full disk: no cache can be written, and nothing depends on one ----
if [ -w /dev/full ]; then
    mkdir full && ln -s /dev/full full/cache
    before='#pragma fake time_ns=${50000 + WG}' more='"fallback": true,' && template good.cl
    KERNWRIGHT_CACHE=$work/full/cache works 'no cache' tune saxpy --template good.cl --dims N=100 --store full.db
    check 'all are measured' has "$output" ' 4+0 '
fi

finish cli_bad_input
