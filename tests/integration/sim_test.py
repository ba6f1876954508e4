#!/usr/bin/env python3
"""weft sim: what a bug in a user's actors looks like, the same run again, and runs that end badly."""
import json
import os
import re
import subprocess
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

    def test_a_bug_is_found_made_short_and_happens_again(self):
        said = self.sim(LEDGER, "--seeds", "100", "--minimise", code=1)
        self.assertIn("not always: no deposit is made twice", said)
        self.assertRegex(said, r"n1 +[0-9.]+ s  0\.2\.1 receives 1 from")
        faults = re.findall(r"^ +[0-9]+\. at ", said, re.M)
        self.assertLessEqual(len(faults), 1, said)
        again = re.search(r"--replay ([0-9:,]+)", said).group(1)
        first, second = (self.sim(LEDGER, "--replay", again, code=1) for _ in range(2))
        self.assertEqual(first, second)
        self.assertIn("trace ", first)
        self.assertIn("no deposit is made twice", first)
        told = json.loads(self.sim(LEDGER, "--replay", again, "--json", code=1))
        self.assertEqual((told["failed"], len(told["faults"])), (True, len(faults)))
        self.assertIn("no deposit is made twice", told["what"])
        self.assertIn(f"{told['turns']} turns, trace {told['trace']}", first)
        # Without them it is another run, and a good one.
        other = self.sim(LEDGER, "--replay", again, "--faults", "none")
        self.assertNotEqual(first.splitlines()[-1], other.splitlines()[-1])

    def test_each_kind_of_fault_happens_again(self):
        calm = self.sim(LEDGER, "--replay", "3", "--faults", "none", "--", "--once").splitlines()[-1]
        for kind in ("reset", "cut", "oneway", "split", "freeze", "crash", "power", "late", "clock", "slow", "memory",
                     "all,memory"):
            first = self.sim(LEDGER, "--replay", "3", "--faults", kind, "--", "--once")
            logged = self.logged
            self.assertIn("time=2001-01-01T00:0", logged)  # the simulated clock
            self.assertEqual(first, self.sim(LEDGER, "--replay", "3", "--faults", kind, "--", "--once"))
            self.assertEqual(logged, self.logged)
            self.assertIn("no fault found", first)
            self.assertNotEqual(first.splitlines()[-1], calm, kind)

    def test_protocols(self):
        scenarios = [("groups", "10"), ("supervisors", "10"), ("topics", "10")]
        if not SANITIZED:  # megabytes of messages, which take minutes there
            scenarios.append(("links", "2"))
        for name, seeds in scenarios:
            self.assertIn("nothing found", self.sim(built("tests", f"sim_{name}.so"), "--seeds", seeds))

    def test_what_is_right_stays_so(self):
        self.assertIn("nothing found", self.sim(LEDGER, "--seeds", "40", "--jobs", "3", "--", "--once"))
        told = json.loads(self.sim(LEDGER, "--seeds", "2", "--json", "--", "--once"))
        self.assertEqual((told["seeds"], told["first"], told["failed"]), (2, 1, False))
        told = json.loads(self.sim(LEDGER, "--replay", "1", "--json", "--", "--once"))
        self.assertEqual((told["seed"], told["failed"]), (1, False))

    def test_runs_that_end_badly(self):
        for how, said in (("never", "not within 5 s after the last fault: it happens"),
                          ("says", "node n[12] says 7"),
                          ("crash", "the process ended (by signal|with code)"),  # sanitizers take the signal
                          ("exit", "the process ended with code 3")):
            self.assertRegex(self.sim(BROKEN, "--seeds", "2", "--nodes", "2", "--faults", "none", "--settle", "5",
                                      "--", how, code=1), said)

    def test_usage(self):
        for words, said in ((("--replay", "x"), "a seed"), (("--replay", "1:0"), "a seed"),
                            (("--faults", "flood"), "none of"), (("--nodes", "17"), "from 1 to 16")):
            self.assertIn(said, self.sim(LEDGER, *words, code=2))


if __name__ == "__main__":
    unittest.main()
