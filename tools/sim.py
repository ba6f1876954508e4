#!/usr/bin/env python3
"""The protocols of nodes in simulated clusters, from seeds: ./dev sim [SEEDS [FIRST]], see docs/testing.md.

Of SEEDS runs each scenario has an equal part, in seeds from FIRST on. Ends with 1 if one fails.
"""
import os
import subprocess
import sys
import time

CORES = os.cpu_count() or 1


def scenarios(build):
    """Name, what it proves, its command, and in how many processes it runs. What fails says its seed."""
    def module(name, proves):  # weft sim uses all cores by itself
        words = [os.path.join(build, "cli", "weft"), "sim", os.path.join(build, "tests", f"sim_{name}.so")]
        return name, proves, lambda seeds, first: [*words, "--seeds", str(seeds), "--first", str(first)], 1

    def cluster(seeds, first):
        return [os.path.join(build, "tests", "stress_cluster"), str(seeds), str(first)]

    return [("cluster", "links, membership, global names", cluster, CORES),
            module("topics", "topics, retained messages"),
            module("groups", "groups and their news"),
            module("supervisors", "supervisors, children on other nodes")]


def passes(command, processes, seeds, first):
    parts = [(first + seeds * i // processes, first + seeds * (i + 1) // processes) for i in range(processes)]
    under_way = [subprocess.Popen(command(end - begin, begin), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  text=True) for begin, end in parts if end > begin]
    said = [one.communicate()[0] for one in under_way]
    good = all(one.returncode == 0 for one in under_way)
    if not good:
        print("".join(said), end="")
    return good


def main():
    build = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    good, every = True, scenarios(build)
    for i, (name, proves, command, processes) in enumerate(every):
        part = seeds * (i + 1) // len(every) - seeds * i // len(every)
        began = time.monotonic()
        passed = passes(command, processes, part, first)
        span = time.monotonic() - began
        good &= passed
        print(f"{name:12} {part} seeds from {first}, {part / span:.0f} a second: "
              f"{'nothing found' if passed else 'FAILED'} ({proves})", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
