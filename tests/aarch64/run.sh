#!/bin/sh
# tests/aarch64/run.sh SOURCE_ROOT WORK_DIR -- builds the coroutine cases for AArch64 and runs them under qemu.
# Exit code 77: tools are missing.
set -eu
root=$1
work=$(mktemp -d "$2/aarch64-XXXXXX")
trap 'rm -rf "$work"' EXIT

for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v "$tool" >/dev/null || {
        echo "skipped: $tool is not installed (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
        exit 77
    }
done

cd "$root"
posix=runtime/platform/posix
for optimise in -O0 -O2; do
    aarch64-linux-gnu-gcc -static -std=gnu11 -D_GNU_SOURCE -Wall -Wextra "$optimise" -g -fstack-clash-protection \
        -Iinclude -Iruntime/memory -Iruntime/log -Iruntime/coro -Iruntime/platform -Itests/unit/runtime/coro \
        -o "$work/coro" \
        tests/aarch64/coro_main.c runtime/coro/coro.c runtime/coro/stack.c runtime/log/log.c \
        runtime/log/log_levels.c runtime/log/log_repeats.c runtime/log/printable.c \
        runtime/platform/context_aarch64_aapcs.S runtime/platform/linux/pages.c "$posix"/clock.c \
        "$posix"/context_bounds.c "$posix"/fault.c "$posix"/memory.c "$posix"/output.c "$posix"/pages.c \
        "$posix"/thread.c "$posix"/error.c runtime/platform/assert.c runtime/platform/sanitizer.c -pthread
    qemu-aarch64 "$work/coro"
done
