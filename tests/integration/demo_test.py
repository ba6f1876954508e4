#!/usr/bin/env python3
"""Runs ./dev demo's program: it ends by itself, prints its steps, and its verdict is right."""
import os
import pty
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BUILD, ROOT  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "tools"))
import demo  # noqa: E402

COMMAND = [sys.executable, os.path.join(ROOT, "tools", "demo.py"), BUILD]


def on_terminal(**env):
    """Returns the output of the demo on a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(COMMAND, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                               env=dict({k: v for k, v in os.environ.items() if k != "NO_COLOR"}, TERM="xterm",
                                        **env))
    os.close(slave)
    text = b""
    try:
        while more := os.read(master, 65536):
            text += more
    except OSError:
        pass  # The other side is closed.
    os.close(master)
    return process.wait(), text.decode()


class Runs(unittest.TestCase):
    def test_the_demo_prints_its_steps_and_ends(self):
        start = time.monotonic()
        done = subprocess.run(COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("weft demo: one chat over three nodes\nThree processes of `weft run "))
        self.assertNotIn("\x1b", done.stdout)
        self.assertEqual(done.stderr, "")
        for nick, node in demo.PEOPLE:
            self.assertRegex(done.stdout, rf"{nick} on {node} +sees +\[lobby\] ann: hello, is anybody there\?")
        p50, p99 = map(float, re.search(r"p50 ([\d.]+) ms  p99 ([\d.]+) ms", done.stdout).groups())
        self.assertTrue(0 < p50 <= p99)
        self.assertRegex(done.stdout, r"\n\d+ lines to be shown: 0 missing, 0 doubled, 0 out of order\n$")
        print(f"the demo took {time.monotonic() - start:.1f} s, p50 {p50} ms, p99 {p99} ms")

    def test_colours_are_printed_unless_no_color_is_set(self):
        code, text = on_terminal()
        self.assertEqual(code, 0, text)
        self.assertIn("\x1b[", text)
        code, text = on_terminal(NO_COLOR="1")
        self.assertEqual(code, 0, text)
        self.assertNotIn("\x1b[", text)

    def test_a_demo_that_cannot_run_fails(self):
        self.assertEqual(subprocess.run(COMMAND[:2], stderr=subprocess.DEVNULL).returncode, 1)
        done = subprocess.run(COMMAND[:2] + ["/nowhere"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the demo failed: ", done.stdout)


class Judges(unittest.TestCase):
    SAID = {"ann": ["a1", "a2", "a3"], "bob": ["b1", "b2"]}

    def judged(self, *seen, **expected):
        wanted = {"missing": 0, "doubled": 0, "out of order": 0, "unknown": 0}
        wanted.update({k.replace("_", " "): v for k, v in expected.items()})
        self.assertEqual(demo.faults(self.SAID, list(seen)), wanted)

    def test_the_verdict_counts_missing_doubled_and_reordered_lines(self):
        self.judged("a1", "b1", "a2", "b2", "a3")
        self.judged("b1", "b2", "a1", "a2", "a3")
        self.judged("a1", "b1", "a2", "a3", missing=1)
        self.judged(missing=5)
        self.judged("a1", "b1", "a2", "b2", "a3", "a3", doubled=1)
        self.judged("a1", "b1", "a3", "b2", "a2", out_of_order=1)
        self.judged("b2", "b1", "a1", "a2", out_of_order=1, missing=1)
        self.judged("a1", "b1", "a2", "b2", "a3", "c1", unknown=1)


if __name__ == "__main__":
    unittest.main()
