#!/bin/sh
# Emitted headers in applications: tests/consumer/*.c are compiled as C99 and C++11 with every compiler there is,
# without a warning, and run on the first OpenCL device. Environment: BUILD, CC, CXX, SAN (see the Makefile).
set -u
build=${BUILD:-build} cc=${CC:-gcc} san=${SAN:-}
source=tests/consumer
work=$build/consumer
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Werror'
libraries='-lOpenCL -lm -pthread'
passed=0 failed=0 skipped=0

mkdir -p "$work/other" || exit 3
rm -f "$work"/*.h "$work"/*.log

ok() {
    passed=$((passed + 1))
}

bad() { # WHAT LOG
    failed=$((failed + 1))
    echo "FAILED: $1"
    [ -n "${2:-}" ] && sed 's/^/    /' "$2"
}

skip() { # WHAT REASON
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

finish() {
    echo "consumer: passed=$passed failed=$failed skipped=$skipped"
    [ "$failed" -eq 0 ]
    exit
}

# Runs a command that must succeed.
try() { # WHAT COMMAND...
    what=$1
    shift
    if "$@" >"$work/try.log" 2>&1; then
        ok
    else
        bad "$what (status $?)" "$work/try.log"
        return 1
    fi
}

# Runs a consumer program; status 77 means that there is no device.
try_run() { # WHAT COMMAND...
    what=$1
    shift
    "$@" >"$work/try.log" 2>&1
    case $? in
    0) ok ;;
    77) skip "$what" "no OpenCL device" ;;
    *) bad "$what" "$work/try.log" ;;
    esac
}

# --- the headers: first for a device of no interest, to learn the key of the one that is here ---
modules=$(cat tools/modules)
# shellcheck disable=SC2046,SC2086 # lists of flags
$cc -std=c17 -D_GNU_SOURCE -I. -g ${san:+-fsanitize=$san} -o "$work/make_headers" "$source/make_headers.c" \
    tests/support_header.c "$build/libkernwright.a" $(pkg-config --cflags --libs $modules) -lm -ldl -pthread \
    >"$work/make.log" 2>&1 || { bad "make_headers" "$work/make.log"; finish; }
"$work/make_headers" "$work" a/b/c/1 >"$work/make.log" 2>&1 || { bad "make_headers" "$work/make.log"; finish; }
key=a/b/c/1
# shellcheck disable=SC2086
if $cc -std=c99 -I"$work" -o "$work/key" "$source/key.c" $libraries >"$work/make.log" 2>&1; then
    key=$("$work/key") || key=a/b/c/1
else
    bad "key.c" "$work/make.log"
fi
try "headers for $key" "$work/make_headers" "$work" "$key"

# The same model gives the same bytes.
mkdir -p "$work/again/other"
"$work/make_headers" "$work/again" "$key"
for header in "$work"/*.h; do
    try "same bytes: $header" cmp "$header" "$work/again/${header##*/}"
done

# --- compilers: those of the Makefile and the four that headers promise to suit ---
compilers=
for one in "$cc" gcc clang "${CXX:-g++}" g++ clang++; do
    case " $compilers " in *" $one "*) continue ;; esac
    if command -v "$one" >/dev/null; then
        compilers="$compilers $one"
    else
        skip "$one" "not installed"
    fi
done

# Compiles as C99 or C++11.
# shellcheck disable=SC2317 # called through try
compile() { # COMPILER ARGUMENTS...
    by=$1
    shift
    case $by in *++*) language='-x c++ -std=c++11' ;; *) language='-x c -std=c99' ;; esac
    # shellcheck disable=SC2086
    "$by" $language $warnings -I"$work" -I"$source" "$@"
}

# --- every header, alone and all in one unit, for each OpenCL version that an application may have chosen ---
for header in "$work"/*.h; do
    case $header in */clash_gemm.h | */split_saxpy.h) continue ;; esac
    echo "#include \"${header##*/}\"" >>"$work/all.new"
    name=$(basename "$header" .h)
    printf '#include "%s"\nint main(void)\n{\n    return 0;\n}\n' "${header##*/}" >"$work/alone_$name.c"
    for compiler in $compilers; do
        case $compiler in
        gcc | clang++) try "$compiler $name.h alone" compile "$compiler" -fsyntax-only "$work/alone_$name.c" ;;
        esac
    done
done
printf 'int main(void)\n{\n    return 0;\n}\n' >>"$work/all.new"
mv "$work/all.new" "$work/all.c"
for compiler in $compilers; do
    for options in -DCL_TARGET_OPENCL_VERSION=120 -DCL_TARGET_OPENCL_VERSION=200 -DCL_TARGET_OPENCL_VERSION=300 \
        -DKW_NO_LAUNCH -DKW_NO_THREADS; do
        try "$compiler $options" compile "$compiler" $options -fsyntax-only "$work/all.c"
    done
    try "$compiler -O2" compile "$compiler" -O2 -c -o "$work/all.o" "$work/all.c"
    case $compiler in
    *++*) try "$compiler -std=c++17" compile "$compiler" -std=c++17 -fsyntax-only "$work/all.c" ;;
    *) try "$compiler -std=gnu17" compile "$compiler" -std=gnu17 -fsyntax-only "$work/all.c" ;;
    esac
done

# --- what must not compile, and says why ---
refuses() { # WHAT TEXT FILE OPTION...
    what=$1 text=$2 file=$3
    shift 3
    if "$cc" -std=c99 -I"$work" -fsyntax-only "$@" "$file" >"$work/try.log" 2>&1; then
        bad "$what: compiled"
    elif grep -q -e "$text" "$work/try.log"; then
        ok
    else
        bad "$what: not with the message \"$text\"" "$work/try.log"
    fi
}
printf '#include "kw_gemm.h"\n#include "clash_gemm.h"\n' >"$work/clash.c"
refuses "two headers with the same names" "another --prefix" "$work/clash.c"
sed 's/KW_SHARED_VERSION \(!= \)*[0-9]*$/KW_SHARED_VERSION \1999/' "$work/kw_saxpy.h" >"$work/newer_saxpy.h"
printf '#include "kw_gemm.h"\n#include "newer_saxpy.h"\n' >"$work/newer.c"
refuses "shared parts of two versions" "emit them with the same Kernwright" "$work/newer.c"
rm -f "$work/newer_saxpy.h"
printf '#include "kw_gemm.h"\n' >"$work/old.c"
refuses "OpenCL 1.1" "need OpenCL 1.2" "$work/old.c" -DCL_TARGET_OPENCL_VERSION=110

# --- a header in two units of one program, one in C and one in C++ ---
cat >"$work/unit_a.c" <<'UNIT'
#include "kw_gemm.h"
int other(void);
int main(void)
{
    return other() - kw_gemm_variant_count();
}
UNIT
cat >"$work/unit_b.cpp" <<'UNIT'
#include "kw_gemm.h"
extern "C" int other(void);
int other(void)
{
    return kw_gemm_variant_count();
}
UNIT
# shellcheck disable=SC2086,SC2317 # a list of flags; called through try
two_units() {
    "$cc" -std=c99 $warnings -I"$work" -c -o "$work/unit_a.o" "$work/unit_a.c" &&
        "${CXX:-g++}" -std=c++11 $warnings -I"$work" -c -o "$work/unit_b.o" "$work/unit_b.cpp" &&
        "${CXX:-g++}" -o "$work/units" "$work/unit_a.o" "$work/unit_b.o" $libraries && "$work/units"
}
try "one header in two units" two_units

# --- the programs ---
program() { # COMPILER FILE OPTION ARGUMENT
    name=$2${3#-D}
    # shellcheck disable=SC2086
    if try "$1 $name" compile "$1" $3 -g -o "$work/$name" "$source/$2.c" -x none $libraries; then
        # shellcheck disable=SC2086
        try_run "$1 $name runs" "$work/$name" $4
    fi
}
for compiler in $compilers; do
    program "$compiler" choose "" ""
    program "$compiler" trees "" "$work/trees.txt"
    program "$compiler" wish "" ""
    program "$compiler" wish -DKW_NO_ENVIRONMENT ""
    for file in gemm several errors threads odd; do
        program "$compiler" "$file" "" ""
    done
    program "$compiler" gemm -DFORCED ""
    # shellcheck disable=SC2086
    if try "$compiler split" compile "$compiler" -o "$work/split" "$source/split.c" "$work/split_saxpy.c" -x none $libraries
    then
        try_run "$compiler split runs" "$work/split"
    fi
    program "$compiler" big "" "$work/big.out"
    [ -f "$work/big.out" ] && try "$compiler: kernel text, byte for byte" cmp "$work/big.out" "$work/big_saxpy.cl"
    rm -f "$work/big.out"
done

# Text of another emission does not link with the header, nor does none; selection needs no text.
# shellcheck disable=SC2086
for text in "$work/other/split_saxpy.c" ''; do
    if "$cc" -std=c99 -I"$work" -I"$source" -o "$work/split" "$source/split.c" $text $libraries >"$work/try.log" 2>&1; then
        bad "split with the text \"$text\": linked"
    elif grep -q 'split_saxpy_text_' "$work/try.log"; then
        ok
    else
        bad "split with the text \"$text\": another message" "$work/try.log"
    fi
done
printf '#define KW_NO_LAUNCH\n#include "split_saxpy.h"\nint main(void)\n{\n    return split_saxpy_variant_count() - 1;\n}\n' \
    >"$work/no_text.c"
try "split without text, without launching" "$cc" -std=c99 -I"$work" -o "$work/no_text" "$work/no_text.c"

# Sixteen threads on one handle, under ThreadSanitizer: it sees the header's accesses, not the driver's own. An ICD loader
# that asks for RTLD_DEEPBIND cannot load a driver under a sanitizer.
printf 'int main(void)\n{\n    return 0;\n}\n' >"$work/empty.c"
if "$cc" -fsanitize=thread -o "$work/empty" "$work/empty.c" >"$work/make.log" 2>&1 && "$work/empty"; then
    # shellcheck disable=SC2086
    if try "threads under ThreadSanitizer" "$cc" -std=c99 -fsanitize=thread -g -O1 -I"$work" -I"$source" \
        -o "$work/threads.tsan" "$source/threads.c" $libraries; then
        OCL_ICD_DEEPBIND=0 try_run "threads run under ThreadSanitizer" "$work/threads.tsan"
    fi
else
    skip "threads under ThreadSanitizer" "$cc cannot build with -fsanitize=thread"
fi

# Selection allocates, locks and asks nobody: it calls nothing. Its stack does not grow with the shape.
cat >"$work/pure.c" <<'UNIT'
#define KW_NO_LAUNCH
#include "tree_gemm.h"
int pure(const kw_device *device, int64_t m, int64_t n, int64_t k);
int pure(const kw_device *device, int64_t m, int64_t n, int64_t k)
{
    const tree_gemm_shape shape = {m, n, k};
    const tree_gemm_choice choice = tree_gemm_select(device, &shape);
    return choice.variant + (int)tree_gemm_workspace(&choice, &shape);
}
UNIT
# shellcheck disable=SC2317 # called through try
pure() {
    (cd "$work" && "$1" -std=c99 -O2 -I. "$2" -c -o pure.o pure.c) &&
        nm -u "$work/pure.o" | grep -vwE 'memcpy|memset|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_' >"$work/calls"
    cat "$work/calls"
    [ ! -s "$work/calls" ]
}
try "selection calls nothing" pure "$cc" -g
# shellcheck disable=SC2317 # called through try
constant_stack() {
    pure gcc -fstack-usage && [ -s "$work/pure.su" ] && ! grep -w dynamic "$work/pure.su"
}
if command -v gcc >/dev/null; then
    try "selection has a stack of constant size" constant_stack
else
    skip "the stack of selection" "gcc is not installed"
fi

# Under sanitizers the programs run once more, compiled with them.
if [ -n "$san" ]; then
    for file in choose gemm errors odd threads; do
        # shellcheck disable=SC2086
        if try "$file under $san" "$cc" -std=c99 -fsanitize="$san" -fno-sanitize-recover=all -g -I"$work" -I"$source" \
            -o "$work/$file.san" "$source/$file.c" $libraries; then
            try_run "$file runs under $san" "$work/$file.san"
        fi
    done
fi
finish
