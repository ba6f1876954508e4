#!/usr/bin/env python3
"""Every link in the project's pages leads to an existing file, folder or heading; each page that a comment names
exists; every function that a page names is in a public header; docs/index.md leads to every page. Addresses of other
sites are not tested, because a test must not need the network."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^()\s]+)\)")
MADE = {"weft_entry_str", "weft_str_map", "weft_str_find",  # Macros of weft/typed.h define these functions.
        "weft_field_types_are_str_bin_bool_int_uint_real_pid_list_map_maybe_and_yours_not_string"}
SOURCES = (".c", ".h", ".py", ".sh", ".S", ".build", ".txt", ".md", ".pml")
ELSEWHERE = ("http://", "https://", "mailto:")


def tracked():
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in out.split("\0") if name and os.path.isfile(os.path.join(ROOT, name))]


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as f:
        return f.read()


def prose(text):
    """Returns the page without its code; each line stays in its place."""
    text = re.sub(r"^```.*?^```$", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """Returns the anchors of a page's headings, as GitHub and the site make them."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        slug = words.strip().replace(" ", "-")
        number = sum(1 for name in found if name == slug or re.fullmatch(re.escape(slug) + r"-\d+", name))
        found.add(slug if number == 0 else f"{slug}-{number}")
    return found


def links(pages):
    """Returns the faults of links in `pages`, a dictionary of name -> text."""
    for page, text in pages.items():
        for number, line in enumerate(prose(text).split("\n"), 1):
            for target in LINK.findall(line):
                if target.startswith(ELSEWHERE):
                    continue
                name, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
                if name and (path.startswith("..") or not os.path.exists(os.path.join(ROOT, path))):
                    yield f"{page}:{number}: there is no {target}"
                elif anchor and path.endswith(".md") and anchor not in anchors(pages.get(path) or read(path)):
                    yield f"{page}:{number}: {path} has no heading #{anchor}"


def named(names):
    """Returns the faults of comments that name pages."""
    for name in names:
        if not name.startswith("tests/docs/") and name.endswith(SOURCES):
            for number, line in enumerate(read(name).split("\n"), 1):
                for page in re.findall(r"\bdocs/[\w-]+\.md\b", line):
                    if not os.path.exists(os.path.join(ROOT, page)):
                        yield f"{name}:{number}: there is no {page}"


def functions(pages):
    """Returns the faults of pages in docs/ that name a function, type or figure of weft which does not exist."""
    headers = "".join(read(name) for name in tracked() if name.startswith("include/"))
    known = set(re.findall(r"\bweft_\w+", headers)) | MADE
    known |= {"weft_" + name for name in re.findall(r'"([a-z_]+)"', read("transport/metrics/metrics_text.c"))}
    known |= {"weft_store_" + name for name in re.findall(r'"([a-z_]+)"', read("transport/store/readers/store_metrics.c"))}
    for page, text in pages.items():
        if page.startswith("docs/"):
            for number, line in enumerate(text.split("\n"), 1):
                for name in re.findall(r"(?<![\w./-])weft_\w*[a-z0-9](?![\w*./-])", line):
                    if name not in known:
                        yield f"{page}:{number}: no header has {name}"


def index(pages):
    there = set(LINK.findall(pages["docs/index.md"]))
    for page in pages:
        if page.startswith("docs/") and page != "docs/index.md" and os.path.basename(page) not in there:
            yield f"docs/index.md does not lead to {page}"


def main():
    names = tracked()
    pages = {name: read(name) for name in names if name.endswith(".md")}
    assert anchors("# A `b` c\n## A b, c\n## d.e\n") == {"a-b-c", "a-b-c-1", "de"}
    bad = {"docs/x.md": "[a](y.md)\n[b](#c)\n`[d](e)`\n# B\n[b](#b)\n"}
    assert len(list(links(bad))) == 2, list(links(bad))
    faults = [*links(pages), *named(names), *functions(pages), *index(pages)]
    print("\n".join(faults))
    print(f"{len(pages)} pages, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
