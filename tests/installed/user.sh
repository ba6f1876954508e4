#!/usr/bin/env bash
# Sourced by check.sh and package.sh: what a user does with an installed weft, wherever its folders stand.
# shellcheck disable=SC2034 # of those that source this

sources=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/cmake

# found_in PREFIX: the package was made for its prefix, but is here below a temporary root.
found_in()
{
    local pc
    pc=$(find "$1" -name weft.pc)
    [[ -n $pc ]] || { echo "weft.pc was not installed"; return 1; }
    libraries=$(dirname "$(dirname "$pc")")
    export LD_LIBRARY_PATH=$libraries PKG_CONFIG_PATH=${pc%/*}
    mapfile -t flags < <(pkg-config --define-variable=prefix="$1" --cflags --libs weft | xargs -n1)
    mapfile -t static_flags < <(pkg-config --define-variable=prefix="$1" --static --cflags --libs weft |
        sed 's/-lweft /-l:libweft.a /' | xargs -n1)
}

# expect TEXT COMMAND...: the command prints exactly this text
expect()
{
    local wanted=$1 got
    shift
    got=$(timeout 60 "$@" </dev/null) || true
    [[ $got == "$wanted" ]] || { echo "$*: '$got' instead of '$wanted'"; return 1; }
}

# with_cmake PREFIX VERSION: tries find_package with versions that fit and with versions that do not
with_cmake()
{
    local name other=${2%%.*}.9999
    { cmake -G Ninja -S "$sources" -B cmake -DCMAKE_PREFIX_PATH="$1" -DWANTED="${2%.*}" -DOTHER="$other" &&
        ninja -C cmake; } >cmake.log 2>&1 || { cat cmake.log; return 1; }
    for name in user_c user_cxx; do
        expect '2 and 3 make 5' cmake/$name
    done
    LD_LIBRARY_PATH='' expect '2 and 3 make 5' cmake/user_static
    echo "find_package(weft) gives programs in C and C++17, and a static one"
    [[ -e $libraries/pkgconfig/weft-store.pc ]] || return 0
    rm -f s.db*
    expect 'stored as 1' cmake/user_store
    LD_LIBRARY_PATH='' expect 'stored as 2' cmake/user_store_static
    echo "its component store gives programs with a store, and a static one"
}

# new_project PREFIX: makes a project with `weft new`, and builds and tests it
new_project()
{
    "$1/bin/weft" new tea >/dev/null
    timeout 120 make -C tea PKG_CONFIG="pkg-config --define-variable=prefix=$1" CFLAGS='-Wall -Wextra -Werror' \
        all test >tea.log 2>&1 || { cat tea.log; return 1; }
    echo "what weft new writes builds, and passes its tests"
}

# with_store PREFIX: uses stored topics, which are a library of their own
with_store()
{
    local store_flags
    [[ -e $libraries/pkgconfig/weft-store.pc ]] || { echo "libweft-store is not there"; return; }
    mapfile -t store_flags < <(pkg-config --define-variable=prefix="$1" --cflags --libs weft-store | xargs -n1)
    cc -std=gnu11 -Wall -Wextra -Wpedantic -Werror "$sources/user_store.c" "${store_flags[@]}" -o store
    rm -f s.db*
    expect 'stored as 1' ./store
    expect 'stored as 2' ./store
    echo "a program with a store builds and runs"
}
