#!/usr/bin/env python3
"""Runs the protocols of nodes in simulated clusters, from seeds: ./dev sim [--limits] [SEEDS [FIRST]], see
docs/testing.md. With --guests GUEST.so... only the scenario of several versions runs: with each of these guests, and with
all of them in one cluster (./dev sim --versions).

Each scenario gets a part of the SEEDS runs, with seeds from FIRST on; they use all cores. The exit code is 1 if one
fails."""
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

CORES = os.cpu_count() or 1
PIECES = 16 * CORES  # of a scenario's seeds; a process has one at a time
PIECE_MOST = 500     # seeds


# The others are modules for weft sim.
PROGRAMS = {"cluster": "stress_cluster", "heal": "stress_heal", "leaving": "sim_leaving", "exclusive": "sim_exclusive",
            "log": "history_log", "register": "history_register", "queue": "history_queue",
            "cursor": "history_cursor", "shared": "history_shared", "group_nodes": "sim_group_nodes",
            "mixed": "sim_mixed"}
GUEST = "sim_guest.so"  # of mixed: today's libweft, loaded a second time


NO_CLOCK = "reset,cut,oneway,split,freeze,crash,power,late,slow"  # what is retained is dated by the wall clock


# With limits of a few bytes the same work takes longer.
LIMITED = {"links": ["--settle", "600"]}


def limits_of(name):
    return ["--limits", *LIMITED.get(name, [])]


def command(build, name, seeds, first, *options, limits=False):
    """Returns the command that runs a scenario; a failure names its seed. `limits`: limits of the nodes are drawn
    from the seed, too."""
    if name in PROGRAMS:
        guests = (options or [os.path.join(build, "tests", GUEST)]) if name == "mixed" else []
        return [os.path.join(build, "tests", PROGRAMS[name]), str(seeds), str(first), *["limits"] * limits, *guests]
    return [*module(build, name), "--seeds", str(seeds), "--first", str(first),
            *(limits_of(name) if limits else []), *options]


def module(build, name):
    return [os.path.join(build, "cli", "weft"), "sim", os.path.join(build, "tests", f"sim_{name}.so")]


NODE = 30  # MiB that a node takes that uses each kind of object; most of it is address space of tables


class Scenario:
    """`under_way`: MiB that all nodes together may have allocated besides, at a moment."""

    def __init__(self, name, part, proves, *options, nodes=3, under_way=8):
        self.name, self.part, self.proves = name, part, proves
        self.options = ["--nodes", str(nodes), "--heap", str(nodes * NODE + under_way), *options]

    def command(self, build, seeds, first, limits=False):
        options = [] if self.name in PROGRAMS else ["--jobs", "1", *self.options]
        return command(build, self.name, seeds, first, *options, limits=limits)

    def is_built(self, build):
        """exclusive needs libcurl, the histories of stores need SQLite, and mixed needs Linux."""
        needs = self.name in ("exclusive", "log", "register", "queue", "cursor", "shared", "mixed")
        return not needs or os.path.exists(self.command(build, 1, 1)[0])


# Between two nodes: what a link holds, each way, what sinks have not taken yet, and copies of it in the network.
LINKS = 200
# Three nodes that keep ten MiB of large messages each, and publish as much as a link holds to two others.
FLOODS = 250
# `part` of all seeds: a run of links takes as long as fifty others.
SCENARIOS = [Scenario("cluster", 20, "links, membership, global names"),
             Scenario("heal", 20, "what nodes are told when a cut has healed"),
             Scenario("leaving", 6, "nodes that leave in order while others talk to them"),
             Scenario("links", 1, "links that are full: credit, bounds, large messages", nodes=2, under_way=LINKS),
             Scenario("links", 1, "the same without memory at times", "--faults", "all,memory", "--", "scarce",
                      nodes=2, under_way=LINKS),
             Scenario("topics", 10, "topics, retained messages, beats"),
             Scenario("topics", 4, "the same without memory at times", "--faults", "all,memory", "--", "scarce"),
             Scenario("topics", 10, "the same, and nobody says it again", "--faults", NO_CLOCK, "--", "rest"),
             Scenario("topics", 4, "both", "--faults", NO_CLOCK + ",memory", "--", "rest"),
             Scenario("groups", 20, "groups and their news"),
             Scenario("groups", 10, "the same without memory at times", "--faults", "all,memory"),
             Scenario("group_nodes", 10, "groups and weft_gather, random programs against a specification"),
             Scenario("supervisors", 14, "supervisors, children on other nodes"),
             Scenario("supervisors", 10, "the same without memory at times", "--faults", "all,memory"),
             Scenario("names", 10, "global names that many want"),
             Scenario("names", 4, "the same without memory at times", "--faults", "all,memory"),
             Scenario("names", 4, "the same, with clocks that are wrong", "--faults", "crash,clock,cut", "--time", "150"),
             Scenario("names", 1, "the same among thousands of names, without memory at times", "--faults",
                      "all,memory", "--time", "80", "--", "crowd"),
             Scenario("ties", 4, "monitors, links of actors, calls, small mailboxes"),
             Scenario("ties", 2, "the same without memory at times", "--faults", "all,memory", "--", "scarce"),
             Scenario("children", 6, "children that are late, stubborn, temporary, or stopped at run time"),
             Scenario("children", 4, "the same without memory at times", "--faults", "all,memory", "--", "scarce"),
             Scenario("floods", 1, "publications that are too many: slow subscribers, jobs, full links",
                      under_way=FLOODS),
             Scenario("floods", 1, "the same without memory at times", "--faults", "all,memory", "--", "scarce",
                      under_way=FLOODS),
             Scenario("overload", 2, "a server that is asked for twice what it can do", "--settle", "150"),
             Scenario("overload", 1, "the same with an unbounded mailbox: it recovers", "--settle", "150", "--",
                      "unbounded"),
             Scenario("exclusive", 10, "exclusive names, with a simulated etcd"),
             Scenario("log", 10, "stored topics, whose histories are those of logs"),
             Scenario("register", 10, "actors that remember, whose histories are those of registers"),
             Scenario("queue", 10, "work queues, with the history of each job"),
             Scenario("cursor", 10, "cursors, with the history of each, and their readers"),
             Scenario("shared", 10, "cursors that members share, with the history of each message"),
             Scenario("mixed", 10, "nodes of two libwefts in one cluster")]


class Mixed(Scenario):
    """Nodes of today's version and of those guests."""

    def __init__(self, guests):
        names = ", ".join(os.path.basename(os.path.dirname(guest)) for guest in guests)
        super().__init__("mixed", 1, f"today's nodes beside those of {names}")
        self.guests = guests

    def command(self, build, seeds, first, limits=False):
        return command(build, self.name, seeds, first, *self.guests, limits=limits)


def of_versions(guests):
    alone = [Mixed([guest]) for guest in guests]
    return [*alone, Mixed(guests)] if len(guests) > 1 else alone


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode == 0, done.stdout


def show(name, done, seeds, began):
    if not sys.stderr.isatty():
        return
    span = time.monotonic() - began
    print(f"\r{name}: {100 * done // seeds} % [{done}/{seeds} seeds, {done / span:.0f} a second]\033[K", end="",
          file=sys.stderr, flush=True)


def passes(scenario, build, seeds, first, began, limits=False):
    """Stops at the first piece that fails."""
    each = max(1, min(PIECE_MOST, -(-seeds // PIECES)))
    pieces = [(at, min(each, first + seeds - at)) for at in range(first, first + seeds, each)]
    done = 0
    with ThreadPoolExecutor(CORES) as pool:
        under_way = {pool.submit(run, scenario.command(build, count, at, limits)): count for at, count in pieces}
        for one in as_completed(under_way):
            good, said = one.result()
            if not good:
                pool.shutdown(cancel_futures=True)
                print(said, end="")
                return False
            done += under_way[one]
            show(scenario.name, done, seeds, began)
    return True


def main():
    limits = "--limits" in sys.argv
    guests = sys.argv[sys.argv.index("--guests") + 1:] if "--guests" in sys.argv else []
    words = sys.argv[1:sys.argv.index("--guests")] if guests else sys.argv[1:]
    build, *numbers = [word for word in words if word != "--limits"]
    scenarios = of_versions(guests) if guests else SCENARIOS
    seeds = int(numbers[0]) if numbers else 2000
    first = int(numbers[1]) if len(numbers) > 1 else 1
    all_parts = sum(s.part for s in scenarios)
    faults, before, began_all = [], 0, time.monotonic()
    for scenario in scenarios:
        if not scenario.is_built(build):
            continue
        count = seeds * (before + scenario.part) // all_parts - seeds * before // all_parts
        before += scenario.part
        if count == 0:
            continue
        began = time.monotonic()
        passed = passes(scenario, build, count, first, began, limits)
        span = time.monotonic() - began
        if not passed:
            faults.append(f"{scenario.name} ({scenario.proves})")
        print(f"\r{scenario.name:12} {count} seeds from {first}, {count / span:.0f} a second: "
              f"{'nothing found' if passed else 'FAILED'} ({scenario.proves})", flush=True)
    print(f"{seeds} seeds in {time.monotonic() - began_all:.0f} s" + "".join(f"; FAILED {fault}" for fault in faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
