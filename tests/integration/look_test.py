#!/usr/bin/env python3
"""What a node says of its actors: weft inspect, weft why-dropped, weft trace."""
import json
import os
import shutil
import subprocess
import unittest

from harness import PATIENCE, Cluster, Program, built, eventually

WEFT, MODULE = built("cli", "weft"), built("tests", "test_modules.so")


class Look(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())

    def node(self, what):
        node = self.cluster.run("a", MODULE, what)
        self.assertEqual(node.line(), "ready")
        return node

    def weft(self, *words, code=0):
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=self.cluster.env)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if code else "")

    def objects(self, *words):
        return [json.loads(line) for line in self.weft(*words, "--json").splitlines()]

    def test_an_actor_and_its_ties(self):
        self.node("tied")
        tied, silent = self.objects("inspect", "tied")[0], self.objects("inspect", "silent")[0]
        self.assertEqual((tied["name"], tied["state"], tied["waits_for"]), ("tied", "waiting", "an answer"))
        self.assertEqual([tied["asks"], tied["links"], tied["monitors"]], [[silent["pid"]]] * 3)
        self.assertGreater(tied["waits_ns"], 0)
        self.assertEqual([silent["links"], silent["watchers"]], [[tied["pid"]]] * 2)
        self.assertEqual((silent["asks"], silent["kind"], silent["waits_ns"]), ([], "silent", 0))
        self.assertEqual(self.objects("inspect", silent["pid"])[0]["name"], "silent")
        short = silent["pid"].split("@")[0]
        text = self.weft("inspect", short)
        self.assertRegex(text, r"(?m)^waits for +sleep$")
        self.assertRegex(text, r"(?m)^in +silent at \S+/modules\.c:\d+$" if shutil.which("addr2line")
                         else r"(?m)^in .*test_modules\.so\+0x[0-9a-f]+$")
        self.assertEqual([os.path.basename(caller[0]) for caller in silent["callers"]], ["test_modules.so"])
        self.assertRegex(text, r"(?m)^watched by +" + tied["pid"].split("@")[0].replace(".", r"\.") + "$")
        self.assertRegex(text, r"(?m)^ +-?\d+\.\d+  " + short.replace(".", r"\.") + " waits for sleep$")
        self.assertRegex(text, r"its last event was \d")

    def test_who_waits_for_whom(self):
        self.node("tied")
        tied, silent = self.objects("inspect", "tied")[0], self.objects("inspect", "silent")[0]
        waits = self.objects("inspect")
        self.assertEqual([(w["pid"], w["waits_for"]) for w in waits], [(tied["pid"], silent["pid"])])
        self.assertRegex(self.weft("inspect"), r"^\d+\.\d+\.\d+ waits for \d+\.\d+\.\d+ for [\d.]+ (us|ms|s)\n$")

    def test_nobody_and_nothing(self):
        self.node("echo")
        self.assertEqual(self.weft("inspect"), "nobody waits for an answer\n")
        self.assertEqual(self.objects("inspect"), [])
        self.assertEqual(self.weft("why-dropped"), "a has dropped nothing\n")
        for who in "nobody", "0.99999.1", "99.1.1", "1.2", "0.0.0", "0.1.1@0000000000000001", "x" * 120:
            self.assertIn("there is no such actor", self.weft("inspect", who, code=1))
        self.assertIn("longer than any name", self.weft("inspect", "x" * 200, code=2))

    def test_what_was_dropped(self):
        self.node("tied")
        tied = self.objects("inspect", "tied")[0]
        rows = self.objects("why-dropped")
        reasons = {row["reason"]: row["count"] for row in rows if "count" in row}
        self.assertEqual(reasons["unread-at-exit"], 2)
        drops = [row for row in rows if "tag" in row]
        self.assertEqual([(d["reason"], d["tag"], d["from"]) for d in drops],
                         [("unread-at-exit", 77, tied["pid"])] * 2)
        self.assertEqual(len({d["to"] for d in drops} - {"", tied["pid"]}), 1)
        text = self.weft("why-dropped")
        self.assertRegex(text, r"(?m)^ +2  unread-at-exit$")
        self.assertRegex(text, r"(?m) ago  tag 77 from \d+\.\d+\.\d+ to \d+\.\d+\.\d+: unread-at-exit$")
        self.assertIn("nobody there has that name", self.weft("send", "no-such-name", "[1]", "--tag", "9", code=1))

    def traced(self, *words):
        tracer = Program(WEFT, "trace", *words, env=self.cluster.env)
        self.addCleanup(tracer.kill)
        tracer.log("weft trace: .* on node a")
        return tracer

    def test_messages_as_they_pass(self):
        self.node("echo")
        echo = self.objects("inspect", "echo")[0]["pid"]
        by_tag = self.traced("--tag", "5", "--count", "1", "--json")
        by_actor = self.traced("--actor", echo.split("@")[0], "--count", "2")
        self.weft("call", "echo", "[1]", "--tag", "6")
        self.weft("send", "echo", "[1]", "--tag", "5")
        event = json.loads(by_tag.end()[0])
        self.assertEqual((event["event"], event["actor"], event["value"]), ("receive", echo, 5))
        lines = by_actor.end()
        self.assertRegex(lines[0], r"receives 6 from")
        self.assertEqual(len([line for line in lines if echo.split("@")[0] + " " in line]), len(lines))

    def test_a_topic(self):
        self.node("echo")
        tracer = self.traced("--topic", "tea.*", "--count", "1")
        self.weft("publish", "tea.green", '["hot"]', "--tag", "3")
        self.assertEqual(tracer.end(), ['tea.green 3 ["hot"]'])
        self.assertIn("goes without --actor and --tag", self.weft("trace", "--topic", "x", "--tag", "1", code=2))
        self.assertIn("that is no pid", self.weft("trace", "--actor", "echo", code=1))

    def test_a_tracer_that_goes_leaves_nothing(self):
        self.node("echo")
        tracer = self.traced("--tag", "5")
        self.assertIn("$trace", self.weft("ps"))
        tracer.kill()
        eventually("the tracer's actors end",
                   lambda: not {"$trace", "$guard"} & {actor["kind"] for actor in self.objects("ps")})


if __name__ == "__main__":
    unittest.main()
