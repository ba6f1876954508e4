#!/usr/bin/env python3
"""What an operator relies on: logs."""
import json
import os
import re
import signal
import subprocess
import unittest

from harness import Cluster, PATIENCE, Program, built, eventually

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")


class Operate(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.env = self.cluster.env
        self.addCleanup(self.cluster.__exit__)

    def path(self, name):
        return os.path.join(self.cluster.folder.name, name)

    def weft(self, *words, code=0):
        """Runs a verb to its end; its standard output and error."""
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=self.env)
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def run_module(self, what, *options, env=None):
        node = Program(WEFT, "run", MODULE, "--name", "a", *options, "--", what, env=env or self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "ready")
        return node

    def say(self, text, times=1):
        self.weft("send", "says", "--text", text, "--tag", str(times))


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Logs(Operate):
    def test_levels_of_modules(self):
        node = self.run_module("says", "--log", "silent,words=info")
        self.say("one")
        self.assertEqual(node.log("one")[0], "one")
        node.stop()
        self.assertEqual(len(node.err.seen), 1)
        self.assertRegex(node.err.seen[0], r' level=info module=words node=a actor=0\.\d+\.\d+ msg="one"$')

    def test_json_names_node_module_and_actor(self):
        node = self.run_module("says", "--log", "json:warn,words=debug")
        self.say('two "words"')
        line = json.loads(node.log("two").string)
        self.assertEqual((line["module"], line["node"], line["msg"]), ("words", "a", 'two "words"'))
        self.assertRegex(line["actor"], r"^0\.\d+\.\d+$")

    def test_repeats_are_counted(self):
        node = self.run_module("says", env=dict(self.env, WEFT_LOG="json"))
        self.say("again and again", 1000)
        self.say("the last")
        node.log("the last")
        node.stop()
        lines = [json.loads(line) for line in node.err.seen]
        again = [line for line in lines if line["msg"] == "again and again"]
        # A machine that stands still for the period begins a new one.
        self.assertLess(len(again), 500)
        self.assertEqual(sum(line.get("repeated", 1) for line in again), 1000)

    def test_hangup_opens_the_file_anew(self):
        log, old = self.path("log"), self.path("log.1")
        node = self.run_module("says", "--log-file", log)
        self.say("before")
        eventually("the line is in the file", lambda: self.weft("ps") and "before" in content(log))
        os.rename(log, old)
        node.process.send_signal(signal.SIGHUP)
        eventually("there is a new file", lambda: self.weft("ps") and os.path.exists(log))
        # The file is there before it is the one that is written to.
        eventually("lines go there", lambda: self.say("after") or self.weft("ps") and "after" in content(log))
        self.assertNotIn("before", content(log))
        self.assertEqual(os.stat(log).st_mode & 0o137, 0)
        node.stop()
        self.assertIn("draining", content(log))
        self.assertEqual(node.err.seen, [])

    def test_hangup_without_a_file_ends(self):
        node = self.run_module("says")
        node.process.send_signal(signal.SIGHUP)
        node.end(-signal.SIGHUP)

    def test_mistakes(self):
        self.assertIn("'warn,loud' is not LEVEL", self.weft("run", MODULE, "--log", "warn,loud", code=2)[1])
        self.assertIn("--log-file /nowhere/log: ", self.weft("run", MODULE, "--log-file", "/nowhere/log", code=1)[1])

    def test_the_journal_gets_priorities(self):
        """Standard error as systemd gives it: a stream, and a variable that says which."""
        reading, writing = os.pipe()
        stat = os.fstat(writing)
        env = dict(self.env, JOURNAL_STREAM=f"{stat.st_dev}:{stat.st_ino}")
        with os.fdopen(reading, "rb") as lines:
            done = subprocess.run([WEFT, "run", MODULE, "--", "fail"], env=env, stderr=writing, timeout=PATIENCE)
            os.close(writing)
            text = lines.read().decode()
        self.assertEqual(done.returncode, 1)
        self.assertTrue(re.search(r"^<6>level=info ", text, re.M), text)
        self.assertTrue(re.search(r"^<3>level=error .*WEFT_EINUSE", text, re.M), text)


if __name__ == "__main__":
    unittest.main()
