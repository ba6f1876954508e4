#!/usr/bin/env python3
"""tools/mutants.py: what it says at its end. The builds of the test are a script that finds one mutant of two."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
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

    def test_the_first_failure_of_a_whole_test_ends_it(self):
        done = mock.Mock(returncode=-15, stdout="linked_test.c:7:F:first: it was lost\n")
        with mock.patch.object(mutants.subprocess, "run", return_value=done) as ran:
            self.assertEqual(mutants.try_one("build", "link_says_one_frame"), (1, " it was lost"))
        self.assertIn("WEFT_FIRST_FAILURE", ran.call_args.kwargs["env"])


class Seeds(unittest.TestCase):
    def test_a_mutant_that_is_found_late_is_looked_for_from_a_later_seed(self):
        for mutant, first in {**mutants.FIRST, "link_takes_twice": 1, "link_forgets_flight": 1}.items():
            done = mock.Mock(stdout="FAILED  seed 77, at 0.1 s: it was lost\n")
            with mock.patch.object(mutants.subprocess, "run", return_value=done) as ran:
                self.assertEqual(mutants.try_one("build", mutant)[0], 77)
            self.assertIn(str(first), ran.call_args.args[0])

    def test_those_with_a_later_seed_are_mutants(self):
        self.assertLessEqual(set(mutants.FIRST), set(mutants.MUTANTS))


TESTS = """
#include "suite.h"
START_TEST(it_fails)
{
    ck_assert_msg(false, "on purpose");
}
END_TEST
START_TEST(it_says_so)
{
    fputs("the next one\\n", stderr);
}
END_TEST
int main(void)
{
    Suite *s = suite_create("one");
    TCase *t = tcase_create("one");
    tcase_add_test(t, it_fails);
    tcase_add_test(t, it_says_so);
    suite_add_tcase(s, t);
    return run_suite(s);
}
"""


class FirstFailure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        source = pathlib.Path(folder, "one_test.c")
        source.write_text(TESTS, encoding="utf-8")
        cls.program = source.with_suffix("")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "check"], check=True, capture_output=True, text=True)
        folders = [f"-I{ROOT / name}" for name in ("tests", "runtime/platform", "include")]
        subprocess.run(["cc", *folders, source, "-o", cls.program, *flags.stdout.split()], check=True)

    def run_tests(self, **env):
        return subprocess.run([self.program], env=env, capture_output=True, text=True, check=False)

    def test_the_tests_after_it_do_not_run(self):
        for fork in "yes", "no":
            done = self.run_tests(CK_FORK=fork, WEFT_FIRST_FAILURE="1")
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"one_test\.c:\d+:F:first: .*on purpose")
            self.assertNotIn("the next one", done.stderr)

    def test_otherwise_they_run(self):
        done = self.run_tests()
        self.assertEqual(done.returncode, 1)
        self.assertIn("the next one", done.stderr)


if __name__ == "__main__":
    unittest.main()
