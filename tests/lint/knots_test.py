#!/usr/bin/env python3
"""tests/lint/knots.py finds knots, upward.py finds rooms in disorder, nouns.py headers of several files, in small
examples."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import knots  # noqa: E402
import nouns  # noqa: E402
import upward  # noqa: E402


class Knots(unittest.TestCase):
    def test_cycles_of_calls_are_found(self):
        line = {"a": ["b"], "b": ["c"], "c": []}
        self.assertEqual(len(knots.cycles(line)), 1)
        self.assertEqual(knots.cycles({**line, "c": ["b"]}), ["b", "c"])
        self.assertEqual(knots.cycles({**line, "c": ["a"], "d": ["e"], "e": ["d"]}), ["a", "b", "c"])

    def test_rooms_that_call_each_other_are_found(self):
        down = {"l/high/a.c": {"l/low/b.c": {"f"}}, "l/low/b.c": {"l/low/c.c": {"g"}}}
        self.assertEqual(knots.two_way(down), [])
        back = {**down, "l/low/c.c": {"l/high/d.c": {"h"}}}
        self.assertEqual(knots.two_way(back), [("l/high", "l/low", "l/high/a.c calls f", "l/low/c.c calls h")])
        self.assertEqual(knots.two_way({"runtime/platform/a.c": {"runtime/platform/linux/b.c": {"f"}},
                                        "runtime/platform/linux/b.c": {"runtime/platform/a.c": {"g"}}}), [])

    def test_rooms_in_disorder_are_found(self):
        rooms = ["runtime/memory", "runtime/sched", "actors"]
        fine = {"runtime/memory": set(), "runtime/sched": {"runtime/memory"}, "actors": set(rooms[:2])}
        self.assertEqual(upward.order_faults(rooms, fine), [])
        self.assertEqual(len(upward.order_faults(rooms, {**fine, "runtime/memory": {"runtime/sched"}})), 1)
        self.assertEqual(len(upward.order_faults(rooms, {**fine, "runtime/memory": {"actors"}})), 2)

    def test_headers_of_several_files_are_found(self):
        def found(header, **files):
            texts = {pathlib.Path(f"l/{name}.c"): text for name, text in files.items()}
            texts[pathlib.Path("l/a.h")] = header
            return [(str(h), str(c), names) for h, c, names in nouns.offenders(texts)]
        header = "struct s { int f(void); };\nstatic inline int g(void)\n{\n    return f();\n}\n" \
                 "/* int h(void); */\nint f(int (*with)(int)) WF_PRINTF(1, 2);\nextern const int v[2], w;\n"
        f, v = "int f(int (*with)(int))\n{\n}\nstatic int h(void)\n{\n}\n", "const int v[2] = {1, 2};\n"
        self.assertEqual(found(header, a=f + v), [])
        self.assertEqual(found(header, a=f, b=v), [("l/a.h", "l/b.c", ["v"])])
        self.assertEqual(found(header, b=f, c=v), [("l/a.h", "l/b.c", ["f"]), ("l/a.h", "l/c.c", ["v"])])
        self.assertEqual(found(header, a_x=f + v, a_y=f + v), [])
        self.assertEqual(len(found(header, a_x=f, a_y=v)), 2)

    def test_rooms_with_many_nouns_are_found(self):
        def found(room, count):
            return nouns.crowded([pathlib.Path(room) / f"n{i}.{kind}" for i in range(count) for kind in "ch"])
        self.assertEqual(found("l/low", nouns.ROOM_MAX), [])
        self.assertEqual(found("l/low", nouns.ROOM_MAX + 1), [("l/low", nouns.ROOM_MAX + 1, nouns.ROOM_MAX)])
        room, (large, _) = next(iter(nouns.LARGE_ROOMS.items()))
        self.assertEqual(found(room, large), [])
        self.assertEqual(found(room, large - 1), [(room, large - 1, large)])


if __name__ == "__main__":
    unittest.main()
