#!/usr/bin/env python3
"""docs/mistakes.md: each piece of C is compiled and run, and must print the quoted text, in which "..." matches
anything."""
import os
import re
import shutil
import subprocess
import unittest

from harness import BUILD, PATIENCE, ROOT, Cluster, built

SANITIZED = os.environ.get("WEFT_SANITIZED") == "1"
PROGRAM = """#include <stdio.h>
#include <weft.h>
#line 1 "mistake.c"
%s
int main(void)
{
    return weft_main(&(weft_node_options){.name = "a", .workers = 1}, first, NULL, 0);
}
"""


def mistakes():
    """Returns [(title, code, [expected lines])] of the part about C programs."""
    with open(os.path.join(ROOT, "docs", "mistakes.md"), encoding="utf-8") as file:
        part = file.read().split("\n## Mistakes of C programs\n")[1]
    found = []
    for text in part.split("\n### ")[1:]:
        title = text.split("\n", 1)[0]
        code = re.search(r"^```c\n(.*?)^```$", text, re.M | re.S)
        said = re.findall(r"^    (\S.*)$", text[code.end():], re.M)
        found.append((title, code[1], said))
    return found


def pattern(line):
    return ".*".join(re.escape(part) for part in line.split("..."))


@unittest.skipIf(SANITIZED or not shutil.which("gcc"), "the library has a sanitizer, or gcc is not installed")
class Mistakes(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())
        self.folder = self.cluster.folder.name

    def compile(self, code):
        source, program = os.path.join(self.folder, "mistake.c"), os.path.join(self.folder, "mistake")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM % code)
        compiled = subprocess.run(["gcc", "-w", f"-I{ROOT}/include", source, "-o", program, f"-L{BUILD}", "-lweft"],
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
        return program, compiled

    def run_program(self, program, **variables):
        return subprocess.run([program], capture_output=True, encoding="utf-8", errors="surrogateescape",
                              timeout=PATIENCE, check=False,
                              env=dict(self.cluster.env, LD_LIBRARY_PATH=built(), **variables))

    def messages(self, code):
        """Returns the messages of the compiler, or else the msg fields of the log and the lines about a crash."""
        program, compiled = self.compile(code)
        if compiled.returncode:
            return compiled.stderr.splitlines()
        done = self.run_program(program)
        logged = re.findall(r'msg="((?:[^"\\]|\\.)*)"', done.stderr)
        return logged + re.findall(r"^weft: .*", done.stderr, re.M)

    def test_each_mistake_of_the_page_is_reported_with_its_message(self):
        all_of_them = mistakes()
        self.assertGreater(len(all_of_them), 10)
        for title, code, said in all_of_them:
            with self.subTest(title):
                messages = self.messages(code)
                for line in said:
                    hits = [m for m in messages if re.search(pattern(line), m)]
                    self.assertEqual(len(hits), 1, f"{line}\nin\n" + "\n".join(messages))

    def test_a_text_that_outlives_its_message_is_seen_with_poison(self):
        program, _ = self.compile(next(code for title, code, _ in mistakes()
                                       if title.startswith("A text that outlives")))
        said = self.run_program(program, WEFT_POISON="1").stdout.encode(errors="surrogateescape")
        self.assertEqual(said[:4], b"\xdd" * 4)


if __name__ == "__main__":
    unittest.main()
