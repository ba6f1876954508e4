#!/usr/bin/env python3
"""Stores that stand by, in real processes: nodes with a store are killed, or lose their database, while other nodes publish
and read."""
import subprocess
import unittest

from harness import Program, eventually
from store_nodes import SOON_LOST, WEFT, PostgresCase, StandbyNodes, StoreCase

KILLS = 3


class Standbys(StandbyNodes):
    def test_killed_nodes_are_replaced(self):
        self.begin("a", "b", "c")
        for _ in range(KILLS):
            self.publish(60)
            owner = eventually("no node serves", self.serving)
            self.nodes[owner].process.kill()
            self.nodes[owner].process.wait()
            eventually("no other node serves", lambda: self.serving() not in (None, owner))
            self.publish(60)
            self.nodes[owner] = self.node("idle", name=owner)
            self.nodes[owner].log("stands by: .* serves it")
        self.finish()

    def test_a_node_that_stops_is_replaced(self):
        self.begin("a", "b")
        self.publish(20)
        owner, other = "a", "b"
        self.nodes[other].log("stands by: .* serves it")
        self.assertIn("weft.store.standby", self.weft("names", "--node", other)[0])
        self.assertIn("store standby", self.weft("ps", "--node", other)[0])
        self.assertNotIn("weft.store.standby", self.weft("names", "--node", owner)[0])
        self.nodes[owner].stop()
        self.nodes[other].log("is open")
        self.publish(20)
        self.nodes[other].stop()  # no store is left
        self.assertIsNone(self.serving())
        self.nodes[owner] = self.node("idle", name=owner)
        self.publish(20)
        self.finish()


class StandbysOfAFile(Standbys, StoreCase):
    """The nodes are on one machine."""

    def test_words_that_do_not_fit(self):
        err = self.weft("run", self.module, "--store-standby", "--stored", "a", code=2)[1]
        self.assertIn("--store", err)


class StandbysInPostgres(Standbys, PostgresCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve(fsync="on")
        self.url = f"postgres://weft@/postgres?host={self.server.folder}"

    def test_a_second_store_by_mistake_is_told(self):
        self.begin("a")
        err = self.weft("run", self.module, "--name", "x", "--stored", "room.>", "--store", self.url, "--", "idle", code=1)[1]
        self.assertIn("another node has this store open (with --store-standby", err)
        # Other data: it would be served when the other one ends.
        self.server.sql("CREATE DATABASE other")
        other = self.url.replace("/postgres?", "/other?")
        for _ in range(2):  # empty, and with a store
            node = Program(WEFT, "run", self.module, "--name", "x", "--stored", "room.>", "--join", self.cluster.url("p"),
                           *SOON_LOST, "--store", other, "--store-standby", "--", "idle", env=self.env)
            self.addCleanup(node.kill)
            node.log("the cluster has a store with other data")
            node.kill()
            subprocess.run([WEFT, "store", "import", "--store", other], stdin=subprocess.DEVNULL, check=True, env=self.env)
        self.publish(20)
        self.finish()

    def test_the_server_crashes(self):
        self.begin("a", "b")
        for _ in range(2):
            self.publish(60)
            owner = eventually("no node serves", self.serving)
            self.server.crash()
            self.nodes[owner].log("can store nothing at present")
            self.server.start()
            self.publish(60)
        self.finish()

    def test_a_store_that_is_only_read_is_replaced(self):
        self.begin("a", "b", p=("idle",))
        self.weft("publish", "room.a", "--text", "one", "--stored", "--node", "a")
        self.server.crash()
        reader = self.node("read", "room.a", name="s", store=False)
        self.assertEqual(reader.line(), "subscribed")
        self.nodes["a"].log("can store nothing at present")
        self.server.start()
        self.assertEqual(reader.line().split(" ")[1:], ["1", "one"])

    def test_a_node_without_its_database_is_replaced(self):
        """Its session ends, and another session has the lock when it connects again, as if its network were cut."""
        self.begin("a", "b")
        self.publish(60)
        owner = eventually("no node serves", self.serving)
        other = Program(*self.server.psql, stdin=subprocess.PIPE)
        self.addCleanup(other.kill)
        other.process.stdin.write(b"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory';"
                                  b"SELECT pg_advisory_lock(8603395313164842095);\n")
        other.process.stdin.flush()
        self.nodes[owner].log("can store nothing at present")
        other.process.stdin.close()
        self.publish(60)
        self.finish()


if __name__ == "__main__":
    unittest.main()
