#!/usr/bin/env python3
"""Writes files as a C table: embed.py OUT FILE... The table is declared in cli/new/new.h."""
import pathlib
import sys

out, *files = map(pathlib.Path, sys.argv[1:])
lines = ['#include "new.h"', "", "const struct cli_new_file cli_new_files[] = {"]
for file in files:
    name = ".gitignore" if file.name == "gitignore" else file.name
    lines.append(f'    {{"{name}",')
    for line in file.read_text(encoding="ascii").splitlines():
        quoted = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("?", "\\?")
        lines.append(f'     "{quoted}\\n"')
    lines[-1] += "},"
lines += ["};", f"const size_t cli_new_file_count = {len(files)};", ""]
out.write_text("\n".join(lines), encoding="ascii")
