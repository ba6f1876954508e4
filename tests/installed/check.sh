#!/usr/bin/env bash
# Installs weft into a folder of its own and does there what users do: pkg-config and CMake, C and C++17, shared and
# static, every example, the first program of README.md, `weft run FILE.c`. Nothing is left of it after uninstalling.
# usage: tests/installed/check.sh BUILD_FOLDER
set -euo pipefail
# shellcheck source=tests/installed/user.sh
. "$(dirname "$0")/user.sh"
build=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
examples=$root/examples

work=$(mktemp -d)
# Where meson notes what `ninja uninstall` has to remove: whoever has installed this build keeps the note of it.
note=$build/meson-logs/install-log.txt
[[ ! -e $note ]] || cp "$note" "$work/note"
trap 'rm -f "$note"; [[ ! -e $work/note ]] || mv "$work/note" "$note"; rm -rf "$work"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$work/root"
prefix=$work/root$(meson introspect --buildoptions "$build" | python3 -c '
import json, sys
print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')
found_in "$prefix"
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

# Without installing it: pkg-config prefers weft-uninstalled.pc, whose folders are those of the sources and of the build.
in_build()
{
    PKG_CONFIG_PATH=$build/meson-uninstalled pkg-config --cflags --libs "$@"
}
uses()
{
    LD_LIBRARY_PATH='' ldd "$1" | grep "$build/$2" >/dev/null || { echo "$1 does not use $build/$2"; return 1; }
}
read -ra there <<<"$(in_build weft)"
cc -std=c11 "${strict[@]}" version.c "${there[@]}" -Wl,-rpath,"$build" -o version_in_build
uses version_in_build libweft.so
LD_LIBRARY_PATH='' ./version_in_build
if [[ -e $build/meson-uninstalled/weft-store-uninstalled.pc ]]; then
    read -ra there <<<"$(in_build weft-store)"
    cc -std=gnu11 "${strict[@]}" "$examples/jobs.c" "${there[@]}" -Wl,-rpath,"$build" -o jobs_in_build
    uses jobs_in_build libweft-store.so
fi
echo "programs build against the build folder, with weft-uninstalled.pc"

# The libraries that an example needs besides weft.
libraries()
{
    case $1 in
    postgres) pkg-config --cflags --libs libpq 2>/dev/null ;;
    webchat) printf '#include <http_parser.h>\n#include <sys/types.h>\n#include <wslay/wslay.h>\n' |
        cc -fsyntax-only -x c - 2>/dev/null && echo -lwslay -lhttp_parser ;;
    embed_uv) pkg-config --cflags --libs libuv 2>/dev/null ;;
    bank | jobs) [[ -e $libraries/pkgconfig/weft-store.pc ]] &&
        pkg-config --define-variable=prefix="$prefix" --cflags --libs weft-store ;;
    *) true ;;
    esac
}

# example NAME: builds and runs it as a module, a program, or both
example()
{
    local name=$1 source=$examples/$1.c more
    more=$(libraries "$name") || { echo "$name is left out: its libraries are not here"; return; }
    read -ra more <<<"$more"
    if grep -q '\bWEFT_MODULE(' "$source"; then
        cc -std=gnu11 "${strict[@]}" -fPIC -shared "$source" "${flags[@]}" "${more[@]}" -o "$name.so"
    fi
    if grep -q '^int main(' "$source"; then
        cc -std=gnu11 "${strict[@]}" "$source" "${flags[@]}" "${more[@]}" -o "$name"
    fi
    echo "$name builds"
}

running=()
for source in "$examples"/*.c; do
    ((${#running[@]} < $(nproc))) || { wait "${running[0]}"; running=("${running[@]:1}"); }
    example "$(basename "$source" .c)" & running+=($!)
done
for pid in "${running[@]}"; do wait "$pid"; done

awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$root/README.md" >readme.c
cc -std=c11 "${strict[@]}" readme.c "${flags[@]}" -o readme
[[ $(timeout 20 ./readme </dev/null) == 'hello from an actor' ]] || { echo "README's first program fails"; exit 1; }
echo "README's first program runs"
# What pkg-config says makes a program whose large frames touch the guard.
cat >large.c <<'C'
#include <string.h>
#include <weft.h>
static void large(const void *arg, size_t size)
{
    volatile char text[3000 * 1024];
    (void)arg, (void)size;
    text[0] = 1;
    (void)text[0];
}
int main(void)
{
    return weft_main(NULL, large, NULL, 0);
}
C
cc -std=c11 "${strict[@]}" large.c "${flags[@]}" -o large
{ timeout 20 ./large 2>&1 || true; } | grep 'overflowed its stack of 64 KiB' >/dev/null ||
    { echo "an overflow is not named"; exit 1; }
echo "a frame of 3 MiB is named as an overflow"
expect 'hello from an actor' ./hello
cc "${strict[@]}" -std=gnu11 "$examples/hello.c" "${static_flags[@]}" -o hello_static
LD_LIBRARY_PATH='' expect 'hello from an actor' ./hello_static
echo "hello runs, with the shared and with the static library"
with_store "$prefix"
with_cmake "$prefix" "$(pkg-config --modversion weft)"
if [[ -x $prefix/bin/weft ]]; then
    "$prefix/bin/weft" version
    new_project "$prefix"
    XDG_CACHE_HOME=$work/cache expect 'hello from an actor' "$prefix/bin/weft" run "$examples/hello.c"
    if [[ -e $libraries/pkgconfig/weft-store.pc ]]; then
        XDG_CACHE_HOME=$work/cache "$prefix/bin/weft" run --listen none "$examples/jobs.c" | grep 'no job was lost' >/dev/null ||
            { echo "weft run jobs.c fails"; exit 1; }
        echo "weft run links a module with libweft-store"
    fi
fi

# DESTDIR is part of what meson has noted down.
ninja -C "$build" uninstall >uninstall.log
left=$(if [[ -e $work/root ]]; then find "$work/root" ! -type d; fi)
[[ -z $left ]] || { echo "after uninstalling there is still: $left"; exit 1; }
echo "nothing is left after uninstalling"
