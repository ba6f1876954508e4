#!/usr/bin/env python3
"""tools/mutants.py: what it says at its end. The builds of the test are a script that finds one mutant of two."""
import contextlib
import io
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import mutants  # noqa: E402  pylint: disable=wrong-import-position


class Mutants(unittest.TestCase):
    def try_all(self, found, *more):
        known = {"found_soon": ("links", 100), "never_found": ("links", 100), "found_by_a_unit": ("linked",)}
        with mock.patch.object(mutants, "MUTANTS", known), mock.patch.object(mutants, "in_sites", lambda: set(known)), \
                mock.patch.object(mutants, "try_one", lambda build, name: (3, "lost") if name in found else (None, "")):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                good = mutants.try_all("build", [*known, *more])
        return good, said.getvalue().splitlines()

    def test_those_that_were_not_found_are_named_last(self):
        good, lines = self.try_all({"found_soon"})
        self.assertFalse(good)
        self.assertEqual(lines[-1], "3 mutants, not found: never_found found_by_a_unit")
        self.assertEqual(["NOT FOUND" in line for line in lines[1:-1]], [False, True, True])

    def test_all_are_found(self):
        good, lines = self.try_all({"found_soon", "never_found", "found_by_a_unit"})
        self.assertTrue(good)
        self.assertEqual(lines[-1], "3 mutants, all found")

    def test_a_name_of_no_mutant_is_a_failure(self):
        good, lines = self.try_all({"found_soon", "never_found", "found_by_a_unit"}, "misspelt")
        self.assertFalse(good)
        self.assertEqual(lines[-2], "misspelt: not in tests/mutants/sites.py")


class Unit(unittest.TestCase):
    def try_unit(self, code):
        done = mock.Mock(returncode=code, stdout="sqlite_faults_test.c:7:F:faults:a_test:0: it was lost\n")
        with mock.patch.object(mutants.subprocess, "run", return_value=done) as ran:
            return mutants.try_one("build", "standby_opens_what_lacks_commits"), ran

    def test_only_the_case_that_finds_it_runs(self):
        found, ran = self.try_unit(1)
        self.assertEqual(found[0], 1)
        self.assertEqual(ran.call_args.kwargs["env"]["CK_RUN_CASE"], "commits")

    def test_a_test_that_passes_or_is_skipped_has_not_found_it(self):
        for code in 0, 77:
            self.assertIsNone(self.try_unit(code)[0][0])


if __name__ == "__main__":
    unittest.main()
