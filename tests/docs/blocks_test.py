#!/usr/bin/env python3
"""Every block of C in docs/ compiles with the public headers and the declarations of tests/docs/context.txt.

usage: blocks_test.py [PAGE...]

A block consists of parts, with empty lines between them. Parts that are definitions are compiled as they are, the
others inside of a function. `...` stands for omitted code. Blocks that begin with the name of a file are quotations
from it: integration/examples compares them."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMPILE = ["cc", "-x", "c", "-std=gnu11", "-O1", "-c", "-o", "/dev/null", "-Wall", "-Wextra", "-Werror",
           "-Wno-unused", "-Wunused-result", "-Wno-unused-parameter",
           "-Wno-maybe-uninitialized", f"-I{ROOT}/include", "-"]
# A part that begins like this is compiled outside of a function.
DEFINES = re.compile(r"#|WEFT_[A-Z_]+\(|static [^=;]*\([^;]*\{|static [^=;]*\([^;]*\)$|int main\(|START_TEST|"
                     r"(struct|enum|union) \w* ?\{|typedef |static const weft_local_key ", re.M)


def blocks(page):
    """Returns (line, text) of each block."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    for found in re.finditer(r"^```c\n(.*?)^```$", text, re.M | re.S):
        # Blocks with deliberate mistakes are compiled, and run, by integration/mistakes.
        mistaken = page.endswith("mistakes.md") and "static void first(" in found[1]
        if not mistaken and not re.match(r"/\* [\w.]+ \*/\n", found[1]):
            yield text.count("\n", 0, found.start()) + 2, found[1]


def contexts():
    """Returns {page: its lines}; a line that begins with BLOCK and numbers is for these blocks only."""
    found, page = {}, None
    with open(os.path.join(HERE, "context.txt"), encoding="utf-8") as f:
        for line in f:
            if header := re.fullmatch(r"\[(.+)\]\n", line):
                page = found.setdefault(header[1], [])
            elif page is not None:
                page.append(line)
    return found


def context(lines, number):
    kept = []
    for line in lines:
        only = re.match(r"BLOCK ([\d, ]+): ", line)
        if only is None or number in map(int, only[1].split(",")):
            kept.append(line[only.end():] if only else line)
    return "".join(kept)


def without_gaps(text):
    """Removes `...` outside of comments and texts."""
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|\.\.\.', lambda m: "{ }" if m[0] == "..." else m[0], text, flags=re.S)


def as_source(before, text):
    alone, within = "", ""
    for part in re.split(r"\n\n+", without_gaps(text)):
        lines = part.strip("\n") + "\n"
        if DEFINES.match(re.sub(r"^(/\*.*?\*/\s*)+", "", lines, flags=re.S)):
            alone += lines
        else:
            within += lines
    function = "int block_of_the_page(void);\nint block_of_the_page(void)\n{\n" + within + "return 0;\n}\n"
    # An actor's body may have `return;` too.
    if re.search(r"\breturn;", within):
        function = function.replace("int block", "void block").replace("return 0;\n", "")
    return before + alone + (function if within else "")


def check(job):
    page, line, source = job
    done = subprocess.run(COMPILE, input=source, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"docs/{page}:{line}: this block does not compile\n{done.stderr}"


def main():
    there = sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
    pages = [os.path.join(ROOT, page) for page in sys.argv[1:]] or there
    known, jobs = contexts(), []
    for page in pages:
        name = os.path.basename(page)
        for number, (line, text) in enumerate(blocks(page), 1):
            before = context(known["all"], number) + context(known.get(name, []), number)
            jobs.append((name, line, as_source(before, text)))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [fault for fault in pool.map(check, jobs) if fault]
    strange = set(known) - {"all"} - {os.path.basename(page) for page in there}
    faults += [f"context.txt: there is no page {name}" for name in sorted(strange)]
    print("\n".join(faults))
    print(f"{len(jobs)} blocks, {len(faults)} faults")
    sys.exit(1 if faults or not jobs else 0)


if __name__ == "__main__":
    main()
