#!/usr/bin/env python3
"""Membership as real processes observe it: crash, hang, restart, leave, return, and metadata of members.

A busy machine may make a node a suspect for a moment, so tests skip events that they are not about."""
import os
import signal
import subprocess
import unittest

from harness import PATIENCE, eventually
from members import WEFT, Members, news_of


class Membership(unittest.TestCase):
    def setUp(self):
        self.cluster = Members()
        self.addCleanup(self.cluster.__exit__)
        self.cluster.env.update(WEFT_PROBE="0.2", WEFT_HEARTBEAT="0.2", WEFT_RESUME_WINDOW="60", WEFT_SUSPICION="4")

    def three(self, **env):
        a = self.cluster.start("a", **env)
        b, c = (self.cluster.start(name, "a", **env) for name in "bc")
        for of, others in ("a", "bc"), ("b", "ac"), ("c", "ab"):
            for name in others:
                self.becomes(of, name, "up")
        return a, b, c

    def becomes(self, of, name, *states):
        eventually(f"{name} is {states} for {of}", lambda: self.cluster.states(of).get(name) == sorted(states))

    def test_incarnations_are_text(self):
        """The text has all 64 bits, because numbers of some readers of JSON have only 53."""
        self.three()
        rows = {row["name"]: row["incarnation"] for row in self.cluster.rows("a")}
        self.assertEqual(sorted(rows), ["a", "b", "c"])
        for name, incarnation in rows.items():
            self.assertRegex(incarnation, "^[0-9a-f]{16}$")
            self.assertEqual(self.cluster.rows(name)[0]["incarnation"], incarnation)
            self.assertIn(incarnation, self.cluster.weft("nodes", "--node", "a"))

    def test_a_crashed_node_is_suspected_and_then_down(self):
        a, b, c = self.three()
        c.process.kill()
        for node in a, b:
            news_of(node, "c", "suspect")
            self.assertRegex(news_of(node, "c", "down"), "down c: found to be down by node [ab]$")
        self.becomes("a", "c", "down")
        self.becomes("a", "b", "up")

    def test_a_node_that_hung_comes_back(self):
        a, b, c = self.three()
        os.kill(c.pid, signal.SIGSTOP)
        for node in a, b:
            news_of(node, "c", "suspect")
            news_of(node, "c", "down")
        os.kill(c.pid, signal.SIGCONT)
        for node in a, b:
            news_of(node, "c", "up")
        for of, name in ("c", "a"), ("c", "b"), ("a", "c"):
            self.becomes(of, name, "up")

    def test_a_node_that_hangs_shortly_is_not_down(self):
        a, _, c = self.three(WEFT_SUSPICION="1000")
        os.kill(c.pid, signal.SIGSTOP)
        news_of(a, "c", "suspect")
        os.kill(c.pid, signal.SIGCONT)
        self.assertEqual(news_of(a, "c", "up", "down"), "up c")

    def test_a_restarted_node_is_down_and_then_up(self):
        a, b, c = self.three()
        c.kill()
        self.cluster.start("c", "a")
        for node in a, b:
            news_of(node, "c", "down")
            news_of(node, "c", "up")
        self.becomes("b", "c", "down", "up")

    def test_a_node_that_leaves_is_not_suspected(self):
        a, b, c = self.three()
        c.stop()
        for node in a, b:
            self.assertEqual(news_of(node, "c", "down"), "down c: left")
        self.becomes("b", "c", "left")
        c = self.cluster.start("c", "b")
        for node in a, b:
            self.assertEqual(news_of(node, "c", "up"), "up c")
        self.becomes("c", "a", "up")
        self.becomes("c", "b", "up")

    def test_a_node_in_a_minority_ends_if_the_option_says_so(self):
        self.cluster.env.update(WEFT_PARTITION="majority", WEFT_MINORITY="end")
        a, b = self.cluster.start("a"), self.cluster.start("b", "a")
        self.becomes("a", "b", "up")
        b.kill()
        news_of(a, "b", "down")
        # Of two halves, the one with the first name is no minority.
        self.assertEqual(self.cluster.order("a", "minority -"), 0)
        b = self.cluster.start("b", "a")
        self.becomes("b", "a", "up")
        a.process.kill()
        b.log("node b ends: it is in a minority: 1 of 2 nodes are there")
        b.end(code=1)

    def test_a_node_that_was_never_in_a_majority_waits_for_the_others(self):
        """The node is in a minority, and the option says that it ends then. It does not end, but no node may start
        actors there."""
        self.cluster.env.update(WEFT_PARTITION="2", WEFT_MINORITY="end", WEFT_SUSPICION="1000")

        def spawn(of):
            words = WEFT, "spawn", "test.idle", "--text", "", "--node", of
            return subprocess.run(words, env=self.cluster.env, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
        a = self.cluster.start("a")
        eventually("node a is in a minority", lambda: self.cluster.order("a", "minority -") == 1)
        refused = spawn("a")
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("in a minority", refused.stderr)
        b = self.cluster.start("b", "a")
        for of, other in "ab", "ba":
            self.becomes(of, other, "up")
            eventually("the node is in no minority", lambda node=of: self.cluster.order(node, "minority -") == 0)
        eventually("the node starts actors", lambda: spawn("a").returncode == 0)
        a.stop(), b.process.kill()

    def test_metadata_reaches_all(self):
        self.cluster.start("a", WEFT_META="zone=east,role=db")
        self.cluster.start("b", "a")
        self.cluster.start("c", "b", WEFT_META="zone=west")

        def all_know(**expected):
            for of in "abc":
                eventually(f"node {of} knows the metadata of all nodes",
                           lambda of=of: {n["name"]: n["meta"] for n in self.cluster.rows(of)} == expected)
        all_know(a={"zone": "east", "role": "db"}, b={"is": "b"}, c={"zone": "west"})
        for of, order in ("a", "role=none"), ("b", "color=red"), ("c", "zone"):
            self.assertEqual(self.cluster.order(of, "describe " + order), 0)
        all_know(a={"zone": "east", "role": "none"}, b={"is": "b", "color": "red"}, c={})
        self.assertEqual(self.cluster.order("a", "describe long=" + "x" * 129), -12)
        self.assertEqual(self.cluster.order("a", "describe =empty"), -1)


if __name__ == "__main__":
    unittest.main()
