#!/usr/bin/env python3
"""Prints the targets that tests need, for ninja: needed.py BUILD [--suite SUITE]... [--no-suite SUITE]...

The options select tests as those of `meson test` do. A build for a tool that runs a part of the tests compiles that part."""
import argparse
import json
import os


def is_selected(suites, wanted, unwanted):
    return (not wanted or bool(suites & wanted)) and not suites & unwanted


def needed(build, wanted, unwanted):
    """Returns the files, relative to the folder of the build, in the order of their names."""
    def read(name):
        with open(os.path.join(build, "meson-info", name), encoding="utf-8") as file:
            return json.load(file)
    files = {target["id"]: target["filename"] for target in read("intro-targets.json")}
    chosen = set()
    for test in read("intro-tests.json"):
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        if is_selected(suites, wanted, unwanted):
            chosen.update(file for target in test["depends"] for file in files[target])
    folder = read("meson-info.json")["directories"]["build"]  # the name that meson has for it, which may have links
    return sorted(os.path.relpath(file, folder) for file in chosen)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--no-suite", action="append", default=[])
    options = parser.parse_args()
    print(*needed(options.build, set(options.suite), set(options.no_suite)), sep="\n")


if __name__ == "__main__":
    main()
