# Sourced by tests/cli_*.sh: the program on the scripted device, in a folder of its own.
# shellcheck shell=sh
# shellcheck disable=SC2034 # what is set here is used there
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
case ${BUILD:=build} in
/*) ;;
*) BUILD=$root/$BUILD ;;
esac
kw=$BUILD/kernwright
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 3
export KERNWRIGHT_FAKE=1 OCL_ICD_VENDORS=/nonexistent KERNWRIGHT_DEVICE=fake:0
unset KERNWRIGHT_STORE KERNWRIGHT_LOG KERNWRIGHT_DATA
passed=0 failed=0 skipped=0
status=0 output='' errors=''

# Runs the program; sets status, output and errors.
kernwright() {
    output=$("$kw" "$@" 2>"$work/errors" </dev/null)
    status=$?
    errors=$(cat "$work/errors")
}

ok() { # WHAT
    passed=$((passed + 1))
}

bad() { # WHAT
    failed=$((failed + 1))
    echo "FAILED: $1"
    printf '    status %s\n' "$status"
    printf '%s\n' "$output" | head -30 | sed 's/^/    output: /'
    printf '%s\n' "$errors" | head -30 | sed 's/^/    errors: /'
}

check() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then ok "$what"; else bad "$what"; fi
}

has() { # TEXT PART
    case $1 in *"$2"*) return 0 ;; esac
    return 1
}

skip() { # WHAT REASON
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

lines() { # TEXT; how many there are
    if [ -z "$1" ]; then echo 0; else printf '%s\n' "$1" | wc -l | tr -d ' '; fi
}

same() { # A B
    [ "$1" = "$2" ]
}

# The last line of standard error is "kernwright COMMAND: ..." and has PART; nothing else is an error.
refuses() { # WHAT STATUS PART ARGUMENT...
    what=$1 wanted=$2 part=$3
    shift 3
    kernwright "$@"
    last=$(printf '%s\n' "$errors" | tail -1)
    if [ "$status" -ne "$wanted" ]; then
        bad "$what: status $wanted"
    elif ! has "$last" "$part"; then
        bad "$what: \"$part\" is not in the last line"
    elif ! has "$last" "kernwright"; then
        bad "$what: the line does not say whose it is"
    elif printf '%s\n' "$errors" | grep -qE 'Sanitizer|runtime error|Assertion'; then
        bad "$what: a fault of the program"
    else
        ok "$what"
    fi
}

# The same for input that is refused before anything begins: one line, no output.
refuses_at_once() {
    refuses "$@"
    [ "$(lines "$errors")" -eq 1 ] || bad "$1: one line"
    [ -z "$output" ] || bad "$1: no output"
}

# Waits until a command succeeds, at most two minutes.
until_true() {
    tries=0
    while ! "$@"; do
        tries=$((tries + 1))
        [ "$tries" -gt 2400 ] && return 1
        sleep 0.05
    done
}

children() { # PID: its children, and theirs
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v root="$1" '
        { pid = $1; sub(/^.*\) /, ""); split($0, f, " "); if (f[1] != "Z") parent[pid] = f[2] }
        END {
            known[root] = 1
            do {
                grown = 0
                for (p in parent) if (!(p in known) && parent[p] in known) { known[p] = 1; grown = 1; print p }
            } while (grown)
        }'
}

gone() { # PID...: none is alive; one that waits to be reaped is not
    for pid in "$@"; do
        state=$(sed 's/^.*) \(.\).*/\1/' "/proc/$pid/stat" 2>/dev/null)
        [ -n "$state" ] && [ "$state" != Z ] && return 1
    done
    return 0
}

# Waits until process PID is the program (not the shell that becomes it, which catches SIGINT too) and catches SIGINT.
# A background job of a shell without job control ignores SIGINT; the program notices it all the same.
catches() { # PID
    tries=0
    while [ -d "/proc/$1" ] && [ "$tries" -lt 1200 ]; do
        grep -q '^Name:.kernwright' "/proc/$1/status" 2>/dev/null &&
            grep -q '^SigCgt:.*[2367abef]$' "/proc/$1/status" 2>/dev/null && return
        tries=$((tries + 1))
        sleep 0.05
    done
}

works() { # WHAT ARGUMENT...
    what=$1
    shift
    kernwright "$@"
    if [ "$status" -eq 0 ]; then ok "$what"; else bad "$what: status 0"; fi
}

# Variables that a template is made of; `template FILE` writes it and sets them back.
plain() {
    params='"WG": {"values": [16, 32, 64, 128], "default": 64}'
    constraints='' requires='' kernel=fake_saxpy arguments='"N", "a", "x", "y"' local='"WG"' before='' more=''
}
plain

template() { # FILE
    cat >"$1" <<END
/*kernwright {
  "task": "saxpy", $more
  "params": {$params},
  "constraints": [$constraints],
  "requires": [$requires],
  "launches": [{"kernel": "$kernel", "args": [$arguments],
                "local": [$local], "groups": ["ceil_div(N, 64)"]}]
} */
$before
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
}
END
    plain
}

finish() { # NAME
    echo "$1: passed=$passed failed=$failed skipped=$skipped"
    [ "$failed" -eq 0 ]
    exit
}
