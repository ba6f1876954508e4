#!/usr/bin/env python3
"""The benchmarks work: each runs with tiny numbers, finds its own answer right and prints lines of the one form; and
the program that runs them notices when one does not."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from harness import BUILD, PATIENCE, ROOT

LINE = re.compile(r"[a-z]+ weft [^ ]+ [a-z0-9_]+ -?\d+\.\d runs=\d+ min=-?\d+\.\d max=-?\d+\.\d")
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "peers")]
sys.dont_write_bytecode = True
import chart  # noqa: E402
import run  # noqa: E402
from workloads import SAVINA, WORKLOADS  # noqa: E402


def run_benchmarks(folder, *arguments):
    return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "bench", "run.py"), folder, *arguments],
                          capture_output=True, text=True, timeout=10 * PATIENCE, check=False)


class Bench(unittest.TestCase):
    def test_every_benchmark_is_right(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            done = run_benchmarks(BUILD, "--tiny", "--json", out.name)
            rows = [json.loads(line) for line in out]
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), len(rows))
        for line in lines:
            self.assertRegex(line, LINE)
        seen = {row["workload"] for row in rows}
        self.assertLessEqual({"ctxswitch", "pingpong", "ring", "counting", "big", "spawn", "fanout", "idle", "timers",
                              "remote", *SAVINA}, seen)
        for threads in "12":
            savina = {row["workload"] for row in rows if row["params"].startswith(f"savina,threads={threads}")}
            self.assertEqual(savina, set(SAVINA))

    def test_a_wrong_answer_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "bench"))
            for program in {w.program for w in WORKLOADS}:
                path = os.path.join(folder, "bench", program)
                with open(path, "w", encoding="utf-8") as script:
                    script.write("#!/bin/sh\necho pingpong weft n=1 ns_per_msg 1.0\nexit 1\n")
                os.chmod(path, 0o755)
            done = run_benchmarks(folder, "--tiny", "pingpong")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("exit code 1", done.stderr)

    def test_wrong_arguments_are_refused(self):
        for command in (["bench_savina"], ["bench_savina", "queens", "1"], ["bench_savina", "bank", "1", "x", "5"],
                        ["bench_local", "ring", "1"]):
            program = [os.path.join(BUILD, "bench", command[0]), *command[1:]]
            done = subprocess.run(program, capture_output=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 2)


class Table(unittest.TestCase):
    def row(self, metric, **values):
        return run.compared(("remote", "p", metric), {n.replace("_", "-"): v for n, v in values.items()}, "command")

    def test_ratio_above_one_is_better(self):
        self.assertEqual(self.row("msgs_per_s", weft=[30, 10, 20], erlang=[10, 10, 10])["ratio"], 2)
        self.assertEqual(self.row("p50_us", weft=[20], erlang=[10], boost_fiber=[40])["ratio"], 0.5)
        self.assertEqual(self.row("p50_us", weft=[20], erlang=[10], boost_fiber=[40])["best"], "erlang")

    def test_floor_is_not_counted(self):
        row = self.row("msgs_per_s", weft=[10], erlang=[5], go=[1000], epoll=[2000])
        self.assertEqual((row["best"], row["ratio"], sorted(row["floor"])), ("erlang", 2, ["epoll", "go"]))
        self.assertIsNone(self.row("msgs_per_s", weft=[10], epoll=[5])["ratio"])

    def test_chart_has_a_bar_for_each_row(self):
        svg = chart.ratio_chart([("a<b", 2.0, "go"), ("c", 0.01, "erlang")], "title")
        self.assertEqual(svg.count("<rect"), 3)
        self.assertIn("a&lt;b", svg)


if __name__ == "__main__":
    unittest.main()
