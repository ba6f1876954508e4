#!/usr/bin/env bash
# The libraries weft needs, built for Windows from the sources Debian ships, and what meson must know to use them.
# tools/windows.sh FOLDER: leaves FOLDER/deps and FOLDER/cross.ini; does nothing where they are there already.
# tools/windows.sh FOLDER headers: the same in a second, with the headers of the libraries that this machine has and with
# empty libraries, for what is only compiled.
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
libraries = '$deps/lib'

[built-in options]
prefer_static = true
default_library = 'shared'
# printf as C11 says it, what Windows 10 has, static libraries. None of the compiler's has to lie beside a program.
c_args = ['-D__USE_MINGW_ANSI_STDIO=1', '-D_WIN32_WINNT=0x0A00', '-DNNG_STATIC_LIB', '-DCARES_STATICLIB',
    '-DCURL_STATICLIB', '-DWIN32_LEAN_AND_MEAN', '-isystem', '$deps/include']
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

# as_it_is NAME FOLDER LINKS OPTION...: a library of which every file is compiled with what its authors say of Windows
# in config-win32.h: CMake would find that out in minutes. Most of the time goes into the system's headers, so they
# are read once. FOLDER: below the sources, with the files. LINKS: what programs need besides.
as_it_is()
{
    local name=$1 sources links=$3 work=$folder/obj/$1 compile header
    sources=$(echo "$folder/src/$1"-[0-9]*)
    compile=("$compiler" -O2 -w -DWIN32_LEAN_AND_MEAN -D_WIN32_WINNT=0x0A00 "${@:4}"
        -I"$sources/include" -I"$sources/$2")
    mkdir -p "$work" "$deps/lib/pkgconfig" "$deps/include"
    for header in stddef winsock2 ws2tcpip windows iphlpapi wincrypt; do
        echo "#include <$header.h>"
    done >"$work/first.h"
    "${compile[@]}" "$work/first.h" -o "$work/first.h.gch"
    # shellcheck disable=SC2016 # The inner shell expands these words.
    (cd "$sources/$2" && find . -name '*.c' -printf '%P\0' | sort -z | xargs -0 -P "$(nproc)" -I '{}' \
        sh -c 'file=$1 work=$2; shift 2; exec "$@" -c "$file" -o "$work/$(echo "$file" | tr / _).o"' \
        sh '{}' "$work" "${compile[@]}" -include "$work/first.h")
    "$target-ar" rcs "$deps/lib/$name.a" "$work"/*.o
    printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: %s %s\nCflags: -I%s\n' "$name" "$name" \
        "${sources##*-}" "$deps/lib/$name.a" "$links" "$deps/include" >"$deps/lib/pkgconfig/lib${name/-/}.pc"
}

# Debian's patch of c-ares uses a name of Unix.
finders()
{
    as_it_is c-ares src/lib '-liphlpapi -lws2_32' -DCARES_STATICLIB -DINADDRSZ=4
    cp "$folder"/src/c-ares-*/include/*.h "$deps/include"
    as_it_is curl lib '-lws2_32 -lcrypt32 -lbcrypt -lsecur32' -DCURL_STATICLIB -DBUILDING_LIBCURL -DHTTP_ONLY \
        -DUSE_SCHANNEL -DUSE_WINDOWS_SSPI -DENABLE_IPV6
    cp -r "$folder"/src/curl-*/include/curl "$deps/include"
}

# SQLite in one file, as its authors publish it, and Debian does not.
sqlite()
{
    local sources work=$folder/obj/sqlite3
    sources=$(echo "$folder"/src/sqlite3-[0-9]*)
    mkdir -p "$work" "$deps/lib/pkgconfig" "$deps/include"
    make -s -C "$work" -f "$sources/main.mk" TOP="$sources" BCC=gcc TCC=gcc OPTS= THREADLIB= sqlite3.c
    "$compiler" -O2 -w -D_WIN32_WINNT=0x0A00 -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION \
        -c "$work/sqlite3.c" -o "$work/sqlite3.o"
    "$target-ar" rcs "$deps/lib/libsqlite3.a" "$work/sqlite3.o"
    cp "$work/sqlite3.h" "$deps/include"
    printf 'Name: SQLite\nDescription: SQL database engine\nVersion: %s\nLibs: -L%s -lsqlite3\n' "${sources##*-}" \
        "$deps/lib" >"$deps/lib/pkgconfig/sqlite3.pc"
}

# Copies what is needed of /usr/include, where the headers of Linux's C library are, too. The ares_build.h
# of this machine includes sys/socket.h.
headers_only()
{
    local part name
    mkdir -p "$deps/include" "$deps/lib/pkgconfig"
    for part in nng msgpack msgpack.h mbedtls psa curl jansson.h jansson_config.h ares.h ares_dns.h ares_nameser.h \
        ares_rules.h ares_version.h check.h check_stdint.h sqlite3.h; do
        cp -r "$(compgen -G "/usr/include/$part" || compgen -G "/usr/include/*-linux-gnu/$part")" "$deps/include/$part"
    done
    printf '#define CARES_TYPEOF_ARES_SOCKLEN_T %s\ntypedef %s ares_socklen_t;\ntypedef %s ares_ssize_t;\n' \
        int int 'long long' >"$deps/include/ares_build.h"
    for name in nng mbedtls mbedx509 mbedcrypto; do "$target-ar" rcs "$deps/lib/lib$name.a"; done
    for name in msgpack libcares libcurl jansson check sqlite3; do
        printf 'Name: %s\nDescription: headers\nVersion: %s\n' $name "$(pkg-config --modversion $name)" \
            >"$deps/lib/pkgconfig/$name.pc"
    done
}

[[ -f $folder/cross.ini && -f $deps/complete ]] && exit 0
rm -rf "$deps" "$folder/obj" "$folder/src"
if [[ ${2:-} == headers ]]; then
    headers_only
    cross_file | sed /^exe_wrapper/d >"$folder/cross.ini" # no program is run
    touch "$deps/complete"
    exit 0
fi
fetch_sources "${common[@]}" mbedtls c-ares curl sqlite3 || {
    echo 'windows: skipped, the sources of the libraries are not to be had'
    exit 77
}
{ toolchain Windows AMD64 "/usr/$target"; echo "set(CMAKE_RC_COMPILER $target-windres)"; } >"$folder/toolchain.cmake"
(finders && sqlite) >"$folder/others.log" 2>&1 & others=$!
libraries tls
wait $others || { tail -n 20 "$folder/others.log"; exit 1; }
wrapper >"$folder/run"
chmod +x "$folder/run"
cross_file >"$folder/cross.ini"
touch "$deps/complete"
