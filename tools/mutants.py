#!/usr/bin/env python3
"""Known bugs, put back one at a time: whether the simulation finds each of them, and within how many seeds; those
that need a peer, or a lack of memory, as no seed brings it, a unit test.

    ./dev mutants [NAME...]

WF_MUTANT in the sources says what each of them is (runtime/platform/mutant.h); here it says which scenario has to
find it and within how many seeds. A mutant that is not found, or is in one of the two places only, is a failure.
See docs/testing.md."""
import os
import re
import subprocess
import sys
import time

from sim import NO_CLOCK, PROGRAMS, command

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("runtime", "actors", "transport")
TIME = 600  # s for one mutant

# name: (scenario, within how many seeds, more options); tests/stress/cluster.c, or tests/sim. Or (test,).
MUTANTS = {
    "link_forgets_flight": ("links", 100),
    "link_takes_sent_for_acked": ("cluster", 100),
    "link_takes_twice": ("cluster", 100),
    "link_renumbers": ("links", 200),
    "link_forgets_room": ("links", 100),
    "link_believes_start": ("links", 100),
    "link_lets_overtake": ("cluster", 100),
    "credit_forgets_grant": ("links", 20),
    "swim_refutes_nothing": ("cluster", 400),
    "swim_keeps_number": ("cluster", 400),
    "swim_suspects_for_ever": ("cluster", 100),
    "swim_probes_the_old_way": ("heal", 400),
    "gossip_believes_all": ("heal", 20),
    "name_never_yields": ("cluster", 100),
    "name_loser_not_told": ("cluster", 100),
    "tables_no_snapshot": ("cluster", 100),
    "link_begins_without_patterns": ("topics", 2000, "--nodes", "4", "--faults", "crash,memory"),
    "retained_no_snapshot": ("topics", 100),
    "retained_told_again": ("topics", 400),
    "group_keeps_the_dead": ("groups", 100),
    "group_tells_no_end": ("groups", 400),
    "group_tells_too_soon": ("groups", 2000, "--nodes", "2", "--faults", "memory"),
    "supervisor_counts_nothing": ("supervisors", 100),
    "supervisor_any_order": ("supervisors", 100),
    "supervisor_forgets_child": ("supervisors", 100),
    "supervisor_starts_too_soon": ("supervisors", 100),
    "supervisor_counts_starved": ("supervisors", 100, "--faults", "all,memory"),
    "far_child_not_linked": ("supervisors", 100),
    "lease_never_over": ("exclusive", 100),
    "lease_by_wall_clock": ("exclusive", 400),
    "token_of_lease": ("exclusive", 100),
    "exclusive_forgets_lost": ("exclusive", 2000),
    "exclusive_misses_freed": ("exclusive", 100),
    "name_not_given_back": ("exclusive", 100),
    "mailbox_tells_no_room": ("links", 100),
    "mailbox_drops_what_has_credit": ("links", 100),
    "timers_lose_order": ("groups", 100),
    "link_keeps_lost_bodies": ("links", 100, "--nodes", "2", "--heap", "128"),
    "subscription_stays_untold": ("link_oom",),
    "link_says_one_frame": ("linked",),
    "tables_never_told_again": ("link_oom",),
    "leaving_waits_in_vain": ("handshake",),
    "retained_twice": ("linked_retained",),
}
# tests/unit/transport, by room, for what no seed meets
UNITS = {"handshake": "cluster", "link_oom": "link", "linked": "link", "linked_retained": "link"}

OPTIONS = {"links": ["--nodes", "2"], "topics": ["--faults", NO_CLOCK, "--", "rest"]}


def unit_of(name):
    return f"transport_{UNITS[name]}_{name}_test"


def in_sources():
    found = {}
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if not name.endswith(".c"):
                    continue
                with open(os.path.join(path, name), encoding="utf-8") as f:
                    for mutant in re.findall(r"WF_MUTANT\((\w+)\)", f.read()):
                        found[mutant] = os.path.relpath(os.path.join(path, name), ROOT)
    return found


def try_unit(build, mutant):
    """Whether the test has failed, and what it said."""
    done = subprocess.run([os.path.join(build, "tests", unit_of(MUTANTS[mutant][0]))], timeout=TIME,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, WEFT_MUTANT=mutant), check=False)
    why = re.search(r"_test\.c:\d+:[FE]:[^:]*:([^\n]*)", done.stdout)
    return 1 if done.returncode != 0 else None, why.group(1) if why else ""


def try_one(build, mutant):
    """How many seeds it took, or None; and what was said."""
    if MUTANTS[mutant][0] in UNITS:
        return try_unit(build, mutant)
    scenario, bound, *more = MUTANTS[mutant]
    words = command(build, scenario, bound, 1, *(more or OPTIONS.get(scenario, [])))
    said = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=TIME, env=dict(os.environ, WEFT_MUTANT=mutant), check=False).stdout
    found = re.search(r"^(?:FAILED  |failed: )seed (\d+)", said, re.M)
    why = re.search(r"seed \d+, at [\d.]+ s: (.*?)(?: \(line|\n)|(signal \d+)", said)
    return int(found.group(1)) if found else None, next((w for w in why.groups() if w), "") if why else ""


def main():
    build, words = sys.argv[1], sys.argv[2:]
    if words == ["--targets"]:  # what has to be built
        modules = sorted({m[0] for m in MUTANTS.values()} - set(PROGRAMS) - set(UNITS))
        programs = [f"tests/{p}" for p in PROGRAMS.values()] + [f"tests/{unit_of(u)}" for u in UNITS]
        print("\n".join(["cli/weft", *programs, *(f"tests/sim_{m}.so" for m in modules)]))
        return
    chosen = words or list(MUTANTS)
    here = in_sources()
    good = True
    for name in sorted(set(here) ^ set(MUTANTS)) + [w for w in chosen if w not in MUTANTS]:
        print(f"{name}: {'not in tools/mutants.py' if name in here else 'not in the sources'}")
        good = False
    print(f"{'mutant':30} {'scenario':12} {'seeds':>6} {'s':>6}  what was found")
    for mutant in [c for c in chosen if c in MUTANTS]:
        scenario, bound = (*MUTANTS[mutant], 1)[:2]
        began = time.monotonic()
        seeds, why = try_one(build, mutant)
        span = time.monotonic() - began
        good &= seeds is not None
        print(f"{mutant:30} {scenario:12} {seeds or f'>{bound}':>6} {span:6.1f}  {why if seeds else 'NOT FOUND'}",
              flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
