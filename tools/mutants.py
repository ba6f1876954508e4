#!/usr/bin/env python3
"""Puts known bugs back, one at a time, and checks that the simulation finds each of them, and within how many seeds.
A unit test has to find the bugs that need a special peer, or a lack of memory that no seed brings.

    ./dev mutants [NAME...]
    mutants.py --tree FOLDER     a copy of the source that has all of them, each behind its switch
    mutants.py BUILD --targets   the targets that have to be built
    mutants.py --check           checks that the replaced texts are in the source

tests/mutants/sites.py says what each of them is; this file says which scenario has to find it, and within how many
seeds. A mutant that is not found, or is in one of the two places only, is a failure. See docs/testing.md."""
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from sim import CORES, NO_CLOCK, PROGRAMS, command

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HERE = os.path.join(ROOT, "tests", "mutants")
sys.path.insert(0, HERE)
from sites import SITES  # noqa: E402  (beside the header it needs)

NOT_SOURCE = re.compile(r"build|\.")  # folders and files at the top
TIME = 600  # s for one mutant

# name: (scenario, within how many seeds, more options); tests/stress/cluster.c, or tests/sim. Or (test,), or (test, case)
# where the rest of the test takes long.
MUTANTS = {
    "link_forgets_flight": ("links", 100),
    "link_takes_sent_for_acked": ("cluster", 100),
    "link_takes_twice": ("cluster", 100),
    "link_renumbers": ("links", 200),
    "link_forgets_space": ("links", 100),
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
    "link_begins_without_patterns": ("topics", 8000, "--nodes", "4", "--faults", "crash,memory",
                                     "--", "scarce"),
    "subscription_said_late": ("topics", 100, "--faults", "all"),
    "message_passes_subscription": ("linked",),
    "retained_no_snapshot": ("topics", 100),
    "retained_told_again": ("topics", 400),
    "group_keeps_the_dead": ("groups", 100),
    "group_tells_no_end": ("groups", 400),
    "group_tells_too_soon": ("groups", 2000, "--nodes", "2", "--faults", "memory"),
    "group_leaves_untold": ("group_nodes", 2000),
    "group_sends_for_each_member": ("group_nodes", 2000),
    "gather_needs_one_less": ("group_nodes", 2000),
    "gather_waits_for_the_dead": ("group_nodes", 2000),
    "supervisor_counts_nothing": ("supervisors", 100),
    "supervisor_any_order": ("supervisors", 100),
    "supervisor_forgets_child": ("supervisors", 100),
    "supervisor_starts_too_soon": ("supervisors", 100),
    "supervisor_counts_starved": ("supervisors", 400, "--faults", "all,memory"),
    "remote_child_not_linked": ("supervisors", 100),
    "lease_never_over": ("exclusive", 100),
    "lease_by_wall_clock": ("exclusive", 400),
    "token_of_lease": ("exclusive", 100),
    "exclusive_forgets_lost": ("exclusive", 400),
    "exclusive_misses_freed": ("exclusive", 100),
    "name_not_given_back": ("exclusive", 100),
    "exclusive_start_ends_old_lease": ("exclusive", 400),
    "exclusive_lost_is_given_back": ("exclusive", 400),
    "store_asks_again": ("log", 2000),
    "state_confirms_what_has_no_space": ("register", 2000),
    "queue_forgets_keys_when_opened": ("queue", 2000),
    "queue_extends_nothing": ("queue", 2000),
    "queue_gives_too_soon": ("queue", 2000),
    "queue_ends_lease_of_lost_node": ("queue", 2000),
    "cursor_acknowledged_before_stored": ("cursor", 2000),
    "cursor_not_found_is_none": ("cursor", 2000),
    "share_stays_behind": ("shared", 2000),
    "share_is_not_hungry_again": ("shared", 2000),
    "share_takes_unseen_for_done": ("shared", 2000),
    "store_serves_when_lost": ("log", 2000),
    "mailbox_keeps_expired_requests": ("overload", 20, "--settle", "150", "--", "unbounded"),
    "mailbox_tells_no_space": ("links", 100),
    "mailbox_drops_what_has_credit": ("links", 100),
    "timers_lose_order": ("timer_programs",),
    "link_keeps_lost_bodies": ("links", 100, "--nodes", "2", "--heap", "128"),
    "subscription_stays_untold": ("link_oom",),
    "link_says_one_frame": ("linked",),
    "tables_never_told_again": ("link_oom",),
    "leaving_waits_in_vain": ("handshake",),
    "leaving_resumes_nothing": ("leaving", 400),
    "left_ends_broken_link": ("leaving", 400),
    "suspect_is_greeted_each_time": ("linked_gossip",),
    "answers_lie_apart": ("linked_gossip",),
    "retained_twice": ("linked_retained",),
    "store_commits_without_sync": ("sqlite_programs",),
    "store_believes_commit": ("sqlite_programs",),
    "store_forgets_failed_sync": ("sqlite_faults",),
    "checkpoint_forgets_failed_sync": ("sqlite_checkpoint",),
    "failed_checkpoint_keeps_its_note": ("sqlite_checkpoint",),
    "opening_believes_the_note": ("sqlite_checkpoint",),
    "sync_leaves_what_is_held": ("sqlite_programs",),
    "store_sums_nothing": ("sqlite_programs",),
    "store_ends_at_a_hole": ("sqlite_faults",),
    "cursor_goes_back": ("sqlite_programs",),
    "cursor_believes_commit": ("sqlite_programs",),
    "queue_takes_any_lease": ("sqlite_programs",),
    "queue_job_never_dies": ("sqlite_programs",),
    "queue_forgets_key": ("sqlite_programs",),
    "queue_keeps_bodies": ("sqlite_faults",),
    "queue_believes_commit": ("sqlite_programs",),
    "reminder_keeps_what_it_replaces": ("sqlite_programs",),
    "reminder_piles_up": ("sqlite_programs",),
    "counts_forget_a_time": ("sqlite_programs",),
    "watch_knows_what_it_forgot": ("awaiting",),
    "counts_keep_what_was_not_stored": ("sqlite_programs",),
    "reminder_stays_when_done": ("sqlite_programs",),
    "state_takes_any_owner": ("sqlite_programs",),
    "state_believes_commit": ("sqlite_programs",),
    "standby_opens_what_lacks_commits": ("postgres", "commits"),
    "commit_believes_a_cancelled_wait": ("postgres", "commits"),
    "counts_believe_commit": ("postgres", "commits"),
    "counts_believe_any_owner": ("postgres", "commits"),
    "state_begins_in_place_of_damaged": ("sqlite_states",),
    "event_keeps_what_it_did_not_take": ("event_programs",),
    "event_apart_keeps_what_it_did_not_take": ("event_programs",),
    "event_forgets_by_reset": ("event_programs",),
    "event_lets_all_go": ("event_programs",),
    "semaphore_lets_overtake": ("event_programs",),
    "timer_drifts": ("timer_programs",),
    "timer_keeps_firings": ("timer_programs",),
    "later_is_sent_all_the_same": ("timer_programs",),
    "later_piles_up": ("timer_programs",),
    "topic_lists_live_on": ("topic_programs",),
    "topic_rest_may_be_nothing": ("topic_programs",),
    "group_unwatch_leaves_news": ("group_programs",),
    "name_wakes_nobody": ("group_programs",),
    "defence_is_doubted": ("contest_programs",),
    "link_marks_too_soon": ("linked_names",),
    "unlink_leaves_an_exit": ("tie_programs",),
    "demonitor_leaves_down": ("tie_programs",),
    "mailbox_lets_overtake": ("mail_programs",),
    "mailbox_drops_what_is_under_way": ("mail_apart_programs",),
}
# tests/unit, by room, for what no seed of the simulation meets
UNITS = {"handshake": "transport/cluster", "link_oom": "transport/link", "linked": "transport/link",
         "linked_gossip": "transport/link", "linked_retained": "transport/link", "sqlite_faults": "transport/store",
         "sqlite_checkpoint": "transport/store",
         "sqlite_programs": "transport/store", "sqlite_states": "transport/store", "awaiting": "transport/store/client", "postgres": "transport/store",
         "event_programs": "actors/run", "mail_programs": "actors/mailbox",
         "mail_apart_programs": "actors/mailbox", "timer_programs": "actors/call", "topic_programs": "actors/topics",
         "group_programs": "actors/names", "contest_programs": "actors/names", "linked_names": "transport/link",
         "tie_programs": "actors/lifecycle"}

# The seed to begin with, where a run of the scenario takes half a second and dozens of them find nothing. It is a little
# before the one that was found last.
FIRST = {"link_renumbers": 66, "link_believes_start": 18}

OPTIONS = {"links": ["--nodes", "2"], "topics": ["--faults", NO_CLOCK, "--", "rest"]}


def unit_of(name):
    return f"{UNITS[name].replace('/', '_')}_{name}_test"


def in_sites():
    """Returns all names; raises SystemExit if a text is not in its file exactly once."""
    for path, text, _ in SITES:
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            times = f.read().count(text)
        if times != 1:
            sys.exit(f"tests/mutants/sites.py: this stands {times} times in {path}, and has to stand there once:\n{text}")
    return {name for _, _, bug in SITES for name in re.findall(r'wf_mutant\("(\w+)"\)', bug)}


def with_bugs(path, data):
    """Returns the contents of the file in the tree."""
    bugs = [(text, bug) for where, text, bug in SITES if where == path]
    if not bugs:
        return data
    code = data.decode()
    for text, bug in bugs:
        code = code.replace(text, bug)
    return ('#include "mutant.h"\n' + code).encode()


def put(path, data):
    """Writes the file only if it differs, because otherwise everything would be compiled again."""
    if os.path.exists(path):
        with open(path, "rb") as f:
            if f.read() == data:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def make_tree(tree):
    in_sites()
    wanted = {os.path.join(*room, "mutant.h"): os.path.join(HERE, "mutant.h")
              for room in (("runtime", "platform"), ("transport", "store", "engine"))}  # the store is given no other room
    for top in os.listdir(ROOT):
        start = os.path.join(ROOT, top)
        if NOT_SOURCE.match(top):
            continue
        if os.path.isfile(start):
            wanted[top] = start
        for folder, below, files in os.walk(start):
            below[:] = [b for b in below if b != "__pycache__"]
            wanted.update({os.path.relpath(p, ROOT): p for p in (os.path.join(folder, f) for f in files)})
    for path, source in wanted.items():
        with open(source, "rb") as f:
            put(os.path.join(tree, path), with_bugs(path, f.read()))
        shutil.copymode(source, os.path.join(tree, path))
    for folder, _, files in os.walk(tree):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.relpath(path, tree) not in wanted:
                os.remove(path)


def try_unit(build, mutant):
    """Returns the seed with which the test has failed, or 1 if it has none; and its output."""
    test, *case = MUTANTS[mutant]
    env = dict(os.environ, WEFT_MUTANT=mutant, PROGRAMS_LONG="1", STORE_SEEDS="2000")
    if case:  # of a test that has to end in order, as it has a server
        env["CK_RUN_CASE"] = case[0]
    else:
        env["WEFT_FIRST_FAILURE"] = "1"
    done = subprocess.run([os.path.join(build, "tests", unit_of(test))], timeout=TIME, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False)
    seed = re.search(r"^[A-Z_]+ seed (\d+): (.*)|^[A-Z_]+_SEED=(\d+) ", done.stdout, re.M)
    why = re.search(r"_test\.c:\d+:[FE]:[^:]*:([^\n]*)", done.stdout)
    if done.returncode in (0, 77):  # 77: it was skipped
        return None, ""
    return int(seed.group(1) or seed.group(3)) if seed else 1, seed.group(2) or "it was aborted" if seed else why.group(1) if why else ""


def try_one(build, mutant):
    """Returns the number of seeds that it took, or None; and the output."""
    if MUTANTS[mutant][0] in UNITS:
        return try_unit(build, mutant)
    scenario, bound, *more = MUTANTS[mutant]
    words = command(build, scenario, bound, FIRST.get(mutant, 1), *(more or OPTIONS.get(scenario, [])))
    said = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=TIME, env=dict(os.environ, WEFT_MUTANT=mutant), check=False).stdout
    found = re.search(r"^(?:FAILED  |failed: )seed (\d+)", said, re.M)
    why = re.search(r"seed \d+, at [\d.]+ s: (.*?)(?: \(line|\n)|(signal \d+)", said)
    return int(found.group(1)) if found else None, next((w for w in why.groups() if w), "") if why else ""


def try_timed(build, mutant):
    """Returns the seconds that it took, and what try_one returns. A test that does not end has not found the mutant."""
    began = time.monotonic()
    try:
        found = try_one(build, mutant)
    except subprocess.TimeoutExpired:
        found = None, ""
    return time.monotonic() - began, *found


def try_all(build, chosen):
    """Returns whether each was found. Many of them compute on one processor, so as many run at a time as there are
    processors. The last line names those that were not found, because some logs keep only the end."""
    faults, missed = [], []
    here = in_sites()
    for name in sorted(here ^ set(MUTANTS)) + [w for w in chosen if w not in MUTANTS]:
        faults.append(f"{name}: {'not in tools/mutants.py' if name in here else 'not in tests/mutants/sites.py'}")
    print(f"{'mutant':30} {'scenario':12} {'seeds':>6} {'s':>6}  what was found")
    known = [c for c in chosen if c in MUTANTS]
    with ThreadPoolExecutor(CORES) as pool:
        for mutant, (span, seeds, why) in zip(known, pool.map(lambda m: try_timed(build, m), known)):
            scenario, bound = (*MUTANTS[mutant], 1)[:2]
            most = 1 if scenario in UNITS else bound
            print(f"{mutant:30} {scenario:12} {seeds or f'>{most}':>6} {span:6.1f}  {why if seeds else 'NOT FOUND'}",
                  flush=True)
            if not seeds:
                missed.append(mutant)
    end = f"not found: {' '.join(missed)}" if missed else "all found"
    print(*faults, f"{len(known)} mutants, {end}", sep="\n")
    return not faults and not missed


def main():
    build, words = sys.argv[1], sys.argv[2:]
    if build == "--check":
        sys.exit("\n".join(sorted(in_sites() ^ set(MUTANTS))) or 0)
    if build == "--tree":
        make_tree(words[0])
        return
    if words == ["--targets"]:  # what has to be built
        modules = sorted({m[0] for m in MUTANTS.values()} - set(PROGRAMS) - set(UNITS))
        programs = [f"tests/{p}" for p in PROGRAMS.values()] + [f"tests/{unit_of(u)}" for u in UNITS]
        print("\n".join(["cli/weft", *programs, *(f"tests/sim_{m}.so" for m in modules)]))
        return
    sys.exit(0 if try_all(build, words or list(MUTANTS)) else 1)


if __name__ == "__main__":
    main()
