#!/usr/bin/env bash
# Builds every example as a user would, outside of the tree, against an installed weft, and runs hello and the first
# program of README.md.
# usage: tests/installed/check.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
examples=$root/examples

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$work/root"
prefix=$work/root$(meson introspect --buildoptions "$build" | python3 -c '
import json, sys
print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')
pc=$(find "$prefix" -name weft.pc)
[[ -n $pc ]] || { echo "weft.pc was not installed"; exit 1; }
LD_LIBRARY_PATH=$(dirname "$(dirname "$pc")")
export LD_LIBRARY_PATH

# The package was made for its prefix; here it stands below a temporary root.
export PKG_CONFIG_PATH=${pc%/*}
mapfile -t flags < <(pkg-config --define-variable=prefix="$prefix" --cflags --libs weft | xargs -n1)
cd "$work"
strict=(-Wall -Wextra -Wpedantic -Werror)

cat >version.c <<'C'
#include <weft.h>
int main(void)
{
    return weft_strerror(WEFT_EINVAL)[0] != 'i';
}
C
cc -std=c11 "${strict[@]}" version.c "${flags[@]}" -o version
./version
cp version.c version.cpp
c++ -std=c++17 "${strict[@]}" version.cpp "${flags[@]}" -o version_cpp
./version_cpp
echo "a program in C and one in C++ build and run"

# What an example needs besides weft.
libraries()
{
    case $1 in
    postgres) pkg-config --cflags --libs libpq 2>/dev/null ;;
    webchat) printf '#include <http_parser.h>\n#include <sys/types.h>\n#include <wslay/wslay.h>\n' |
        cc -fsyntax-only -x c - 2>/dev/null && echo -lwslay -lhttp_parser ;;
    embed_uv) pkg-config --cflags --libs libuv 2>/dev/null ;;
    *) true ;;
    esac
}

weft_flags=("${flags[@]}")
for example in "$examples"/*.c; do
    [[ -e $example ]] || continue
    name=$(basename "$example" .c)
    more=$(libraries "$name") || { echo "$name is left out: its libraries are not here"; continue; }
    read -ra flags <<<"${weft_flags[*]} $more"
    if grep -q '\bWEFT_MODULE(' "$example"; then
        cc -std=gnu11 "${strict[@]}" -fPIC -shared "$example" "${flags[@]}" -o "$name.so"
        echo "$name.so builds"
    fi
    if grep -q '^int main(' "$example"; then
        cc -std=gnu11 "${strict[@]}" "$example" "${flags[@]}" -o "$name"
        echo "$name builds"
    fi
done
flags=("${weft_flags[@]}")

awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$root/README.md" >readme.c
cc -std=c11 "${strict[@]}" readme.c "${flags[@]}" -o readme
[[ $(timeout 20 ./readme </dev/null) == 'hello from an actor' ]] || { echo "README's first program fails"; exit 1; }
echo "README's first program runs"
if [[ -x hello ]]; then
    timeout 20 ./hello </dev/null
    echo "hello runs"
fi
if [[ -x $prefix/bin/weft ]]; then "$prefix/bin/weft" version; fi
