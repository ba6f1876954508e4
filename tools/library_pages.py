#!/usr/bin/env python3
"""Makes section 3 of the manual from the public headers, as site.py makes the reference of the site.

usage: library_pages.py --list           the names of the pages: weft.3, and weft-actor.3 and so on, one a header
       library_pages.py SCDOC FOLDER     makes them there
"""
import importlib.util
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("weft_site", os.path.join(HERE, "site.py"))
headers_of = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(headers_of)


def use(header):
    """Returns the header that a program has to include: some headers are not part of weft.h."""
    own = [] if header == "weft.h" or f"#include <{header}>" in headers_of.read("include", "weft.h") else [header]
    included = [f"*#include <{plain(name)}>*" for name in ["weft.h"] + own]
    return ["# SYNOPSIS", *included, r"cc FILE.c $(pkg\-config \-\-cflags \-\-libs weft)"]


def page_name(header):
    return header.removesuffix(".h").replace("/", "-").replace("_", "-") + ".3"


def plain(line):
    """Escapes all markup."""
    return re.sub(r"([\\*_#.\-`|\[\]<>])", r"\\\1", line)


def literal(lines):
    return "```\n" + "\n".join(lines) + "\n```"


def text_of(comment):
    """Returns the text of a comment: paragraphs are filled, indented lines stay unchanged."""
    body = re.sub(r"\s*\*/\s*$", "", re.sub(r"^\s*/\*+ ?", "", comment))
    out, block, kept = [], [], False
    for line in [re.sub(r"^\s*\* ?", "", line) for line in body.split("\n")] + [""]:
        # Only weft.h has a table without an indent.
        keep = bool(line.startswith("    ") or re.match(r"(Errors|Results|Time|Ownership|Handles|Marks) {2,}", line))
        if (keep != kept or not line.strip()) and block:
            out.append(literal(block) if kept else "\n".join(plain(word.strip()) for word in block))
            block = []
        kept = keep
        if line.strip():
            block.append(line)
    return out + ([literal(block)] if block else [])


def parts(header):
    """Returns the title of a header, and (comment, code) of its parts; the first part has the purpose."""
    text = headers_of.read("include", header)
    guards = r"^#(ifndef|define) WEFT_\w*_?H\n|^#endif\n?\Z|^WEFT_BEGIN\n|^WEFT_END\n|^#include <.*>\n"
    found = list(headers_of.pieces(re.sub(guards, "", text, flags=re.M)))
    title, _, rest = re.sub(r"^/\*\s*", "", found[0][0]).partition(" -- ")
    first, _, rest = rest.partition(".")
    return " ".join(re.sub(r"\n \*", " ", first).split()).removesuffix(" */"), \
        [("/* " + re.sub(r"^\s*\*?/?", "", rest, count=1), found[0][1]), *found[1:]]


def page_of(header):
    name = page_name(header)
    title, pieces = parts(header)
    out = [f"{name[:-2]}(3)", "# NAME", f"{name[:-2]} - {plain(title)}", *use(header),
           "# DESCRIPTION"]
    for number, (comment, code) in enumerate(pieces):
        names = headers_of.declared(code)
        if names and number > 0:
            out.append("## " + plain(", ".join(names[:3]) + (", ..." if len(names) > 3 else "")))
        out += text_of(comment) if comment else []
        if code.strip():
            out.append(literal(code.strip("\n").split("\n")))
    return "\n\n".join([part for part in out if part] + ["# SEE ALSO", "*weft*(3), *weft*(1)"]) + "\n"


def overview():
    _, pieces = parts("weft.h")
    out = ["weft(3)", "# NAME", "weft - actors in C", *use("weft.h"), "# DESCRIPTION",
           *text_of(pieces[0][0]), "# PAGES"]
    for header in headers_of.headers()[1:]:
        names = [name for _, code in parts(header)[1] for name in headers_of.declared(code)]
        functions = [name for name in names if name.startswith("weft_")]
        out.append(f"*{page_name(header)[:-2]}*(3)\n\t{plain(parts(header)[0])}" +
                   (f": {plain(', '.join(functions))}" if functions else ""))
    return "\n\n".join(out + ["# SEE ALSO", "*weft*(1), *weft.conf*(5)"]) + "\n"


def main():
    all_headers = headers_of.headers()
    if sys.argv[1] == "--list":
        print(*map(page_name, all_headers), sep="\n")
        return
    scdoc, folder = sys.argv[1:]
    for header in all_headers:
        source = overview() if header == "weft.h" else page_of(header)
        made = subprocess.run([scdoc], input=source, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            sys.exit(f"{header}: {made.stderr}")
        with open(os.path.join(folder, page_name(header)), "w", encoding="utf-8") as out:
            out.write(made.stdout)


if __name__ == "__main__":
    main()
