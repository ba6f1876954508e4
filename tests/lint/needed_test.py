#!/usr/bin/env python3
"""tools/needed.py, on a project of three tests, one of them a script that runs a program."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

NEEDED = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "needed.py"
PROJECT = """project('three', 'c')
foreach name : ['one', 'two', 'run', 'unused']
  set_variable(name, executable(name, 'main.c'))
endforeach
test('one', one, suite: 'unit')
test('two', two, suite: ['unit', 'slow'])
test('run', find_program('sh'), args: ['-c', 'true'], depends: run, suite: 'scripts')
"""


class Needed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        (pathlib.Path(folder) / "meson.build").write_text(PROJECT, encoding="utf-8")
        (pathlib.Path(folder) / "main.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        cls.build = os.path.join(folder, "build")
        subprocess.run(["meson", "setup", cls.build, folder], check=True, capture_output=True)

    def needed(self, *options, build=None):
        done = subprocess.run([sys.executable, NEEDED, build or self.build, *options], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_only_what_tests_need_is_named(self):
        self.assertEqual(self.needed(), ["one", "run", "two"])

    def test_the_folder_may_have_another_name(self):
        link = self.build + "-link"
        os.symlink(self.build, link)
        self.assertEqual(self.needed("--suite", "scripts", build=link), ["run"])

    def test_suites_are_chosen_as_meson_chooses_them(self):
        self.assertEqual(self.needed("--suite", "unit"), ["one", "two"])
        self.assertEqual(self.needed("--no-suite", "slow"), ["one", "run"])
        self.assertEqual(self.needed("--suite", "unit", "--suite", "scripts", "--no-suite", "slow"), ["one", "run"])

    def test_ninja_builds_them(self):
        subprocess.run(["ninja", "-C", self.build, *self.needed("--suite", "scripts")], check=True, capture_output=True)
        self.assertTrue(os.path.exists(os.path.join(self.build, "run")))
        self.assertFalse(os.path.exists(os.path.join(self.build, "one")))


if __name__ == "__main__":
    unittest.main()
