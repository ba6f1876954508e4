#!/usr/bin/env python3
"""Static probes: the notes that tracers read, probes that are hit in a program; perf's samples by actor."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import PATIENCE, ROOT, built

PROGRAM = built("examples", "hello")
ACTORS = os.path.join(ROOT, "tools", "perf_actors.py")
ARGUMENTS = {"spawn": 2, "exit": 2, "send": 3, "receive": 3, "wait": 2, "wake": 2}

# These samples look as perf script prints them: a body that waits, a handler, a body without a frame, the loop, and a
# thread of a library.
SAMPLES = """
hello 4711
\t    7f35c60f8510 wf_task_wait
\t    7f35c60f8511 weft_sleep
\t           20ca3 deeper
\t           20ca4 sleeper
\t            80c5 wf_actor_main
\t            80c6 trampoline

hello 4711
\t           20ca3 memcpy@plt
\t           20ca4 on_message
\t            80c5 wf_handler_turn
\t            80c5 wf_actor_main
\t            80c6 trampoline

hello 4711
\t           20ca4 weft_send
\t            80c5 wf_actor_main
\t            80c6 trampoline

hello 4712
\t           20ca4 epoll_pwait2
\t            80c6 wf_worker_turn

hello 4713
\t           20ca4 poll

hello 4711
\t           20ca4 sleeper
\t            80c5 wf_actor_main
\t            80c6 trampoline
"""


def notes():
    """Returns the probes in the library, as a list of (name, arguments)."""
    library = os.path.realpath(built("libweft.so"))
    out = subprocess.run(["readelf", "--notes", "--wide", library], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"Provider: weft\s+Name: (\w+)\s+Location: .*\s+Arguments: (.*)", out)
    return [(name, arguments.split()) for name, arguments in found]


class Probes(unittest.TestCase):
    def setUp(self):
        if not notes():
            self.skipTest("this build has no probes, as systemtap-sdt-dev is not installed")

    def test_notes(self):
        self.assertEqual({name for name, _ in notes()}, set(ARGUMENTS))
        for name, arguments in notes():
            self.assertEqual(len(arguments), ARGUMENTS[name], (name, arguments))
            # The first argument is the actor, with 64 bits.
            self.assertTrue(arguments[0].startswith("8@"), (name, arguments))

    def hits(self, *probes):
        """Returns the first arguments of these probes, in order, while hello runs."""
        script = "set debuginfod enabled off\nset breakpoint pending on\nset startup-with-shell off\n"
        for name in probes:
            script += f"break -probe-stap weft:{name}\ncommands\nsilent\n" \
                      f"printf \"{name} %#lx %#lx\\n\", (unsigned long)$_probe_arg0, (unsigned long)$_probe_arg1\n" \
                      "continue\nend\n"
        with tempfile.NamedTemporaryFile("w", suffix=".gdb") as commands:
            commands.write(script + "run\n")
            commands.flush()
            done = subprocess.run(["gdb", "-nx", "-batch", "-x", commands.name, PROGRAM], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=8 * PATIENCE, check=False)
        if re.search("ptrace|Could not trace|Couldn't get registers", done.stderr):
            self.skipTest("no process may be traced here")
        return [line.split() for line in done.stdout.splitlines() if re.match(r"\w+ 0x\w+ \w+$", line)], done

    @unittest.skipIf(shutil.which("gdb") is None, "gdb is not installed")
    def test_the_probes_of_spawn_and_exit_are_hit(self):
        """The example hello starts an actor, calls it and is answered; then both end."""
        hits, done = self.hits("spawn", "exit")
        spawned = [hit[1] for hit in hits if hit[0] == "spawn"]
        ended = [hit[1] for hit in hits if hit[0] == "exit"]
        said = (hits, done.stdout[-2000:], done.stderr[-2000:])
        self.assertGreaterEqual(len(spawned), 2, said)
        self.assertEqual(sorted(spawned), sorted(ended), said)
        parents = {hit[2] for hit in hits if hit[0] == "spawn"} - {"0", "0x0"}
        self.assertTrue(parents and parents <= set(spawned), said)


class Samples(unittest.TestCase):
    def attribute(self, text):
        done = subprocess.run([sys.executable, ACTORS], input=text, capture_output=True, text=True, check=False)
        return {words[3]: int(words[2]) for line in done.stdout.splitlines() if (words := line.split(None, 3))}, done

    def test_samples_by_actor(self):
        counts, _ = self.attribute(SAMPLES)
        self.assertEqual(counts, {"sleeper": 2, "on_message": 1, "? in weft_send": 1, "weft: the loop": 1,
                                  "other threads": 1})
        _, done = self.attribute("\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no samples", done.stderr)

    @unittest.skipIf(shutil.which("perf") is None, "perf is not installed")
    def test_perf_shows_the_functions_of_actors(self):
        """This example only starts and calls actors."""
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "perf.data")
            words = ["perf", "record", "-e", "cpu-clock", "-F", "2000", "--call-graph", "fp", "-o", data]
            words.append(built("examples", "handler"))
            record = subprocess.run(words, capture_output=True, text=True, check=False)
            if record.returncode != 0:
                self.skipTest("perf may not record here")
            words = ["perf", "script", "-F", "comm,tid,ip,sym", "-i", data]
            script = subprocess.run(words, capture_output=True, text=True, check=False)
        counts, done = self.attribute(script.stdout)
        self.assertIn("first", counts, (done.stderr, script.stdout[-2000:]))


if __name__ == "__main__":
    if os.environ.get("WEFT_SANITIZED") == "1":
        print("skipped: the build has a sanitizer")
        sys.exit(77)
    unittest.main()
