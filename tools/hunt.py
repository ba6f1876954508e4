#!/usr/bin/env python3
"""The simulation of weft's own protocols, guided by the states that are reached: ./dev hunt [MINUTES [SEED]].

    hunt.py BUILD [MINUTES [SEED]]   BUILD has the marks of states (./dev states); default: an hour, from seed 1
    hunt.py BUILD --compare [MINUTES]   combinations of states with and without guidance, MINUTES each

Each scenario of tools/sim.py gets a part of the time. Scenarios that are modules are hunted by weft sim --hunt; the
scenarios that are programs run seeds one after the other. Limits are drawn in all of them. Ends with 1 if one has
failed."""
import json
import re
import subprocess
import sys
import time

from sim import PROGRAMS, SCENARIOS, limits_of, module, run

EACH = 20  # seeds of a program at a time


def hunted():
    """Returns the settings of the scenarios that are modules, which are hunted one after the other."""
    return [s for s in SCENARIOS if s.name not in PROGRAMS]


def command(scenario, build, minutes, first, *options):
    return [*module(build, scenario.name), "--hunt", str(minutes), "--first", str(first),
            *limits_of(scenario.name), *options, *scenario.options]


def hunt_module(scenario, build, minutes, first):
    good, said = run(command(scenario, build, minutes, first))
    lines = [line for line in said.splitlines() if not line.startswith("reached in ")]
    print("\n".join(lines if not good else lines[-2:]), flush=True)
    return good


def hunt_program(scenario, build, minutes, first):
    until, at = time.monotonic() + 60 * minutes, first
    while time.monotonic() < until:
        good, said = run(scenario.command(build, EACH, at, True))
        if not good:
            print(said, end="", flush=True)
            return False
        at += EACH
    print(f"{at - first} seeds from {first}: nothing found", flush=True)
    return True


def plain(scenario, build, minutes, first):
    """Returns the combinations that seeds alone reach in the same time: the number of seeds that fit is estimated
    twice."""
    seeds, reached, spent = 20, None, 0.0
    while spent < 0.8 * 60 * minutes and seeds < 10**6:
        began = time.monotonic()
        said = subprocess.run([*module(build, scenario.name), "--seeds", str(seeds), "--first", str(first),
                               *limits_of(scenario.name), "--json", *scenario.options], capture_output=True, text=True, check=False).stdout
        spent = time.monotonic() - began
        reached = json.loads(said.splitlines()[-1])
        seeds = max(seeds + 1, int(seeds * min(10, 60 * minutes / spent)))
    return reached


def compare(build, minutes):
    print(f"{'scenario':44} {'guided':>22} {'seeds alone':>22}")
    done = set()
    for scenario in hunted():
        if scenario.name in done:
            continue
        done.add(scenario.name)
        said = subprocess.run(command(scenario, build, minutes, 1, "--json"), capture_output=True, text=True,
                              check=False).stdout
        shown = []
        for told in (json.loads(said.splitlines()[-1]), plain(scenario, build, minutes, 1)):
            what = "failed" if "combinations" not in told else \
                f"{told['combinations']} in {told.get('runs', told['seeds'])} runs"
            shown.append(what)
        print(f"{scenario.name:44} {shown[0]:>22} {shown[1]:>22}", flush=True)


def main():
    build, words = sys.argv[1], sys.argv[2:]
    if words[:1] == ["--compare"]:
        compare(build, int(words[1]) if len(words) > 1 else 1)
        return
    if not all(re.fullmatch("[0-9]+", word) for word in words) or len(words) > 2:
        sys.exit("usage: ./dev hunt [MINUTES [SEED]]")
    minutes = int(words[0]) if words else 60
    first = int(words[1]) if len(words) > 1 else 1
    scenarios = [s for s in SCENARIOS if s.is_built(build)]
    each = max(1, minutes // len(scenarios))
    failed = 0
    for scenario in scenarios:
        print(f"{scenario.name} {' '.join(scenario.options)}: {each} min", flush=True)
        how = hunt_program if scenario.name in PROGRAMS else hunt_module
        failed += not how(scenario, build, each, first)
    print(f"{len(scenarios)} hunts, {failed} found something")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
