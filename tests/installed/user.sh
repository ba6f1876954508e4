#!/usr/bin/env bash
# Sourced by check.sh and package.sh: what a user does with an installed weft, wherever its folders stand.
# shellcheck disable=SC2034 # of those that source this

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

# with_cmake SOURCES PREFIX VERSION: tries find_package with versions that fit and with versions that do not
with_cmake()
{
    local name other=${3%%.*}.9999
    { cmake -G Ninja -S "$1" -B cmake -DCMAKE_PREFIX_PATH="$2" -DWANTED="${3%.*}" -DOTHER="$other" &&
        ninja -C cmake; } >cmake.log 2>&1 || { cat cmake.log; return 1; }
    for name in user_c user_cxx; do
        expect '2 and 3 make 5' cmake/$name
    done
    LD_LIBRARY_PATH='' expect '2 and 3 make 5' cmake/user_static
    echo "find_package(weft) gives programs in C and C++17, and a static one"
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
    cat >store.c <<'C'
#include <stdio.h>
#include <weft.h>
#include <weft/store.h>
static void first(const void *arg, size_t size)
{
    const struct weft_stored_topics topics = {.pattern = "room.>"};
    const weft_store_options options = {.url = "sqlite:s.db", .topics = &topics, .topic_count = 1};
    struct weft_position at;
    weft_pid store;
    (void)arg, (void)size;
    if (weft_store_open(&options, &store, weft_after(WEFT_SEC(20))) < 0) return;
    if (weft_publish_stored("room.tea", 1, "hello", 5, &at, weft_after(WEFT_SEC(20))) == 0)
        printf("stored as %d\n", (int)at.offset);
    weft_stop(store);
}
int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
C
    mapfile -t store_flags < <(pkg-config --define-variable=prefix="$1" --cflags --libs weft-store | xargs -n1)
    cc -std=gnu11 -Wall -Wextra -Wpedantic -Werror store.c "${store_flags[@]}" -o store
    expect 'stored as 1' ./store
    expect 'stored as 2' ./store
    echo "a program with a store builds and runs"
}
