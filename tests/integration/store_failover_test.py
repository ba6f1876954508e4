#!/usr/bin/env python3
"""Stores in PostgreSQL, in real processes, whose server is lost: a second one, which follows it, is promoted, while other nodes
publish and read."""
import unittest

from harness import eventually
from store_nodes import PostgresCase, StandbyNodes


class FailOver(StandbyNodes, PostgresCase):
    """Two servers, of which the second one follows the first, and is promoted when that is gone."""

    def setUp(self):
        super().setUp()
        self.server = self.serve(fsync="on")
        self.second = self.serve(fsync="on", of=self.server)
        self.url = f"postgres:host={self.server.folder},{self.second.folder} user=weft dbname=postgres"

    def be_synchronous(self):
        self.server.sql("ALTER SYSTEM SET synchronous_standby_names TO '*'")
        self.server.sql("SELECT pg_reload_conf()")
        eventually("no standby", lambda: self.server.sql("SELECT sync_state FROM pg_stat_replication") == "sync")

    def promote_second(self):
        """The setting came with the copy, or by replication; nobody follows this server."""
        self.second.promote()
        self.second.sql("ALTER SYSTEM RESET synchronous_standby_names")
        self.second.sql("SELECT pg_reload_conf()")

    def check_synchronous(self, *names, options=("--store-standby",)):
        self.begin(*names, options=options)
        self.be_synchronous()
        self.publish(200)
        self.server.crash()
        self.promote_second()
        self.publish(200)
        self.finish()

    def test_one_node_goes_on_with_a_synchronous_standby(self):
        self.check_synchronous("a", options=())

    def test_nodes_that_stand_by_go_on_with_a_synchronous_standby(self):
        self.check_synchronous("a", "b")

    def test_a_node_and_its_server_are_lost_together(self):
        self.begin("a", "b")
        self.be_synchronous()
        self.publish(200)
        owner = eventually("no node serves", self.serving)
        self.server.crash()
        self.nodes[owner].process.kill()
        self.promote_second()
        self.publish(200)
        self.finish()

    def lag(self):
        """The second server is promoted without the last commits, but it has the store."""
        self.publish(60)
        reached = self.server.sql("SELECT pg_current_wal_lsn()")
        eventually("the standby does not follow",
                   lambda: self.second.sql(f"SELECT pg_last_wal_replay_lsn() >= '{reached}'") == "t")
        self.second.crash()
        self.publish(100)
        self.server.crash()
        self.second.start()
        self.promote_second()

    def test_one_node_refuses_a_standby_that_lacks_commits(self):
        self.begin("a", options=())
        self.lag()
        self.nodes["a"].log("lacks commits that were acknowledged: nothing is stored")
        self.weft("publish", "room.b", "--text", "x", "--stored", "--node", "a", code=1)

    def test_nodes_that_stand_by_refuse_a_standby_that_lacks_commits(self):
        self.begin("a", "b")
        self.lag()
        for node in self.nodes.values():
            node.log("lacks [0-9]+ commits that were acknowledged")
        self.assertIsNone(self.serving())
        # The server with all commits comes back, and the other one is gone.
        self.second.crash()
        self.server.start()
        self.publish(60)
        self.finish()


if __name__ == "__main__":
    unittest.main()
