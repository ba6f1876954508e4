#!/usr/bin/env python3
"""models/check.py finds faults in wrong models, and the functions that the models name still exist."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, "models")


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Names(unittest.TestCase):
    def test_functions_that_a_model_stands_for_exist(self):
        models = [name for name in os.listdir(MODELS) if name.endswith(".pml")]
        self.assertGreaterEqual(len(models), 4)
        for name in models:
            about = re.search(r"Stands for: (.*?)\n \*\n", text_of("models", name), re.DOTALL)[1]
            named = re.findall(r"([^()]*)\(([\w/.]+\.[ch])\)", about.replace("\n *", ""))
            self.assertTrue(named, name)
            for functions, path in named:
                for function in re.findall(r"\w+_\w+", functions):
                    self.assertRegex(text_of(path), rf"\b{function}\b", f"{name}: {function} is not in {path}")


@unittest.skipIf(shutil.which("spin") is None or shutil.which("gcc") is None, "spin is not installed")
class Check(unittest.TestCase):
    def check(self, model):
        with tempfile.NamedTemporaryFile("w", suffix=".pml") as file:
            file.write(model)
            file.flush()
            done = subprocess.run([sys.executable, "-B", os.path.join(MODELS, "check.py"), file.name],
                                  capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout

    def test_a_fault_fails(self):
        self.assertEqual(self.check("active proctype p() { byte n = 1; assert(n == 1) }\n")[0], 0)
        rc, said = self.check("active proctype p() { byte n = 1; assert(n == 2) }\n")
        self.assertEqual(rc, 1)
        self.assertRegex(said, r"FAILED .*: a fault, \d+ states")

    def test_a_process_that_waits_for_ever_fails(self):
        self.assertEqual(self.check("bool never; active proctype p() { never }\n")[0], 1)

    def test_a_bug_that_is_not_found_fails(self):
        rc, said = self.check("/* -DBUG=1: nothing */ active proctype p() { byte n = 1; assert(n == 1) }\n")
        self.assertEqual(rc, 1)
        self.assertIn("-DBUG=1: the fault is not found", said)

    def test_a_file_that_is_no_model_fails(self):
        self.assertEqual(self.check("active proctype p() { nonsense\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
