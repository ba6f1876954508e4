#!/usr/bin/env python3
"""Fails where the marks of a public function ([W], [Y]: include/weft.h) do not say whether it lets other actors run:
a function that calls wf_task_tick or the like itself needs one of them, and so does each function of which
tests/unit/actors/run/loops_test.c finds that it does; those of which it finds that they do not must have none.
usage: marks.py SOURCE_FOLDER"""
import pathlib
import re
import sys

YIELDS = re.compile(r"\b(?:wf_task_tick|wf_task_tick_for|wf_task_yield|wf_task_finish_wait|wf_task_wait\w*)\(")
DEFINITION = re.compile(r"^(?:int|int64_t|void|bool|weft_\w+)\s+(?:\*\s*)?(weft_\w+)\([^;{]*\)\n\{\n(.*?)^\}", re.M | re.S)
ROW = re.compile(r'\{"(weft_[^"]*)", \w+, (true|false)\}')
COMMENT = re.compile(r"/\*(.*?)\*/(.*?)(?=/\*|\Z)", re.S)


def marks(root):
    """{function: the letters of its marks}; a comment is for all functions that follow it, unless it names each."""
    found = {}
    for header in sorted(root.glob("include/weft/*.h")):
        for comment, code in COMMENT.findall(header.read_text(encoding="utf-8")):
            own = dict(re.findall(r"(weft_\w+): \[([A-Z, ]+)\]", comment))
            first = re.match(r"\s*\[([A-Z, ]+)\]", comment)
            for name in re.findall(r"WEFT_API[^;{]*?\b(weft_\w+)\(", code):
                found[name] = own.get(name, first.group(1) if first else "")
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    of, faults, seen = marks(root), [], 0
    wanted = {}  # {function: (whether it yields, the place that shows it)}
    for layer in ("runtime", "actors", "transport"):
        for path in sorted((root / layer).rglob("*.c")):
            for name, body in DEFINITION.findall(path.read_text(encoding="utf-8")):
                seen += name in of
                if YIELDS.search(body):
                    wanted[name] = (True, path.relative_to(root))
    test = root / "tests/unit/actors/run/loops_test.c"
    rows = ROW.findall(test.read_text(encoding="utf-8"))
    for names, yields in rows:
        for name in re.findall(r"weft_\w+", names):
            wanted[name] = (yields == "true", test.relative_to(root))
    if seen < 200 or len(rows) < 20:
        sys.exit(f"marks: only {seen} public functions and {len(rows)} rows were found: the patterns of this file are wrong")
    for name, (yields, place) in sorted(wanted.items()):
        if name in of and yields != bool(re.search("[WY]", of[name])):
            need = "it may let other actors run, so it needs [W] or [Y]" if yields else "it never lets other actors run"
            faults.append(f"{name} is marked [{of[name]}], but {need}: {place}")
    for fault in faults:
        print(fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
