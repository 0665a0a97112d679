#!/bin/sh
# Copies what the program needs at run time: tools/install-data.sh FOLDER makes FOLDER/templates, FOLDER/tasks
# and FOLDER/docs.
set -eu
to=$1
for data in templates tasks docs; do
    rm -rf "${to:?}/$data"
    [ -d "$data" ] || continue
    find "$data" -type f ! -name '*.tmp.*' | sort | while read -r file; do
        mkdir -p "$to/${file%/*}"
        cp "$file" "$to/$file"
        chmod 644 "$to/$file"
    done
done
