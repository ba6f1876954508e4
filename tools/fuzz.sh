#!/usr/bin/env bash
# Runs every target of tests/fuzz, built by meson with -Dfuzz=true, from the seeds in tests/fuzz/corpus; what it
# learns stays in BUILD_FOLDER/corpus.
# usage: tools/fuzz.sh BUILD_FOLDER [SECONDS [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 seconds=${2:-30}
shift $(($# < 2 ? $# : 2))

status=0
for target in "$build"/tests/fuzz/*_fuzz; do
    name=$(basename "$target" _fuzz)
    (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
    mkdir -p "$build/corpus/$name"
    echo "-- $name for $seconds s"
    "$target" -max_total_time="$seconds" -max_len=4096 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$build/$name-" "$build/corpus/$name" "tests/fuzz/corpus/$name" || status=1
done
exit $status
