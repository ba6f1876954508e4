#!/usr/bin/env python3
"""Addresses of nodes that do not exist, sent by a member: a node dials few of them, seldom, and not for long."""
import json
import os
import socket
import subprocess
import threading
import unittest

from harness import Cluster, PATIENCE, Program, built, eventually
from wire_peer import GOSSIP, SWIM_SYNC, Peer

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")


class Stranger:
    """A server that is not part of the cluster, and counts its connections."""

    def __init__(self, listener):
        self.listener, self.came = listener, 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.came += 1
            connection.close()


class Learned(unittest.TestCase):
    def setUp(self):
        self.cluster, self.number = Cluster(), 0
        self.addCleanup(self.cluster.__exit__)

    def node(self, *options):
        self.node_n = Program(WEFT, "run", MODULE, "--name", "n", "--listen", "tcp://127.0.0.1:0", "--probe", "0.05",
                              "--suspicion", "1", "--resume-window", "0.2", *options, "--", "idle",
                              env=self.cluster.env)
        self.cluster.nodes["n"] = self.node_n
        self.url = self.node_n.log(r"tcp://127\.0\.0\.1:\d+")[0]

    def liar(self):
        liar = Peer(self.url, "liar", capabilities=GOSSIP)
        self.addCleanup(liar.close)
        return liar.link()

    def tell(self, liar, count, url):
        """Announces `count` nodes, all at `url`. It announces them again each time, because a slow machine forgets them
        between looks."""
        self.number += 1
        for first in range(0, count, 100):
            ghosts = range(first, min(first + 100, count))
            liar.send([SWIM_SYNC, 0, [[1000 + i, 0, self.number, 0, [f"ghost{i}", [url], {}]] for i in ghosts]])
        return True

    def connecting(self):
        done = subprocess.run([WEFT, "nodes", "--node", "n", "--json"], capture_output=True, text=True,
                              timeout=PATIENCE, env=self.cluster.env, check=True)
        states = [json.loads(line)["state"] for line in done.stdout.splitlines()]
        return sum(state in ("connecting", "suspect") for state in states)

    def stranger(self, family=socket.AF_INET, at=("127.0.0.1", 0)):
        listener = socket.socket(family)
        self.addCleanup(listener.close)
        listener.bind(at)
        listener.listen(128)
        return Stranger(listener)

    def test_a_thousand_nodes_at_one_address(self):
        self.node()
        stranger, liar = self.stranger(), self.liar()
        url = "tcp://127.0.0.1:%d" % stranger.listener.getsockname()[1]
        eventually("the node knows the addresses and dials them",
                   lambda: self.tell(liar, 1000, url) and self.connecting() > 500 and stranger.came > 0)
        liar.leave()
        eventually("the addresses are forgotten", lambda: self.connecting() == 0)
        self.assertLess(stranger.came, 50)
        self.node_n.stop()

    def test_a_node_does_not_dial_sockets_of_other_programs(self):
        self.node()
        path = os.path.join(self.cluster.folder.name, "elsewhere", "other.sock")
        os.mkdir(os.path.dirname(path))
        stranger, liar = self.stranger(socket.AF_UNIX, path), self.liar()
        eventually("the node knows the addresses",
                   lambda: self.tell(liar, 100, "ipc://" + path) and self.connecting() > 50)
        self.node_n.log("cannot connect to ipc://.*/other.sock: a local socket in a folder where this node has none")
        liar.leave()
        eventually("the addresses are forgotten", lambda: self.connecting() == 0)
        self.assertEqual(stranger.came, 0)
        self.node_n.stop()

    def test_a_node_does_not_dial_networks_in_which_it_has_no_address(self):
        self.node("--dial-only", "10.0.0.0/8")
        liar = self.liar()
        self.tell(liar, 100, "tcp://192.0.2.1:1")
        self.node_n.log("cannot connect to tcp://192.0.2.1:1: this node has no other address of a network")
        self.node_n.stop()

    def test_a_bad_range_is_refused(self):
        node = Program(WEFT, "run", MODULE, "--dial-only", "10.0.0.0/33", "--", "idle", env=self.cluster.env)
        self.addCleanup(node.kill)
        node.log("--dial-only: '10.0.0.0/33': it is not an address, ADDRESS/BITS, a name or .DOMAIN")
        node.end(2)


if __name__ == "__main__":
    unittest.main()
