#!/usr/bin/env python3
"""The headers and the build refuse processors with 32 bits, with these messages."""
import os
import platform
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = "weft needs a 64-bit processor"


@unittest.skipIf(platform.machine() != "x86_64" or not shutil.which("gcc"), "gcc -m32 is not installed")
class WordSize(unittest.TestCase):
    def compile(self, *options, source='#include "weft/api.h"\n'):
        done = subprocess.run(["gcc", *options, "-fsyntax-only", "-I" + ROOT + "/include", "-x", "c", "-"],
                              input=source, text=True, capture_output=True, check=False)
        return done.returncode, done.stderr

    def test_the_headers_refuse_32_bits(self):
        for option in ("-m32", "-mx32"):
            code, said = self.compile(option)
            self.assertNotEqual(code, 0)
            self.assertIn(WORDS, said)
        self.assertEqual(self.compile("-m64"), (0, ""))

    def test_the_build_refuses_32_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            cross = os.path.join(folder, "cross.ini")
            with open(cross, "w", encoding="utf-8") as f:
                # Without the C library for 32 bits a compiler cannot link, which meson would try first.
                f.write("[binaries]\nc = ['gcc', '-m32']\nar = 'ar'\n[properties]\nskip_sanity_check = true\n"
                        "[host_machine]\nsystem = 'linux'\ncpu_family = 'x86'\ncpu = 'i686'\nendian = 'little'\n")
            done = subprocess.run(["meson", "setup", os.path.join(folder, "build"), ROOT, "--cross-file", cross],
                                  text=True, capture_output=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(WORDS, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
