#!/usr/bin/env bash
# The libraries weft needs, built for Windows from the sources Debian ships, and what meson must know to use them.
# tools/windows.sh FOLDER: leaves FOLDER/deps and FOLDER/cross.ini; does nothing where they are there already.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
deps=$folder/deps
target=x86_64-w64-mingw32
compiler=$target-gcc
# shellcheck source=tools/libraries.sh
. "$(dirname "$0")/libraries.sh"

# meson asks the exe_wrapper to run what it has compiled.
cross_file()
{
    cat <<TXT
[binaries]
c = '$compiler'
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

[[ -f $folder/cross.ini && -f $deps/complete ]] && exit 0
rm -rf "$deps" "$folder/obj" "$folder/src"
fetch_sources
{ toolchain Windows AMD64 "/usr/$target"; echo "set(CMAKE_RC_COMPILER $target-windres)"; } >"$folder/toolchain.cmake"
libraries
wrapper >"$folder/run"
chmod +x "$folder/run"
cross_file >"$folder/cross.ini"
touch "$deps/complete"
