#!/usr/bin/env bash
# Installs what is missing of the named sections of packages.txt. usage: tools/packages.sh SECTION...
set -euo pipefail
cd "$(dirname "$0")/.."

command -v dpkg-query >/dev/null || exit 0 # This is not Debian: the build names what it does not find.
log=build-logs/packages.log
missing=()
while read -r package; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
done < <(awk -v sections=" $* " '
    { sub(/#.*/, "") }
    /^\[/ { gsub(/[][ \t]/, ""); on = index(sections, " " $0 " "); next }
    on && NF { print $1 }' packages.txt)
((${#missing[@]})) || exit 0

as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0)); then
    command -v sudo >/dev/null || {
        echo "please install as root: apt-get install ${missing[*]}" >&2
        exit 1
    }
    as_root=(sudo "${as_root[@]}")
fi
mkdir -p build-logs
echo "installing: ${missing[*]}"
if ! { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "could not install: ${missing[*]} (whole log: $log)" >&2
    exit 1
fi
