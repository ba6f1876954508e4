#!/usr/bin/env python3
"""Proves that includes point downward: with the flags of a lower layer, a header of a higher one is not found, and
the layer's own headers are. usage: upward.py BUILD_FOLDER SOURCE_FOLDER"""
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


def reaches(command, header):
    """Whether `#include "name"` finds this very header (and not one of the system's with the same name)."""
    # -MG: what the header includes itself may be in a folder of one system, which only that system's files see.
    done = subprocess.run(command + ["-xc", "-M", "-MG", "-"], cwd=build, text=True, capture_output=True,
                          input=f'#include "{header.name}"\n', check=False)
    found = (build / word for word in done.stdout.split() if word.endswith("/" + header.name))
    return done.returncode == 0 and any(f.resolve() == header for f in found)


faults = checked = 0
for layer, command in flags_by_layer().items():
    for header in sorted(h for l in LAYERS for h in (source / l).glob("*.h")):
        theirs = layer_of(header)
        upward = LAYERS.index(theirs) > LAYERS.index(layer)
        checked += 1
        if upward == reaches(command, header):
            print(f"{layer} {'can' if upward else 'cannot'} include {header.relative_to(source)}")
            faults += 1
print(f"{checked} includes tried, {faults} faults")
sys.exit(77 if checked == 0 else 1 if faults else 0)
