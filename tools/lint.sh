#!/bin/sh
# Finds faults without running anything; prints what it finds and ends with 1, or prints one line and ends with 0.
# JOBS: parallel clang-tidy runs (default 2). A tool that is not installed is named and skipped.
# shellcheck disable=SC2086 # lists of files and of flags are split on purpose; no name here has a space
set -u
: "${JOBS:=2}"
faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

# __FILE__ stands in for the version: any string will do.
flags="-std=c17 -D_GNU_SOURCE -I. -DKERNWRIGHT_VERSION=__FILE__ $(# shellcheck disable=SC2046 # a list
    pkg-config --cflags $(cat tools/modules) cmocka | sed 's|-I/|-isystem /|g')"
modules='base codegen device tuner llm fleet cli tests'

c_files() {
    for folder in $modules; do
        [ -d "$folder" ] && find "$folder" -name "*.$1" ! -path 'tests/golden/*' ! -path 'tests/recorded/*' \
            ! -path 'tests/consumer/*.c'
    done
    find tasks -name "*.$1" 2>/dev/null
}
sources=$(c_files c | sort)
headers=$(c_files h | sort)
text_files=$(git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cl' '*.cu' '*.sh' '*.md' '*.json' Makefile bootstrap \
    .ci/run | grep -Ev '^tests/(golden|recorded|fuzz/corpus)/' | while read -r f; do [ -f "$f" ] && echo "$f"; done)

have() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "lint: $1 is not installed, skipped" >&2
    return 1
}

# complain TEXT: every line of input is a fault of this kind
complain() {
    awk -v kind="$1" '{ print $0 " [" kind "]" }' | tee -a "$faults"
}

# --- rules of the house, by grep ---
tab=$(printf '\t')
grep -n "$tab" $sources $headers /dev/null | complain 'tab'
grep -nE ' +$' $text_files /dev/null | grep -v '\.md:' | complain 'space at the end of a line'
awk 'length($0) > 120 { print FILENAME ":" FNR ": " length($0) " characters" }' $sources $headers |
    complain 'over 120 columns'
wc -l $sources $headers | awk '$1 > 700 && $2 != "total" { print $2 ": " $1 " lines" }' |
    complain 'one job each: split the file'
grep -nwE 'TO''DO|FIX''ME|XX''X|HA''CK' $text_files /dev/null | complain 'unfinished work belongs in an issue'
for file in $text_files; do
    [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ] && echo "$file"
done | complain 'no line break at the end'

# Arrows: cli -> llm, fleet -> tuner -> codegen, device -> base.
arrow() { # FOLDER, regular expression of the folders that it must not include
    # codegen/limits.h is plain data: what a device can do, as templates name it
    [ -d "$1" ] && grep -nE "#include \"($2)/" "$1"/*.[ch] /dev/null | grep -v 'codegen/limits\.h' |
        complain "$1 must not include this"
}
arrow base 'codegen|device|tuner|llm|fleet|cli|tasks'
arrow codegen 'device|tuner|llm|fleet|cli'
arrow device 'codegen|tuner|llm|fleet|cli'
arrow tuner 'llm|fleet|cli'
arrow llm 'fleet|cli'
arrow fleet 'llm|cli'

# Libraries at their edge only.
only_in() { # regular expression of the header, regular expression of the files that may include it
    grep -nE "#include <$1>" $sources $headers /dev/null | grep -vE "^($2):" | complain "belongs in $2"
}
only_in 'cJSON\.h|cjson/cJSON\.h' 'base/json\.c'
only_in 'xxhash\.h' 'base/hash\.c'
only_in 'curl/[a-z_]*\.h' 'llm/http\.c'
only_in 'sqlite3\.h' 'tuner/store[a-z_]*\.[ch]|tests/test_store[a-z_]*\.c'
only_in 'CL/[a-z_]*\.h' 'device/opencl[a-z_]*\.[ch]|device/device_key_query\.h|codegen/[a-z_]*\.[ch]|tests/.*'

# --- compilers and checkers ---
for header in $headers; do
    gcc $flags -Wall -Wextra -Wpedantic -fsyntax-only -x c "$header" 2>&1
done | grep -v 'pragma once in main file' | complain 'a header must compile alone'

if have cppcheck; then
    cppcheck -q -j "$JOBS" --std=c11 --enable=warning,portability,performance --inline-suppr \
        --suppressions-list=tools/cppcheck.supp --template='{file}:{line}: {message} ({id})' \
        -I. -D_GNU_SOURCE $sources 2>&1 | complain cppcheck
fi
if have clang-tidy; then
    echo "$sources" | xargs -P "$JOBS" -n 4 sh -c 'clang-tidy --quiet "$@" -- '"$flags"' 2>/dev/null' tidy |
        grep -E '(warning|error):' | sed "s|$PWD/||" | complain clang-tidy
fi
if have shellcheck; then
    scripts=$(git ls-files -co --exclude-standard -- '*.sh' bootstrap .ci/run)
    shellcheck -f gcc $scripts 2>&1 | complain shellcheck
fi

if [ -s "$faults" ]; then
    echo "lint: $(wc -l <"$faults") lines to look at" >&2
    exit 1
fi
echo "lint: clean"
