#!/usr/bin/env python3
"""Peers that are not weft: the node in Python of examples/python, and nngcat."""
import json
import os
import shutil
import subprocess
import sys
import unittest

from harness import Cluster, PATIENCE, Program, ROOT, built, patient

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
PEER = os.path.join(ROOT, "examples", "python", "peer.py")


def with_msgpack():
    """Returns a Python that has msgpack, or None."""
    for python in [sys.executable, "/usr/bin/python3"]:
        if shutil.which(python) and subprocess.run([python, "-c", "import msgpack"], stderr=subprocess.DEVNULL,
                                                   check=False).returncode == 0:
            return python
    return None


PYTHON = with_msgpack()


class Foreign(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)
        self.node = Program(WEFT, "run", MODULE, "--name", "n", "--listen", "tcp://127.0.0.1:0", "--", "asks",
                            env=self.cluster.env)
        self.cluster.nodes["n"] = self.node
        self.url = self.node.log(r"tcp://127\.0\.0\.1:\d+")[0]
        self.assertEqual(self.node.line(), "ready")

    def weft(self, *words):
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.cluster.env), check=True)
        return done.stdout

    @unittest.skipIf(PYTHON is None, "python3-msgpack is not installed")
    def test_a_node_in_python_takes_part_in_a_cluster(self):
        # The incarnation is random, so it is sometimes the higher one and sometimes the lower one.
        for turn in range(4):
            name = f"snake{turn}"
            peer = Program(PYTHON, PEER, self.url, name, "news.*", env=self.cluster.env, stdin=subprocess.PIPE)
            self.addCleanup(peer.kill)
            self.assertEqual(peer.line(), "linked with n")
            self.assertEqual(self.node.line(), f"{name} answers HELLO {name.upper()}")
            for number in range(1000):  # Publish until its interest has reached the node.
                if json.loads(self.weft("publish", "news.one", f"[{number}]", "--json"))["handed"] > 0:
                    break
            self.weft("publish", "news.two", "--text", "caf\u00e9", "--tag", "5")
            self.assertTrue(peer.line().startswith("heard news.one 0"))
            self.assertEqual(peer.line(), "heard news.two 5 caf\u00e9")
            reader = Program(WEFT, "subscribe", "python.>", "--count", "2", "--json", env=self.cluster.env)
            self.addCleanup(reader.kill)
            reader.log("on node n")
            peer.process.stdin.write(b"one\ntwo\n")
            peer.process.stdin.close()
            said = [json.loads(reader.line()) for _ in range(2)]
            self.assertEqual([(s["topic"], s["tag"], s["text"]) for s in said],
                             [("python.line", 1, "one"), ("python.line", 1, "two")])
            peer.end()
            self.node.log(f"node {name} is down: left")

    @unittest.skipIf(PYTHON is None, "python3-msgpack is not installed")
    def test_a_refused_peer_prints_the_reason(self):
        peer = Program(PYTHON, PEER, self.url, "n", env=self.cluster.env)
        self.addCleanup(peer.kill)
        peer.log("there is another node named n")
        peer.end(1)

    @unittest.skipIf(shutil.which("nngcat") is None, "nngcat is not installed")
    def test_nngcat_connects_and_is_told_off(self):
        cat = Program("nngcat", "--pair0", "--dial", self.url, "--data", "hello")
        self.addCleanup(cat.kill)
        self.node.log("closed a connection from .*: malformed unknown frame at offset")
        self.assertIn('"self"', self.weft("nodes", "--json"))


if __name__ == "__main__":
    unittest.main()
