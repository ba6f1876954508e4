#!/usr/bin/env python3
"""Checks the ABI of libweft: its symbols, their types, and the layout of the public structs.

usage: abi.py LIBRARY INCLUDE [--store]      INCLUDE: the folder of weft.h; exit code 77: no gdb

Types are those of a program made of the public headers, so the library may be stripped.

The list is packaging/abi.txt, of libweft-store packaging/abi-store.txt. A line that is new there is an addition. One that changes or goes breaks programs that
are linked already: once a version has been released that needs the next number in the soname (`abi` in meson.build).
"""
import difflib
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = os.path.join(ROOT, "packaging", "abi.txt")
HEADERS = ["weft.h", "weft/msgpack.h", "weft/sim.h", "weft/test.h"]
# A library beside libweft has its own list and headers.
BESIDE = {"libweft-store": ("abi-store.txt", ["weft/store.h", "weft/queue.h", "weft/persist.h"])}


def exported(library):
    """Returns the names of each version tag, without the tags themselves."""
    done = subprocess.run(["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True)
    tags = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) < 8 or words[6] in ("UND", "ABS") or words[4] not in ("GLOBAL", "WEAK"):
            continue
        name, _, tag = words[7].partition("@@")
        tags.setdefault(tag or "no version", set()).add(name)
    return tags


# Runs in gdb, in a program that has a pointer to each symbol. Types are followed from these; weft's own are shown,
# those of the system are only named.
INSIDE = r'''
import gdb, os, re
names = os.environ["ABI_NAMES"].split()
lines, seen = [], set()

def defined(type):
    return ((type.name if type.code == gdb.TYPE_CODE_TYPEDEF else type.tag) or "").startswith("weft_")

def within(type):
    return " { " + "; ".join("%d %s" % (f.bitpos // 8, show(f)) for f in type.fields()) + " }"

def show(field):
    t = field.type
    if t.code == gdb.TYPE_CODE_ARRAY and t.target().code == gdb.TYPE_CODE_STRUCT and t.target().name is None:
        return "struct%s [%d] %s" % (within(t.target()), t.range()[1] + 1, field.name)
    if t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and t.tag is None and t.name is None:
        return "%s%s %s" % ("union" if t.code == gdb.TYPE_CODE_UNION else "struct", within(t), field.name or "")
    return "%s %s" % (t, field.name or "")

def visit(type):
    code = type.code
    if code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ARRAY):
        return visit(type.target())
    if code == gdb.TYPE_CODE_FUNC:
        visit(type.target())
        for f in type.fields(): visit(f.type)
        return
    if code == gdb.TYPE_CODE_TYPEDEF:
        if type.name in seen: return
        seen.add(type.name)
        target = type.target()
        if not defined(type): return
        if target.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ENUM) and target.tag is None:
            return layout("type " + type.name, target)
        lines.append("type %s = %s" % (type.name, target))
        return visit(target)
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ENUM):
        type = type.unqualified()
        name = str(type)
        if name in seen: return
        seen.add(name)
        if defined(type): layout(name, type)

def layout(name, type):
    try:
        fields = type.fields()
    except TypeError:
        return
    if not fields: return
    if type.code == gdb.TYPE_CODE_ENUM:
        lines.append("%s { %s }" % (name, ", ".join("%s = %d" % (f.name, f.enumval) for f in fields)))
        return
    lines.append("%s %d bytes%s" % (name, type.sizeof, within(type)))
    for f in fields: visit(f.type)

for name in names:
    t = gdb.lookup_global_symbol("at_" + name).type.target()
    lines.append("%s: %s" % (name, t))
    visit(t)
print("\n".join(sorted(set(re.sub(r" +(?=[;(), ])", "", line) for line in lines))))
'''


def described(include, names, headers):
    """Returns one line for each function, object and type that the public headers define."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "all.c"), os.path.join(folder, "all.o")
        with open(source, "w", encoding="utf-8") as out:
            out.writelines(f"#include <{header}>\n" for header in headers)
            out.writelines(f"__typeof__({name}) *at_{name} = &{name};\n" for name in sorted(names))
        subprocess.run(["cc", "-std=gnu11", "-g", "-c", f"-I{include}", source, "-o", program], check=True)
        env = {**os.environ, "ABI_NAMES": " ".join(sorted(names))}
        done = subprocess.run(["gdb", "-nx", "-batch", "-ex", f"python\n{INSIDE}", program], check=False, env=env,
                              capture_output=True, text=True)
    if not done.stdout.strip():
        sys.exit(f"gdb printed no types: {done.stderr}")
    return [line + "\n" for line in done.stdout.splitlines()]


def main():
    library, include = sys.argv[1], os.path.realpath(sys.argv[2])
    name = os.path.basename(library).split(".so")[0]
    known, headers = BESIDE.get(name, ("abi.txt", HEADERS))
    known = os.path.join(os.path.dirname(LIST), known)
    public = "WEFT_STORE_0" if name in BESIDE else "WEFT_0"
    tags = exported(library)
    strange = {tag: sorted(names) for tag, names in tags.items()
               if tag not in (public, public.replace("_0", "_PRIVATE"))}
    if strange:
        sys.exit(f"these symbols are exported, but no part of packaging/weft.map names them: {strange}")
    if shutil.which("gdb") is None:
        print("skipped: there is no gdb")
        sys.exit(77)
    lines = described(include, tags[public], headers)
    if "--store" in sys.argv[3:]:
        with open(known, "w", encoding="utf-8") as out:
            out.writelines(lines)
        return
    with open(known, encoding="utf-8") as stored:
        difference = list(difflib.unified_diff(stored.readlines(), lines, os.path.relpath(known, ROOT), "now", n=0))
    if difference:
        sys.stdout.writelines(difference)
        sys.exit("What programs are linked with has changed. If that is meant:\n"
                 f"tests/lint/abi.py build-gcc/{name}.so include --store;\n"
                 "if a line went or changed since the last release: the next `abi` in meson.build, too.")
    print(f"{len(tags[public])} symbols, {len(lines)} lines as stored")


if __name__ == "__main__":
    main()
