#!/usr/bin/env bash
# The libraries weft needs, built for another processor or C library from the sources Debian ships, and what meson
# must know to use them. tools/cross.sh aarch64|musl FOLDER: leaves FOLDER/deps and FOLDER/cross.ini; does nothing
# where they are there already.
set -euo pipefail

kind=$1
folder=$(mkdir -p "$2" && cd "$2" && pwd)
deps=$folder/deps
packages=(nng msgpack-c check jansson)
case $kind in
aarch64)
    compiler=aarch64-linux-gnu-gcc archiver=aarch64-linux-gnu-ar strip=aarch64-linux-gnu-strip
    processor=aarch64 runner="'qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'"
    ;;
musl)
    compiler=musl-gcc archiver=ar strip=strip processor=$(uname -m) runner=
    ;;
*)
    echo "usage: tools/cross.sh aarch64|musl FOLDER" >&2
    exit 2
    ;;
esac

# The machine's own package sources, with the sources of the packages instead of the packages.
fetch_sources()
{
    mkdir -p "$folder/apt/lists/partial" "$folder/src"
    apt-cache policy libnng-dev libmsgpack-dev check libjansson-dev |
        awk '$1 ~ /^[0-9]+$/ && $2 ~ /:\/\// { split($3, part, "/"); print "deb-src", $2, part[1], part[2] }' |
        sort -u >"$folder/apt/sources.list"
    local options=(-qq -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$folder/apt/lists" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    (cd "$folder/src" && apt-get "${options[@]}" source "${packages[@]}")
}

toolchain()
{
    cat <<TXT
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $processor)
set(CMAKE_C_COMPILER $compiler)
set(CMAKE_FIND_ROOT_PATH $deps)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
TXT
}

cross_file()
{
    cat <<TXT
[binaries]
c = '$compiler'
cpp = 'false'
ar = '$archiver'
strip = '$strip'
pkgconfig = 'pkg-config'
cmake = 'cmake'
${runner:+exe_wrapper = [$runner]}

[properties]
pkg_config_libdir = '$deps/lib/pkgconfig'
cmake_toolchain_file = '$folder/toolchain.cmake'

[built-in options]
prefer_static = true
c_args = ['-isystem', '$deps/include']
c_link_args = ['-L$deps/lib']

[host_machine]
system = 'linux'
cpu_family = '$processor'
cpu = '$processor'
endian = 'little'
TXT
}

# The kernel's headers, which musl does not bring.
kernel_headers()
{
    local name
    mkdir -p "$deps/include"
    for name in linux asm-generic "$(uname -m)-linux-gnu/asm"; do
        ln -sfn "/usr/include/$name" "$deps/include/${name##*/}"
    done
}

# build NAME OPTION...: one library with CMake
build()
{
    local name=$1 log=$folder/$1.log
    shift
    { cmake -S "$folder"/src/"$name"-[0-9]* -B "$folder/obj/$name" -G Ninja \
        -DCMAKE_TOOLCHAIN_FILE="$folder/toolchain.cmake" -DCMAKE_C_FLAGS="-isystem $deps/include" \
        -DCMAKE_INSTALL_PREFIX="$deps" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@" &&
        ninja -C "$folder/obj/$name" -j "$(nproc)" install; } >"$log" 2>&1 || { tail -n 20 "$log"; return 1; }
}

[[ -f $folder/cross.ini && -f $deps/complete ]] && exit 0
rm -rf "$deps" "$folder/obj" "$folder/src"
fetch_sources
[[ $kind == musl ]] && kernel_headers
toolchain >"$folder/toolchain.cmake"
build nng -DNNG_TESTS=OFF -DNNG_TOOLS=OFF -DNNG_ENABLE_NNGCAT=OFF -DNNG_ENABLE_TLS=OFF
# It declares C++, which nothing here uses.
build msgpack-c -DMSGPACK_BUILD_EXAMPLES=OFF -DMSGPACK_BUILD_TESTS=OFF -DMSGPACK_ENABLE_SHARED=OFF \
    -DCMAKE_CXX_COMPILER=$compiler -DCMAKE_CXX_COMPILER_WORKS=1
build check -DCHECK_ENABLE_TESTS=OFF -DINSTALL_DOCS=OFF -DCHECK_ENABLE_GCOV=OFF -DCHECK_ENABLE_SUBUNIT=OFF
build jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF
sed -i 's/-lcheck_pic/-lcheck/' "$deps/lib/pkgconfig/check.pc"
cross_file >"$folder/cross.ini"
touch "$deps/complete"
