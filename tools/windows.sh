#!/usr/bin/env bash
# The libraries weft needs, built for Windows from the sources Debian ships, and what meson must know to use them.
# tools/windows.sh FOLDER: leaves FOLDER/deps and FOLDER/cross.ini; does nothing where they are there already.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
deps=$folder/deps
target=x86_64-w64-mingw32
packages=(nng msgpack-c check jansson)

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
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_C_COMPILER $target-gcc)
set(CMAKE_RC_COMPILER $target-windres)
set(CMAKE_FIND_ROOT_PATH $deps /usr/$target)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
TXT
}

# meson asks the exe_wrapper to run what it has compiled.
cross_file()
{
    cat <<TXT
[binaries]
c = '$target-gcc'
ar = '$target-ar'
strip = '$target-strip'
windres = '$target-windres'
pkgconfig = 'pkg-config'
cmake = 'cmake'
exe_wrapper = '$folder/run'

[properties]
pkg_config_libdir = '$deps/lib/pkgconfig'
cmake_toolchain_file = '$folder/toolchain.cmake'
needs_exe_wrapper = true
runner = '$folder/run'

[built-in options]
prefer_static = true
default_library = 'shared'
# printf as C11 says it, what Windows 10 has, a static NNG. No library of the compiler has to lie beside a program.
c_args = ['-D__USE_MINGW_ANSI_STDIO=1', '-D_WIN32_WINNT=0x0A00', '-DNNG_STATIC_LIB', '-DWIN32_LEAN_AND_MEAN']
c_link_args = ['-static']

[host_machine]
system = 'windows'
cpu_family = 'x86_64'
cpu = 'x86_64'
endian = 'little'
TXT
}

# A prefix of its own: the user's stays as it is. What crashes ends, and no debugger stays with its output open.
wrapper()
{
    cat <<TXT
#!/bin/sh
export WINEPREFIX='$folder/wine' WINEDEBUG=\${WINEDEBUG:--all} CK_FORK=no WINEDLLOVERRIDES='winedbg.exe=d'
exec /usr/lib/wine/wine64 "\$@"
TXT
}

# build NAME OPTION...: one library with CMake
build()
{
    local name=$1 log=$folder/$1.log
    shift
    cmake -S "$folder"/src/"$name"-[0-9]* -B "$folder/obj/$name" -G Ninja \
        -DCMAKE_TOOLCHAIN_FILE="$folder/toolchain.cmake" \
        -DCMAKE_INSTALL_PREFIX="$deps" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
        "$@" >"$log" 2>&1 && ninja -C "$folder/obj/$name" -j "$(nproc)" install >>"$log" 2>&1 && return 0
    tail -n 20 "$log"
    return 1
}

[[ -f $folder/cross.ini && -f $deps/complete ]] && exit 0
rm -rf "$deps" "$folder/obj" "$folder/src"
fetch_sources
toolchain >"$folder/toolchain.cmake"
build nng -DNNG_TESTS=OFF -DNNG_TOOLS=OFF -DNNG_ENABLE_NNGCAT=OFF -DNNG_ENABLE_TLS=OFF
# It declares C++, which nothing here uses.
build msgpack-c -DMSGPACK_BUILD_EXAMPLES=OFF -DMSGPACK_BUILD_TESTS=OFF -DMSGPACK_ENABLE_SHARED=OFF \
    -DCMAKE_CXX_COMPILER=$target-gcc -DCMAKE_CXX_COMPILER_WORKS=1
build check -DCHECK_ENABLE_TESTS=OFF -DINSTALL_DOCS=OFF -DCHECK_ENABLE_GCOV=OFF -DCHECK_ENABLE_SUBUNIT=OFF
build jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF
sed -i 's/-lcheck_pic/-lcheck/' "$deps/lib/pkgconfig/check.pc"
rm -f "$deps"/lib/*.dll.a # meson would take them before the static ones
wrapper >"$folder/run"
chmod +x "$folder/run"
cross_file >"$folder/cross.ini"
touch "$deps/complete"
