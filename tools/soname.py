#!/usr/bin/env python3
"""Prints the name that programs load a shared library by, such as libcurl-gnutls.so.4.

    tools/soname.py FOLDER NAME        FOLDER/libNAME.so is the library

It prints nothing if there is no such file, or no shared library in it: then a program can only be linked with it.
"""

import pathlib
import re
import subprocess
import sys


def main():
    library = pathlib.Path(sys.argv[1]) / f"lib{sys.argv[2]}.so"
    if not library.exists():
        return 0
    done = subprocess.run(["readelf", "--dynamic", "--wide", library], capture_output=True, text=True, check=False)
    found = re.search(r"\(SONAME\).*\[(.+)\]", done.stdout)
    print(found.group(1) if found else "", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
