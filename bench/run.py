#!/usr/bin/env python3
"""Runs the benchmark programs of a build folder and prints, for each result, the median of the runs:

    workload weft params metric value runs=3 min=... max=...

usage: run.py BUILD_FOLDER [WORKLOAD...]     RUNS=3 repetitions, LIMIT=120 seconds each

A figure of one run says little on a busy machine: compare medians, and programs only within one call of this one.
"""
import os
import statistics
import subprocess
import sys

COMMANDS = [
    ["bench_switch"],
    ["bench_local", "yield", "10000000"],
    ["bench_local", "pingpong", "1", "5000000"],
    ["bench_local", "pingpong", "2", "2000000"],
    ["bench_local", "ring", "1", "503", "5000000"],
    ["bench_local", "ring", "2", "503", "5000000"],
    ["bench_local", "ring", "1", "100000", "2000000"],
    ["bench_local", "counting", "1", "1", "30000000"],
    ["bench_local", "counting", "2", "1", "20000000"],
    ["bench_local", "counting", "2", "100", "20000000"],
    ["bench_local", "big", "1", "120", "30000"],
    ["bench_local", "big", "2", "120", "30000"],
    ["bench_local", "create", "1", "2000000"],
    ["bench_local", "create", "2", "2000000"],
    ["bench_local", "fanout", "1", "1000", "5000"],
    ["bench_local", "fanout", "2", "1000", "5000"],
    ["bench_local", "idle", "100000"],
    ["bench_remote", "rtt", "16", "30000"],
    ["bench_remote", "oneway", "16", "2000000"],
    ["bench_remote", "oneway", "1024", "500000"],
    ["bench_remote", "publish", "1", "1000000"],
    ["bench_remote", "publish", "50", "200000"],
    ["bench_chat"],
]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, wanted = sys.argv[1], sys.argv[2:]
    runs, limit = int(os.environ.get("RUNS", "3")), int(os.environ.get("LIMIT", "120"))
    failed = False
    for command in COMMANDS:
        if wanted and not any(w in " ".join(command) for w in wanted):
            continue
        program = os.path.join(folder, "bench", command[0])
        results = {}
        for _ in range(runs):
            try:
                done = subprocess.run([program] + command[1:], stdout=subprocess.PIPE, text=True, timeout=limit)
            except (OSError, subprocess.TimeoutExpired) as why:
                print(f"{' '.join(command)}: {why}", file=sys.stderr)
                failed = True
                break
            failed |= done.returncode != 0
            for line in done.stdout.splitlines():
                fields = line.split()
                if len(fields) == 5:
                    results.setdefault(" ".join(fields[:4]), []).append(float(fields[4]))
        for key, values in results.items():
            spread = f"runs={len(values)} min={min(values):.1f} max={max(values):.1f}"
            print(f"{key} {statistics.median(values):.1f} {spread}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
