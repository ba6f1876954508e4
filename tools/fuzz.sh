#!/usr/bin/env bash
# Runs every tests/fuzz/*_fuzz.c under libFuzzer; what it learns stays in BUILD_FOLDER/corpus.
# usage: tools/fuzz.sh BUILD_FOLDER [SECONDS [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 seconds=${2:-30}
shift $(($# < 2 ? $# : 2))

mapfile -t archives < <(find "$build" -name 'libweft_*.a')
includes=(-Iinclude -Iruntime/platform -Iruntime -Iactors -Itransport)
status=0
for target in tests/fuzz/*_fuzz.c; do
    name=$(basename "$target" _fuzz.c)
    (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
    mkdir -p "$build/corpus/$name"
    clang -g -O1 -D_GNU_SOURCE '-fsanitize=fuzzer,address,undefined' "${includes[@]}" "$target" \
        -Wl,--start-group "${archives[@]}" -Wl,--end-group -lnng -lmsgpackc -pthread -o "$build/$name"
    echo "-- $name for $seconds s"
    "$build/$name" -max_total_time="$seconds" -max_len=4096 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$build/$name-" "$build/corpus/$name" || status=1
done
exit $status
