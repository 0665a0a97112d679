#!/bin/sh
# What only a real driver can say: arguments that do not match the compiled kernel, its build log. Skipped without PoCL.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

unset KERNWRIGHT_FAKE OCL_ICD_VENDORS KERNWRIGHT_DEVICE
export POCL_CACHE_DIR="$work/pocl"
mkdir "$POCL_CACHE_DIR"
if ! "$kw" devices 2>/dev/null | grep -q 'pocl/'; then
    skip 'what a driver says' 'no PoCL'
    finish cli_pocl
fi

# A macro hides the signature from the check of the text; the driver sees through it.
cat >count.cl <<'END'
/*kernwright {"task": "saxpy", "launches": [{"kernel": "hidden", "args": ["N", "a", "x", "y"], "local": [64],
  "groups": ["ceil_div(N, 64)"]}]} */
#define PARAMETERS int n, float a, global const float *x
kernel void hidden(PARAMETERS)
{
}
END
sed 's/global const float \*x/global const float *x, int y/' count.cl >kind.cl
works 'the text alone is not suspicious' check count.cl kind.cl
refuses 'the driver: argument count' 1 'launch_error' time count.cl --dims N=100 --device pocl
check 'both counts are said' has "$errors" '3'
refuses 'the driver: argument kind' 1 'launch_error' time kind.cl --dims N=100 --device pocl

cat >build.cl <<'END'
/*kernwright {"task": "saxpy", "launches": [{"kernel": "broken", "args": ["N", "a", "x", "y"], "local": [64],
  "groups": ["ceil_div(N, 64)"]}]} */
kernel void broken(int n, float a, global const float *x, global float *y)
{
    y[get_global_id(0)] = undeclared_name;
}
END
refuses 'the build log' 1 'undeclared_name' time build.cl --dims N=100 --device pocl
check 'with the numbered source' has "$output" '   5 '

params='"A": {"values": [1]}' && template fits.cl
sed -i 's/fake_saxpy/real_saxpy/g; s/^{$/{ int i = get_global_id(0); if (i < n) y[i] = a * x[i] + y[i];/' fits.cl
sed -i 's/"local": \["WG"\]/"local": [64]/' fits.cl
works 'a kernel that is right' time fits.cl --dims N=1000 --device pocl
check 'is verified' has "$output" 'ok, 8 cases'

# A disk that is full is no candidate's fault: nothing is booked.
mkdir full
if unshare -rm mount -t tmpfs -o size=600k tmpfs full 2>/dev/null; then
    cat >on_full.sh <<'END'
mount -t tmpfs -o size=600k tmpfs full && POCL_CACHE_DIR=$PWD/full/pocl exec "$@"
END
    unshare -rm sh on_full.sh "$kw" tune saxpy --dims N=1000 --budget 4 --no-probe --no-deep-check --device pocl \
        --store full.db >out 2>err
    check 'a full disk ends the run' same "$?" 3
    check 'and is named' has "$(cat err)" "$work/full/pocl is on is full"
    check 'and in no row' same "$("$kw" results show --json --store full.db | grep -c '"outcome"')" 0
else
    skip 'a full disk' 'no file system can be mounted here'
fi

finish cli_pocl
