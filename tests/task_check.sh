#!/bin/sh
# A task that is not fit to judge kernels by: said before anything is measured, with status 2, and booked on nobody.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

export KERNWRIGHT_CACHE="$work/cache"

# task NAME STATEMENT: y = x + w, where STATEMENT sets value[i] and scale[i] from x and w.
task() {
    mkdir -p "tasks/$1"
    cat >"tasks/$1/task.json" <<END
{"task": "$1", "dims": {"N": {"min": 1}}, "types": {"T": ["f32"]},
 "tensors": [{"name": "x", "type": "T", "shape": ["N"]}, {"name": "w", "type": "T", "shape": ["N"]},
             {"name": "y", "type": "T", "shape": ["N"], "access": "out"}],
 "reference": "own"}
END
    cat >"tasks/$1/reference.c" <<END
#include "kw_reference.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
void own(const kw_ref *r, int tensor, size_t n, const uint64_t *e, double *value, double *scale)
{
    static int calls;
    calls++;
    for (size_t i = 0; i < n; i++) {
        double x = r->tensors[0][e[i]], w = r->tensors[1][e[i]];
        $2
    }
}
END
    cat >"$1.cl" <<END
/*kernwright {"task": "$1",
  "launches": [{"kernel": "fake_add", "args": ["N", "x", "w", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
kernel void fake_add(int n, global const float *x, global const float *w, global float *y)
{
}
END
}

task sound 'value[i] = x + w; scale[i] = fabs(x) + fabs(w);'
works 'a sound one' check tasks/sound
check 'says so' has "$output" 'is sound'

# refused NAME PART: by check, and by tune and time before any candidate.
refused() {
    refuses "check $1" 2 "$2" check "tasks/$1"
    refuses "tune $1" 2 "$2" tune "$1" --template "$1.cl" --dims N=100 --budget 2 --no-probe --store "$1.db"
    check "tune $1: nothing was measured" has "$("$kw" results show --failed --store "$1.db" 2>&1)" '0 measurements'
    refuses "time $1" 2 "$2" time "$1.cl" --dims N=100
}
task unused 'value[i] = x; scale[i] = fabs(x);'
refused unused 'does not use its input w'
task state 'value[i] = x + w + calls; scale[i] = 1;'
refused state 'gives another value when it is asked again'
task order 'value[i] = x + w + i; scale[i] = 1;'
refused order 'when it is asked for one element at a time'
task nan 'value[i] = sqrt(x) + w; scale[i] = 1;'
refused nan 'gives no number for ordinary inputs'
task scale 'value[i] = x + w; scale[i] = x;'
refused scale 'a scale that is negative'
task crash 'value[i] = *(volatile int *)16 + x + w; scale[i] = 1;'
refused crash 'the reference of task crash died of signal 11'
task leaves 'value[i] = x + w; scale[i] = 1; if (calls > 5) exit(0);'
refused leaves 'the reference of task leaves ended the process'

# Only with a candidate, since there is no small shape: still the reference's fault.
task late 'value[i] = x + w; scale[i] = 1; abort();'
sed -i 's/"min": 1/"min": 6000/' tasks/late/task.json
works 'a late one' check tasks/late
refuses 'late' 2 'the reference of task late died of signal 6' time late.cl --dims N=7777
task hangs 'value[i] = x + w; scale[i] = 1; for (;;) sleep(1);'
sed -i 's/"min": 1/"min": 6000/' tasks/hangs/task.json
refuses 'hangs' 2 'the reference of task hangs did not end within 10000 ms' time hangs.cl --dims N=7777 --run-limit 10

finish task_check
