#!/bin/sh
# Applications that emit their header while they are built: examples/cmake, examples/make and examples/meson, against
# what `make install` puts into a staging folder. Everything is built where no OpenCL library can be loaded; the programs
# then run on the first OpenCL device. Environment: BUILD, CC (see the Makefile).
# shellcheck disable=SC2317 # functions are called through check and refuses
set -u
build=${BUILD:-build} cc=${CC:-gcc}
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$(cat "$build/obj/prefix")
at=$work/stage$prefix
export KERNWRIGHT_DATA="$at/share/kernwright"
passed=0 failed=0 skipped=0

ok() {
    passed=$((passed + 1))
}

bad() { # WHAT
    failed=$((failed + 1))
    echo "FAILED: $1"
    sed 's/^/    /' "$work/log"
}

skip() { # WHAT REASON
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

check() { # WHAT COMMAND...
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then ok; else bad "$what (status $?): $*"; fi
}

# Fails, and says PART.
refuses() { # WHAT PART COMMAND...
    what=$1 part=$2
    shift 2
    if "$@" >"$work/log" 2>&1; then
        bad "$what: worked"
    elif tr -s ' \n' '  ' <"$work/log" | grep -qF -e "$part"; then
        ok
    else
        bad "$what: without \"$part\""
    fi
}

try_run() { # WHAT COMMAND...
    what=$1
    shift
    "$@" >"$work/log" 2>&1
    case $? in
    0) ok ;;
    77) skip "$what" 'no OpenCL device' ;;
    *) bad "$what" ;;
    esac
}

finish() {
    echo "build_systems: passed=$passed failed=$failed skipped=$skipped"
    [ "$failed" -eq 0 ]
    exit
}

check 'make install' make -s install DESTDIR="$work/stage" PREFIX="$prefix"
# In a staging folder the prefix is another one than where the files will lie in the end.
sed "s|^prefix=.*|prefix=$at|" "$at/lib/pkgconfig/kernwright.pc" >"$work/kernwright.pc"
mkdir "$work/pc" && mv "$work/kernwright.pc" "$work/pc"
export PKG_CONFIG_PATH="$work/pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
cp -r examples "$work/examples"
examples=$work/examples
kw=$at/bin/kernwright

# ---- where no OpenCL library can be loaded ----
mkdir "$work/without"
: >"$work/without/libOpenCL.so"
: >"$work/without/libOpenCL.so.1"
without() {
    LD_LIBRARY_PATH="$work/without${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
}
check 'the program is not linked with OpenCL' sh -c "! readelf -d '$kw' | grep -i 'NEEDED.*opencl'"
refuses 'no OpenCL: devices' 'no OpenCL library' without "$kw" devices
check 'no OpenCL: emit' without "$kw" emit saxpy --from examples/saxpy/saxpy.results.jsonl -o "$work/kw_saxpy.h"
check 'no OpenCL: a header' grep -q kw_saxpy_enqueue "$work/kw_saxpy.h"

# ---- plain make ----
in_make() {
    without make -C "$examples/make" CC="$cc" "$@"
}
check 'make' in_make
check 'make: the header' [ -s "$examples/make/kw_saxpy.h" ]
in_make -n -B kw_saxpy.h >"$work/commands" 2>&1
check 'make: the program was found by pkg-config' grep -qF "$kw emit" "$work/commands"
try_run 'make: the program' "$examples/make/saxpy"
check 'make: nothing to do' in_make -q
for file in saxpy.results.jsonl shapes.jsonl; do
    sleep 0.05
    touch "$examples/saxpy/$file"
    check "make: $file is newer" sh -c "! LD_LIBRARY_PATH='$work/without' make -C '$examples/make' -q kw_saxpy.h"
    check "make: $file" in_make
    check "make: once" in_make -q
done
if "$kw" devices >/dev/null 2>&1; then
    check 'make TUNE=1' make -C "$examples/make" CC="$cc" TUNE=1 BUDGET=2
    check 'make TUNE=1: it tuned' [ -s "$examples/make/saxpy.tuned.jsonl" ]
    try_run 'make TUNE=1: the program' "$examples/make/saxpy"
    check 'make TUNE=1: nothing to do' make -C "$examples/make" TUNE=1 -q
else
    skip 'make TUNE=1' 'no OpenCL device'
fi

# ---- CMake ----
# Is the header newer than the last call of this?
emitted() { # HEADER
    newer=$(find "$1" -newer "$work/stamp" 2>/dev/null)
    sleep 0.05
    touch "$work/stamp"
    sleep 0.05
    [ -n "$newer" ]
}
not_emitted() {
    ! emitted "$1"
}
configure() { # SOURCE BUILD OPTION...
    from=$1 to=$2
    shift 2
    without cmake -S "$from" -B "$to" -DCMAKE_PREFIX_PATH="$at" -DCMAKE_C_COMPILER="$cc" "$@"
}

cmake_example() { # GENERATOR
    out=$work/cmake-$(echo "$1" | tr ' ' -)
    header=$out/kernwright/saxpy/kw_saxpy.h
    touch "$work/stamp"
    sleep 0.05
    check "$1: configure" configure "$examples/cmake" "$out" -G "$1"
    check "$1: build" without cmake --build "$out"
    check "$1: emitted" emitted "$header"
    try_run "$1: the program" "$out/saxpy"
    try_run "$1: the program with --split" "$out/saxpy_split"
    check "$1: again" without cmake --build "$out"
    check "$1: not emitted again" not_emitted "$header"
    for file in saxpy.results.jsonl shapes.jsonl; do
        touch "$examples/saxpy/$file"
        check "$1: $file" without cmake --build "$out"
        check "$1: emitted for $file" emitted "$header"
    done
    touch "$examples/saxpy/main.c"
    check "$1: main.c" without cmake --build "$out"
    check "$1: not emitted for main.c" not_emitted "$header"
}

# A project of its own: a task, a template and no results; what is measured comes from the scripted device.
own_project() {
    mkdir -p "$work/own/tasks"
    cp -r "$root/tasks/saxpy" "$work/own/tasks/scaled"
    sed -i 's/"task": "saxpy"/"task": "scaled"/' "$work/own/tasks/scaled/task.json"
    cat >"$work/own/scaled.cl" <<'TEMPLATE'
/*kernwright {
  "task": "scaled", "fallback": true,
  "params": {"WG": {"values": [16, 32], "default": 16}},
  "launches": [{"kernel": "fake_saxpy", "args": ["N", "a", "x", "y"], "local": ["WG"], "groups": ["ceil_div(N, 64)"]}]
} */
kernel void fake_saxpy(int n, float a, global const float *x, global float *y)
{
}
TEMPLATE
    echo '{"N": 100}' >"$work/own/shapes.jsonl"
    printf '#define KW_NO_LAUNCH\n#include "my_scaled.h"\nint main()\n{\n    return my_scaled_variant_count() == 0;\n}\n' \
        >"$work/own/main.cpp"
    cat >"$work/own/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.16)
project(own CXX)
find_package(kernwright 0.1 REQUIRED)
add_executable(one main.cpp)
kernwright_add_dispatch(one scaled RESULTS scaled.results.jsonl SHAPES shapes.jsonl TEMPLATES scaled.cl PREFIX my_
                        DEVICE fake/scripted/large/64 VARIANTS 0 SPLIT OPTIONS --unverified)
add_executable(two main.cpp)
kernwright_add_dispatch(two tasks/scaled RESULTS scaled.results.jsonl SHAPES shapes.jsonl TEMPLATES scaled.cl PREFIX my_)
PROJECT
}

tuned_project() {
    export KERNWRIGHT_FAKE=1
    out=$work/own-build
    own_project
    refuses 'no results' '-DKERNWRIGHT_TUNE=ON makes results' configure "$work/own" "$out"
    check 'tune: configure' configure "$work/own" "$out" -DKERNWRIGHT_TUNE=ON -DKERNWRIGHT_TUNE_DEVICE=fake:0 \
        -DKERNWRIGHT_TUNE_BUDGET=2
    check 'tune: build' without cmake --build "$out" -j2
    check 'tune: the program' "$out/one"
    check 'tune: results' grep -q '"template":"scaled"' "$out/kernwright/one/scaled.results.jsonl"
    check 'tune: the source tree is left alone' [ ! -e "$work/own/scaled.results.jsonl" ]
    touch "$work/stamp"
    sleep 0.05
    for file in scaled.cl tasks/scaled/task.json shapes.jsonl; do
        touch "$work/own/$file"
        check "tune: $file" without cmake --build "$out"
        check "tune: emitted for $file" emitted "$out/kernwright/one/my_scaled.h"
    done
    check 'tune: once' without cmake --build "$out"
    check 'tune: not emitted again' not_emitted "$out/kernwright/one/my_scaled.h"
    check 'tune: save' without cmake --build "$out" --target kernwright_save
    check 'tune: saved' [ -s "$work/own/scaled.results.jsonl" ]
    unset KERNWRIGHT_FAKE

    # From now on no device at all.
    check 'saved results: configure' configure "$work/own" "$out-2"
    check 'saved results: build' without cmake --build "$out-2"
    touch "$work/stamp"
    sleep 0.05
    for file in scaled.cl tasks/scaled/task.json scaled.results.jsonl; do
        touch "$work/own/$file"
        check "saved results: $file" without cmake --build "$out-2"
        check "saved results: emitted for $file" emitted "$out-2/kernwright/one/my_scaled.h"
    done
}

project() { # LINES...: a project that uses the package wrongly, in $work/wrong
    rm -rf "$work/wrong" "$work/wrong-build"
    mkdir "$work/wrong"
    echo 'int main(void) { return 0; }' >"$work/wrong/main.c"
    {
        printf 'cmake_minimum_required(VERSION 3.16)\nproject(wrong %s)\n' "$language"
        printf '%s\n' "$@"
    } >"$work/wrong/CMakeLists.txt"
}
mistakes() {
    found='find_package(kernwright REQUIRED)'
    # No language, no search for its compiler.
    language=NONE target='add_custom_target(app)'
    project "$found" 'kernwright_add_dispatch(app saxpy RESULTS r.jsonl)'
    refuses 'no target' 'there is no target app' configure "$work/wrong" "$work/wrong-build"
    project "$found" "$target" 'kernwright_add_dispatch(app saxpy)'
    refuses 'no RESULTS' 'give RESULTS FILE' configure "$work/wrong" "$work/wrong-build"
    project "$found" "$target" 'kernwright_add_dispatch(app saxpy RESULTS r.jsonl)'
    refuses 'no file' 'r.jsonl is not there' configure "$work/wrong" "$work/wrong-build"
    project "$found" "$target" 'kernwright_add_dispatch(app saxpy RESULTS r.jsonl SHAPE s.jsonl)'
    refuses 'a misspelt word' 'cannot use "SHAPE' configure "$work/wrong" "$work/wrong-build"
    project "$found"
    refuses 'a program that does not run' 'does not run here' configure "$work/wrong" "$work/wrong-build" \
        -DKERNWRIGHT_EXECUTABLE=/bin/false
    project 'find_package(kernwright 99 REQUIRED)'
    refuses 'a newer version' 'compatible with requested version "99"' configure "$work/wrong" "$work/wrong-build"
    # Results that cannot be used stop the build, and say why.
    language=C target='add_executable(app main.c)'
    project "$found" "$target" 'kernwright_add_dispatch(app saxpy RESULTS r.jsonl)'
    echo '{"kernwright":"results","schema":99}' >"$work/wrong/r.jsonl"
    check 'bad results: configure' configure "$work/wrong" "$work/wrong-build"
    refuses 'bad results: build' 'use a newer kernwright' without cmake --build "$work/wrong-build"

    # A cross build takes no program from the target's prefix, but the one it is given.
    project "$found" "$target" "kernwright_add_dispatch(app saxpy RESULTS $root/examples/saxpy/saxpy.results.jsonl)"
    refuses 'cross: no program' 'was not found: give -DKERNWRIGHT_EXECUTABLE=PATH' \
        configure "$work/wrong" "$work/wrong-build" -DCMAKE_SYSTEM_NAME=Linux
    rm -rf "$work/wrong-build"
    check 'cross: configure' configure "$work/wrong" "$work/wrong-build" -DCMAKE_SYSTEM_NAME=Linux \
        -DKERNWRIGHT_EXECUTABLE="$kw"
    check 'cross: build' without cmake --build "$work/wrong-build"
    check 'cross: emitted' [ -s "$work/wrong-build/kernwright/app/kw_saxpy.h" ]
}

if command -v cmake >/dev/null 2>&1; then
    cmake_example 'Unix Makefiles'
    if command -v ninja >/dev/null 2>&1; then cmake_example Ninja; else skip 'CMake with Ninja' 'ninja is not installed'; fi
    tuned_project
    mistakes
else
    skip CMake 'cmake is not installed'
fi

# ---- Meson ----
meson_example() {
    out=$work/meson
    header=$out/kw_saxpy.h
    touch "$work/stamp"
    sleep 0.05
    check 'Meson: setup' without env CC="$cc" meson setup "$out" "$examples/meson"
    check 'Meson: compile' without ninja -C "$out"
    check 'Meson: emitted' emitted "$header"
    try_run 'Meson: the program' "$out/saxpy"
    for file in saxpy.results.jsonl shapes.jsonl; do
        touch "$examples/saxpy/$file"
        check "Meson: $file" without ninja -C "$out"
        check "Meson: emitted for $file" emitted "$header"
    done
    check 'Meson: once' without ninja -C "$out"
    check 'Meson: not emitted again' not_emitted "$header"
    if "$kw" devices >/dev/null 2>&1; then
        check 'Meson: configure to tune' meson configure "$out" -Dkernwright_tune=true -Dkernwright_budget=2
        check 'Meson: tune' ninja -C "$out"
        check 'Meson: it tuned' [ -s "$out/saxpy.tuned.jsonl" ]
        try_run 'Meson: the tuned program' "$out/saxpy"
    else
        skip 'Meson: tune' 'no OpenCL device'
    fi
}
if ! command -v meson >/dev/null 2>&1; then
    skip Meson 'meson is not installed'
elif ! command -v ninja >/dev/null 2>&1; then
    skip Meson 'ninja is not installed'
else
    meson_example
fi
finish
