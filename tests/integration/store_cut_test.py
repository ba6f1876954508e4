#!/usr/bin/env python3
"""Stores in PostgreSQL whose connection to the server is cut without a word, in the middle of commits: the server and the nodes
are in network namespaces."""
import unittest

from harness import eventually
from hosts import WHY_NOT
from net import Net
from store_nodes import PostgresCase, StandbyNodes

SERVER, A, B, P = range(4)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Cut(StandbyNodes, PostgresCase):
    def setUp(self):
        super().setUp()
        self.net = Net(4).__enter__()
        self.addCleanup(self.net.__exit__)
        self.server = self.serve(inside=self.net.inside(SERVER), address=self.net.address(SERVER))
        self.url = f"postgres://weft@{self.net.address(SERVER)}/postgres?tcp_user_timeout=1000"
        self.env["WEFT_INSECURE"] = "1"
        places = {"a": A, "b": B, "p": P, "r": P}
        self.inside = lambda name: self.net.inside(places[name])
        self.cluster.url = lambda name: f"tcp://{self.net.address(places[name])}:{4100 + (name == 'r')}"

    def await_serving(self, name):
        eventually(f"{name} does not serve", lambda: self.serving() == name)

    def test_a_node_that_is_cut_off_is_replaced(self):
        """Only from its database: the others still know it. The server gives the lock away when it has noticed, too."""
        self.begin("a", "b")
        self.publish(60)
        self.await_serving("a")
        self.net.cut(A, SERVER)
        self.nodes["a"].log("can store nothing at present")
        self.nodes["b"].log("is open")
        self.publish(60)
        self.await_serving("b")
        self.net.heal()
        self.nodes["a"].log("stands by: .* serves it")
        self.publish(60)
        self.url = f"postgres://weft@/postgres?host={self.server.folder}"  # of tools
        self.finish()

    def test_a_node_without_others_goes_on(self):
        self.begin("a", options=())
        self.publish(60)
        self.net.cut(A, SERVER)
        self.nodes["a"].log("connection to server")
        self.net.heal()
        self.publish(60)
        self.url = f"postgres://weft@/postgres?host={self.server.folder}"
        self.finish()


if __name__ == "__main__":
    unittest.main()
