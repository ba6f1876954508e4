#!/usr/bin/env python3
"""tools/gdb/weft.py in gdb: on a live process, with parked stacks, and on a core file."""
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import PATIENCE, Program, ROOT, built, eventually

SCRIPT = os.path.join(ROOT, "tools", "gdb", "weft.py")
PROGRAM = built("tests", "debugged")
NEVER = str(2**63 - 1)


def marks():
    """Returns the function in which an actor is suspended, and the line of the program."""
    with open(os.path.join(ROOT, "tests", "integration", "debugged.c"), encoding="utf-8") as source:
        return {m[1]: n for n, line in enumerate(source, 1) if (m := re.search(r"/\* MARK (\w+) \*/", line))}


def gdb(*target, commands):
    words = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", f"source {SCRIPT}"]
    for command in commands:
        words += ["-ex", command]
    done = subprocess.run(words + list(target), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=4 * PATIENCE, check=False)
    return done.stdout, done.stdout + done.stderr


def live(program, *commands):
    out, all_said = gdb("-p", str(program.pid), commands=commands)
    if "ptrace: Operation not permitted" in all_said:
        raise unittest.SkipTest("no process may be traced here")
    return out, all_said


class Gdb(unittest.TestCase):
    def start(self, park_after, *words, **more):
        program = Program(PROGRAM, park_after, *words, stdin=subprocess.PIPE, **more)
        self.addCleanup(program.kill)
        self.addCleanup(program.process.stdin.close)
        self.assertEqual(program.line(), "ready")
        return program

    def check_list(self, out, said, state):
        """Each actor is listed with the source for which it waits, and with the line in the program."""
        self.assertRegex(out, r"node looked-at \([0-9a-f]{16}\), 1 workers", said)
        line = marks()
        for kind, is_in, waits_for, where in (("silent", state, "sleep", "silent"),
                                              ("sleeper", state, "sleep", "deeper"),
                                              (r"mail\.box \(receiver\)", state, "mailbox", "receiver"),
                                              ("caller", "waiting", "an answer", "caller")):
            mark = line["sleeper" if where == "deeper" else where]
            self.assertRegex(out, rf"0\.\d+\.1 +{kind} +{is_in} +{waits_for} +mail 0  "
                                  rf"{where} \(\S*debugged\.c:{mark}\)", said)
        self.assertRegex(out, r"0\.\d+\.1 +counter +waiting +mailbox +mail 0\n", said)

    def check_stack(self, out, said):
        """The stack has four calls of deeper, which weft called, and which called weft."""
        names = re.findall(r"^#\d+ +0x[0-9a-f]+ (\S+) ", out, re.M)
        self.assertEqual(names.count("deeper"), 4, said)
        at = names.index("deeper")
        self.assertEqual(names[at - 1], "weft_sleep", said)
        self.assertEqual(names[at + 4], "wf_actor_main", said)
        self.assertEqual(names[-1], "pf_context_start", said)

    def test_a_live_process(self):
        program = self.start(NEVER)
        out, said = live(program, "weft actors", "weft bt sleeper", "weft record 200")
        self.check_list(out, said, "waiting")
        self.check_stack(out, said)
        self.assertRegex(out, r"\d+\.\d{6} 0\.\d+\.1 receives from 0\.\d+\.1, tag 7\n", said)
        self.assertRegex(out, r"\d+\.\d{6} 0\.\d+\.1 waits for sleep\n", said)

        out, said = live(program, "weft actors mail.box", "weft frames sleeper", "bt", "frame function deeper",
                         "info locals",
                         "weft thread", "bt", "weft bt nobody")
        self.assertEqual(len(re.findall(r"^  0\.", out, re.M)), 1, said)
        self.assertEqual(len(re.findall(r"^#\d+ +(?:0x\w+ in )?deeper \(depth=", out, re.M)), 4 + 1, said)
        self.assertIn("here = 3\n", out, said)
        own = out[out.rindex("#0 "):]
        self.assertNotIn("pf_context_switch", own, said)
        self.assertIn("main (", own, said)
        self.assertIn("no actor nobody; weft actors lists them", said)
        # The process goes on undisturbed.
        program.process.stdin.write(b"end\n")
        program.process.stdin.flush()
        program.end()

    def test_stacks_that_are_packed(self):
        program = self.start("1000000")

        def parked():
            out, said = live(program, "weft actors", "weft bt sleeper", "weft frames sleeper")
            return (out, said) if len(re.findall(" parked ", out)) == 3 else None

        out, said = eventually("three actors are parked", parked)
        self.check_list(out, said, "parked")
        self.check_stack(out, said)
        self.assertIn("its stack is packed away", said)

    def test_gdb_shows_the_actors_of_a_core_file(self):
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
            if not re.fullmatch(r"[\w.%-]+\n", f.read()):
                self.skipTest("core files go to another folder or to a program")
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        if most == 0:
            self.skipTest("core files are switched off")
        with tempfile.TemporaryDirectory() as folder:
            program = self.start(NEVER, "abort", cwd=folder,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)))
            program.process.stdin.write(b"end\n")
            program.process.stdin.flush()
            program.end(-6)
            cores = glob.glob(os.path.join(folder, "*core*"))
            if not cores:
                self.skipTest("the system wrote no core file")
            out, said = gdb(PROGRAM, cores[0], commands=["weft actors", "weft bt sleeper", "weft bt mail.box"])
        self.check_list(out, said, "waiting")
        self.check_stack(out[:out.rindex("#0 ")], said)
        self.assertRegex(out, r"0\.0\.1 +actor +running +mail 0  \S+", said)
        self.assertRegex(out, rf"#\d+ +0x\w+ receiver \(\S*debugged\.c:{marks()['receiver']}\)", said)

    def test_gdb_says_that_a_program_has_no_node(self):
        _, said = gdb("-p", str(os.getpid()), commands=["weft actors"])
        if "ptrace: Operation not permitted" not in said:
            self.assertRegex(said, "there is no type|no thread runs a node", said)


if __name__ == "__main__":
    if shutil.which("gdb") is None or os.environ.get("WEFT_SANITIZED") == "1":
        print("skipped: gdb is not installed, or the build has a sanitizer, which has stacks of its own")
        sys.exit(77)
    unittest.main()
