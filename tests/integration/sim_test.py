#!/usr/bin/env python3
"""weft sim: the report of a bug in a user's actors, the repetition of a run, and runs that crash or hang."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import PATIENCE, built

WEFT = built("cli", "weft")
SANITIZED = os.environ.get("WEFT_SANITIZED", "") == "1"
LEDGER = built("examples", "ledger.so")
BROKEN = built("tests", "test_broken_sim.so")


class Sim(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def sim(self, *words, code=0):
        done = subprocess.run([WEFT, "sim", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=4 * PATIENCE, env=dict(os.environ, XDG_CACHE_HOME=self.folder.name))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.logged = done.stderr
        return done.stdout if code < 2 else done.stderr

    def same_again(self, said):
        """Runs exactly the command that was printed, and returns its output, which begins with the same failure."""
        command = re.search(r"^Again, with what is logged: (.*?)(\n[0-9]+ turns, |\n\Z)", said, re.M | re.S).group(1)
        return self.run_again(command, said.splitlines()[0])

    def run_again(self, command, first_line):
        done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=4 * PATIENCE, check=False, env=dict(
                                  os.environ, XDG_CACHE_HOME=self.folder.name,
                                  PATH=os.path.dirname(WEFT) + os.pathsep + os.environ["PATH"]))
        self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (1, first_line), command + done.stderr)
        self.logged = done.stderr
        return done.stdout

    def test_a_bug_is_found_made_short_and_happens_again(self):
        said = self.sim(LEDGER, "--seeds", "100", "--minimise", code=1)
        self.assertIn("not always: no deposit is made twice", said)
        self.assertRegex(said, r"n1 +[0-9.]+ s  "
                               r"n1/ledger\(0\.2\.1\d+\) receives deposit from n[23]/main\(0\.2\.[23]\d+\)\n")
        faults = re.findall(r"^ +[0-9]+\. at ", said, re.M)
        self.assertLessEqual(len(faults), 2, said)  # Without minimising there are about six.
        again = re.search(r"--replay ([0-9:,]+)", said).group(1)
        first, second = (self.sim(LEDGER, "--replay", again, code=1) for _ in range(2))
        self.assertEqual(first, second)
        self.assertIn("trace ", first)
        self.assertIn("no deposit is made twice", first)
        told = json.loads(self.sim(LEDGER, "--replay", again, "--json", code=1))
        self.assertEqual((told["failed"], len(told["faults"])), (True, len(faults)))
        self.assertIn("no deposit is made twice", told["what"])
        self.assertIn(f"{told['turns']} turns, trace {told['trace']}", first)
        # Each of these faults is needed.
        seed, numbers = again.split(":")
        for number in numbers.split(","):
            rest = ",".join(other for other in numbers.split(",") if other != number)
            if rest:
                self.sim(LEDGER, "--replay", f"{seed}:{rest}")
        # Without the faults the run is another one, and finds nothing.
        other = self.sim(LEDGER, "--replay", seed, "--faults", "none")
        self.assertNotEqual(first.splitlines()[-1], other.splitlines()[-1])

    def test_a_replay_repeats_each_kind_of_fault(self):
        calm = self.sim(LEDGER, "--replay", "3", "--faults", "none", "--", "--once").splitlines()[-1]
        for kind in ("reset", "cut", "oneway", "split", "freeze", "crash", "power", "late", "clock", "slow", "memory",
                     "all,memory"):
            first = self.sim(LEDGER, "--replay", "3", "--faults", kind, "--", "--once")
            logged = self.logged
            self.assertIn("time=2001-01-01T00:0", logged)  # This is the simulated clock.
            self.assertEqual(first, self.sim(LEDGER, "--replay", "3", "--faults", kind, "--", "--once"))
            self.assertEqual(logged, self.logged)
            self.assertIn("no fault found", first)
            self.assertNotEqual(first.splitlines()[-1], calm, kind)

    def test_no_fault_is_found_in_the_protocols_of_weft(self):
        many, few = ("3", "1") if SANITIZED else ("10", "4")  # ./dev sim runs the same seeds, and hundreds more.
        scenarios = [("children", many), ("groups", many), ("names", many), ("supervisors", many), ("ties", few), ("topics", many)]
        if not SANITIZED:  # These are megabytes of messages, which take minutes with a sanitizer.
            scenarios.append(("links", "2"))
        for name, seeds in scenarios:
            self.assertIn("nothing found", self.sim(built("tests", f"sim_{name}.so"), "--seeds", seeds))

    def test_no_fault_is_found_in_a_correct_program(self):
        self.assertIn("nothing found", self.sim(LEDGER, "--seeds", "40", "--jobs", "3", "--", "--once"))
        told = json.loads(self.sim(LEDGER, "--seeds", "2", "--json", "--", "--once"))
        self.assertEqual((told["seeds"], told["first"], told["failed"]), (2, 1, False))
        told = json.loads(self.sim(LEDGER, "--replay", "1", "--json", "--", "--once"))
        self.assertEqual((told["seed"], told["failed"]), (1, False))

    def test_runs_that_end_badly_are_reported(self):
        for how, said in (("never", "not within 5 s after the last fault: it happens"),
                          ("says", "node n[12] says 7"),
                          ("crash", "the process ended (by signal|with code)"),  # Sanitizers take the signal.
                          ("exit", "the process ended with code 3")):
            self.assertRegex(self.sim(BROKEN, "--seeds", "2", "--nodes", "2", "--faults", "none", "--settle", "5",
                                      "--", how, code=1), said)

    def test_the_printed_command_fails_in_the_same_way(self):
        strange = os.path.join(self.folder.name, "it's a $HOME of modules.so")
        shutil.copy(BROKEN, strange)
        for module, words in ((BROKEN, ("--nodes", "5", "--", "says")),
                              (BROKEN, ("--time", "100.25", "--", "after", "70")),
                              (BROKEN, ("--settle", "150", "--faults", "none", "--", "after", "170")),
                              (BROKEN, ("--settle", "7.000000001", "--faults", "none", "--", "never")),
                              (BROKEN, ("--faults", "cut,clock", "--nodes", "2", "--", "says")),
                              (BROKEN, ("--", "words", "", "two words", "it's", "$HOME", "--once", "a\nb")),
                              (strange, ("--nodes", "1", "--", "says")),
                              (LEDGER, ("--faults", "cut")),
                              (LEDGER, ("--nodes", "4", "--time", "20", "--minimise"))):
            with self.subTest(words=words):
                words = ("--seeds", "60", *words)
                said = self.sim(module, *words, code=1)
                again = self.same_again(said)
                # Each run is the same, and JSON has the same command and the same trace.
                self.assertEqual(again.splitlines()[:-1], said.splitlines())
                self.assertEqual(again, self.same_again(again))
                told = json.loads(self.sim(module, "--json", *words, code=1))
                self.assertIn(f": {told['again']}\n", said)
                self.assertEqual(again.splitlines()[-1], f"{told['turns']} turns, trace {told['trace']}")
                self.assertEqual(again.splitlines()[0], f"FAILED  seed {told['seed']}, at "
                                 f"{told['at_ns'] / 1e9:.6f} s: {told['what']}".split("\n", maxsplit=1)[0])

    @unittest.skipUnless(sys.platform == "linux", "weft sim can count the allocations of a program on Linux only")
    def test_leaks_and_large_allocations_are_found_with_heap(self):
        one = ("--nodes", "1", "--faults", "none", "--seeds", "1", "--time", "1", "--settle", "1")
        # Only --heap sees a leak, and reports where the memory was allocated.
        self.sim(BROKEN, *one, "--", "leaks")
        said = self.sim(BROKEN, *one, "--heap", "1000", "--", "leaks", code=1)
        self.assertRegex(said, r"not freed in the end: 37035 bytes: 3 of 12345 bytes from test_broken_sim\.so\+0x")
        self.assertIn(" --heap 1000 -- leaks\n", said)
        self.same_again(said)
        # The first caller there is a sanitizer's malloc, which is part of weft.
        leaks = r"^not freed: 12345 bytes, from (?:weft\+0x\w+ )?test_broken_sim\.so\+0x"
        ways = re.findall(leaks, self.logged, re.M)
        self.assertEqual(len(ways), 3)
        # This peak is below the limit, and memory that is freed in the end is no leak.
        self.sim(BROKEN, *one, "--heap", "1000", "--", "grows")
        said = self.sim(BROKEN, *one, "--heap", "90", "--", "grows", code=1)
        self.assertRegex(said, r"allocated at a moment, more than 90 MiB: \d+ bytes: 1 of 104857600 bytes from test")
        self.same_again(said)
        # The memory of nodes is freed, also of those that crash and of those that find no memory.
        self.assertIn("nothing found", self.sim(LEDGER, "--seeds", "20", "--heap", "100", "--faults", "all,memory",
                                                "--", "--once"))

    def test_a_failure_without_any_fault_is_reported_as_such(self):
        said = self.sim(BROKEN, "--seeds", "1", "--minimise", "--", "says", code=1)
        self.assertIn("\nIt fails without any injected fault.\n", said)
        self.assertNotIn("Faults:", said)
        self.assertIn("--replay 1: -- says\n", said)
        self.same_again(said)
        told = json.loads(self.sim(BROKEN, "--seeds", "1", "--minimise", "--json", "--", "says", code=1))
        self.assertEqual(told["faults"], [])

    def test_faults_after_the_failure_are_marked(self):
        said = self.sim(BROKEN, "--seeds", "1", "--", "says", code=1)
        faults = re.findall(r"^ +[0-9]+\. at ([0-9.]+) s .*?(\(it failed before\))?$", said, re.M)
        told = json.loads(self.sim(BROKEN, "--seeds", "1", "--json", "--", "says", code=1))["faults"]
        self.assertEqual([(float(at) <= 1, late == "") for at, late in faults],
                         [(f["at_ns"] <= 1e9, f["happened"]) for f in told])
        self.assertIn(False, [f["happened"] for f in told])
        for f, (at, late) in zip(told, faults):
            self.assertEqual(f["happened"], float(at) <= 1, f)

    def silent(self, told):
        return set(told["what"].split()[1:])

    def plan(self, *words):
        """Returns the faults of a seed, from a run that fails before they happen."""
        return json.loads(self.sim(*words, "--json", "--", "says", code=1))["faults"]

    def test_faults_name_the_nodes_that_they_befall(self):
        nodes = ["n1", "n2", "n3", "n4"]
        for kind in ("cut", "oneway", "split", "freeze", "crash", "power"):
            seen = 0
            for seed in range(1, 800):
                words = (BROKEN, "--nodes", "4", "--time", "10", "--faults", kind, "--replay", f"{seed}:1")
                if seen == 3:
                    break
                # Shorter faults are not noticed; after longer ones a link is given up, in both directions.
                fault = self.plan(*words)[0]
                if not 2.5e9 < fault["span_ns"] < 4e9 or fault["at_ns"] < 2e9:
                    continue
                seen += 1
                told = json.loads(self.sim(*words, "--json", "--", "hears", code=1))
                self.assertEqual(told["faults"], [fault | {"happened": True}])
                a = fault["nodes"][0]
                if kind in ("cut", "oneway"):
                    b = fault["nodes"][1]
                    wanted = {f"{a}>{b}"} | ({f"{b}>{a}"} if kind == "cut" else set())
                elif kind == "split":
                    wanted = {f"{x}>{y}" for x in nodes for y in nodes
                              if (x in fault["nodes"]) != (y in fault["nodes"])}
                elif kind == "freeze":
                    wanted = {f"{x}>{y}" for x in nodes for y in nodes if x != y and a in (x, y)}
                else:  # A new node does not know when it last heard the others.
                    wanted = {f"{a}>{x}" for x in nodes if x != a}
                self.assertEqual(self.silent(told), wanted, told)
                text = self.sim(*words, "--", "says", code=1)
                names = re.search(rf"^ +1\. at [0-9.]+ s  {kind} (.*), for [0-9.]+ s \(it", text, re.M).group(1)
                first = fault["nodes"][0] if len(fault["nodes"]) == 1 else f"n1 to {fault['nodes'][-1]}"
                last = int(fault["nodes"][-1][1:])
                rest = "n4" if last == 3 else f"n{last + 1} to n4"
                self.assertEqual(names, {"split": f"{first} from {rest}", "cut": " ".join(fault["nodes"]),
                                         "oneway": "from " + " to ".join(fault["nodes"])}.get(kind, a))
            self.assertEqual(seen, 3, kind)

    def test_a_clock_goes_both_ways(self):
        steps = [json.loads(self.sim(BROKEN, "--nodes", "1", "--faults", "clock", "--replay", f"{seed}:1", "--json",
                                     "--", "after", "31", code=1))["faults"][0]["step_ns"] for seed in range(1, 12)]
        self.assertEqual({step > 0 for step in steps}, {True, False})
        self.assertTrue(all(20e9 <= abs(step) <= 20480e9 for step in steps), steps)

    def test_times_and_pids_of_the_log_are_those_of_the_report(self):
        said = self.sim(BROKEN, "--replay", "1", "--nodes", "1", "--faults", "none", "--", "says", code=1)
        logged = re.search(r"time=2001-01-01T00:00:([0-9.]+)\S* .*now it fails", self.logged).group(1)
        failed = re.search(r", at ([0-9.]+) s", said).group(1)
        self.assertEqual(logged, f"{float(failed):06.3f}")
        who = re.search(r" actor=([0-9.]+) .*now it fails", self.logged).group(1)
        self.assertIn(f"n1/main({who}) resumes", said)

    def test_the_report_names_nodes_and_actors(self):
        said = self.sim(BROKEN, "--replay", "1", "--nodes", "1", "--faults", "none", "--", "child", code=1)
        self.assertRegex(said, r"n1/main\((\d+\.\d+\.\d+)\) spawns n1/doomed\(\d+\.\d+\.\d+\)\n")
        self.assertRegex(said, r"n1/doomed\(\d+\.\d+\.\d+\) ends with reason 77\n")
        hears = self.sim(BROKEN, "--replay", "1", "--faults", "none", "--", "hears", code=1)
        self.assertRegex(hears, r"n1/ear\(\d+\.\d+\.\d+\) receives tag 1 from n[23]/ear\(\d+\.\d+\.\d+\)\n")
        self.assertNotIn("another node", said + hears)

    def test_a_condition_that_was_true_for_a_moment_has_been_true(self):
        self.sim(BROKEN, "--seeds", "1", "--nodes", "1", "--faults", "none", "--", "blinks")

    def test_a_run_that_dies_says_how_far_it_came(self):
        first, second = (json.loads(self.sim(BROKEN, "--replay", "1", "--nodes", "2", "--json", "--", "exit", code=1))
                         for _ in range(2))
        self.assertEqual(first, second)
        self.assertTrue(0 < first["at_ns"] < 1e9 and first["turns"] > 10, first)
        self.assertNotEqual(first["trace"], "0" * 16)

    def test_more_checks_than_the_limit_are_reported(self):
        words = (BROKEN, "--seeds", "1", "--nodes", "1", "--faults", "none", "--", "blinks")
        os.environ["BROKEN_CHECKS"] = "64"
        self.addCleanup(os.environ.pop, "BROKEN_CHECKS")
        self.sim(*words)
        os.environ["BROKEN_CHECKS"] = "65"
        self.assertIn("too many checks: 'it happens, too' is left out, a module may have 64", self.sim(*words, code=1))

    def reach(self, states, *words, code=0, seeds="40"):
        os.environ["BROKEN_STATES"] = states
        self.addCleanup(os.environ.pop, "BROKEN_STATES", None)
        how = words or ("--seeds", seeds)
        return self.sim(BROKEN, "--nodes", "1", "--faults", "none", "--time", "1", *how, "--", "reaches", code=code)

    def test_a_run_counts_the_seeds_that_reach_a_state(self):
        said = self.reach("2")
        self.assertIn("reached in 40 of 40 seeds: state 1\n", said)
        some = int(re.search(r"^reached in (\d+) of 40 seeds: state 2$", said, re.M).group(1))
        self.assertTrue(0 < some < 40, some)
        self.assertIn(": nothing found (", said)
        told = json.loads(self.reach("2", "--seeds", "40", "--json"))
        self.assertEqual((told["failed"], told["states"]),
                         (False, [{"name": "state 1", "seeds": 40}, {"name": "state 2", "seeds": some}]))
        # All missing states are named, and no others.
        said = self.reach("4", code=1)
        self.assertEqual(re.findall(r"^FAILED  never reached in 40 seeds from 1: (.*)$", said, re.M),
                         ["state 3", "state 4"])
        self.assertIn("reached in 40 of 40 seeds: state 1\n", said)
        self.assertIn(": no other fault found (", said)
        told = json.loads(self.reach("3", "--seeds", "2", "--json", code=1))
        self.assertEqual((told["failed"], told["states"][2]), (True, {"name": "state 3", "seeds": 0}))
        # One seed alone is not judged.
        self.assertIn("reached in 0 of 1 seed: state 3\n", self.reach("3", seeds="1"))
        self.assertIn("no fault found", self.reach("3", "--replay", "1"))

    def test_states_beyond_the_limits_are_reported(self):
        self.reach("64", code=1, seeds="2")
        self.assertIn("too many states: 'state 65' is left out, a module may have 64", self.reach("65", code=1))
        self.assertIn("state 'state 1' was not declared: call weft_sim_expect", self.reach("0", code=1))
        self.assertIn("the name of a state has 100 bytes, it may have 95: xxx", self.reach("-1", code=1))

    def test_a_hunt_finds_the_bug_and_prints_how_to_repeat_it(self):
        said = self.sim(LEDGER, "--hunt", "5", "--first", "100", code=1)
        self.assertIn("not always: no deposit is made twice", said)
        self.same_again(said)

    def test_a_replay_repeats_a_changed_plan(self):
        changed = self.sim(LEDGER, "--replay", "3+17+4", "--", "--once")
        self.assertEqual(changed, self.sim(LEDGER, "--replay", "3+17+4", "--", "--once"))
        self.assertIn("seed 3+17+4: no fault found", changed)
        other = self.sim(LEDGER, "--replay", "3", "--", "--once")
        self.assertNotEqual(changed.splitlines()[-1], other.splitlines()[-1])
        # The next run has a changed plan and a bug, and is made shorter.
        seed = re.match(r"FAILED  seed (\d+), ", self.sim(LEDGER, "--seeds", "100", code=1)).group(1)
        runs = (self.any_code(LEDGER, "--replay", f"{seed}+{n}", "--minimise") for n in range(50))
        said = next(said for said in runs if said.startswith(f"FAILED  seed {seed}+"))
        self.same_again(said)

    def any_code(self, *words):
        return subprocess.run([WEFT, "sim", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=4 * PATIENCE, check=False,
                              env=dict(os.environ, XDG_CACHE_HOME=self.folder.name)).stdout

    def test_a_hunt_changes_plans_that_reach_something_new(self):
        said = self.reach("2", "--hunt", "1", "--seeds", "60")
        self.assertIn("reached in 60 of 60 runs: state 1\n", said)
        kept = re.search(r"^3 combinations of states, the last new one in run (\d+) of 60; (\d) runs were kept", said, re.M)
        self.assertTrue(kept and int(kept.group(1)) < 60 and kept.group(2) in "12", said)
        self.assertIn("60 runs from seed 1, 1 nodes each: nothing found", said)
        told = json.loads(self.reach("2", "--hunt", "1", "--seeds", "60", "--json"))
        self.assertEqual((told["runs"], told["combinations"], told["failed"]), (60, 3, False))
        self.assertLess(told["seeds"], 60)  # The other runs were changed plans.
        # A state that is never reached is a failure, as without a hunt.
        said = self.reach("3", "--hunt", "1", "--seeds", "60", code=1)
        self.assertIn("FAILED  never reached in 60 runs from 1: state 3\n", said)

    def test_a_hunt_without_states_says_that_nothing_has_guided_it(self):
        said = self.sim(BROKEN, "--hunt", "1", "--seeds", "5", "--nodes", "1", "--faults", "none", "--", "blinks")
        self.assertIn("Nothing has guided the hunt, because no run has reached a state", said)
        self.assertIn("5 runs from seed 1, 1 nodes each: nothing found", said)

    def test_a_replay_repeats_drawn_limits(self):
        plain = self.sim(LEDGER, "--replay", "3", "--", "--once").splitlines()[-1]
        drawn = set()
        for seed in "3456":
            first = self.sim(LEDGER, "--replay", seed, "--limits", "--", "--once")
            self.assertEqual(first, self.sim(LEDGER, "--replay", seed, "--limits", "--", "--once"))
            drawn.update(re.findall(r"drawn: heartbeat_ms=(\d+)", self.logged))
            if seed == "3":
                self.assertNotEqual(plain, first.splitlines()[-1])
        self.assertGreater(len(drawn), 1, drawn)
        said = self.sim(LEDGER, "--seeds", "100", "--limits", code=1)
        self.assertIn(" --limits", said.splitlines()[-1])
        self.same_again(said)

    def test_bad_arguments_are_refused_with_a_hint(self):
        self.assertIn("give one of them", self.sim(LEDGER, "--hunt", "1", "--replay", "1", code=2))
        for minutes in ("0", "x", "-1", "10081"):
            self.assertIn("a number from 1 to 10080", self.sim(LEDGER, "--hunt", minutes, code=2))
        for run in ("1+", "+1", "1+x", "1++2", "1+-2", "1+4294967296", "1" + 17 * "+1", "1+2:", "1+2:0", "-1", ""):
            if run != "1+2:":  # This means no faults at all.
                self.assertIn("a seed", self.sim(LEDGER, "--replay", run, code=2), run)
        for words, said in ((("--replay", "x"), "a seed"), (("--replay", "1:0"), "a seed"),
                            (("--replay", "1:16"), "the plan of seed 1 has"),
                            (("--faults", "flood"), "'flood' is not one of"), (("--faults", ""), "or none"),
                            (("--faults", "none,cut"), "or none alone"),
                            (("--nodes", "1", "--faults", "cut,split"), "give --nodes 2"),
                            (("--nodes", "17"), "from 1 to 16")):
            self.assertIn(said, self.sim(LEDGER, *words, code=2))


if __name__ == "__main__":
    unittest.main()
