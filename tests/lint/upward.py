#!/usr/bin/env python3
"""Proves that includes point downward, between layers and between the rooms of a layer: with the flags of a lower
room, a header of a higher one is not found, and the room's own headers are.
usage: upward.py BUILD_FOLDER SOURCE_FOLDER

A room is a folder of source files. The flags of the build tell the order of rooms: the folders that a room is given
are below it. That must be an order without cycles, in which each layer is above the one before."""
import json
import pathlib
import shlex
import subprocess
import sys

LAYERS = ["runtime/platform", "runtime", "actors", "transport", "cli"]  # From the bottom up.


def layer_of(path, source):
    below = [l for l in LAYERS if path.is_relative_to(source / l)]
    return max(below, key=len) if below else None


def room_of(path, source):
    """Returns the room of a folder; the platform's folders are one room, because each system has its own."""
    layer = layer_of(path, source)
    return layer if layer == "runtime/platform" else str(path.parent.relative_to(source))


def flags_by_room(build, source):
    """Returns the compiler and its -I and -D flags, from the first source file of each room."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = (build / entry["file"]).resolve()
        if path.suffix != ".c" or layer_of(path, source) is None or not path.is_relative_to(source):
            continue
        if entry["output"].split("/")[0] != path.relative_to(source).parts[0]:
            continue  # A test compiles this file again.
        words = shlex.split(entry["command"])
        compiler = words[: next(i for i, w in enumerate(words) if w.startswith("-"))]
        found.setdefault(room_of(path, source), compiler + [w for w in words if w.startswith(("-I", "-D"))])
    return found


def folders_of(command, build):
    return {(build / w[2:]).resolve() for w in command if w.startswith("-I")}


def reached(command, headers, build):
    """Returns which of these very headers `#include "name"` finds, and not one of the system's with the same name."""
    # With -MG a missing header is named, without a folder, and is no error.
    names = sorted({h.name for h in headers})
    done = subprocess.run(command + ["-xc", "-M", "-MG", "-"], cwd=build, text=True, capture_output=True, check=True,
                          input="".join(f'#include "{name}"\n' for name in names))
    found = {(build / word).resolve() for word in done.stdout.split() if "/" in word}
    return {h for h in headers if h in found}


def rank(room):
    """Returns the number of a room's layer."""
    return max(i for i, l in enumerate(LAYERS) if room == l or room.startswith(l + "/"))


def order_faults(rooms, sees):
    """Returns the faults of the order: a room that is given a higher layer, or two rooms that are given each other."""
    faults = []
    for a in rooms:
        for b in sees[a]:
            if rank(b) > rank(a):
                faults.append(f"{a} sees {b}, which is of a layer above")
            if a < b and a in sees[b]:
                faults.append(f"{a} and {b} see each other")
    return faults


def main():
    build, source = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    flags = flags_by_room(build, source)
    sees = {room: {r for r in flags if r != room and (source / r) in folders_of(command, build)}
            for room, command in flags.items()}
    problems = order_faults(flags, sees)
    headers = {room: sorted((source / room).glob("*.h")) for room in flags}
    checked = 0
    for room, command in sorted(flags.items()):
        # Compiling proves that lower layers can be seen.
        tried = [o for o in sorted(flags) if rank(o) >= rank(room)]
        found = reached(command, [h for o in tried for h in headers[o]], build)
        for other in tried:
            below = other == room or other in sees[room]
            for header in headers[other]:
                checked += 1
                if below != (header in found):
                    problems.append(f"{room} {'cannot' if below else 'can'} include {header.relative_to(source)}")
    print("\n".join(problems))
    print(f"{len(flags)} rooms, {checked} includes tried, {len(problems)} faults")
    return 77 if checked == 0 else 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
