#!/usr/bin/env bash
# Sourced by cross.sh, macos.sh and windows.sh: the libraries weft needs, from the sources Debian ships, with another
# compiler. They set: folder, where everything goes; deps, where the libraries are installed; compiler; and effort, if
# not CMake's Release.
# shellcheck disable=SC2154

# Every build needs these packages.
# shellcheck disable=SC2034 # of those that source this
common=(nng msgpack-c check jansson)

# fetch_sources SOURCE...: into $folder/src, by the machine's own package sources, with sources instead of packages
fetch_sources()
{
    local options=(-qq -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$folder/apt/lists" -o APT::Sandbox::User=root)
    mkdir -p "$folder/apt/lists/partial" "$folder/src"
    apt-cache policy libnng-dev libmsgpack-dev check libjansson-dev |
        awk '$1 ~ /^[0-9]+$/ && $2 ~ /:\/\// { split($3, part, "/"); print "deb-src", $2, part[1], part[2] }' |
        sort -u >"$folder/apt/sources.list"
    apt-get "${options[@]}" update &&
        (cd "$folder/src" && apt-get "${options[@]}" source "$@")
}

# toolchain SYSTEM PROCESSOR [FOLDER]: writes what CMake must know; FOLDER has the system's own libraries.
toolchain()
{
    cat <<TXT
set(CMAKE_SYSTEM_NAME $1)
set(CMAKE_SYSTEM_PROCESSOR $2)
set(CMAKE_C_COMPILER $compiler)
set(CMAKE_FIND_ROOT_PATH $deps ${3:-})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
TXT
}

# library NAME OPTION...: builds one of the libraries, with the toolchain.cmake of $deps
library()
{
    local name=$1 work=${deps%/*} log=${deps%/*}/$1.log
    shift
    { cmake -S "$folder"/src/"$name"-[0-9]* -B "$work/obj/$name" -G Ninja \
        -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" -DCMAKE_C_FLAGS="-isystem $deps/include" \
        -DCMAKE_INSTALL_PREFIX="$deps" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE="${effort:-Release}" \
        -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@" &&
        ninja -C "$work/obj/$name" -j "$(nproc)" install; } >"$log" 2>&1 && return 0
    tail -n 20 "$log"
    return 1
}

# These are the locks of Debian's own build: with them threads may share contexts.
mbedtls_library()
{
    local option
    for option in THREADING_C THREADING_PTHREAD; do
        python3 "$folder"/src/mbedtls-*/scripts/config.py set MBEDTLS_$option
    done
    library mbedtls -DENABLE_PROGRAMS=OFF -DENABLE_TESTING=OFF -DGEN_FILES=OFF -DMBEDTLS_FATAL_WARNINGS=OFF
}

# nng_library tls|plain: builds NNG
nng_library()
{
    local tls=OFF
    if [[ $1 == tls ]]; then
        tls=ON
        mbedtls_library || return 1
    fi
    library nng -DNNG_TESTS=OFF -DNNG_TOOLS=OFF -DNNG_ENABLE_NNGCAT=OFF -DNNG_ENABLE_TLS=$tls \
        -DMBEDTLS_ROOT_DIR="$deps"
}

# libraries tls|plain: builds what every build needs; several at a time, because each one tries the compiler for long
# before it builds.
libraries()
{
    local pids=() pid rc=0
    nng_library "$1" & pids+=($!)
    {
        # The project declares C++, which is not used here.
        library msgpack-c -DMSGPACK_BUILD_EXAMPLES=OFF -DMSGPACK_BUILD_TESTS=OFF -DMSGPACK_ENABLE_SHARED=OFF \
            -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_COMPILER_WORKS=1 &&
            library check -DCHECK_ENABLE_TESTS=OFF -DINSTALL_DOCS=OFF -DCHECK_ENABLE_GCOV=OFF \
                -DCHECK_ENABLE_SUBUNIT=OFF
    } & pids+=($!)
    library jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF & pids+=($!)
    for pid in "${pids[@]}"; do wait "$pid" || rc=1; done
    ((rc == 0)) || return 1
    sed -i 's/-lcheck_pic/-lcheck/' "$deps/lib/pkgconfig/check.pc"
    rm -f "$deps"/lib/*.dll.a # Meson would take them before the static ones.
}
