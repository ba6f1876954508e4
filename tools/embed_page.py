#!/usr/bin/env python3
"""Writes a page as C: embed_page.py OUT PAGE. transport/metrics/page.h declares its bytes and its content security
policy, which allows a browser only the script and the style of the page, by their hashes."""
import base64
import hashlib
import pathlib
import re
import sys

out, page = map(pathlib.Path, sys.argv[1:])
text = page.read_text(encoding="ascii")


def hashes(tag):
    parts = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.S)
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(p.encode()).digest()).decode()}'" for p in parts)


policy = f"default-src 'none'; script-src {hashes('script')}; style-src {hashes('style')}; connect-src 'self'; " \
         "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
data = text.encode()
lines = ['#include "page.h"', "", f'const char wf_page_policy[] = "{policy}";', "const unsigned char wf_page[] = {"]
lines += [", ".join(map(str, data[i:i + 24])) + "," for i in range(0, len(data), 24)]
lines += ["};", f"const size_t wf_page_size = {len(data)};", ""]
out.write_text("\n".join(lines), encoding="ascii")
