#!/bin/sh
# `make install` into a staging folder, and an application built with what lies there. The prefix is the one that the
# tree was built with, so nothing is compiled anew. Environment: BUILD, CC, SAN (see the Makefile).
set -u
build=${BUILD:-build} cc=${CC:-gcc} san=${SAN:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage="$work/a stage"
prefix=$(cat "$build/obj/prefix")
at=$stage$prefix
passed=0 failed=0

check() { # WHAT COMMAND...
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what (status $?): $*"
        cat "$work/log"
    fi
}

check 'make install' make -s install DESTDIR="$stage" PREFIX="$prefix"
check 'nothing lies outside of the prefix' [ "$(find "$stage" -type f ! -path "$at/*" | wc -l)" -eq 0 ]
for file in bin/kernwright lib/libkernwright.a lib/libkernwright.so lib/pkgconfig/kernwright.pc \
    lib/cmake/kernwright/kernwright-config.cmake lib/cmake/kernwright/kernwright-config-version.cmake \
    include/kernwright/base/error.h share/kernwright/templates/FORMAT.md share/kernwright/tasks/gemm/task.json; do
    check "$file" [ -r "$at/$file" ]
done
check 'the staging folder shows in no text file' sh -c "! grep -rIl '$work' '$stage'"
check 'no internal header' [ -z "$(find "$at/include" -name '*_internal.h')" ]

# --- the program finds its data beside itself ---
list() { # LINE that must be there, ARGUMENTS...
    line=$1
    shift
    (cd / && env -u KERNWRIGHT_DATA "$at/bin/kernwright" "$@") >"$work/list" && grep -q "$line" "$work/list"
}
check 'tasks' list gemm tasks
check 'templates' list gemm_tiled templates

# --- every header alone, from where it is installed ---
# Here the files lie in a staging folder, so pkg-config has to be told the root.
pc() {
    PKG_CONFIG_PATH="$at/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/root" pkg-config "$@" kernwright
}
ln -s "$stage" "$work/root"
cflags=$(pc --cflags)
headers() {
    (cd "$at/include/kernwright" && find . -name '*.h' | sort) | while read -r header; do
        echo "#include \"${header#./}\"" >"$work/one.c"
        # shellcheck disable=SC2086 # a list of flags
        "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror $cflags -fsyntax-only "$work/one.c" || exit 1
    done
}
check 'every header compiles alone' headers

# --- an application ---
check 'the version' [ "$(pc --modversion)" = "$(cat VERSION)" ]
# shellcheck disable=SC2086,SC2046 # lists of flags
application() { # NAME, then sources and flags
    name=$1
    shift
    "$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror ${san:+-fsanitize=$san} $cflags -o "$work/$name" \
        tests/install/use.c "$@"
}
count() { # NAME
    "$work/$1" "$at/share/kernwright/templates/saxpy_vec.cl" "$at/share/kernwright/tasks/saxpy" >"$work/count" &&
        [ "$(cat "$work/count")" -gt 1 ]
}
# shellcheck disable=SC2046 # lists of flags
{
    check 'an application, shared' application shared tests/install/same_name.c $(pc --libs)
    LD_LIBRARY_PATH=$at/lib check 'the shared one runs' count shared
    check 'it uses the shared library' sh -c "readelf -d '$work/shared' | grep -q 'NEEDED.*libkernwright\.so\.'"
    check 'an application, static' application static "$at/lib/libkernwright.a" \
        $(pc --static --libs | sed 's/-lkernwright//')
}
check 'the static one runs' count static

echo "install: passed=$passed failed=$failed skipped=0"
[ "$failed" -eq 0 ]
