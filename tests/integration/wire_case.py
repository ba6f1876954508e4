"""What the tests of docs/wire.md have in common: nodes that run tests/integration/wire.c, and peers (wire_peer.py)
that were written from that page alone."""
import itertools
import os
import re
import struct
import sys
import unittest

from harness import ROOT, Cluster, Program, built, eventually
from wire_peer import INTEREST, PUBLISH, REPLY, Closed, Peer

WEFT = built("cli", "weft")
MODULE = built("tests", "test_wire.so")
LOWEST, HIGHEST, COUNT = 1, 2 ** 64 - 1, itertools.count(2)
(SELF, POUR, WATCH_IT, LINK_IT, UNLINK_IT, CALL_IT, ORDER, GLOBAL, FIND, JOIN, TO_GROUP, SUBSCRIBE, QUEUE, PUBLISH_IT,
 REACH, RETAIN, COUNTED, LEND, SLOW, FORGET, MAY) = range(1, 22)  # The same numbers are in wire.c.
NUMBERED = 100
GONE = 0x7F000000
ME = 77  # This is an actor of the peer.
with open(os.path.join(ROOT, "docs", "wire.md"), encoding="utf-8") as page:
    PAGE = page.read()


def both():
    """Returns two new incarnations, one below that of any node and one above, because one that has left does not come
    back."""
    low = next(COUNT)
    return low, HIGHEST - low


def nested(levels):
    return [nested(levels - 1)] if levels > 0 else None


def numbers(*values):
    return b"".join(struct.pack("<Q", value) for value in values)


def number(body):
    return struct.unpack("<q", body)[0]


def reason(body):
    """Returns the number and the text of DOWN and EXIT, without the line."""
    return struct.unpack("<i", body[:4])[0], re.sub(r":\d+:", ":", body[4:].decode())


class Wire(unittest.TestCase):
    """Tests with a node that listens, and with peers."""
    options = ()
    incarnations = itertools.count(1000)

    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)
        self.node, self.url = self.start("n", *self.options)

    def run(self, result=None):
        """If a test fails, the output of its node is printed, too."""
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before and hasattr(self, "node"):
            print(f"{self}: {self.node} wrote:", *self.node.err.seen, sep="\n  ", file=sys.stderr)

    def start(self, name, *options, listen="tcp://127.0.0.1:0"):
        node = Program(WEFT, "run", MODULE, "--name", name, "--listen", listen, "--workers", "2",
                       "--loopback-control", *options, env=self.cluster.env)
        self.cluster.nodes[name] = node
        url = node.log(r"listens on ([^\s\",]+)")[1]
        self.assertEqual(node.line(), "ready 0")
        return node, url

    def peer(self, name="p", incarnation=None, url=None, **more):
        peer = Peer(url or self.url, name, incarnation, **more)
        self.addCleanup(peer.close)
        return peer

    def puppet(self, peer, tag, body=b""):
        """Returns the answer of the node's actor, a number."""
        got = peer.call("puppet", tag, body if isinstance(body, bytes) else body.encode())
        self.assertEqual(got[0], REPLY, got)
        return number(got[5])

    def in_effect(self, peer):
        """Waits until all earlier INTEREST is in effect for publications of the puppet."""
        mark = f"mark.{next(self.incarnations)}"
        peer.send([INTEREST, 1, [mark]])

        def comes():
            self.puppet(peer, PUBLISH_IT, mark)
            peer.fence()
            return mark in self.published(peer)
        eventually("the published mark comes back", comes)

    @staticmethod
    def published(peer):
        return [frame[1] for frame in peer.inbox if frame[0] == PUBLISH]

    def raw(self, url=None):
        return Peer(url or self.url, "raw", next(self.incarnations)).connect().connection

    def closes(self, connection, why):
        """The node closes the connection, and its log says why."""
        with self.assertRaises(Closed):
            while True:
                connection.batch()
        self.node.log(why)

    def works(self, **more):
        """The node still works."""
        peer = self.peer(f"works-{next(self.incarnations)}", **more).link()
        self.assertGreater(self.puppet(peer, SELF), 0)
        peer.close()
