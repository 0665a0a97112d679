#!/bin/sh
# ./bootstrap with scripted dpkg-query, apt-get, id, sudo and make: what it calls, and when it gives up.
# shellcheck disable=SC2016 # what is between single quotes is the text of a script
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# A folder that holds all the commands bootstrap can find.
fresh() {
    rm -rf "${work:?}/bin" "$work/calls"
    mkdir "$work/bin"
    : >"$work/calls"
    for tool in sh dirname nproc find head cat env grep; do
        ln -s "$(command -v "$tool")" "$work/bin/$tool"
    done
    script make 'echo "make $*" >>"$CALLS"'
}

script() { # NAME TEXT
    printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# dpkg-query knows every package that is not in $LACKING; apt-get install fails as often as $APT_FAILS has lines.
debian() { # LACKING UID
    LACKING=$1
    script dpkg-query 'for p in $LACKING; do [ "$3" = "$p" ] && exit 1; done; echo "install ok installed"'
    script apt-get 'echo "apt-get $*" >>"$CALLS"
case "$*" in *install*) if [ -s "$FAILS" ]; then : >"$FAILS"; exit 100; fi ;; esac'
    script id "echo $2"
    : >"$work/fails"
}

run() { # TARGET...; sets status and output
    output=$(cd / && LACKING=${LACKING:-} CALLS=$work/calls FAILS=$work/fails PATH=$work/bin \
        "$root/bootstrap" "$@" 2>&1 </dev/null)
    status=$?
}

check() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what (status $status)"
        echo "$output" "$(cat "$work/calls")"
    fi
}

calls() { # exact TEXT of all calls; the number of jobs and apt's options do not matter
    [ "$(sed 's/ -j [0-9]*//; s/ -o [^ ]*//' "$work/calls")" = "$1" ]
}

says() {
    case $output in *"$1"*) return 0 ;; *) return 1 ;; esac
}

fresh && debian '' 0
run check
check 'all there: status' [ "$status" -eq 0 ]
check 'all there: only make runs' calls 'make check'
run
check 'the default is demo' grep -q 'make .*demo$' "$work/calls"
run all PREFIX=/opt
check 'variables are passed on' grep -q 'all PREFIX=/opt$' "$work/calls"

fresh && debian 'libgsl-dev clang' 0
run check
check 'missing ones are installed' grep -q 'install -y --no-install-recommends libgsl-dev clang$' "$work/calls"
check 'then make runs' grep -q '^make .*check$' "$work/calls"
fresh && debian 'libcmocka-dev clang g++' 0
run demo
check 'the demo needs no test packages' calls 'make demo'

fresh && debian 'libxxhash-dev' 0
echo once >"$work/fails"
run all
check 'a failed install: the lists are refreshed once' [ "$(grep -c 'apt-get.* update$' "$work/calls")" -eq 1 ]
check 'and it is tried again' [ "$(grep -c 'libxxhash-dev$' "$work/calls")" -ge 1 ]
check 'a failed install: status' [ "$status" -eq 0 ]

fresh && debian 'libxxhash-dev libuv1-dev' 1000
run all
check 'no root, no sudo: status 3' [ "$status" -eq 3 ]
check 'no root, no sudo: the command is printed' \
    says 'apt-get update && apt-get install -y --no-install-recommends libxxhash-dev libuv1-dev'
check 'no root, no sudo: nothing runs' calls ''
script sudo 'exit 1'
run all
check 'a sudo that asks for a password, and nobody to ask: status 3' [ "$status" -eq 3 ]
check 'a sudo that asks for a password: nothing runs' calls ''
script sudo '[ "$1" = -n ] && exit 0; echo sudo >>"$CALLS"; exec "$@"'
run all
check 'sudo without a password is used' grep -q '^sudo$' "$work/calls"
check 'sudo: status' [ "$status" -eq 0 ]

fresh
script pkg-config 'exit 1'
run check
check 'another system: status 3' [ "$status" -eq 3 ]
check 'another system: names packages' says 'dnf install'
check 'another system: says what is missing' says 'cmocka'
check 'another system: nothing runs' calls ''
script pkg-config 'exit 0'
for tool in gcc g++ clang clang++; do
    script "$tool" ':'
done
run check
check 'another system with all there: make runs' calls 'make check'

echo "bootstrap: passed=$passed failed=$failed skipped=0"
[ "$failed" -eq 0 ]
