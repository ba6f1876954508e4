#!/usr/bin/env python3
"""What one entry of a table costs does not grow with how many there are: counted in instructions, by callgrind.

WEFT_COST=100000 counts so many, which takes some minutes; docs/limits.md has the figures.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

from harness import Cluster, PATIENCE, built

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
FEW, MANY = 500, int(os.environ.get("WEFT_COST", "5000"))
MANY_RETAINED = min(MANY, 50_000)  # a node retains 65,536
MOST = 1.5  # a quadratic table would have 10, or as many times as there are more


@unittest.skipIf(os.environ.get("WEFT_SANITIZED", "") == "1", "Valgrind does not run what a sanitizer looks at")
class Cost(unittest.TestCase):
    def instructions(self, what, count):
        """Of a node whose first actor adds so many, takes half of them back, and ends."""
        with Cluster() as cluster:
            done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", WEFT, "run",
                                   MODULE, "--name", "a", "--workers", "1", "--log", "warn", "--", "adds", what,
                                   str(count)],
                                  capture_output=True, text=True, timeout=10 * PATIENCE, env=cluster.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"added {what}: ", done.stdout)
        self.assertNotIn(f"added {what}: -", done.stdout)
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))

    def test_cost_of_one(self):
        none = self.instructions("names", 0)
        for what in ("names", "globals", "groups", "watches", "topics", "queues", "pattern", "retained",
                     "monitors", "links"):
            with self.subTest(what):
                most = MANY_RETAINED if what == "retained" else MANY
                few, many = (self.instructions(what, count) for count in (FEW, most))
                at_first, in_the_end = (few - none) / FEW, (many - few) / (most - FEW)
                print(f"{what}: {at_first:.0f} instructions each at first, {in_the_end:.0f} in the end")
                self.assertLess(in_the_end / at_first, MOST)


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        sys.exit(77)
    unittest.main()
