#!/usr/bin/env python3
"""Reads meson's results of tests: `tally.py testlog.json...` prints how many passed, failed and were skipped;
`tally.py --failed testlog.json...` prints the last output of those that failed, and `tally.py --names testlog.json...`
their names."""
import json
import sys

KINDS = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped",
         "INTERRUPT": "skipped"}  # the run ended before
SHOWN = 40  # lines of each that failed


def results(paths):
    """Yields each test with "passed", "failed" or "skipped"."""
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                test = json.loads(line)
                yield KINDS.get(test["result"], "failed"), test


def show_failed(paths):
    for kind, test in results(paths):
        if kind == "failed":
            print(f"---- {test['name']}: {test['result']}, {test['duration']:.0f} s, {' '.join(test['command'])}")
            for said in test.get("stderr", ""), test.get("stdout", ""):
                print(*said.splitlines()[-SHOWN:], sep="\n")


def name_of(test):
    """Without the project and the suites, which meson writes before it."""
    return test["name"].split(" / ")[-1]


def main():
    if sys.argv[1] == "--failed":
        show_failed(sys.argv[2:])
        return
    if sys.argv[1] == "--names":
        print(*(name_of(test) for kind, test in results(sys.argv[2:]) if kind == "failed"), sep="\n")
        return
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for kind, _ in results(sys.argv[1:]):
        count[kind] += 1
    print(*count.values())


if __name__ == "__main__":
    main()
