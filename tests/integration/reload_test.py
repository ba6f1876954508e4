#!/usr/bin/env python3
"""weft reload: the code of a running node is replaced while messages arrive."""
import json
import os
import shutil
import subprocess
import unittest

from harness import PATIENCE, ROOT, Cluster, Program, built, eventually, patient

WEFT = built("cli", "weft")
EXAMPLE = os.path.join(ROOT, "examples", "reload.c")
READ, ENOUGH = "2", "3"


class Reload(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)
        self.env = dict(self.cluster.env, XDG_CACHE_HOME=self.path("cache"))

    def path(self, name):
        return os.path.join(self.cluster.folder.name, name)

    def weft(self, *words, code=0, version=None):
        """Runs a verb to its end, and returns its standard output and error."""
        env = dict(self.env, CFLAGS=f"-DVERSION={version}") if version else self.env
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(env))
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def start(self, module):
        node = Program(WEFT, "run", module, "--name", "a", env=self.env)
        self.addCleanup(node.kill)
        node.log("node a .* is up")
        eventually("the actors have their names", lambda: "source" in self.weft("names")[0])
        return node

    def read(self):
        return json.loads(self.weft("call", "tally", "[]", "--tag", READ)[0])

    def reload(self, *words, code=0, version=None):
        return self.weft("reload", "--timeout", str(PATIENCE), *words, code=code, version=version)

    def written(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def test_state_and_mail_go_on_across_reloads_and_failures_change_nothing(self):
        node = self.start(EXAMPLE)
        before = self.read()
        self.assertEqual(before["version"], 1)
        pid = self.weft("names")[0]
        for version in 2, 3:
            out, _ = self.reload(EXAMPLE, version=version)
            self.assertRegex(out, r"^0\.\d+\.\d+ tally: runs the new code\n$")
            after = self.read()
            self.assertEqual(after["version"], version)
            self.assertGreater(after["count"], before["count"])
            self.assertGreaterEqual(after["largest"], after["count"])
            before = after
        self.assertEqual(self.weft("names")[0], pid)

        out, err = self.reload("--json", EXAMPLE, code=1)  # This is version 1.
        said = json.loads(out)
        self.assertEqual((said["name"], said["moved"], said["why"]),
                         ("tally", False, "there is no way back from version 3 to 1"))
        self.assertIn("1 of 1 actors of a still run the old code", err)
        broken = self.written("broken.c", "int x = ;\n")
        self.assertIn("broken.c:1:", self.reload(broken, code=1)[1])
        for text, what in (("", "has no entry point weft_module_main"),
                           ("WEFT_MODULE(first)", "has no migrate hook weft_module_migrate: ")):
            lacks = self.written("lacks.c", f"#include <weft.h>\nvoid first(const void *a, size_t n);\n"
                                            f"void first(const void *a, size_t n) {{ (void)a, (void)n; }}\n{text}\n")
            said = self.reload(lacks, code=1)[1]
            self.assertIn(what, said)
            self.assertRegex(said, r"/cache/weft/\w+\.so was made of .*/lacks\.c\n")
        self.assertIn("no module: not an ELF file", self.reload(self.written("text.so", "x" * 100), code=1)[1])
        self.assertIn("not be writable by everybody", self.reload(self.written("open.so", "x", 0o666), code=1)[1])
        self.assertIn("No such file", self.reload(self.path("missing.so"), code=1)[1])
        self.assertEqual(self.read()["version"], 3)

        sent = json.loads(self.weft("call", "source", "[]", "--tag", ENOUGH)[0])
        end = self.read()
        self.assertGreater(sent, 1000)
        self.assertEqual((end["count"], end["missed"], end["largest"]), (sent, 0, sent))
        node.stop()

    def test_the_same_path_is_loaded_again(self):
        module = self.path("tally.so")
        shutil.copy(built("examples", "reload.so"), module)
        node = self.start(module)
        self.reload(module)
        self.assertEqual(self.read()["version"], 1)
        with open(EXAMPLE, encoding="utf-8") as file:
            newer = self.written("newer.c", "#define VERSION 2\n" + file.read())
        self.weft("reload", newer)
        other = next(os.path.join(self.path("cache/weft"), name) for name in os.listdir(self.path("cache/weft")))
        os.replace(other, module)
        self.reload(module)
        self.assertEqual((self.read()["version"], self.read()["missed"]), (2, 0))
        node.stop()

    def test_code_that_other_users_may_write_is_refused(self):
        """Neither run nor reload accepts it: not the file itself, its folder, or a folder above."""
        node = self.start(EXAMPLE)
        folder = self.path("above/inner")
        os.makedirs(folder)
        module = os.path.join(folder, "m.so")
        shutil.copy(built("examples", "reload.so"), module)
        modes = {module: 0o755, folder: 0o755, self.path("above"): 0o755}
        for path, mode, says in ((module, 0o757, "not be writable by everybody"),
                                 (folder, 0o777, "in the folder .*/above/inner, where others may replace it"),
                                 (self.path("above"), 0o777, "in the folder .*/above, where others may replace it")):
            os.chmod(path, mode)
            with self.subTest(path=path):
                self.assertRegex(self.weft("run", module, "--name", "b", code=1)[1], says)
                self.assertRegex(self.reload(module, code=1)[1], says)
            os.chmod(path, modes[path])
        os.chmod(folder, 0o1777)  # These are the modes of /tmp.
        self.reload(module)
        node.stop()

    def test_an_actor_that_traps_no_reload_goes_on(self):
        node = Program(WEFT, "run", built("tests", "test_modules.so"), "--name", "a", "--", "echo", env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "ready")
        _, err = self.reload(built("examples", "reload.so"), code=1)
        self.assertIn("no actor of this node has called weft_trap_reload", err)
        self.assertEqual(self.weft("call", "echo", "[7]")[0], "[7]\n")
        node.stop()


if __name__ == "__main__":
    unittest.main()
