#!/usr/bin/env bash
# Builds the Debian packages from a copy of the tree, installs them into a root of their own, does there what users
# do, and removes them again. Exit code 77: not on Debian.
# usage: tests/installed/package.sh [FOLDER]      the packages are left in FOLDER
set -euo pipefail
# shellcheck source=tests/installed/user.sh
. "$(dirname "$0")/user.sh"
root=$(realpath "$(dirname "$0")/../..")
as_root=()
((EUID == 0)) || as_root=(fakeroot)
for tool in dpkg-buildpackage dh "${as_root[@]}"; do
    command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
(cd "$root" && git ls-files -z | xargs -0 cp --parents -t "$work/tree")
version=$(dpkg-parsechangelog -l "$root/debian/changelog" -S Version)
grep -q "version: '$version'" "$root/meson.build" || { echo "meson.build does not say $version"; exit 1; }

# A test looks at the contents of the packages, and not at their speed.
DEB_BUILD_OPTIONS="parallel=$(nproc)"
[[ -n ${1:-} ]] || DEB_BUILD_OPTIONS+=" noautodbgsym noopt"
export DEB_BUILD_OPTIONS
(cd "$work/tree" && dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes) >"$work/build.log" 2>&1 ||
    { tail -n 40 "$work/build.log"; exit 1; }
packages=("$work"/*.deb)
printf '%s\n' "${packages[@]##*/}"

# The machine's own list of packages does not change. Other libraries are those of the machine: --force-depends.
here=$work/root
mkdir -p "$here"/var/lib/dpkg/{info,updates,triggers} "$here/var/log"
touch "$here/var/lib/dpkg/status"
apart=("${as_root[@]}" dpkg --root="$here" --force-depends --force-script-chrootless)
"${apart[@]}" --install "${packages[@]}" >"$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; }

prefix=$here/usr
found_in "$prefix"
cd "$work"
with_cmake "$prefix" "$version"
cc -std=gnu11 "$prefix/share/doc/weft/examples/hello.c" "${flags[@]}" -o hello
expect 'hello from an actor' ./hello
with_store "$prefix"
"$prefix/bin/weft" version
zcat "$prefix/share/man/man1/weft-run.1.gz" | grep 'weft-run' >/dev/null || { echo 'man weft-run is missing'; exit 1; }
zcat "$prefix/share/man/man3/weft-actor.3.gz" | grep 'weft_spawn' >/dev/null || { echo 'man weft-actor is missing'; exit 1; }
python3 -m py_compile "$prefix"/share/gdb/auto-load/usr/lib/*/libweft.so.*-gdb.py
if readelf --dynamic "$prefix/bin/weft" "$libraries/libweft.so.0" | grep -E 'RPATH|RUNPATH'; then
    echo 'a path to libraries is in it'
    exit 1
fi

find "$here" -name __pycache__ -exec rm -r {} +

mapfile -t names < <(dpkg-query --admindir="$here/var/lib/dpkg" -W -f '${Package}\n')
"${apart[@]}" --purge "${names[@]}" >"$work/purge.log" 2>&1 || { cat "$work/purge.log"; exit 1; }
left=$(find "$here" ! -type d ! -path "$here/var/l*")
[[ -z $left ]] || { echo "after purging there is still: $left"; exit 1; }
echo "nothing is left after purging"
if [[ -n ${1:-} ]]; then
    mkdir -p "$root/$1"
    cp "${packages[@]}" "$root/$1"
fi
