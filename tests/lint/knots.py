#!/usr/bin/env python3
"""Fails where the files of a layer call each other in a knot, that is, a cycle of calls that is larger than the
limit below, or where two rooms (folders) call each other. Calls are read from the objects of the build, by their
symbols.
usage: knots.py BUILD_FOLDER SOURCE_FOLDER [-v]"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys

# The largest cycle that each layer may have. A bound may only fall: untie a knot, then lower it here.
BOUNDS = {"runtime": 6, "actors": 4, "transport": 4, "cli": 3}


def objects(build, source):
    """Returns {source file: object} of all libraries and the command, by layer."""
    found = collections.defaultdict(dict)
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = (build / entry["file"]).resolve()
        if not path.is_relative_to(source) or path.suffix not in (".c", ".S"):
            continue
        name = path.relative_to(source)
        made = build / entry["output"]
        if name.parts[0] in BOUNDS and pathlib.PurePath(entry["output"]).parts[0] == name.parts[0] and made.is_file():
            found[name.parts[0]].setdefault(str(name), made)
    return found


def symbols(files):
    """Returns {file: (symbols it defines, symbols it needs)}, from one run of nm."""
    names = {str(path): name for name, path in files.items()}
    found = {name: (set(), set()) for name in files}
    out = subprocess.run(["nm", "-gA", *names], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        words = rest.split()
        defined, wanted = found[names[path]]
        if words[-2] in "Uwv":
            wanted.add(words[-1])
        else:
            defined.add(words[-1])
    return found


def calls_of(files):
    """Returns {file: {file it calls: symbols}}."""
    where, wants = {}, {}
    for name, (defined, wanted) in symbols(files).items():
        wants[name] = wanted
        where.update({symbol: name for symbol in defined})
    calls = {}
    for name, wanted in wants.items():
        calls[name] = collections.defaultdict(set)
        for symbol in wanted:
            if symbol in where and where[symbol] != name:
                calls[name][where[symbol]].add(symbol)
    return calls


def cycles(calls):
    """Returns the largest cycle of calls: Tarjan's strongly connected components, without recursion."""
    index, low, on, stack, best = {}, {}, set(), [], []
    for root in calls:
        if root in index:
            continue
        work = [(root, iter(calls[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            at, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(calls.get(to, ()))))
                    break
                if to in on:
                    low[at] = min(low[at], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    part = []
                    while not part or part[-1] != at:
                        part.append(stack.pop())
                        on.discard(part[-1])
                    best = max(best, part, key=len)
    return sorted(best)


def room_of(name):
    room = str(pathlib.PurePath(name).parent)
    return "runtime/platform" if room.startswith("runtime/platform") else room


def two_way(calls):
    """Returns [(room, room, a call there, a call back)] for rooms that call each other."""
    ways = {}
    for name, targets in calls.items():
        for target, used in targets.items():
            if room_of(name) != room_of(target):
                ways.setdefault((room_of(name), room_of(target)), f"{name} calls {min(used)}")
    return [(a, b, ways[a, b], ways[b, a]) for a, b in sorted(ways) if a < b and (b, a) in ways]


def main():
    build, source = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    layers = objects(build, source) if shutil.which("nm") else {}
    problems = 0
    for layer, files in layers.items():
        calls = calls_of(files)
        largest, both = cycles(calls), two_way(calls)
        rooms = len({room_of(f) for f in files})
        print(f"{layer}: {len(files)} files, {rooms} rooms, largest cycle {len(largest)}, {len(both)} pairs of rooms "
              "that call each other")
        if len(largest) > BOUNDS[layer] or "-v" in sys.argv:
            print("  cycle:", " ".join(largest))
        if len(largest) > BOUNDS[layer]:
            print(f"  at most {BOUNDS[layer]} files: register what is called upward (ARCHITECTURE.md, doors)")
        for _, _, there, back in both:
            print(f"  {there}; {back}")
        problems += len(largest) > BOUNDS[layer]
        problems += len(both)
    return 77 if not layers else 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
