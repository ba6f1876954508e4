#!/usr/bin/env python3
"""A peer's process is stopped while 100 MB a second are sent to it: the sender's memory stays bounded, its actors
wait or are refused, another peer gets all, and in the end nothing is missing. And the memory of thousands of links is
given back when they have ended."""
import os
import signal
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from harness import Cluster, PATIENCE, built, eventually, mapped  # noqa: E402
from wire_peer import CALL_NAME, TOOL, Peer  # noqa: E402

MODULE = built("tests", "faults_pour.so")
MB = 1024 * 1024
MESSAGE = 65536
STOPPED, OTHER, TRIER = 0, 1, 2  # streams
BOUND = 16 * MB  # Bytes that are kept for one link.
SLACK = 48 * MB  # Bytes that may come and go besides: batches under way and free blocks of the heap.


class Counts:
    def __init__(self, path):
        self.map = mapped(path, 4096)

    def get(self, stream, what):
        field = ("sent", "refused", "received", "wrong").index(what)
        return struct.unpack_from("Q", self.map, 8 * (1 + 4 * stream + field))[0]

    def stop(self):
        struct.pack_into("Q", self.map, 0, 1)


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@unittest.skipIf(os.environ.get("WEFT_SANITIZED") == "1", "a sanitizer keeps freed memory")
class Memory(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)
        # This makes sure that the link is resumed, however slow the machine is.
        self.cluster.env["WEFT_RESUME_WINDOW"] = "300"
        self.counts = {}
        for name, words, join in [("r", ["take"], []), ("o", ["take"], []), ("s", ["pour", "r", "o"], ["r", "o"])]:
            path = os.path.join(self.cluster.folder.name, f"{name}.counts")
            self.counts[name] = Counts(path)
            self.cluster.run(name, MODULE, path, *words, join=join)
        self.pid = {name: node.pid for name, node in self.cluster.nodes.items()}

    def until(self, what, holds):
        """Looks every few ms, and returns the most memory that the sender has had meanwhile."""
        by, most = time.monotonic() + PATIENCE, 0
        while not holds():
            most = max(most, resident(self.pid["s"]))
            self.assertLess(time.monotonic(), by, what)
            time.sleep(0.002)
        return max(most, resident(self.pid["s"]))

    def test_a_stopped_peer_costs_no_more_than_its_link_may_keep(self):
        r, o, s = self.counts["r"], self.counts["o"], self.counts["s"]
        flowing = 50 * MB // MESSAGE
        before = self.until("messages flow", lambda: min(r.get(STOPPED, "received"), r.get(TRIER, "received"),
                                                         o.get(OTHER, "received")) >= flowing)
        os.kill(self.pid["r"], signal.SIGSTOP)
        self.addCleanup(os.kill, self.pid["r"], signal.SIGCONT)
        refused, passed = s.get(TRIER, "refused"), o.get(OTHER, "received")
        sent = s.get(STOPPED, "sent") + s.get(TRIER, "sent")
        most = self.until("one sender waits, one is refused, and the other peer goes on", lambda: (
            s.get(TRIER, "refused") >= refused + 50 and o.get(OTHER, "received") >= passed + 300 * MB // MESSAGE))
        kept = (s.get(STOPPED, "sent") + s.get(TRIER, "sent") - sent) * MESSAGE
        self.assertLess(most, before + BOUND + SLACK)
        self.assertLess(kept, BOUND + SLACK)  # The kernel's buffers take some of the messages, too.
        os.kill(self.pid["r"], signal.SIGCONT)
        on = r.get(STOPPED, "received") + flowing
        self.until("the sender goes on", lambda: r.get(STOPPED, "received") >= on)
        s.stop()
        ways = [(STOPPED, r), (TRIER, r), (OTHER, o)]
        self.until("all messages have arrived",
                   lambda: all(s.get(way, "sent") == to.get(way, "received") for way, to in ways))
        for way, to in ways:
            self.assertEqual(to.get(way, "wrong"), 0)


@unittest.skipIf(os.environ.get("WEFT_SANITIZED") == "1", "a sanitizer keeps freed memory")
class Links(unittest.TestCase):
    FEW, MANY, ROUNDS = 200, 900, 2
    SLACK = 16 * MB  # A heap always has holes.

    @staticmethod
    def link_and_leave(port, count, first):
        """Sends each peer more than it reads. The peers are tools: nodes would be told of each other, which takes
        minutes."""
        peers = [Peer(f"tcp://127.0.0.1:{port}", f"peer-{first + i}", flags=TOOL).link() for i in range(count)]
        for peer in peers:
            peer.send(*[[CALL_NAME, "nobody", 5, 1, call, b"x" * 500] for call in range(100)])
        for peer in peers:
            peer.close()

    def test_memory_of_links_that_have_ended_goes_back(self):
        with Cluster() as cluster:
            counts = os.path.join(cluster.folder.name, "n.counts")
            Counts(counts)
            node = cluster.run("n", MODULE, counts, "take", options=["--listen", "tcp://127.0.0.1:0"])
            port = int(node.log(r"tcp://127\.0\.0\.1:(\d+)")[1])
            self.link_and_leave(port, self.FEW, 1)
            eventually("all connections are closed", lambda: len(os.listdir(f"/proc/{node.pid}/fd")) < self.FEW)
            before = resident(node.pid)
            for i in range(self.ROUNDS):
                self.link_and_leave(port, self.MANY, 1000 + i * self.MANY)
            eventually(f"the node uses hardly more than {before} bytes again",
                       lambda: resident(node.pid) < before + self.SLACK)


if __name__ == "__main__":
    unittest.main()
