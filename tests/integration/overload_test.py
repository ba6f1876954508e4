#!/usr/bin/env python3
"""A node that is asked for more than it can do, by other processes: it can be looked at, operated and stopped meanwhile,
nobody takes it for lost, its mailboxes keep their limits, and afterwards all calls are answered.

What overloads it is the number of callers, which is larger than its mailbox, or whose turns together take longer than a
caller waits. So it does not depend on the speed of the machine, and nothing here is measured in seconds."""
import json
import os
import subprocess
import unittest

from harness import Cluster, PATIENCE, built, eventually, patient

WEFT = built("cli", "weft")
MODULE = built("tests", "test_overloading.so")
CALLERS, WORKERS, ROUNDS = 60, 2, 2
GRANT = 256  # Units of credit with which each worker of another node begins; see docs/mailboxes.md.


class Overload(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)
        self.node = self.run_node("w", "serve")
        self.assertEqual(self.node.line(), "ready")

    def run_node(self, name, *args, options=(), join=()):
        return self.cluster.run(name, MODULE, *args, join=join, options=["--workers", str(WORKERS), *options])

    def weft(self, *words):
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.cluster.env))
        self.assertEqual(done.returncode, 0, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def rows(self, *words):
        return [json.loads(line) for line in self.weft(*words, "--json").splitlines()]

    def row(self, name):
        """Returns the row of this actor in `ps`. A worker that gets no processor for two seconds is missing once."""
        return eventually(f"actor {name} is shown", lambda: next(
            (row for row in self.rows("ps", "--node", "w") if row["name"] == name), None))

    def overload(self, *args):
        node = self.run_node("c", *args, join=("w",))
        self.assertEqual(node.line(), "begun")
        return node

    def end(self, node):
        """Ends the calling node, and returns its sums."""
        self.weft("send", "enough", "[]", "--node", "c")
        return json.loads(node.line())

    def look(self, name):
        """Does what an operator does, and returns the largest number of messages that this actor's mailbox had."""
        most = 0
        for _ in range(ROUNDS):
            most = max(most, self.row(name)["mailbox"])
            self.assertIn("server", self.weft("inspect", name, "--node", "w"))
            told = self.rows("top", "--once", "--node", "w")[0]
            self.assertEqual((told["node"], told["state"]), ("w", "up"))
            self.assertIn("c", [row["name"] for row in self.rows("nodes", "--node", "w")])
            self.assertEqual(self.weft("call", "neighbour", "[]", "--node", "w", "--tag", "1"), "\n")
        return most

    def check_recovery(self, name):
        """Calls one after the other are all answered, and no node was taken for lost."""
        node = self.run_node("h", "calm", name, "100", join=("w",))
        self.assertEqual(json.loads(node.line()), {"asked": 100, "answered": 100, "refused": 0, "late": 0, "failed": 0})
        self.assertEqual(self.row(name)["mailbox"], 0)
        for other in self.cluster.nodes.values():
            self.assertNotRegex(" ".join(other.err.seen), "is down|is lost|suspect")

    def check_frames(self, sums):
        """Each request takes one frame, with now and then one for credit or a heartbeat: nothing is sent again."""
        link = {row["name"]: row for row in self.rows("nodes", "--node", "c")}["w"]
        most = sums["asked"] + sums["asked"] // 8 + 500
        self.assertLessEqual(link["frames_out"], most)
        self.assertLessEqual(link["frames_in"], most)

    def test_a_small_mailbox_refuses_calls_and_recovers(self):
        callers = self.overload("call", "refusing", str(CALLERS), "60000")
        self.assertLessEqual(self.look("refusing"), CALLERS)
        sums = self.end(callers)
        self.assertGreater(sums["answered"], 0)
        self.assertGreater(sums["refused"], 0)
        self.assertEqual((sums["late"], sums["failed"]), (0, 0))
        self.check_frames(sums)
        self.check_recovery("refusing")

    def test_expired_requests_of_a_usual_mailbox_are_dropped(self):
        """Most callers give up. Their requests are dropped, so the next ones do not wait for them."""
        callers = self.overload("call", "usual", str(CALLERS), "20")
        self.look("usual")
        sums = self.end(callers)
        self.assertGreater(sums["late"], 0)
        self.assertEqual((sums["refused"], sums["failed"]), (0, 0))
        self.check_frames(sums)
        self.check_recovery("usual")
        drops = dict(self.rows("top", "--once", "--node", "w")[0]["drops"])
        self.assertGreater(drops.get("expired", 0), 0, drops)

    def test_the_mailbox_of_suspended_senders_is_bounded(self):
        """The mailbox holds its limit and the messages for which other nodes have credit."""
        senders = self.overload("pour", "suspending", "16")
        self.assertLessEqual(self.look("suspending"), 100 + WORKERS * GRANT)
        told = self.rows("top", "--once", "--node", "w")[0]
        self.assertLess(max((worker["mailbox_bytes"] for worker in told["workers"] if worker["answers"]), default=0), 2 << 20)
        self.end(senders)
        self.check_recovery("suspending")

    def test_other_workers_go_on_while_one_is_held_up(self):
        callers = self.overload("call", "refusing", str(CALLERS), "60000")
        self.weft("send", "other", "[]", "--tag", "2", "--node", "w")
        self.node.log(r"worker 1 is held up by actor other \(neighbour 1\.\d+\.\d+\)")
        self.assertRegex(self.weft("top", "--once", "--node", "w"), r"HOLD-UP w: other \(neighbour 1")
        before = self.row("refusing")["received"]  # This actor is on the worker that goes on.
        self.weft("call", "neighbour", "[]", "--tag", "1", "--node", "w")
        eventually("calls of other nodes are answered", lambda: self.row("refusing")["received"] > before)
        self.weft("send", "neighbour", "[]", "--tag", "3", "--node", "w")
        self.weft("call", "other", "[]", "--tag", "1", "--node", "w")
        self.end(callers)
        self.check_recovery("refusing")

    def test_an_overloaded_node_stops_in_order(self):
        callers = self.overload("call", "refusing", str(CALLERS), "60000")
        self.assertIn("w has ended", self.weft("stop", "--node", "w"))
        self.node.end()
        callers.log("node w is down: left")
        self.assertGreater(json.loads(callers.line())["answered"], 0)


if __name__ == "__main__":
    unittest.main()
