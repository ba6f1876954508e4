#!/usr/bin/env python3
"""Measures, for docs/scaling.md, the cost of a unit of work for other cores and the kernel: instructions, locked
instructions (each takes a cache line for itself), and system calls by name.

usage: costs.py FOLDER [WORD...]

Each figure is the difference of two runs of different length, divided by the number of units that the longer one does
more. callgrind counts locked instructions in all threads and libraries, but of one process only; strace counts system
calls of all processes. Both slow the program down, and callgrind runs one thread at a time, so batches between two
workers have other sizes than at full speed.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

CASES = [  # program, small run, large run, units that the large run does more, unit
    ("bench_local", "pingpong 1 2000", "pingpong 1 12000", 20000, "message"),
    ("bench_local", "pingpong-apart 2 2000", "pingpong-apart 2 12000", 20000, "message"),
    ("bench_local", "ring 2 503 5000", "ring 2 503 25000", 20000, "hop"),
    ("bench_local", "counting 1 1 10000", "counting 1 1 60000", 50000, "message"),
    ("bench_local", "counting-apart 2 1 300000", "counting-apart 2 1 600000", 300000, "message"),
    ("bench_local", "big 2 120 50", "big 2 120 250", 48000, "message"),
    ("bench_local", "create 1 5000", "create 1 25000", 20000, "actor"),
    ("bench_local", "create 2 5000", "create 2 25000", 20000, "actor"),
    ("bench_local", "fanout 2 1000 10", "fanout 2 1000 50", 40000, "delivery"),
    ("bench_remote", "rtt 16 1000", "rtt 16 3000", 2000, "round trip"),
    ("bench_remote", "oneway 16 20000", "oneway 16 120000", 100000, "message"),
    ("bench_remote", "publish 50 1000", "publish 50 3000", 100000, "delivery"),
]
LOCKED = re.compile(r"^\s*([0-9a-f]+):\s+(?:lock |xchg .*\()", re.MULTILINE)
locked_in = {}


def locked_addresses(path):
    if path not in locked_in:
        text = "" if not os.path.exists(path) else subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=False).stdout
        locked_in[path] = {int(address, 16) for address in LOCKED.findall(text)}
    return locked_in[path]


def read_profile(path):
    """Returns (instructions, locked instructions) of one process."""
    instructions = locked = 0
    addresses, called = set(), False
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("ob="):
                addresses = locked_addresses(line[3:].strip())
            elif line.startswith("calls="):
                called = True
            elif line.startswith("0x"):
                address, _, cost = line.split()
                if not called:
                    instructions += int(cost)
                    locked += int(cost) if int(address, 16) in addresses else 0
                # The line after calls= has the cost of the called function, which is counted where that function is
                # listed.
                called = False
    return instructions, locked


def profile(command):
    with tempfile.TemporaryDirectory(prefix="weft-costs-") as folder:
        tool = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no", "--compress-strings=no"]
        subprocess.run([*tool, f"--callgrind-out-file={folder}/profile", *command], capture_output=True, timeout=600,
                       check=True)
        return read_profile(os.path.join(folder, "profile"))


def system_calls(command):
    with tempfile.NamedTemporaryFile("r") as out:
        subprocess.run(["strace", "-f", "-c", "-o", out.name, *command], capture_output=True, timeout=600, check=True)
        counts = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", out.read(), re.MULTILINE)
    return collections.Counter({name: int(count) for count, name in counts if name != "total"})


def main():
    folder, *words = sys.argv[1:]
    print("| workload | unit | instructions | locked | system calls |\n|---|---|---|---|---|")
    for program, small, large, units, unit in CASES:
        if words and not any(word in small for word in words):
            continue
        first, second = ([os.path.join(folder, "bench", program), *arguments.split()] for arguments in (small, large))
        counted = "- | -"
        if program != "bench_remote":
            (few, few_locked), (many, many_locked) = profile(first), profile(second)
            counted = f"{(many - few) / units:.0f} | {(many_locked - few_locked) / units:.3f}"
        calls = system_calls(second)
        calls.subtract(system_calls(first))
        each = [(name, count / units) for name, count in calls.most_common()]
        told = ", ".join(f"{name} {count:.3f}" for name, count in each if count >= .0005)
        print(f"| {large} | {unit} | {counted} | {told or '0'} |", flush=True)


if __name__ == "__main__":
    main()
