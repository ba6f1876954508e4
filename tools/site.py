#!/usr/bin/env python3
"""Makes a site of docs/: ./dev docs. usage: site.py FOLDER; the site is FOLDER/site; exit code 77: there is no mkdocs

The pages are those of docs/, in the order of docs/index.md, which is the one table of contents; ARCHITECTURE.md and
CHANGELOG.md; a page of reference for each public header, made of its comments, because the headers are the manual;
and a page for every other file that one of them links to. mkdocs makes HTML of them, with navigation and search."""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BESIDE = ("ARCHITECTURE.md", "CHANGELOG.md")
LINK = re.compile(r"(?<!\\)\[([^\]]*)\]\(([^()\s]+)\)")
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".py": "python", ".pml": "c", ".sh": "sh", ".yml": "yaml"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


# ---- The reference ------------------------------------------------------------------------------

def plain(line):
    """Escapes all Markdown except text between backquotes."""
    parts = re.split(r"(`[^`]*`)", line)
    special = re.compile(r"([*<>#\\]|^[-+](?= ))")
    return "".join(part if part.startswith("`") else special.sub(r"\\\1", part) for part in parts)


def comment_text(comment):
    """Returns the text of a comment as Markdown: words stay unchanged, indented lines are code."""
    body = re.sub(r"\s*\*/\s*$", "", re.sub(r"^\s*/\*+ ?", "", comment))
    lines = [re.sub(r"^\s*\* ?", "", line) for line in body.split("\n")]
    out, code = [], False
    for line in lines:
        indented = line.startswith("    ") or re.match(r"(Errors|Results|Time|Ownership|Handles|Marks) {2,}", line)
        if bool(indented) != code and out:
            out.append("")
        code = bool(indented)
        out.append("    " + line if code else plain(line))
    return "\n".join(out).strip("\n")


def declared(code):
    """Returns the names of weft that a piece of a header declares, in their order."""
    code = re.sub(r"/\*.*?\*/", " ", code, flags=re.S)
    names = re.findall(r"\b(weft_\w+)\(", code) + re.findall(r"^\}\s*(weft_\w+);", code, re.M)
    names += re.findall(r"^struct (weft_\w+) \{", code, re.M) + re.findall(r"^#define (WEFT_\w+)", code, re.M)
    names += re.findall(r"^typedef .*?\b(weft_\w+);", code, re.M)
    return list(dict.fromkeys(name for name in names if name.startswith(("weft_", "WEFT_"))))


def pieces(text):
    """Returns (comment, code) for each part of a header, which an empty line outside of braces ends."""
    part, depth, parts = [], 0, []
    for line in text.split("\n"):
        depth += re.sub(r"/\*.*?\*/", "", line).count("{") - re.sub(r"/\*.*?\*/", "", line).count("}")
        inside = "".join(part).count("/*") > "".join(part).count("*/")
        if line.strip() == "" and depth <= 0 and not inside and not (part and part[-1].endswith("\\")):
            parts.append("\n".join(part))
            part = []
        else:
            part.append(line)
    parts.append("\n".join(part))
    for part in parts:
        found = re.match(r"\s*(/\*.*?\*/)\s*(?:\n|$)(.*)", part, re.S)
        yield (found[1], found[2]) if found else ("", part)


def reference(header):
    """Returns the page of a header."""
    text = read("include", header)
    guards = r"^#(ifndef|define) WEFT_\w*_?H\n|^#endif\n?\Z|^WEFT_BEGIN\n|^WEFT_END\n|^#include <.*>\n"
    text = re.sub(guards, "", text, flags=re.M)
    out = []
    for number, (comment, code) in enumerate(pieces(text)):
        if number == 0:
            title, _, rest = re.sub(r"^/\*\s*", "", comment).partition(" -- ")
            out += [f"# {title}", comment_text("/* " + rest)]
            comment = ""
        code = code.strip("\n")
        names = declared(code)
        if names:
            out.append("## " + ", ".join(names[:4]) + (", ..." if len(names) > 4 else ""))
        if comment:
            out.append(comment_text(comment))
        if code:
            out.append(f"```c\n{code}\n```")
    return "\n\n".join(part for part in out if part) + "\n"


# ---- The pages ----------------------------------------------------------------------------------

class Site:
    def __init__(self, folder):
        self.folder = folder
        self.pages = os.path.join(folder, "pages")
        self.made = {}  # a file of the tree -> its page
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(self.pages)

    def write(self, page, text):
        path = os.path.join(self.pages, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def page_of(self, path):
        """Returns the page that shows a file or folder of the tree; makes it at the first call."""
        if path in self.made:
            return self.made[path]
        if path.startswith("docs/") and path.endswith(".md"):
            return path[len("docs/"):]
        if path in BESIDE:
            return path
        if path == "README.md":
            return "index.md"
        if path.startswith("include/") and path.endswith(".h"):
            return "reference/" + path[len("include/"):].replace("/", "-")[:-2] + ".md"
        whole = os.path.join(ROOT, path)
        if path.endswith(".png"):
            page = self.made[path] = os.path.relpath(path, "docs")
            os.makedirs(os.path.join(self.pages, os.path.dirname(page)), exist_ok=True)
            shutil.copyfile(whole, os.path.join(self.pages, page))
            return page
        page = self.made[path] = "source/" + path.replace("/", "-") + ".md"
        if os.path.isdir(whole):
            lines = [f"- [{name}](/{path}/{name})" for name in sorted(os.listdir(whole))
                     if os.path.isfile(os.path.join(whole, name)) and os.path.splitext(name)[1] in LANGUAGES]
            self.write(page, self.linked(f"# {path}/\n\n" + "\n".join(lines) + "\n", page, ""))
        else:
            language = LANGUAGES.get(os.path.splitext(path)[1], "")
            self.write(page, f"# {path}\n\n````{language}\n{read(path)}````\n")
        return page

    def linked(self, text, page, folder):
        """Replaces links by links to pages of the site. `folder`: the folder of the tree to which the text's links
        are relative."""
        def one(found):
            label, target = found.groups()
            if re.match(r"https?:|mailto:|#", target):
                return found[0]
            name, _, anchor = target.partition("#")
            path = name[1:] if name.startswith("/") else os.path.normpath(os.path.join(folder, name))
            to = os.path.relpath(self.page_of(path), os.path.dirname(page) or ".")
            return f"[{label}]({to}{'#' + anchor if anchor else ''})"

        parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
        return "".join(part if part.startswith("```") else LINK.sub(one, part) for part in parts)

    def add(self, path):
        page = self.page_of(path)
        self.write(page, self.linked(read(path), page, os.path.dirname(path)))

    def contents(self):
        """Returns docs/index.md in the form of mkdocs' navigation."""
        lines = ["nav:", "  - Start: index.md"]
        for line in read("docs", "index.md").split("\n"):
            if line.startswith("## "):
                lines.append(f"  - '{line[3:]}':")
            elif found := re.match(r"- \[([^\]]*)\]\(([^()\s#]+)\)", line):
                path = os.path.normpath(os.path.join("docs", found[2]))
                lines.append(f"      - '{found[1]}': {self.page_of(path)}")
        lines.append("  - Reference:")
        for header in headers():
            lines.append(f"      - {header}: {self.page_of('include/' + header)}")
        return "\n".join(lines) + "\n"


def headers():
    return ["weft.h"] + sorted("weft/" + name for name in os.listdir(os.path.join(ROOT, "include", "weft")))


def build(folder):
    site = Site(folder)
    for name in sorted(os.listdir(os.path.join(ROOT, "docs"))):
        if name.endswith(".md"):
            site.add("docs/" + name)
    for name in BESIDE:
        site.add(name)
    for header in headers():
        site.write(site.page_of("include/" + header), reference(header))
    with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as out:
        out.write("site_name: weft\ndocs_dir: pages\nsite_dir: site\nuse_directory_urls: false\n"
                  "theme:\n  name: readthedocs\n  highlightjs: true\n  hljs_languages: [c]\n  navigation_depth: 2\n"
                  "plugins: [search]\nmarkdown_extensions:\n  - toc:\n      permalink: true\n" + site.contents())


def main():
    folder = os.path.abspath(sys.argv[1])
    build(folder)
    mkdocs = "/usr/bin/mkdocs" if os.path.exists("/usr/bin/mkdocs") else shutil.which("mkdocs")
    if mkdocs is None:
        print("skipped: there is no mkdocs (Debian: apt install mkdocs)")
        sys.exit(77)
    config = os.path.join(folder, "mkdocs.yml")
    done = subprocess.run([mkdocs, "build", "--quiet", "--strict", "--config-file", config], check=False)
    if done.returncode != 0:
        sys.exit("mkdocs has failed")
    print(f"{os.path.relpath(os.path.join(folder, 'site', 'index.html'))}")


if __name__ == "__main__":
    main()
