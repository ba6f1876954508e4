#!/usr/bin/env bash
# The tree for Windows: all of it compiled, and libweft and weft.exe linked as far as their own functions and those of
# Windows go. The libraries are not needed, only the headers that this machine has. None of it is run, so nothing is optimised.
# tools/windows_compile.sh FOLDER: everything goes there. Ends with 77 where there is no compiler for Windows.
set -euo pipefail

folder=$1
tree=$folder/tree
compiler=x86_64-w64-mingw32-gcc
command -v $compiler >/dev/null || {
    echo "windows: skipped, there is no $compiler (package gcc-mingw-w64-x86-64)"
    exit 77
}

# built RULE: the files that meson builds with this rule
built()
{
    ninja -C "$tree" -t targets all | sed -n "s/: $1\$//p"
}

# undefined: links all static libraries and weft.exe, and prints the functions that they call and nobody has. What
# begins like a name of the libraries is taken to be theirs.
undefined()
{
    local archives objects
    mapfile -t archives < <(built STATIC_LINKER)
    mapfile -t objects < <(built c_COMPILER | grep '^cli/weft.exe.p/')
    cd "$tree"
    { $compiler -shared -o all.dll -Wl,--whole-archive "${archives[@]}" -Wl,--no-whole-archive "${objects[@]}" \
        -lws2_32 -lmswsock -liphlpapi -ladvapi32 -lntdll 2>&1 || true; } |
        sed -n "s/.*undefined reference to \`\(.*\)'.*/\1/p" | sort -u |
        { grep -Ev '^(nng|msgpack|mbedtls|curl|ares|json|sqlite3)_' || true; }
}

tools/windows.sh "$folder" headers
[[ -f $tree/build.ninja ]] || meson setup "$tree" --cross-file "$folder/cross.ini" -Dwerror=true -Doptimization=0 \
    -Ddebug=false -Ddefault_library=shared
ninja -C "$tree" build.ninja # meson may have to write it again before it lists the files
mapfile -t targets < <(built c_COMPILER; built STATIC_LINKER)
ninja -C "$tree" -k 0 -j "$(nproc)" "${targets[@]}"
missing=$(undefined)
[[ -z $missing ]] || {
    printf 'windows: these functions are called and nothing for Windows defines them:\n%s\n' "$missing"
    exit 1
}
