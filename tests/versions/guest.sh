#!/usr/bin/env bash
# tests/versions/guest.sh -- makes a guest of simulated clusters (tests/sim/guest.h) of another version of weft:
#     tests/versions/guest.sh COMMIT    prints its path, build-versions/COMMIT/guest.so
# Today's guest.c is compiled with the headers of that version, and linked like its libweft. A version without a
# simulated world cannot be one: then it says so and the exit code is 3.
set -euo pipefail
cd "$(dirname "$0")/../.."
top=$PWD
git ls-tree -r --name-only "$1" transport | grep /sim_world.h >/dev/null ||
    { echo "-- not beside ${1:0:12}: it has no simulated world" >&2; exit 3; }
folder=$(tests/versions/build.sh "$1")
tree=$folder/tree

includes=(-I"$tree/include")
for room in "$tree"/{runtime,actors,transport}; do
    mapfile -t -O ${#includes[@]} includes < <(find "$room" -type d -printf '-I%p\n')
done
defines=()
carrier=$(find "$tree/transport" -name carrier.h)
grep -q 'on_message)(.*size_t \*left)' "$carrier" || defines+=(-DGUEST_OLD_CARRIER)
# Where a world is declared, and the functions of tasks: elsewhere in older versions.
[[ -n $(find "$tree/transport" -name start.h) ]] || defines+=(-DGUEST_WORLD='"world.h"')
[[ -n $(find "$tree/runtime" -name task.h) ]] || defines+=(-DGUEST_TASKS='"worker.h"')

# Older versions have only the variable that this sets.
here=$(find "$tree/runtime" -name here.h)
[[ -n $here ]] && grep -q wf_here_set "$here" || defines+=('-Dwf_here_set(w)=(wf_here=(w))')

# The command that links that version's libweft, for another file and with another list of symbols.
cd "$folder/build"
library=$(find . -maxdepth 1 -name 'libweft.so.*.*' -type f -printf '%f\n')
link=$(ninja -t commands "$library" | tail -n 1)
objects=()
for source in guest scene; do
    cc -std=gnu11 -D_GNU_SOURCE -O2 -g -w -fPIC -fvisibility=hidden -fno-omit-frame-pointer "${includes[@]}" \
        "${defines[@]}" -c "$top/tests/sim/$source.c" -o "$folder/$source.o"
    objects+=("$folder/$source.o")
done
link=${link/-o $library/-o $folder/guest.so ${objects[*]}}
link=$(sed -E 's/-Wl,-soname,[^ ]*//; s/-Wl,--version-script=[^ ]*//' <<<"$link")
eval "$link -Wl,-Bsymbolic '-Wl,--version-script=$top/tests/sim/guest.map'" >&2
echo "$folder/guest.so"
