#!/usr/bin/env python3
"""tests/lint/knots.py finds knots, and upward.py finds rooms in disorder, in small examples."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import knots  # noqa: E402
import upward  # noqa: E402


class Knots(unittest.TestCase):
    def test_cycles(self):
        line = {"a": ["b"], "b": ["c"], "c": []}
        self.assertEqual(len(knots.cycles(line)), 1)
        self.assertEqual(knots.cycles({**line, "c": ["b"]}), ["b", "c"])
        self.assertEqual(knots.cycles({**line, "c": ["a"], "d": ["e"], "e": ["d"]}), ["a", "b", "c"])

    def test_two_way(self):
        down = {"l/high/a.c": {"l/low/b.c": {"f"}}, "l/low/b.c": {"l/low/c.c": {"g"}}}
        self.assertEqual(knots.two_way(down), [])
        back = {**down, "l/low/c.c": {"l/high/d.c": {"h"}}}
        self.assertEqual(knots.two_way(back), [("l/high", "l/low", "l/high/a.c calls f", "l/low/c.c calls h")])
        self.assertEqual(knots.two_way({"runtime/platform/a.c": {"runtime/platform/linux/b.c": {"f"}},
                                        "runtime/platform/linux/b.c": {"runtime/platform/a.c": {"g"}}}), [])

    def test_order_of_rooms(self):
        rooms = ["runtime/memory", "runtime/sched", "actors"]
        fine = {"runtime/memory": set(), "runtime/sched": {"runtime/memory"}, "actors": set(rooms[:2])}
        self.assertEqual(upward.order_faults(rooms, fine), [])
        self.assertEqual(len(upward.order_faults(rooms, {**fine, "runtime/memory": {"runtime/sched"}})), 1)
        self.assertEqual(len(upward.order_faults(rooms, {**fine, "runtime/memory": {"actors"}})), 2)


if __name__ == "__main__":
    unittest.main()
