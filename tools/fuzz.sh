#!/usr/bin/env bash
# Runs the fuzz targets that BUILD_FOLDER holds, from the seeds in tests/fuzz/corpus; what they learn stays in
# BUILD_FOLDER/corpus. FUZZ_SEED: where the inputs start from, so that they are the same again.
# usage: tools/fuzz.sh BUILD_FOLDER [SECONDS [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 seconds=${2:-30}
shift $(($# < 2 ? $# : 2))

status=0
for program in "$build"/tests/fuzz/*_fuzz; do
    name=$(basename "$program" _fuzz)
    (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
    corpora=("$build/corpus/$name")
    mkdir -p "${corpora[0]}"
    [[ -d tests/fuzz/corpus/$name ]] && corpora+=("tests/fuzz/corpus/$name")
    echo "-- $name for $seconds s"
    "$program" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -max_len=4096 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$build/$name-" "${corpora[@]}" || status=1
done
exit $status
