#!/usr/bin/env python3
"""The benchmarks work: each runs with tiny numbers, checks its own result and prints lines of the common form; and
the program that runs them notices when one fails."""
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import BUILD, PATIENCE, ROOT

LINE = re.compile(r"[a-z]+ weft [^ ]+ [a-z0-9_]+ -?\d+\.\d runs=\d+ min=-?\d+\.\d max=-?\d+\.\d")
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "peers")]
sys.dont_write_bytecode = True
import beside  # noqa: E402
import chart  # noqa: E402
import counts  # noqa: E402
import measure  # noqa: E402
from workloads import INSTRUCTIONS, SAVINA, WORKLOADS  # noqa: E402


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
                              "either",
                              "lateness", "remote", *SAVINA}, seen)
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


class Counts(unittest.TestCase):
    """./dev bench --check, with a temporary file of stored counts."""

    def check(self, *arguments):
        return run_benchmarks(BUILD, "--check", "--figures", self.file, *arguments)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "counts.txt")
        try:
            self.build = counts.built_for(BUILD)
        except ValueError as why:
            self.skipTest(str(why))
        if shutil.which("valgrind") is None:
            self.skipTest("valgrind is not installed")

    def doctor(self, old, new):
        with open(self.file, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def test_more_instructions_than_stored_fail(self):
        done = self.check("--store", "yield")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list(counts.load(self.file)), [self.build])
        (key, stored), = counts.load(self.file)[self.build].items()
        same = self.check("yield")
        self.assertEqual((same.returncode, same.stderr), (0, ""))
        self.assertIn("same       local yield", same.stdout)
        self.doctor(f" {stored:.1f}", f" {stored * .9:.1f}")
        worse = self.check("yield")
        self.assertEqual(worse.returncode, 1)
        self.assertRegex(worse.stdout, rf"WORSE +{key[0]} {key[1]}: {stored * .9:.1f} -> \d")
        self.assertIn("./dev bench --check --store", worse.stderr)
        self.doctor(f" {stored * .9:.1f}", f" {stored * 1.1:.1f}")
        better = self.check("yield")
        self.assertEqual((better.returncode, better.stderr), (0, ""))
        self.assertIn("better     local yield", better.stdout)
        self.doctor(f"{key[1]}", "other")
        self.assertIn("NOT STORED local yield", self.check("yield").stdout)
        self.doctor(self.build, "tcc 1.0.0, dietlibc, m68k")
        other = self.check("yield")
        self.assertEqual((other.returncode, other.stderr), (0, ""))
        self.assertRegex(other.stdout, "No figures were compared: this build is .* tcc 1.0.0")

    def test_storing_some_keeps_the_others_and_other_builds(self):
        counts.store(self.file, "a", [("local", "x", "msg", 1.0), ("local", "y", "msg", 2.0)], True)
        counts.store(self.file, "b", [("local", "x", "msg", 3.0)], True)
        counts.store(self.file, "a", [("local", "y", "msg", 4.0)], False)
        self.assertEqual(counts.load(self.file), {"a": {("local", "x", "msg"): 1.0, ("local", "y", "msg"): 4.0},
                                                  "b": {("local", "x", "msg"): 3.0}})

    def test_every_counted_workload_is_stored(self):
        for section in counts.load(counts.STORED).values():
            units = [unit for *_, units in INSTRUCTIONS for unit in ([units] if isinstance(units, str) else units)]
            self.assertEqual([unit for _, _, unit in section], units)


class Table(unittest.TestCase):
    def row(self, metric, **values):
        values = {n.replace("_", "-"): v for n, v in values.items()}
        return beside.compared(("remote", "p", metric), values, "command")

    def test_ratio_above_one_is_better(self):
        self.assertEqual(self.row("msgs_per_s", weft=[30, 10, 20], erlang=[10, 10, 10])["ratio"], 2)
        self.assertEqual(self.row("p50_us", weft=[20], erlang=[10], boost_fiber=[40])["ratio"], 0.5)
        self.assertEqual(self.row("p50_us", weft=[20], erlang=[10], boost_fiber=[40])["best"], "erlang")

    def test_floor_is_not_counted(self):
        row = self.row("msgs_per_s", weft=[10], erlang=[5], go=[1000], epoll=[2000])
        self.assertEqual((row["best"], row["ratio"], sorted(row["floor"])), ("erlang", 2, ["epoll", "go"]))
        self.assertIsNone(self.row("msgs_per_s", weft=[10], epoll=[5])["ratio"])

    def test_slow_runs_are_counted(self):
        self.assertEqual(measure.summary([10, 11, 14, 16, 40], "ns_per_msg")["slow"], 2)
        self.assertEqual(measure.summary([30, 29, 21, 19, 2], "msgs_per_s")["slow"], 2)

    def test_target_is_met_or_missed_by_the_first_row_of_its_metric(self):
        rows = [self.row("p50_us", weft=[20, 20, 50], erlang=[30]), self.row("p50_us", weft=[1]),
                self.row("msgs_per_s", weft=[5e6])]
        beside.add_targets(rows, {"p50_us": ("round trip", 25), "msgs_per_s": ("one way", 10e6)})
        self.assertEqual([row.get("target", {}).get("met") for row in rows], [True, None, False])
        with io.StringIO() as out, contextlib.redirect_stdout(out):
            beside.print_targets(rows, "build")
            lines = out.getvalue().strip().splitlines()
        self.assertIn("| round trip | <= 25 us | 20 us | 20 us to 50 us, 1 of 3 slow | met | erlang 30 us | 1.50 |",
                      lines[2])
        self.assertIn("| one way | >= 10 M/s | 5 M/s | 5 M/s to 5 M/s | MISSED | - | - |", lines[3])
        self.assertTrue(lines[-1].startswith("1 of 2 met."))

    def test_a_target_without_a_result_is_a_failure(self):
        before = len(measure.failed)
        beside.add_targets([], {"p50_us": ("round trip", 25)})
        self.assertEqual(measure.failed.pop(), "no result for: round trip")
        self.assertEqual(len(measure.failed), before)

    def test_results_of_another_name_are_put_beside_ours(self):
        found = {}
        measure.gather(found, "weft", {("idle", "parked,n=1", "bytes_per_actor"): 1})
        measure.gather(found, "erlang", {("idle", "plain,n=1", "bytes_per_actor"): 2}, ("idle", "plain,", "parked,"))
        self.assertEqual(found, {("idle", "parked,n=1", "bytes_per_actor"): {"weft": [1], "erlang": [2]}})

    def test_a_setting_is_in_the_parameters(self):
        command = ["sh", "-c", 'echo "remote weft rtt p50_us $(nproc)"']
        found = measure.results_of(command, PATIENCE, None, "pinned")
        self.assertEqual(found, {("remote", "pinned,rtt", "p50_us"): 1})
        with measure.set_up("awake"):
            found = measure.results_of(command, PATIENCE, None, "awake")
        self.assertEqual(list(found), [("remote", "awake,rtt", "p50_us")])

    def test_chart_has_a_bar_for_each_row(self):
        svg = chart.ratio_chart([("a<b", 2.0, "go"), ("c", 0.01, "erlang")], "title")
        self.assertEqual(svg.count("<rect"), 3)
        self.assertIn("a&lt;b", svg)


if __name__ == "__main__":
    unittest.main()
