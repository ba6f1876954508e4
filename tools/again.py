#!/usr/bin/env python3
"""Runs the tests that failed once more, each alone.

usage: again.py BUILD TOOL LIST [MESON OPTION...]

TOOL names the results of the first run: BUILD/meson-logs/TOOL*.json. A test that passes now is FLAKY: it, or weft,
has a race that has to be found. Its name and its two logs are appended to the file LIST, which all steps of one run
of `./dev test` share. The exit code is 0 if every test passed now. A whole run may have ALLOWED flaky tests; if more
tests than that failed, no test is run again, because then something is broken."""
import glob
import os
import pathlib
import subprocess
import sys

import tally

ALLOWED = 2


def noted(path):
    """Returns the lines of LIST, one for each flaky test."""
    file = pathlib.Path(path)
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def note(path, test, first, second):
    with open(path, "a", encoding="utf-8") as file:
        print(f"FLAKY {test}: failed: {first}; passed alone: {second}", file=file)


def logs_of(build, name):
    """Meson appends the name of a wrapper to that of a log."""
    return sorted(glob.glob(os.path.join(glob.escape(build), "meson-logs", glob.escape(name) + "*.json")))


def run_alone(build, name, log, options):
    """Returns whether `name` passes. Its output goes to the log of that name."""
    done = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--num-processes", "1", "--print-errorlogs",
                           "--logbase", log, *options, name], check=False)
    return done.returncode == 0 and [kind for kind, _ in tally.results(logs_of(build, log))] == ["passed"]


def main():
    build, tool, notes, options = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    results = logs_of(build, tool)
    failed = [tally.name_of(test) for kind, test in tally.results(results) if kind == "failed"]
    before = len(noted(notes))
    if not failed or before + len(failed) > ALLOWED:
        print(f"{len(failed)} tests failed, {before} were flaky before: no test is run again")
        return 1
    passed = 0
    for name in failed:
        log = f"again-{tool}-{name.replace('/', '-')}"
        print(f"{name} failed; it is run again, alone", flush=True)
        if run_alone(build, name, log, options):
            note(notes, name, *(logs_of(build, base)[0].removesuffix(".json") + ".txt" for base in (tool, log)))
            passed += 1
    return 0 if passed == len(failed) else 1


if __name__ == "__main__":
    sys.exit(main())
