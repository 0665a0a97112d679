#!/bin/sh
# How long the general verification of a winner and of the fallback takes: the tail of a search, when the device waits for the host.
# Records the jobs of one search, and gives those that only verify to a fresh worker of each program, in turns.
#
#     bench/general.sh [DIMS]         default M=512,N=512,K=64 on PoCL, and M=2048,N=2048,K=2 on the scripted device
#
# Environment: BUILD or KERNWRIGHT (the program), OTHER (a second program, an older one; none: the same without a second core, so
# that nothing is made ahead), DEVICE (pocl; or fake:0), TEMPLATE (gemm_tiled; on fake:0 a product of its own), REPEATS (5), OUT (folder).
# Last line: "general: key=value ...": medians of the repeats. wall is the worker's own verify_ms; cpu is what the thread of the job
# computed, without what it waited for a core, a device or another thread, which counts where the machine is busy with something else.
set -eu
program=$(realpath "${KERNWRIGHT:-${BUILD:-build}/kernwright}")
device=${DEVICE:-pocl} template=${TEMPLATE:-gemm_tiled} repeats=${REPEATS:-5}
work=${OUT:-${BUILD:-build}/bench/general}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
work=$(realpath "$work")
rm -f "$work"/jobs.* "$work/s.db"
dims=${1:-M=512,N=512,K=64}
if [ "$device" = fake:0 ]; then
    dims=${1:-M=2048,N=2048,K=2}
    export KERNWRIGHT_FAKE=1
    # Its own product, which is also the fallback: templates are looked for in the working folder first.
    mkdir -p "$work/templates"
    for name in gemm_naive product; do
        more=
        if [ $name = gemm_naive ]; then more='"fallback": true,'; fi
        cat >"$work/templates/$name.cl" <<END
/*kernwright { "task": "gemm", "language": "opencl", $more "doc": "The scripted device's product.", "params": {"X": {"values": [1, 2]}},
  "launches": [{"kernel": "fake_gemm_$name", "args": ["M", "N", "K", "alpha", "A", "B", "beta", "C"], "local": [64], "groups": [1]}] } */
#pragma fake time_ns=\${200000 + X}
__kernel void fake_gemm_$name(int M, int N, int K, float alpha, __global const float *A, __global const float *B, float beta,
                              __global float *C) {}
END
    done
    template=product
    cd "$work"
fi
cat >"$work/tee.sh" <<END
#!/bin/sh
tee "$work/jobs.\$\$" | "$program" worker --stdio
END
chmod +x "$work/tee.sh"
"$program" tune gemm --template "$template" --dims "$dims" --strategy random --seed 1 --warm --budget 2 --no-deep-check --no-probe \
    --device "$device" --store "$work/s.db" --worker-command "$work/tee.sh" --compile-workers 1 >"$work/tune.log" 2>&1 ||
    { cat "$work/tune.log" >&2; exit 1; }
echo "general: gemm, $template, $dims, $device"
exec python3 "$here/general.py" "$repeats" "$program" "${OTHER:-}" "$work"/jobs.*
