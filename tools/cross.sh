#!/usr/bin/env bash
# The libraries weft needs, built for another processor or C library from the sources Debian ships, and what meson
# must know to use them. tools/cross.sh aarch64|musl FOLDER: leaves FOLDER/deps and FOLDER/cross.ini; does nothing
# where they are there already.
set -euo pipefail

kind=$1
folder=$(mkdir -p "$2" && cd "$2" && pwd)
deps=$folder/deps
# shellcheck source=tools/libraries.sh
. "$(dirname "$0")/libraries.sh"
case $kind in
aarch64)
    compiler=aarch64-linux-gnu-gcc archiver=aarch64-linux-gnu-ar strip=aarch64-linux-gnu-strip
    processor=aarch64 runner="'qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'"
    ;;
musl)
    compiler=musl-gcc archiver=ar strip=strip processor=$(uname -m) runner=
    effort=None # compiling takes longer than running
    ;;
*)
    echo "usage: tools/cross.sh aarch64|musl FOLDER" >&2
    exit 2
    ;;
esac

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

# musl does not bring the headers of the kernel.
kernel_headers()
{
    local name
    mkdir -p "$deps/include"
    for name in linux asm-generic "$(uname -m)-linux-gnu/asm"; do
        ln -sfn "/usr/include/$name" "$deps/include/${name##*/}"
    done
}

[[ -f $folder/cross.ini && -f $deps/complete ]] && exit 0
rm -rf "$deps" "$folder/obj" "$folder/src"
fetch_sources "${common[@]}" || {
    echo "$kind: skipped, the sources of the libraries are not to be had"
    exit 77
}
[[ $kind == musl ]] && kernel_headers
toolchain Linux "$processor" >"$folder/toolchain.cmake"
libraries plain
cross_file >"$folder/cross.ini"
touch "$deps/complete"
