#!/usr/bin/env python3
"""One line about a fuzz target: fuzz_summary.py NAME LOG FILE..., with llvm-cov's summary on standard input. Lines
and branches are those of the named files."""
import json
import os
import re
import sys

name, log, *files = sys.argv[1:]
wanted = [os.path.abspath(f) for f in files]
found = [f["summary"] for f in json.load(sys.stdin)["data"][0]["files"] if os.path.abspath(f["filename"]) in wanted]
if len(found) != len(wanted):
    sys.exit("%s: it has %d of these files: %s" % (name, len(found), " ".join(files)))
text = open(log, errors="replace").read()


def figure(what):
    line = re.search(r"stat::%s:\s*(\d+)" % what, text)
    return int(line.group(1)) if line else 0


def part(what):
    covered = sum(s[what]["covered"] for s in found)
    count = sum(s[what]["count"] for s in found)
    return "%5.1f %% of %5d" % (100 * covered / max(count, 1), count)


# libFuzzer counts whole seconds: of a run of less than one it knows no rate.
print("%-10s %10d %12s %16s %16s" % (name, figure("number_of_executed_units"), figure("average_exec_per_sec") or "-",
                                     part("lines"), part("branches")))
