#!/usr/bin/env python3
"""Runs the unit suite for another processor, in an emulator, or with another C library: ./dev aarch64, ./dev musl.

usage: tests/cross/run.py aarch64|musl FOLDER [NAME...]
       tests/cross/run.py aarch64|musl FOLDER --build     builds what the tests need, and runs none

tests/cross/KIND.txt lists the cases that an emulator or a library cannot pass, with the reason. Any other case that
fails is an error, and so is a listed case that passes."""
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import again  # pylint: disable=wrong-import-position
import needed  # pylint: disable=wrong-import-position
# These libraries are not built for the other system.
OFF = ("-Ddefault_library=shared", "-Dtls=disabled", "-Detcd=disabled", "-Ddns=disabled")
# An emulator needs fast code; elsewhere optimised code takes longer to compile than to run.
QUICKLY = {"musl": ("-Doptimization=0", "-Ddebug=false")}
# These tests run thousands of members in virtual time, which takes minutes where each step costs ten times as much.
LONG = ("unit/transport/cluster/swim_net",)
RUN, LEFT_OUT = "unit", "allocations"  # suites
CASE = re.compile(r"_test\.c:\d+:[FE]:[^:]*:(\w+):")


def known(kind):
    """Returns {case: reason}."""
    path = os.path.join(ROOT, "tests", "cross", kind + ".txt")
    with open(path, encoding="utf-8") as f:
        return dict(line.split(None, 1) for line in f if line.strip() and not line.startswith("#"))


def build_tests(build):
    subprocess.run(["ninja", "-C", build, "build.ninja"], check=True)  # meson may have to write it again first
    return subprocess.run(["ninja", "-C", build, *needed.needed(build, {RUN}, {LEFT_OUT})], check=False).returncode


def run_tests(build, names):
    suite = ("--suite", RUN, "--no-suite", LEFT_OUT)
    if not names:
        listed = subprocess.run(["meson", "test", "-C", build, "--list", "--no-rebuild", *suite], check=True,
                                text=True, capture_output=True).stdout
        names = [name for name in re.findall(r" / (\S+)$", listed, re.M) if name not in LONG]
    env = dict(os.environ, CK_DEFAULT_TIMEOUT="300")  # Seconds that one test may take, because an emulator is slow.
    processes = str(os.cpu_count() + 1)
    subprocess.run(["meson", "test", "-C", build, *suite, "-t", "6", "--num-processes", processes, *names], env=env,
                   check=False)
    with open(os.path.join(build, "meson-logs", "testlog.json"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def is_fault(result, reasons):
    """Returns whether the test failed with a case that is not listed."""
    cases = set(CASE.findall(result.get("stdout", "")))
    return result["result"] not in ("OK", "SKIP") and (not cases or bool(cases - set(reasons)))


def passes_alone(build, result, reasons):
    """Runs a failed test again, alone. In a run of ./dev test this works like tools/again.py, which counts FLAKY
    tests."""
    notes = os.environ.get("FLAKY_LIST")
    if not notes or len(again.noted(notes)) >= again.ALLOWED:
        return False
    logs = os.path.join(build, "meson-logs")
    first = os.path.join(logs, "first.txt")
    if not os.path.exists(first):
        shutil.copy(os.path.join(logs, "testlog.txt"), first)
    name = result["name"].split(" / ")[-1]
    [second] = run_tests(build, [name])
    if is_fault(second, reasons):
        return False
    again.note(notes, name, first, os.path.join(logs, "testlog.txt"))
    return True


def main():
    kind, folder, names = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    libraries = subprocess.run([os.path.join(ROOT, "tools", "cross.sh"), kind, folder], check=False).returncode
    if libraries != 0:  # Exit code 77 means that nothing can be built from it.
        return libraries
    build, log = os.path.join(folder, "weft"), os.path.join(folder, "weft", "meson-logs", "testlog.json")
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["meson", "setup", build, ROOT, "--cross-file", os.path.join(folder, "cross.ini"), *OFF,
                        *QUICKLY.get(kind, ())], check=True)
    if names == ["--build"]:
        return build_tests(build)
    for old in (log, os.path.join(os.path.dirname(log), "first.txt")):
        if os.path.exists(old):
            os.remove(old)
    results, reasons = run_tests(build, names), known(kind)
    faults, failed = [], set()
    for result in results:
        cases = set(CASE.findall(result.get("stdout", "")))
        failed |= cases
        if is_fault(result, reasons) and not passes_alone(build, result, reasons):
            faults.append(f"{result['name']}: {result['result']}: {', '.join(sorted(cases - set(reasons)))}")
    if not names:
        faults += [f"{case} does not fail any more: take it out of tests/cross/{kind}.txt"
                   for case in sorted(set(reasons) - failed)]
    for case in sorted(failed & set(reasons)):
        print(f"{case} fails, as the list says: {reasons[case].strip()}")
    print("\n".join(faults) or f"{len(results)} programs of unit tests ran for {kind}")
    return bool(faults) or not results


if __name__ == "__main__":
    sys.exit(main())
