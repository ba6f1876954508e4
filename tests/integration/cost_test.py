#!/usr/bin/env python3
"""The cost of one entry of a table does not grow with the number of entries: callgrind counts the instructions, for
entries of the node's actors and for entries that another node sends.

WEFT_COST=100000 uses this number of entries, which takes some minutes; docs/limits.md has the figures."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import wire_peer as wire
from harness import Cluster, PATIENCE, Program, built

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
QUEUEING = built("tests", "test_queueing.so")
FEW, MANY = 500, int(os.environ.get("WEFT_COST", "1500"))
MANY_RETAINED = min(MANY, 50_000)  # A node retains at most 65,536 messages.
MOST = 1.5  # A table with quadratic cost would have 3, or as many times as there are more entries.


CALLGRIND = "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"
COLLECTED = r"Collected : (\d+)"
NODE, QUEUE, AT_ONCE = 77, "workers", 200_000


def entry(table, *key):
    """Returns the frames of a table that set an entry and remove it."""
    behind = (1000,) if table == 1 else ()
    return [wire.TABLE, 1, table, *key, *behind], [wire.TABLE, 2, table, *key]


# Each pair has the frame with which a peer announces entry i, and the one that takes it back.
TOLD = {
    "names": lambda i: entry(1, f"one.of.many.{i}", 7),
    "groups": lambda i: entry(2, f"one.of.many.{i}", 7),
    "members": lambda i: entry(2, "one.group", i + 1),
    "queues": lambda i: entry(3, f"one.of.many.{i}", QUEUE),
    "queues of one pattern": lambda i: entry(3, "one.pattern", f"one.of.many.{i}"),
    "patterns": lambda i: ([wire.INTEREST, op, [f"one.of.many.{i}"]] for op in (1, 2)),
    "retained": lambda i: ([wire.RETAINED, f"one.of.many.{i}", NODE, 7, 1, 0, at + i, body]
                           for at, body in ((1000, b"x"), (1_000_000, b""))),
}


@unittest.skipIf(os.environ.get("WEFT_SANITIZED", "") == "1", "Valgrind does not run a build with a sanitizer")
class Cost(unittest.TestCase):
    def instructions(self, what, count):
        """Counts the instructions of a node whose first actor adds `count` entries, removes half of them, and ends."""
        with Cluster() as cluster:
            done = subprocess.run([*CALLGRIND, WEFT, "run", MODULE, "--name", "a", "--workers", "1", "--log", "warn",
                                   "--", "adds", what, str(count)],
                                  capture_output=True, text=True, timeout=10 * PATIENCE, env=cluster.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"added {what}: ", done.stdout)
        self.assertNotIn(f"added {what}: -", done.stdout)
        return int(re.search(COLLECTED, done.stderr).group(1))

    def instructions_of_peer(self, what, count):
        """Counts the instructions of a node to which a peer announces `count` entries and takes half of them back; then
        it leaves."""
        with Cluster() as cluster:
            node = Program(*CALLGRIND, WEFT, "run", MODULE, "--name", "a", "--workers", "1", "--listen",
                           "tcp://127.0.0.1:0", "--", "echo", env=cluster.env)
            self.addCleanup(node.kill)
            url = node.log(r"listens on (tcp://[0-9.:]+)")[1]
            self.assertEqual(node.line(), "ready")
            peer = wire.Peer(url, "b", NODE, capabilities=wire.PATTERNS | wire.TABLES | wire.TOPICS,
                             heartbeat=3_600_000).link()
            self.addCleanup(peer.close)
            said = b""
            for back in (False, True):
                for i in range(0, count, 1 + back):
                    said += wire.pack(list(TOLD[what](i))[back])
                    if len(said) > AT_ONCE:
                        peer.connection.send(said)
                        said = b""
            if said:
                peer.connection.send(said)
            peer.fence()
            peer.leave()
            node.stop()
            return int(re.search(COLLECTED, "\n".join(node.err.seen)).group(1))

    def ratio(self, what, most, instructions, none=None):
        """`none` has the instructions of a node that adds nothing, where they are the same for each `what`."""
        none, few, many = (instructions(what, count) if count > 0 or none is None else none
                           for count in (0, FEW, most))
        at_first, in_the_end = (few - none) / FEW, (many - few) / (most - FEW)
        print(f"{what}: {at_first:.0f} instructions each at first, {in_the_end:.0f} in the end")
        self.assertLess(in_the_end / at_first, MOST)

    def test_an_entry_costs_the_same_among_few_and_many(self):
        none = self.instructions("names", 0)
        for what in ("names", "globals", "groups", "watches", "topics", "queues", "pattern", "retained",
                     "monitors", "links", "news", "children"):
            with self.subTest(what):
                self.ratio(what, MANY_RETAINED if what == "retained" else MANY, self.instructions, none)

    def test_an_entry_of_a_peer_costs_the_same_among_few_and_many(self):
        none = self.instructions_of_peer("names", 0)
        for what in TOLD:
            with self.subTest(what):
                self.ratio(what, MANY_RETAINED if what == "retained" else MANY, self.instructions_of_peer, none)

    def instructions_of_store(self, what, name, function, count):
        """Counts the instructions of this function of the store's actor while `count` waiting actors end."""
        with Cluster() as cluster:
            done = subprocess.run(
                [*CALLGRIND, f"--toggle-collect={function}", WEFT, "run", QUEUEING, "--name", "a", "--workers", "1",
                 "--log", "warn", "--store", f"sqlite:{cluster.folder.name}/s.db", "--queues", "jobs.>", "--stored",
                 "room.>", "--", what, name, str(count)],
                capture_output=True, text=True, timeout=10 * PATIENCE, env=cluster.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(re.search(COLLECTED, done.stderr).group(1))

    @unittest.skipUnless(os.path.exists(QUEUEING), "this build has no store")
    def test_a_waiter_that_leaves_the_store_costs_the_same_among_few_and_many(self):
        for what, name, function in (("takers", "jobs.x", "wf_queues_down"),
                                     ("readers", "room.x", "wf_parked_reads_forget")):
            with self.subTest(what):
                self.ratio(what, min(MANY, 3_000), lambda _, count, of=(what, name, function):
                           self.instructions_of_store(*of, count))


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        sys.exit(77)
    unittest.main()
