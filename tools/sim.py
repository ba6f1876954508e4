#!/usr/bin/env python3
"""The protocols of nodes in simulated clusters, from seeds: ./dev sim [SEEDS [FIRST]], see docs/tests.md.

Of SEEDS runs each scenario has an equal part, in seeds from FIRST on. Ends with 1 if one fails.
"""
import os
import re
import subprocess
import sys
import time

CORES = os.cpu_count() or 1


class Scenario:
    """`command(seeds, first)` runs it. What fails says its seed."""

    def __init__(self, name, proves, command):
        self.name, self.proves, self.command = name, proves, command

    def run(self, seeds, first, **options):
        """The first seed that fails, or None, and what was said of it."""
        done = subprocess.run(self.command(seeds, first), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, **options)
        said = done.stdout + done.stderr
        if done.returncode == 0:
            return None, ""
        found = re.search(r"^FAILED  seed (\d+)|^failed: seed (\d+)", said, re.M)
        if found is None:
            sys.exit(f"{self.name}: {said}")
        return int(found.group(1) or found.group(2)), said


def scenarios(build):
    def cluster(seeds, first):
        return [os.path.join(build, "tests", "stress_cluster"), str(seeds), str(first)]

    def module(name, *more):
        return lambda seeds, first: [os.path.join(build, "cli", "weft"), "sim",
                                     os.path.join(build, "tests", f"sim_{name}.so"), "--seeds", str(seeds),
                                     "--first", str(first), *more]

    return [Scenario("cluster", "links, membership, global names", cluster),
            Scenario("topics", "topics, retained messages", module("topics")),
            Scenario("groups", "groups and their news", module("groups")),
            Scenario("supervisors", "supervisors, children on other nodes", module("supervisors"))]


def spread(scenario, seeds, first):
    """A scenario of one process, on all cores."""
    parts = [(first + seeds * i // CORES, first + seeds * (i + 1) // CORES) for i in range(CORES)]
    under_way = [subprocess.Popen(scenario.command(end - begin, begin), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL) for begin, end in parts if end > begin]
    return all([one.wait() == 0 for one in under_way])


def main():
    build = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    good, every = True, scenarios(build)
    for i, scenario in enumerate(every):
        part = seeds * (i + 1) // len(every) - seeds * i // len(every)
        began = time.monotonic()
        if scenario.name == "cluster":
            passed = spread(scenario, part, first)
        else:
            failed, said = scenario.run(part, first)
            passed = failed is None
            print(said, end="")
        span = time.monotonic() - began
        good &= passed
        print(f"{scenario.name:12} {part} seeds from {first}, {part / span:.0f} a second: "
              f"{'nothing found' if passed else 'FAILED'} ({scenario.proves})", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
