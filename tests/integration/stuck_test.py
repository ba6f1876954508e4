#!/usr/bin/env python3
"""An actor that never waits: the node names it, and still answers. Also, which node of a cluster is slow."""
import json
import os
import signal
import subprocess
import sys
import unittest

import wire_peer as wire
from harness import Cluster, PATIENCE, built, eventually, free_port, patient

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
# A signal finds the stack only where the thread takes signals at any time, and names need symbols of the program.
NAMED = sys.platform == "linux" and os.environ.get("WEFT_SANITIZED") != "1"


class Stuck(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)

    def weft(self, *words, code=0):
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.cluster.env))
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def all_held_up(self, *options):
        node = self.cluster.run("a", MODULE, "spins-everywhere", "2", options=["--workers", "2", *options])
        self.assertEqual(node.line(), "ready")
        for _ in range(2):
            found = node.log(r"worker (\d) is held up by actor the-spinner-(\d) \(spinner (\d)\.\d+\.\d+\) "
                             r"for .*? s(.*?):")
            self.assertEqual(int(found[1]) + 1, int(found[2]))
            if NAMED and found[4] != "":
                self.assertEqual(found[4], " in never_waits < spinner")
            elif NAMED:  # The thread got no processor for the 200 ms that the watchdog waits for it.
                eventually("the functions of the stuck actor are known", lambda n=found[2]: "never_waits" in self.weft(
                    "inspect", f"the-spinner-{n}", "--node", "a")[0])
        return node

    def test_a_node_whose_workers_are_all_held_up_answers_its_tools(self):
        node = self.all_held_up("--stuck-after", "0.2")
        out, err = self.weft("ps", "--node", "a")
        self.assertIn("$node", out)  # The list has weft's own actors.
        for i in (0, 1):
            self.assertRegex(err, rf"worker {i} is held up by actor the-spinner-{i + 1} \(spinner {i}\.\d+\.\d+\) ")
        self.weft("inspect", "--node", "a")
        self.assertIn("held up by actor the-spinner-1", self.weft("why-dropped", "--node", "a")[1])
        self.assertRegex(self.weft("inspect", "the-spinner-2", "--node", "a")[0], r"(?m)^state +running$")
        if NAMED:
            eventually("the functions of the stuck actor are shown", lambda: "never_waits" in self.weft(
                "inspect", "the-spinner-2", "--node", "a")[0])
        self.assertIn("self", self.weft("nodes", "--node", "a")[0])
        self.assertIn("the-spinner-1", self.weft("names", "--node", "a")[0])
        top = self.weft("top", "--once", "--node", "a")[0]
        self.assertRegex(top, r"HOLD-UP a: the-spinner-1 \(spinner 0")
        told = json.loads(self.weft("top", "--once", "--json", "--node", "a")[0].splitlines()[0])
        self.assertEqual(sorted(one["name"] for one in told["stuck"]), ["the-spinner-1", "the-spinner-2"])
        self.assertEqual([w["own"] for w in told["workers"]], [False, False, True])
        self.assertGreater(min(w["longest_ns"] for w in told["workers"][:2]), 200_000_000)
        # Only the end of the process ends this actor, and the log says why.
        self.weft("stop", "--node", "a", "--drain", "0.1", "--timeout", "30", code=5)
        node.log("the end of the node waits for actor the-spinner-1 .*, which has held worker 0 up for")
        node.end(5)

    def test_no_stuck_actor_is_named_with_stuck_after_0(self):
        node = self.cluster.run("a", MODULE, "spins-everywhere", "2",
                                options=["--workers", "2", "--stuck-after", "0"])
        self.assertEqual(node.line(), "ready")

        def told():
            return json.loads(self.weft("top", "--once", "--json", "--node", "a")[0].splitlines()[0])
        eventually("a turn is longer than the default would let pass",
                   lambda: max(w["longest_ns"] for w in told()["workers"][:2]) > 1_500_000_000)
        self.assertEqual(told()["stuck"], [])
        self.weft("stop", "--node", "a", "--drain", "0.1", "--timeout", "30", code=5)
        node.end(5)
        self.assertNotIn("held up by", " ".join(node.err.seen))

    def test_a_node_whose_workers_are_all_held_up_answers_over_tcp(self):
        """Connections of plain TCP belong to workers; new ones go to a worker that turns."""
        url = f"tcp://127.0.0.1:{free_port()}"
        self.all_held_up("--stuck-after", "0.2", "--listen", url, "--loopback-control")
        for _ in range(3):  # Each worker of users gets a connection.
            self.assertIn("$node", self.weft("ps", "--node", url)[0])
        b = self.cluster.run("b", MODULE, "idle", options=["--join", url])
        b.log("linked with node a")
        self.assertIn("the-spinner-1", self.weft("top", "--once", "--all", "--node", "b")[0])

    def told(self):
        return json.loads(self.weft("top", "--once", "--json", "--node", "a")[0].splitlines()[0])

    def flood(self, batch, most):
        """A peer sends the batch again and again, ten times as much as may be under way: the node stops reading from
        it, and still answers others. `most`: MiB by which the node may grow."""
        url = f"tcp://127.0.0.1:{free_port()}"
        self.all_held_up("--stuck-after", "0.2", "--listen", url)
        before = self.told()["resident_bytes"]
        peer = wire.Peer(url, "flooder", capabilities=wire.PATTERNS, heartbeat=3_600_000).link()
        self.addCleanup(peer.close)
        peer.socket.settimeout(3)
        with self.assertRaises(TimeoutError):
            for _ in range((640 << 20) // len(batch)):
                peer.connection.send(batch)
        more = self.told()["resident_bytes"] - before
        if os.environ.get("WEFT_SANITIZED") != "1":  # A sanitizer needs memory of its own for each byte.
            self.assertLess(more, most << 20)
        self.assertRegex(self.weft("nodes", "--node", "a")[0], r"(?m)^flooder +\w+ up ")

    def test_messages_under_way_to_a_worker_that_is_held_up_are_bounded(self):
        self.flood(wire.pack([wire.SEND_NAME, "the-spinner-1", 5, 1, 0, bytes(200_000)]), 96)

    def test_patterns_under_way_to_a_worker_that_is_held_up_are_bounded(self):
        self.flood(wire.pack([wire.INTEREST, 1, ["tea"] * 4096]) * 12, 48)

    def test_a_node_that_ends_names_the_actor_that_holds_it_up(self):
        node = self.all_held_up("--stuck-after", "0.2")
        node.process.send_signal(signal.SIGTERM)
        node.log("the end of the node waits for actor the-spinner-1 .*, which has held worker 0 up for")

    def test_top_shows_which_node_is_slow(self):
        slow = self.cluster.run("slow", MODULE, "computes", options=["--workers", "2"])
        self.assertEqual(slow.line(), "ready")
        quick = self.cluster.run("quick", MODULE, "idle", join=["slow"], options=["--workers", "2"])
        quick.log("linked with node slow")

        def longest():
            told = self.weft("top", "--once", "--all", "--json", "--node", "quick")[0].splitlines()
            nodes = {node["node"]: node for node in map(json.loads, told) if "node" in node and "workers" in node}
            return {name: max(w["longest_ns"] for w in node["workers"]) for name, node in nodes.items()}

        eventually("both nodes are listed", lambda: set(longest()) == {"slow", "quick"})
        eventually("the slow node has had a long turn", lambda: 500_000_000 < longest()["slow"])
        self.assertGreater(longest()["slow"], 2 * longest()["quick"])
        text = self.weft("top", "--once", "--all", "--node", "quick")[0]
        self.assertRegex(text, r"(?m)^slow +up +2 .* [5-9]\d\d ms ")


if __name__ == "__main__":
    unittest.main()
