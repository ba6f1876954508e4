#!/usr/bin/env python3
"""Counts the simulated seeds that reach each rare state of the protocols: ./dev states [SEEDS [FIRST]].

    states.py BUILD --targets   the targets that have to be built
    states.py --check           checks that the marks, NOT_YET and the table in docs/testing.md agree
    states.py --table FILE      writes the results of a run (build-states/states.json) into docs/testing.md

A state is a mark in the source, WF_SOMETIMES("name", condition), see runtime/platform/base.h. The scenarios are those
of tools/sim.py. A state that no seed reaches is a failure, unless NOT_YET gives the reason."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from sim import FLOODS, GUEST, LINKS, PROGRAMS, SCENARIOS, Scenario, passes

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCS = os.path.join(ROOT, "docs", "testing.md")
MARK = re.compile(r'WF_SOMETIMES\(\s*"([^"]+)"')

# Runs for states that are too rare for those of tools/sim.py. `part`: seeds for each hundred that were asked for.
BESIDE = [Scenario("cluster", 50, "handshakes in which much goes wrong"),
          Scenario("links", 3, "links without memory", "--faults", "memory", "--", "scarce", nodes=2, under_way=LINKS),
          Scenario("names", 10, "snapshots without memory", "--faults", "memory", "--", "crowd", nodes=2),
          Scenario("names", 20, "nodes that come back with a wrong clock", "--faults", "crash,clock", "--time", "200",
                   nodes=2),
          Scenario("supervisors", 30, "remote children that come too late"),
          Scenario("children", 20, "groups of children in which two fail"),
          Scenario("ties", 15, "what crosses on its way"),
          Scenario("topics", 20, "messages that come late", nodes=4),
          Scenario("floods", 2, "patterns that come and go", under_way=FLOODS)]

# State: why none of the scenarios reaches it, or hardly ever.
ONE_WORKER = "a simulated node has one worker, and this state needs two"
CARRIER = "the simulated carrier reports the end of a send before the end of its connection"
POOLS = "a worker nearly always has a free block for it; `unit/actors/run/oom`"
OPERATOR = ("an operator has to change keys in etcd, and then a name is no longer sure to be exclusive; "
            "`integration/etcd`")
NOT_YET = {
    "credit: a new request takes the place of an older one": "an honest node asks once for each link; `hostile/*`",
    "exclusive: a name is acquired when no actor waits for it any more":
        "etcd has to answer exactly at the deadline",
    "exclusive: an actor gives up when it holds the name already": "etcd has to answer exactly at the deadline",
    "exclusive: etcd has forgotten a lease": OPERATOR,
    "exclusive: the key of a held name is deleted": OPERATOR,
    "exclusive: the watch has ended, and the list is requested again": "the model of etcd never ends a watch alone; "
                                                                       "`integration/etcd`",
    "gossip: a member was never reached": "about one seed of cluster in 1,000",
    "gossip: a table takes several frames": "it takes more members than a scenario has; "
                                            "`unit/transport/cluster/swim_net`",
    "groups: a member is reported again before its old entry is removed": "it takes more than a thousand members",
    "groups: a notification comes when the watch has ended": ONE_WORKER,
    "groups: there is no memory for the notification of an end": POOLS,
    "groups: the notifications of two ends wait for memory": POOLS,
    "handshake: a connection replaces one that waits to resume the link": "about one seed of cluster in 3,000",
    "handshake: HELLO does not come in time": "the simulated carrier itself ends such a connection",
    "link: a send fails when the link has another connection already": CARRIER,
    "link: an actor sends before its worker has opened a writer": ONE_WORKER,
    "link: it ends while its next connection waits": "the link has to end in the moment between two connections",
    "link: it is resumed while the carrier still has a message of it": CARRIER,
    "mailbox: it is full because the bytes of the node are used up": "it takes hundreds of MiB; "
                                                                      "`unit/actors/mailbox/mailbox_bounds`",
    "remote spawn: there is no memory for the answer": POOLS,
    "tables: a peer sends a new snapshot before its old entries are removed":
        "this has to happen at a peer with a thousand names, while there is no memory",
    "topics: patterns come for a link that has ended": ONE_WORKER,
}


def marks():
    """Returns every state, with the file that has its mark; raises SystemExit if two marks have the same name."""
    found = {}
    files = subprocess.run(["git", "ls-files", "runtime/*.c", "actors/*.c", "transport/*.c"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    for path in files:
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            for name in MARK.findall(f.read()):
                if name in found:
                    sys.exit(f"two marks have the name '{name}': {found[name]} and {path}")
                found[name] = path
    return dict(sorted(found.items()))


def documented():
    with open(DOCS, encoding="utf-8") as f:
        return re.findall(r"^\| `([^`|]+: [^`|]+)` \| [^|]*\| [^|]*\|$", f.read(), re.M)


def check():
    states = set(marks())
    faults = [f"NOT_YET has '{name}', which no mark has" for name in sorted(set(NOT_YET) - states)]
    faults += [f"docs/testing.md has '{name}', which no mark has" for name in sorted(set(documented()) - states)]
    missing = sorted(states - set(documented()))
    if missing:
        faults.append(f"docs/testing.md has no line for {len(missing)} states, such as '{missing[0]}': run ./dev states, "
                      "then tools/states.py --table build-states/states.json")
    sys.exit("\n".join(faults) or 0)


def targets():
    modules = sorted({s.name for s in SCENARIOS} - set(PROGRAMS))
    return ["cli/weft", f"tests/{GUEST}", *(f"tests/{p}" for p in PROGRAMS.values()), *(f"tests/sim_{m}.so" for m in modules)]


def take(path):
    """Reads the file that one scenario has written: {state: the number of seeds that reached it}."""
    counts = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                counts[line.rstrip("\n")] = counts.get(line.rstrip("\n"), 0) + 1
        os.remove(path)
    return counts


def simulate(build, seeds, first):
    """Returns {state: {scenario: seeds}}; raises SystemExit if a scenario fails."""
    reached = {}
    all_parts = sum(s.part for s in SCENARIOS)
    runs = [(s, max(1, seeds * s.part // all_parts)) for s in SCENARIOS]
    runs += [(s, max(1, seeds * s.part // 100)) for s in BESIDE]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WEFT_STATES"] = path = os.path.join(folder, "states")
        for scenario, count in runs:
            if not scenario.is_built(build):
                continue
            # Other seeds than those that the same scenario has run already.
            at = first + (seeds if scenario in BESIDE else 0)
            if not passes(scenario, build, count, at, time.monotonic()):
                sys.exit(f"{scenario.name} has failed")
            for name, times in take(path).items():
                of = reached.setdefault(name, {})
                of[scenario.name] = of.get(scenario.name, 0) + times
    return reached


def table(seeds, reached):
    lines = ["| state | seeds | scenarios |", "|---|---|---|"]
    for name in marks():
        of = reached.get(name, {})
        lines.append(f"| `{name}` | {sum(of.values()) or 'none'} | "
                     f"{', '.join(sorted(of)) or NOT_YET.get(name, 'never reached')} |")
    return [f"A run with {seeds} seeds has reached:", "", *lines]


def write_table(path):
    with open(path, encoding="utf-8") as f:
        run = json.load(f)
    with open(DOCS, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"(<!-- states: begin -->\n).*?(<!-- states: end -->)",
                  lambda m: m[1] + "\n".join(["", *table(run["seeds"], run["reached"]), "", m[2]]), text, flags=re.S)
    with open(DOCS, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    if sys.argv[1:] == ["--check"]:
        check()
    if sys.argv[1] == "--table":
        write_table(sys.argv[2])
        return
    build, words = sys.argv[1], sys.argv[2:]
    if words == ["--targets"]:
        print("\n".join(targets()))
        return
    seeds = int(words[0]) if words else 2000
    first = int(words[1]) if len(words) > 1 else 1
    began = time.monotonic()
    reached = simulate(build, seeds, first)
    with open(os.path.join(build, "states.json"), "w", encoding="utf-8") as f:
        json.dump({"seeds": seeds, "first": first, "reached": reached}, f, indent=1, sort_keys=True)
    print(f"\r{'state':84} {'seeds':>6}  scenarios")
    missing, not_any_more = [], []
    for name in marks():
        of = reached.get(name, {})
        if not of and name not in NOT_YET:
            missing.append(name)
        if of and name in NOT_YET:
            not_any_more.append(name)
        print(f"{name:84} {sum(of.values()):6}  {', '.join(sorted(of)) or NOT_YET.get(name, 'NEVER REACHED')}")
    print(f"{len(marks())} states, {len(missing)} never reached in {seeds} seeds from {first}, "
          f"{len(NOT_YET)} not expected, {time.monotonic() - began:.0f} s")
    for name in not_any_more:
        print(f"reached, so it can leave NOT_YET: {name}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
