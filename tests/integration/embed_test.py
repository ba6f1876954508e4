#!/usr/bin/env python3
"""Nodes inside loops that are not weft's: examples/embed_poll.c and embed_uv.c."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Program, built  # noqa: E402


class Embedded(unittest.TestCase):
    def start(self, name, *args):
        program = Program(built("examples", name), *args)
        self.addCleanup(program.kill)
        return program

    def test_embed_poll(self):
        """A node in a loop that also has a descriptor of its own."""
        done = subprocess.run([built("examples", "embed_poll")], input="one\ntwo\n", capture_output=True, text=True,
                              timeout=60, check=True)
        lines = done.stdout.splitlines()
        self.assertEqual([line for line in lines if line.startswith("tick")], ["tick 1", "tick 2", "tick 3"])
        self.assertEqual([line for line in lines if not line.startswith("tick")],
                         ["an actor says: ONE", "an actor says: TWO", "2 lines, stopped"])

    def test_embed_uv(self):
        if not os.path.exists(built("examples", "embed_uv")):
            self.skipTest("libuv is not here")
        lines = self.start("embed_uv").end()
        self.assertEqual(lines[-1], "stopped")
        for who in ("libuv's timer: ", "an actor has heard of "):
            self.assertEqual([line for line in lines if line.startswith(who)], [f"{who}{i + 1}" for i in range(3)])


if __name__ == "__main__":
    unittest.main()
