#!/usr/bin/env python3
"""Proves that includes point downward: compiled with the flags of a lower layer, a header of a higher one is not
found, and the layer's own headers are. usage: upward.py BUILD_FOLDER SOURCE_FOLDER"""
import json
import pathlib
import shlex
import subprocess
import sys

LAYERS = ["runtime/platform", "runtime", "actors", "transport"]  # from the bottom up
build, source = (pathlib.Path(p).resolve() for p in sys.argv[1:3])


def layer_of(path):
    below = [l for l in LAYERS if path.is_relative_to(source / l)]
    return max(below, key=len) if below else None


def flags_by_layer():
    """The compiler and its -I and -D flags, from the first source file of each layer."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = (build / entry["file"]).resolve()
        layer = layer_of(path)
        if layer and path.suffix == ".c":
            words = shlex.split(entry["command"])
            compiler = words[: next(i for i, w in enumerate(words) if w.startswith("-"))]
            found.setdefault(layer, compiler + [w for w in words if w.startswith(("-I", "-D"))])
    return found


def compiles(command, header):
    done = subprocess.run(command + ["-xc", "-fsyntax-only", "-"], cwd=build, text=True, capture_output=True,
                          input=f'#include "{header}"\n', check=False)
    return done.returncode == 0, done.stderr


faults = checked = 0
for layer, command in flags_by_layer().items():
    for header in sorted(h for l in LAYERS for h in (source / l).glob("*.h")):
        theirs = layer_of(header)
        upward = LAYERS.index(theirs) > LAYERS.index(layer)
        ok, errors = compiles(command, header.name)
        checked += 1
        if upward and ok:
            print(f"{layer} can include {theirs}/{header.name}")
            faults += 1
        elif upward and "No such file" not in errors and "file not found" not in errors:
            print(f"{theirs}/{header.name} fails in {layer} for another reason:\n{errors}")
            faults += 1
        elif not upward and not ok:
            print(f"{layer} cannot include {theirs}/{header.name}:\n{errors}")
            faults += 1
print(f"{checked} includes tried, {faults} faults")
sys.exit(77 if checked == 0 else 1 if faults else 0)
