#!/usr/bin/env python3
"""A user's program with ASan or TSan, linked with a libweft that was built without: mistakes are found, and a correct
program has no findings."""
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, PATIENCE, ROOT, free_port

SANITIZED = os.environ.get("WEFT_SANITIZED") == "1"
SOURCE = os.path.join(ROOT, "tests", "integration", "sanitized.c")
FLAGS = ["-g", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer"]
FOUND = {
    "address": [("freed", "heap-use-after-free"), ("freed-large", "heap-use-after-free"),
                ("freed-published", "heap-use-after-free"), ("ended", "use-after-poison|stack-use-after"),
                ("past-the-end", "stack-buffer-overflow")],
    "thread": [("race", "data race"), ("freed", "heap-use-after-free"), ("freed-published", "heap-use-after-free")],
}


def compile_to(out, compiler, sanitizer, source=SOURCE, libraries=()):
    # One of the mistakes is a variable that is never read in time.
    with_it = [f"-fsanitize={sanitizer}"] if sanitizer else ["-Wno-maybe-uninitialized"]
    return subprocess.run([compiler, *FLAGS, *with_it, source, f"-I{ROOT}/include", *libraries, "-o",
                           out], capture_output=True, text=True, timeout=4 * PATIENCE, check=False)


@unittest.skipIf(SANITIZED, "this libweft is built with a sanitizer")
class Sanitized(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def build(self, out, compiler, sanitizer):
        done = compile_to(out, compiler, sanitizer, libraries=(f"-L{BUILD}", "-lweft", f"-Wl,-rpath,{BUILD}"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def program(self, compiler, sanitizer):
        """Returns the path of the program, or None if this compiler has no such sanitizer."""
        out = os.path.join(self.folder, f"{compiler}-{sanitizer}")
        if not shutil.which(compiler):
            return None
        none = os.path.join(self.folder, "none.c")
        with open(none, "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }\n")
        if compile_to(out, compiler, sanitizer, none).returncode != 0:
            return None
        if subprocess.run([out], check=False).returncode != 0:
            return None
        return self.build(out, compiler, sanitizer)

    def run_program(self, program, *words, **variables):
        env = {**os.environ, "ASAN_OPTIONS": "", "TSAN_OPTIONS": "", **variables}
        env.pop("MALLOC_PERTURB_", None)  # Otherwise malloc itself fills freed memory.
        return subprocess.run([program, *words], capture_output=True, text=True, timeout=8 * PATIENCE, check=False,
                              env=env)

    def check(self, sanitizer):
        programs = [p for p in (self.program(c, sanitizer) for c in ("gcc", "clang")) if p is not None]
        if not programs:
            self.skipTest(f"no compiler of this machine has -fsanitize={sanitizer}")
        for program in programs:
            for words in (("clean",), ("linked", f"tcp://127.0.0.1:{free_port()}")):
                # TSan does not see how NNG, which carries links, keeps its own threads apart: docs/debugging.md.
                of_nng = {"TSAN_OPTIONS": f"suppressions={ROOT}/tools/tsan.supp"} if words[0] == "linked" else {}
                done = self.run_program(program, *words, **of_nng)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("Sanitizer")), (0, "clean\n", 0),
                                 f"{program} {words}: {done.stdout}{done.stderr}")
            for word, said in FOUND[sanitizer]:
                for poison in ("0", "1"):  # Poison must not hide freed memory from the sanitizer.
                    done = self.run_program(program, word, WEFT_POISON=poison)
                    self.assertNotEqual(done.returncode, 0, f"{program} {word}: {done.stdout}{done.stderr}")
                    self.assertRegex(done.stderr, rf"Sanitizer: ({said}) ", f"{program} {word}")
                    self.assertIn("sanitized.c:", done.stderr)

    def test_address_sanitizer(self):
        self.check("address")

    def test_freed_messages_are_filled_without_a_sanitizer(self):
        """A text that is read after its message was freed is 0xDD, also when other messages have come since."""
        program = self.build(os.path.join(self.folder, "plain"), "gcc", None)
        for word in ("freed", "freed-large", "freed-published", "freed-a-while-ago"):
            done = self.run_program(program, word, WEFT_POISON="1")
            self.assertEqual((done.returncode, done.stdout), (0, f"{0xDD - 256}\n"), f"{word}: {done.stderr}")
        self.assertEqual(self.run_program(program, "clean", WEFT_POISON="1").stdout, "clean\n")

    def test_thread_sanitizer(self):
        self.check("thread")


if __name__ == "__main__":
    unittest.main()
