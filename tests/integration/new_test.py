#!/usr/bin/env python3
"""weft new: its project builds without a warning, passes its tests, and runs as its README says."""
import json
import os
import shutil
import signal
import subprocess
import unittest

from harness import BUILD, PATIENCE, ROOT, Cluster, Program, built

WEFT = built("cli", "weft")
SANITIZED = os.environ.get("WEFT_SANITIZED") == "1"


class New(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())
        self.folder = self.cluster.folder.name
        self.write("weft.pc", f"Name: weft\nDescription: of this build\nVersion: 0\nCflags: -I{ROOT}/include\n"
                   f"Libs: -L{BUILD} -lweft\n")
        self.env = dict(self.cluster.env, PKG_CONFIG_PATH=self.folder, CFLAGS="-Wall -Wextra -Werror",
                        PATH=built("cli") + os.pathsep + os.environ["PATH"], LD_LIBRARY_PATH=built())

    def read(self, path):
        with open(os.path.join(self.folder, path), encoding="ascii") as file:
            return file.read()

    def write(self, path, text):
        with open(os.path.join(self.folder, path), "w", encoding="ascii") as file:
            file.write(text)

    def do(self, *words, code=0, cwd=None, **variables):
        done = subprocess.run(words, capture_output=True, text=True, timeout=4 * PATIENCE, cwd=cwd or self.folder,
                              env=dict(self.env, **variables))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_folders_above_are_made_and_the_umask_decides_who_may_read_them(self):
        for umask, mode in ((0o022, 0o755), (0o027, 0o750)):
            name = f"deep{umask}/er/tea"
            before = os.umask(umask)
            try:
                self.do(WEFT, "new", name)
            finally:
                os.umask(before)
            for folder in (name, os.path.dirname(name)):
                self.assertEqual(os.stat(os.path.join(self.folder, folder)).st_mode & 0o777, mode, folder)

    def test_a_source_with_libraries_of_its_own_runs(self):
        self.write("root.c", "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <weft.h>\n"
                   "static void first(const void *arg, size_t size)\n{\n    (void)arg, (void)size;\n"
                   '    printf("%.3f\\n", sqrt(atof(getenv("SQUARE"))));\n}\nWEFT_MODULE(first)\n')
        cache = {"XDG_CACHE_HOME": self.folder + "/cache", "SQUARE": "2"}
        self.assertEqual(self.do(WEFT, "run", "root.c", "--name", "root", **cache).stdout, "1.414\n")
        made = len(os.listdir(self.folder + "/cache/weft"))
        self.do(WEFT, "run", "root.c", "--name", "root", LDLIBS="-lpthread", **cache)
        self.assertEqual(len(os.listdir(self.folder + "/cache/weft")), made + 1, "other libraries, another module")
        done = subprocess.run([WEFT, "run", "root.c"], capture_output=True, text=True, cwd=self.folder, check=False,
                              env=dict(self.env, LDLIBS="-lno_such_library", **cache), timeout=4 * PATIENCE)
        self.assertIn("no_such_library", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    @unittest.skipIf(SANITIZED or not shutil.which("make"), "the library has a sanitizer, or make is not installed")
    def test_a_new_project_builds_passes_its_tests_and_runs(self):
        said = self.do(WEFT, "new", "tea").stdout
        self.assertEqual(said.splitlines()[1:], ["  cd tea", "  make test", "  make run"])
        project = self.folder + "/tea"
        tested = self.do("make", "test", cwd=project).stdout
        self.assertRegex(tested, r"adds_up +ok\nrefuses_what_it_cannot_read +ok\nends_when_asked_to +ok\n")
        self.do("make", cwd=project)
        node = Program(WEFT, "run", project + "/tea.so", "--name", "tea", env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "counter: ready")
        readme = self.read("tea/README.md")
        told = [line.split("#")[0].strip().replace("'", "").split() for line in readme.splitlines()
                if line.startswith("    weft send") or line.startswith("    weft call")]
        self.assertEqual(len(told), 3)
        for words in told:
            out = self.do(*words).stdout
        self.assertEqual(out, "[42, 2]\n")
        node.process.send_signal(signal.SIGINT)
        node.end()

    @unittest.skipIf(SANITIZED or not shutil.which("make"), "the library has a sanitizer, or make is not installed")
    def test_a_test_that_fails_fails(self):
        self.do(WEFT, "new", "tea")
        self.write("tea/counter.c", self.read("tea/counter.c").replace("+= add.amount", "-= add.amount"))
        done = self.do("make", "test", cwd=self.folder + "/tea", code=2)
        self.assertRegex(done.stdout, r"adds_up +FAILED\nrefuses_what_it_cannot_read +ok\nends_when_asked_to +ok\n")
        self.assertIn("total.value == 10", done.stderr)

    @unittest.skipUnless(shutil.which("make"), "make is not installed")
    def test_make_says_that_weft_is_not_installed(self):
        self.do(WEFT, "new", "tea")
        done = self.do("make", cwd=self.folder + "/tea", code=2, PKG_CONFIG="false")
        self.assertIn("pkg-config does not find weft: is it installed?", done.stderr)

    def test_bad_names_and_folders_are_refused(self):
        for name in ("/", "1st", "a b", "-", "x" * 65, "caf\u00e9"):
            self.assertIn("is not a name for a project", self.do(WEFT, "new", name, code=2).stderr)
        self.assertIn("an argument is empty", self.do(WEFT, "new", "", code=2).stderr)
        self.write("file", "")
        self.assertIn("Not a directory", self.do(WEFT, "new", "file/tea", code=1).stderr)
        made = json.loads(self.do(WEFT, "new", "--json", self.folder + "/tea-2//").stdout)
        self.assertEqual((made["name"], made["files"]), ("tea-2", 7))
        self.assertIn("tea-2.so:", self.read("tea-2/Makefile"))

    def test_existing_files_are_overwritten_only_with_force(self):
        os.mkdir(self.folder + "/tea")
        self.write("tea/main.c", "mine\n")
        self.assertIn("main.c is there already; --force", self.do(WEFT, "new", "tea", code=1).stderr)
        self.assertEqual(os.listdir(self.folder + "/tea"), ["main.c"])
        self.do(WEFT, "new", "tea", "--force")
        self.assertIn("WEFT_MODULE", self.read("tea/main.c"))


if __name__ == "__main__":
    unittest.main()
