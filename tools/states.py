#!/usr/bin/env python3
"""In how many simulated seeds each rare state of the protocols is reached: ./dev states [SEEDS [FIRST]].

    states.py BUILD --targets   what has to be built
    states.py --check           whether the marks, NOT_YET and the table in docs/testing.md fit together
    states.py --table FILE      writes what a run has stored there (build-states/states.json) into docs/testing.md

A state is a mark in the source, WF_SOMETIMES("name", condition), see runtime/platform/base.h. The scenarios are
those of tools/sim.py. A state that no seed reaches is a failure, unless NOT_YET says why nothing reaches it."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from sim import PROGRAMS, SCENARIOS, passes

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCS = os.path.join(ROOT, "docs", "testing.md")
MARK = re.compile(r'WF_SOMETIMES\(\s*"([^"]+)"')

# State: why no scenario reaches it.
NOT_YET = {
}


def marks():
    """Every state, with the file that has its mark; SystemExit if two marks have one name."""
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
    faults += [f"docs/testing.md has no line for '{name}': run ./dev states, then tools/states.py --table "
               "build-states/states.json" for name in sorted(states - set(documented()))]
    sys.exit("\n".join(faults) or 0)


def targets():
    modules = sorted({s.name for s in SCENARIOS} - set(PROGRAMS))
    return ["cli/weft", *(f"tests/{p}" for p in PROGRAMS.values()), *(f"tests/sim_{m}.so" for m in modules)]


def take(path):
    """State: in how many seeds it was reached, of the file that one scenario has written."""
    counts = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                counts[line.rstrip("\n")] = counts.get(line.rstrip("\n"), 0) + 1
        os.remove(path)
    return counts


def simulate(build, seeds, first):
    """State: scenario: seeds. SystemExit if a scenario fails."""
    reached, before = {}, 0
    all_parts = sum(s.part for s in SCENARIOS)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WEFT_STATES"] = path = os.path.join(folder, "states")
        for scenario in SCENARIOS:
            count = seeds * (before + scenario.part) // all_parts - seeds * before // all_parts
            before += scenario.part
            if count == 0:
                continue
            if not passes(scenario, build, count, first, time.monotonic()):
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
    return [f"Of {seeds} seeds:", "", *lines]


def write_table(path):
    with open(path, encoding="utf-8") as f:
        run = json.load(f)
    with open(DOCS, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"(<!-- states: begin -->\n).*?(\n<!-- states: end -->)",
                  lambda m: m[1] + "\n" + "\n".join(table(run["seeds"], run["reached"])) + "\n" + m[2], text,
                  flags=re.S)
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
