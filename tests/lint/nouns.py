#!/usr/bin/env python3
"""Fails where a header declares a function that the file with its name does not define: `credit.h` is for `credit.c`,
so that a reader of a call knows which file to open; or where a room (folder) has more nouns than ROOM_MAX. A noun is a
.c, a .h, or both. It reads the text, not the build: the files of all systems count.
usage: nouns.py SOURCE_FOLDER"""
import collections
import pathlib
import re
import sys

LAYERS = ["runtime", "actors", "transport", "cli"]

# {"header: file", or the beginning of that text: the reason why the file defines what the header declares}
ALLOWED = {
    "runtime/platform/": "the contract: each system's folder has files of its own",
    "transport/carrier/carrier.h: transport/carrier/carrier_nng.c": "carrier_nng.h needs NNG's headers",
    "transport/security/identity_tls.h: transport/security/identity.c": "it needs mbed TLS's types",
    "transport/sim/sim_run.h: transport/sim/sim_world.c": "the command sees sim_run.h and not the world",
}

ROOM_MAX = 21  # It may only fall: divide a room that grows, at a door of one way.
# {room: (its nouns, the reason)}
LARGE_ROOMS = {
    "runtime/platform/posix": (25, "a file for each part of the contract, platform.h; windows/ has the same"),
    "runtime/platform/windows": (25, "as posix/"),
    "transport/store/sql": (22, "a noun for each table, and what they share"),
}

TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
BESIDE = re.compile(r"\b(?:__attribute__|alignas|_Atomic|WF_\w+|WEFT_PRINTF)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
STATEMENT = re.compile(r"[^;{}]*?(?:\{\}[^;{}]*?)*?(?:\)\s*\{\}|;)", re.S)
TYPE = re.compile(r"(typedef|static|inline)\b|(struct|enum|union)(\s+\w+)?\s*(\{\}\s*)?;")


def flat(text):
    """Returns the C code without comments, literals and directives, and with {} for each body."""
    text = BESIDE.sub(" ", DIRECTIVE.sub("", TEXT.sub(" ", text)))
    out, depth = [], 0
    for piece in re.split(r"([{}])", text):
        depth -= piece == "}"
        if depth == 0:
            out.append(piece)
        depth += piece == "{"
    return "".join(out)


def names(text):
    """Returns [(name, whether it is defined here)] for functions and variables with external linkage."""
    found = []
    for statement in (s.strip() for s in STATEMENT.findall(flat(text))):
        if TYPE.match(statement):
            continue
        body = statement.endswith("}") or "=" in statement
        head = re.split(r"[(=]", statement)[0]  # A declaration of a function, or of one or several variables.
        found += [(re.findall(r"\w+", part.split("[")[0])[-1], body) for part in head.rstrip("; {}").split(",")
                  if re.search(r"\w+[\s\[\]]*$", part.split("[")[0])]
    return found


def fits(header, files):
    """Returns whether the header may declare what `files` define: one has its name, or a build chooses one of
    NAME_*.c."""
    return any(f.stem == header.stem for f in files) or (
        len(files) > 1 and all(f.stem.startswith(header.stem + "_") for f in files))


def offenders(files):
    """Returns [(header, file that defines what it declares, names)]; `files` is {path: text}."""
    where = collections.defaultdict(set)
    for path, text in files.items():
        if path.suffix == ".c":
            for name, here in names(text):
                if here:
                    where[name].add(path)
    found = collections.defaultdict(set)
    for path, text in files.items():
        if path.suffix == ".h":
            for name, here in names(text):
                if not here and name in where and not fits(path, where[name]):
                    for file in where[name]:
                        found[path, file].add(name)
    return [(h, c, sorted(found[h, c])) for h, c in sorted(found)]


def crowded(paths):
    """Returns [(room, its nouns, how many it may have)] for rooms that have more, or fewer than LARGE_ROOMS says."""
    rooms = collections.defaultdict(set)
    for path in paths:
        rooms[str(path.parent)].add(path.stem)
    found = []
    for room, here in sorted(rooms.items()):
        most = LARGE_ROOMS.get(room, (ROOM_MAX, ""))[0]
        if len(here) > most or (room in LARGE_ROOMS and len(here) < most):
            found.append((room, len(here), most))
    return found


def is_allowed(header, file):
    return any((str(header) + ": " + str(file)).startswith(known) for known in ALLOWED)


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    files = {p.relative_to(source): p.read_text(encoding="utf-8") for layer in LAYERS
             for p in sorted((source / layer).rglob("*.[ch]"))}
    found = offenders(files)
    bad = [f"{h} declares for {c}: {', '.join(used)}" for h, c, used in found if not is_allowed(h, c)]
    bad += [f"{known}: it is allowed here and no longer needed" for known in ALLOWED
            if not any(f"{h}: {c}".startswith(known) for h, c, _ in found)]
    bad += [f"{room} has {count} nouns, not {most}: " + ("divide it" if count > most else "lower LARGE_ROOMS")
            for room, count, most in crowded(files)]
    print("\n".join(bad))
    print(f"{len(files)} files, {len(bad)} faults, {len(found) - len(bad)} allowed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
