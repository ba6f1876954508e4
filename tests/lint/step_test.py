#!/usr/bin/env python3
"""The steps of ./dev test: the result of each, and that a step which would last longer than the run is stopped."""
import pathlib
import subprocess
import tempfile
import unittest

DEV = pathlib.Path(__file__).resolve().parent.parent.parent / "dev"
# The script has the functions of `dev` that run steps, and steps of the test.
SCRIPT = r"""
set -uo pipefail
logs=. flaky=./flaky passed=0 failed=0 skipped=0 faults=() last_start=100 last_end=$LAST_END
source <(sed -n '/^flaky_count()/,/^}/p; /^flaky_names()/,/^}/p; /^total()/,/^}/p; /^until_late()/,/^}/p; /^step()/,/^}/p; /^or_again()/,/^}/p; /^computed()/,/^)/p' "$DEV")
good() { echo it is good; }
bad() { echo it is bad; return 1; }
build() { printf 'FAILED: a.o\ngcc a.c\nninja: build stopped: subcommand failed.\n'; return 1; }
skips() { echo no tool for it; return 77; }
first_bad() { if [[ -e tried ]]; then echo it is good; else touch tried; return 3; fi; }
flakes() { or_again first_bad; }
fails() { or_again bad; }
briefly=(--briefly)
lint() { echo "lint runs $*"; echo run >>runs; return 3; }
lint_ahead() { computed lint >/dev/null; return 0; }
never_ends() { echo "$BASHPID" >never; tail -f /dev/null; }
# As meson and tools/again.py leave them: one test failed, one failed and passed when it ran again alone.
tests() {
    echo '{"name": "weft:unit / unit/bad", "result": "FAIL", "duration": 1, "command": ["bad"], "stdout": "it is bad"}'
    echo '{"name": "weft:unit / unit/rare", "result": "FAIL", "duration": 1, "command": ["rare"], "stdout": "once"}'
    echo '{"name": "weft:unit / unit/good", "result": "OK", "duration": 1, "command": ["good"]}'
} >tests.json
with_tests() { tests; echo 'FLAKY unit/rare: failed: a; passed alone: b' >>$flaky; return 1; }
for name in "$@"; do
    case $name in
    with_tests) step "$name" tests "$name" ;;
    computed_*) step "$name" - computed "${name#computed_}" ;;
    *) step "$name" - "$name" ;;
    esac
done
total
echo "$passed $failed $skipped"
"""


class Steps(unittest.TestCase):
    def run_steps(self, *names, last_end="1000"):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        (pathlib.Path(folder) / "tools").symlink_to(DEV.parent / "tools")
        done = subprocess.run(["bash", "-c", SCRIPT, "steps", *names], cwd=folder, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "DEV": str(DEV), "LAST_END": last_end}, check=True)
        *lines, total = done.stdout.splitlines()
        return lines, [int(number) for number in total.split()], pathlib.Path(folder)

    def test_passed_failed_and_skipped_steps_are_counted(self):
        lines, total, _ = self.run_steps("good", "bad", "skips")
        self.assertEqual(total, [1, 1, 1])
        self.assertIn("it is bad", lines)
        self.assertIn("FAILED bad: it is bad", lines[-2:])
        self.assertIn("-- skips: skipped: no tool for it", lines)

    def test_the_end_names_what_failed(self):
        lines, total, _ = self.run_steps("with_tests", "bad", "good", "build")
        self.assertEqual(total, [3, 3, 0])
        [at] = [n for n, line in enumerate(lines) if line.startswith("-- with_tests: FAILED")]
        self.assertTrue(lines[at].endswith(": unit/bad"), lines[at])
        self.assertEqual([line for line in lines[-5:] if line.startswith("FAILED ")],
                         ["FAILED with_tests: unit/bad", "FAILED bad: it is bad", "FAILED build: FAILED: a.o"])
        self.assertEqual(lines[-1], "3 passed, 3 failed, 0 skipped, 1 FLAKY")

    def test_a_script_that_fails_once_is_flaky(self):
        lines, total, folder = self.run_steps("flakes", "fails")
        self.assertEqual(total, [1, 1, 0])
        self.assertIn("FLAKY first_bad: failed with exit code 3, passed when it ran again", lines)
        self.assertEqual(len((folder / "flaky").read_text(encoding="utf-8").splitlines()), 1)

    def test_what_was_computed_ahead_is_the_result_of_its_step(self):
        lines, total, folder = self.run_steps("lint_ahead", "computed_lint")
        self.assertEqual(total, [1, 1, 0])
        self.assertIn("FAILED computed_lint: lint runs --briefly", lines)
        self.assertEqual((folder / "runs").read_text(encoding="utf-8"), "run\n")

    def test_a_step_of_which_nothing_was_computed_ahead_computes_it(self):
        lines, total, folder = self.run_steps("computed_lint")
        self.assertEqual(total, [0, 1, 0])
        self.assertIn("FAILED computed_lint: lint runs --briefly", lines)
        self.assertEqual((folder / "runs").read_text(encoding="utf-8"), "run\n")

    def test_a_step_does_not_outlast_the_run(self):
        lines, total, folder = self.run_steps("never_ends", last_end="1")
        self.assertEqual(total, [0, 0, 1])
        self.assertIn("-- never_ends: stopped, 0 passed", lines[-2])
        group = (folder / "never").read_text(encoding="utf-8").strip()
        left = subprocess.run(["ps", "-o", "stat=", "--pid", group], capture_output=True, text=True, check=False)
        self.assertIn(left.stdout.strip()[:1], ("", "Z"))


if __name__ == "__main__":
    unittest.main()
