#!/bin/sh
# tune.sh KERNWRIGHT TASK RESULTS SHAPES BUDGET STORE TUNED: what RESULTS know is not measured again.
set -eu
kernwright=$1 task=$2 results=$3 shapes=$4 budget=$5 store=$6 tuned=$7
"$kernwright" results import "$results" --store "$store"
"$kernwright" tune "$task" --shapes "$shapes" --budget "$budget" --store "$store"
"$kernwright" results export --task "$task" --store "$store" -o "$tuned"
