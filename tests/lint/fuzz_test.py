#!/usr/bin/env python3
"""tools/fuzz.sh prints an input that fails in a form that can be run again when its folder is gone: in the last forty
lines, which `./dev` shows."""
import base64
import os
import re
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAULTY = bytes(range(256)) * 16  # This is the longest input that is allowed.
TARGET = """#!/usr/bin/env python3
import sys
prefix = next((word.split("=")[1] for word in sys.argv if word.startswith("-artifact_prefix=")), None)
if prefix and FAULTS:
    with open(prefix + "crash-1", "wb") as file:
        file.write(bytes(range(256)) * 16)
    print("json.c:1: not true\\n==1== ERROR: libFuzzer: deadly signal")
    print("    #0 at\\n" * 60 + f"artifact_prefix='{prefix}'; Test unit written to {prefix}crash-1")
    sys.exit(77)
"""


class Fuzz(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="weft-fuzz-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        for tool in ("llvm-profdata", "llvm-cov"):  # A file that is no program has no coverage.
            self.program(os.path.join("bin", tool), "#!/bin/sh\nexit 1\n")

    def program(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)

    def fuzz(self, **faults):
        for name, faulty in faults.items():
            self.program(f"tests/fuzz/{name}_fuzz", TARGET.replace("FAULTS", str(faulty)))
        path = os.path.join(self.folder, "bin") + ":" + os.environ["PATH"]
        return subprocess.run([os.path.join(ROOT, "tools", "fuzz.sh"), self.folder, "1"], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, PATH=path))

    def test_inputs_that_fail_are_printed_whole_and_last(self):
        done = self.fuzz(json=True, link=False, url=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        lines = done.stdout.splitlines()
        for name in ("json", "url"):
            at = lines.index(f"./dev fuzz --input {name} input")
            self.assertGreater(at, len(lines) - 10)
            coded = re.fullmatch(r"base64 -d >input <<<'(.*)'", lines[at - 1])
            self.assertEqual(base64.b64decode(coded[1]), FAULTY)
        self.assertEqual(lines.count("json.c:1: not true"), 2)  # Each of the two targets printed this.
        self.assertNotIn("./dev fuzz --input link input", lines)

    def test_without_a_failure_nothing_is_printed_but_the_table(self):
        done = self.fuzz(json=False)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["target"])


if __name__ == "__main__":
    unittest.main()
