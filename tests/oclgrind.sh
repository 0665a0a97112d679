#!/bin/sh
# Candidates under Oclgrind, from the command line: a fault that no result shows costs the win. Skipped where Oclgrind or
# PoCL is absent.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

unset KERNWRIGHT_FAKE OCL_ICD_VENDORS KERNWRIGHT_DEVICE KERNWRIGHT_OCLGRIND
export POCL_CACHE_DIR="$work/pocl"
mkdir "$POCL_CACHE_DIR"

refuses 'both at once' 2 'not both' tune saxpy --deep-check --no-deep-check
export KERNWRIGHT_OCLGRIND=/no/such/program
refuses 'asked for, but not there' 3 'apt-get install oclgrind' tune saxpy --deep-check
works 'doctor without it' doctor
check 'says so' has "$output" 'note  oclgrind'
if ! "$kw" devices 2>/dev/null | grep -q 'pocl/'; then
    skip 'simulating' 'no PoCL'
    finish oclgrind
fi
refuses 'time: asked for, but not there' 3 'apt-get install oclgrind' time saxpy_naive --dims N=100 --deep-check
works 'tune without it' tune saxpy --dims N=1000 --budget 1 --no-probe --device pocl --template saxpy_naive
check 'one line says so' has "$errors" 'Oclgrind is not installed'
unset KERNWRIGHT_OCLGRIND
if ! command -v oclgrind >/dev/null; then
    skip 'simulating' 'no Oclgrind'
    finish oclgrind
fi

# FAULT reads one element past the end and multiplies it by zero, and is made the faster one.
cat >hidden.cl <<'END'
/*kernwright {"task": "saxpy", "params": {"FAULT": {"values": [false, true]}},
  "launches": [{"kernel": "hidden", "args": ["N", "a", "x", "y"], "local": [64], "groups": ["ceil_div(N, 64)"]}]} */
kernel void hidden(int n, float a, global const float *x, global float *y)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
//@if FAULT
    float next = x[i + 1];
    y[i] = next != next ? a * x[i] + y[i] : a * x[i] + y[i];
//@else
    float slow = 0;
    for (int k = 0; k < 3000; k++)
        slow = sin(slow);
    y[i] = a * x[i] + y[i] + slow;
//@end
}
END
works 'right, as far as results go' time hidden.cl --set FAULT=true --dims N=1000 --device pocl
refuses 'the simulator sees it' 1 'out_of_bounds' time hidden.cl --set FAULT=true --dims N=1000 --device pocl --deep-check
check 'where it was' has "$output" 'Invalid read of size 4'
works 'the other one passes' time hidden.cl --set FAULT=false --dims N=1000 --device pocl --deep-check
check 'and it says so' has "$output" 'simulated: passed'

tuned() { # WHAT ARGUMENT...
    what=$1
    shift
    works "$what" tune saxpy --template hidden.cl --dims N=1000 --no-probe --device pocl --strategy exhaustive --json "$@"
}
# shellcheck disable=SC2317 # called by check
matches() { # TEXT PATTERN
    printf '%s\n' "$1" | grep -q "$2"
}
tuned 'winners' --store a.db
check 'the right one wins' matches "$output" '"result":.*"FAULT":false.*"deep_check":"passed"'
check 'the other one was a failure' matches "$output" '"FAULT":true.*"out_of_bounds".*"purpose":"deep"'
tuned 'again' --store a.db
check 'from the store' matches "$output" '"result":.*"FAULT":false.*"measured":0'
works 'failures' results show --failed --store a.db
check 'are told' has "$output" 'out_of_bounds'
# A simulator that does not run says nothing of a text: once it runs, the same store asks it.
real=$(command -v oclgrind)
cat >half <<END
#!/bin/sh
[ "\$1" = --version ] && exec "$real" --version
exit 1
END
chmod +x half
KERNWRIGHT_OCLGRIND=$PWD/half
export KERNWRIGHT_OCLGRIND
tuned 'with a broken simulator' --store d.db
check 'it says so' has "$errors" 'Oclgrind does not run here'
unset KERNWRIGHT_OCLGRIND
tuned 'and with a mended one' --store d.db
check 'it is asked' matches "$output" '"result":.*"FAULT":false.*"deep_check":"passed"'
tuned 'all' --store b.db --deep-check
check 'the right one wins there too' matches "$output" '"result":.*"FAULT":false'
check 'it failed in the search' matches "$output" '"FAULT":true.*"out_of_bounds".*"purpose":"search"'
tuned 'none' --store c.db --no-deep-check
check 'the fault wins, unseen' matches "$output" '"result":.*"FAULT":true'

finish oclgrind
