#!/usr/bin/env python3
"""Adds up what meson says of its tests: `tally.py testlog.json...` prints passed, failed and skipped."""
import json
import sys

count = {"passed": 0, "failed": 0, "skipped": 0}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as log:
        for line in log:
            result = json.loads(line)["result"]
            kind = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}.get(result, "failed")
            count[kind] += 1
print(*count.values())
