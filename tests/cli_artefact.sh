#!/bin/sh
# What the compiler made of a kernel: from the device through worker and store to the archive of an evolution. The
# scripted device takes a comment that begins with PTX for the compiled program.
# shellcheck disable=SC2154 # variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

export KERNWRIGHT_CACHE="$work/cache"
mkdir -p tasks/copied
cat >tasks/copied/task.json <<'END'
{"task": "copied", "dims": {"N": {"min": 1}}, "types": {"T": ["f32"]},
 "tensors": [{"name": "x", "type": "T", "shape": ["N"]},
             {"name": "y", "type": "T", "shape": ["N"], "access": "out"}],
 "reference": "own"}
END
cat >tasks/copied/reference.c <<'END'
#include "kw_reference.h"
#include <math.h>
void own(const kw_ref *r, int tensor, size_t n, const uint64_t *e, double *value, double *scale)
{
    (void)tensor;
    for (size_t i = 0; i < n; i++) {
        value[i] = r->tensors[0][e[i]];
        scale[i] = fabs(r->tensors[0][e[i]]);
    }
}
END

# kernel NAME MARKS PTX: with WG, so that there are several configurations.
kernel() {
    cat >"$1.cl" <<END
/*kernwright {"task": "copied", $2 "params": {"WG": {"values": [32, 64]}},
  "launches": [{"kernel": "fake_copy", "args": ["N", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, WG)"]}]} */
kernel void fake_copy(int n, global const float *x, global float *y)
{
    y[get_global_id(0)] = x[get_global_id(0)]; /* \${WG} */
    int wg = \${WG}, of_$1;
}
$3
END
}
kernel plain '"fallback": true,' ''
kernel counted '' '/*ptx
.version 8.3
.target sm_90
.entry fake_copy(
)
{
	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
	shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;
	st.global.f32 [%rd2], %f7;
	ret;
}
*/'

works 'tuning' tune copied --template plain.cl --template counted.cl --dims N=1000 --budget 8 --no-probe --store s.db
works 'export' results export --all --store s.db
check 'counts are a member of the measurement' has "$output" '"artefact":{"instructions":4,"global_loads":4'
"$kw" results export --all --store s.db -o one.jsonl
works 'import' results import one.jsonl --store two.db
works 'and export again' results export --all --store two.db
check 'gives the same text' same "$output" "$(cat one.jsonl)"

works 'comparing' results show --behaviour --store s.db
check 'the kernels with counts' has "$output" 'behaviour: compared=2 agree=0 kernels='
check 'and why they differ' has "$output" 'sub-group operations'
works 'as JSON' results show --behaviour --store s.db --json
check 'with both' has "$output" '"source":[0,0,0],"program":[1,1,2],"agree":false'
works 'the archive' results show --archive --store s.db
check 'by program' has "$output" '     1        1            2'
check 'and by source' has "$output" '  source '
works 'the archive as JSON' results show --archive --store s.db --json
check 'says so' has "$output" '"from_artefact":true'
refuses_at_once 'two ways of showing' 2 'give one of' results show --archive --failed --store s.db
refuses_at_once 'nothing to show' 1 'has no right kernel' results show --archive --task gemm --store s.db

works 'evolution' evolve copied --template plain.cl --template counted.cl --dims N=1000 --no-probe --store s.db --llm none \
    --budget 1 --record run
check 'the archive goes by the program' has "$(cat run/journal.jsonl)" '"cell":[1,1,2],"from_artefact":true'
works 'and so does a repeat of the record' evolve copied --template plain.cl --dims N=1000 --llm replay:run --measurements recorded
works 'what was made is asked with' evolve copied --template plain.cl --template counted.cl --dims N=1000 --no-probe \
    --store s.db --llm folder:asked --budget 8 --in-flight 8 --leave-when-waiting
check 'counts in a prompt' has "$(cat asked/*.prompt.md)" '4 elements loaded from global memory'
finish cli_artefact
