#!/usr/bin/env bash
# tests/versions/build.sh -- builds another version of weft, and the modules of versions_test.py with its headers:
#     tests/versions/build.sh COMMIT    prints the folder, build-versions/COMMIT; what is built there already stays
# The tree is a copy and no worktree of git, so that ./dev clean leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "no commit $1 in this repository" >&2; exit 2; }
folder=$PWD/build-versions/${commit:0:12}
mkdir -p "$folder/modules"

if [[ ! -e $folder/built ]]; then
    rm -rf "$folder/tree" "$folder/build"
    mkdir "$folder/tree"
    git archive "$commit" | tar -x -C "$folder/tree"
    {
        meson setup -Ddefault_library=shared "$folder/build" "$folder/tree" &&
            libraries=$(ninja -C "$folder/build" -t targets all | grep -o '^libweft[-a-z]*\.so\.[0-9.]*[0-9]') &&
            xargs ninja -C "$folder/build" -j "$(nproc)" cli/weft <<<"$libraries"
    } >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; exit 1; }
    touch "$folder/built"
fi

# module NAME SOURCE [LIBRARY...]: builds a module, again whenever today's tests have changed
module()
{
    cc -std=gnu11 -D_GNU_SOURCE -O1 -g -w -shared -fPIC -I"$folder/tree/include" "${defines[@]}" \
        -o "$folder/modules/$1.so" "$2" -L"$folder/build" -Wl,-rpath,"$folder/build" -lweft "${@:3}"
}
defines=()
grep -q weft_register_global "$folder/tree/include/weft/names.h" || defines=(-DTABLES=0)
module test_mixed tests/versions/mixed.c
((${#defines[@]})) || module test_rolling tests/versions/rolling.c
[[ ! -e $folder/tree/include/weft/exclusive.h ]] || module test_exclusive tests/integration/exclusive.c
[[ ! -e $folder/tree/include/weft/store.h ]] || module test_storing tests/integration/storing.c -lweft-store
! grep -qs weft_reminder_when "$folder/tree/include/weft/queue.h" || module test_queueing tests/integration/queueing.c -lweft-store
[[ ! -e $folder/tree/include/weft/persist.h ]] || module test_remembering tests/integration/remembering.c -lweft-store
echo "$folder"
