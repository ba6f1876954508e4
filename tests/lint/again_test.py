#!/usr/bin/env python3
"""tools/again.py, on a project of three tests: one always passes, one passes at its second run, one never does."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

AGAIN = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "again.py"
PROJECT = """project('three')
sh = find_program('sh')
test('good', sh, args: ['-c', 'true'])
test('rare', sh, args: ['-c', 'test -e "$MARK/rare" || { touch "$MARK/rare"; echo once; exit 1; }'])
test('bad', sh, args: ['-c', 'test -z "$BAD"'])
"""


class Again(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / "meson.build").write_text(PROJECT, encoding="utf-8")
        self.build = self.root / "build"
        self.list = self.root / "flaky"
        self.env = dict(os.environ, MARK=str(self.root))
        self.run_in_build("meson", "setup", str(self.build), str(self.root))

    def run_in_build(self, *command):
        return subprocess.run(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)

    def run_twice(self):
        first = self.run_in_build("meson", "test", "-C", str(self.build), "--logbase", "gcc")
        self.assertNotEqual(first.returncode, 0)
        return self.run_in_build(sys.executable, str(AGAIN), str(self.build), "gcc", str(self.list))

    def test_a_test_that_passes_alone_is_named_flaky(self):
        done = self.run_twice()
        self.assertEqual(done.returncode, 0, done.stdout)
        [line] = self.list.read_text(encoding="utf-8").splitlines()
        self.assertTrue(line.startswith("FLAKY rare: "), line)
        first, second = (part.split("; ")[0] for part in line.split(": ", 2)[2].split("passed alone: "))
        self.assertIn("once", pathlib.Path(first).read_text(encoding="utf-8"))
        self.assertIn("exit status 0", pathlib.Path(second).read_text(encoding="utf-8"))

    def test_a_test_that_fails_again_fails_the_run(self):
        self.env["BAD"] = "1"
        done = self.run_twice()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(len(self.list.read_text(encoding="utf-8").splitlines()), 1)

    def test_two_flaky_tests_are_allowed(self):
        self.list.write_text("FLAKY one\n", encoding="utf-8")
        self.assertEqual(self.run_twice().returncode, 0)

    def test_a_third_flaky_test_is_not_allowed(self):
        self.list.write_text("FLAKY one\nFLAKY two\n", encoding="utf-8")
        done = self.run_twice()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("no test is run again", done.stdout)


if __name__ == "__main__":
    unittest.main()
