#!/usr/bin/env python3
"""Nodes inside loops that are not weft's: examples/embed_poll.c and embed_uv.c; and libweft in a program that loads it
late."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import built  # noqa: E402


class Embedded(unittest.TestCase):
    def lines(self, name, text=""):
        done = subprocess.run([built("examples", name)], input=text, capture_output=True, text=True, timeout=60)
        if "cannot be embedded: not supported" in done.stderr:  # libkqueue has no descriptor for other loops.
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_embed_poll(self):
        """A node runs in a loop that also has a descriptor of the program."""
        lines = self.lines("embed_poll", "one\ntwo\n")
        self.assertEqual([line for line in lines if line.startswith("tick")], ["tick 1", "tick 2", "tick 3"])
        self.assertEqual([line for line in lines if not line.startswith("tick")],
                         ["an actor says: ONE", "an actor says: TWO", "2 lines, stopped"])

    def test_embed_uv(self):
        if not os.path.exists(built("examples", "embed_uv")):
            self.skipTest("this build has no libuv")
        lines = self.lines("embed_uv")
        self.assertEqual(lines[-1], "stopped")
        for who in ("libuv's timer: ", "an actor has heard of "):
            self.assertEqual([line for line in lines if line.startswith(who)], [f"{who}{i + 1}" for i in range(3)])

    def test_an_interpreter_loads_libweft(self):
        """The loader has little space for thread-local variables of libraries that the program was not linked with."""
        library = built("libweft.so")
        if not os.path.exists(library) or os.environ.get("WEFT_SANITIZED") == "1":
            self.skipTest("no shared library that stands alone")
        load = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).weft_strerror(0)"
        done = subprocess.run([sys.executable, "-c", load, library], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
