#!/usr/bin/env python3
"""Stores in PostgreSQL whose server stands still (SIGSTOP): connections to it live, and nothing is answered."""
import os
import socket
import unittest

from harness import eventually
from store_nodes import PostgresCase, StandbyNodes

SILENT = "has sent no answer for 1 s"
VERBS = ("topics", "read room.a", "check")


class Silent(StandbyNodes, PostgresCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve(fsync="on")
        self.url = self.url_of(self.server.folder)

    @staticmethod
    def url_of(hosts):
        return f"postgres:host={hosts} user=weft dbname=postgres answer_timeout=1 connect_timeout=2"

    def finish(self):
        """The nodes are in a hurry, the check is not: a busy machine answers it later than after a second."""
        self.url = self.url.replace("answer_timeout=1 ", "answer_timeout=60 ")
        super().finish()

    def listener(self):
        """Returns the folder of a server that accepts connections and says nothing."""
        folder = os.path.join(self.cluster.folder.name, "mute")
        os.mkdir(folder)
        mute = socket.socket(socket.AF_UNIX)
        self.addCleanup(mute.close)
        mute.bind(os.path.join(folder, ".s.PGSQL.5432"))
        mute.listen(64)
        return folder

    def publish_one(self, text, code=0):
        return self.weft("publish", "room.b", "--text", text, "--stored", "--node", "a", code=code)

    def test_publishers_are_told_and_the_node_goes_on(self):
        self.begin("a", options=())
        self.publish(60)
        self.server.freeze()
        self.nodes["a"].log(SILENT)
        self.assertIn("system error", self.publish_one("lost", code=1)[1])
        self.assertIn("store", self.weft("ps", "--node", "a")[0])
        self.weft("top", "--once", "--node", "a")
        self.server.thaw()
        self.publish(60)
        self.publish_one("kept")
        self.finish()

    def test_readers_are_told_and_go_on(self):
        self.begin("a", options=(), p=("idle",))
        self.publish_one("one")
        subscribe = ("subscribe", "room.b", "--from", "start", "--count", "1", "--node", "a")
        self.assertIn("one", self.weft(*subscribe)[0])
        self.server.freeze()
        reader = self.node("read", "room.b", name="s", store=False)
        self.assertEqual(reader.line(), "subscribed")
        self.nodes["a"].log(SILENT)
        self.server.thaw()
        self.assertEqual(reader.line().split(" ")[1:], ["1", "one"])

    def test_the_node_can_be_stopped(self):
        self.begin("a", options=())
        self.publish(60)
        self.server.freeze()
        self.nodes["a"].log(SILENT)
        self.weft("stop", "--node", "a")
        self.nodes["a"].end()
        self.server.thaw()
        self.nodes["a"] = self.node("idle", name="a", options=())
        self.publish(60)
        self.finish()

    def test_nodes_that_stand_by_go_on_when_the_server_does(self):
        self.begin("a", "b")
        for _ in range(2):
            self.publish(60)
            owner = eventually("no node serves", self.serving)
            self.server.freeze()
            self.nodes[owner].log("can store nothing at present")
            self.server.thaw()
            self.publish(60)
        self.finish()

    def test_a_store_that_is_only_read_is_given_up(self):
        self.begin("a", "b", p=("idle",))
        self.publish_one("one")
        self.server.freeze()
        reader = self.node("read", "room.b", name="s", store=False)
        self.assertEqual(reader.line(), "subscribed")
        self.nodes["a"].log("can store nothing at present")
        self.server.thaw()
        self.assertEqual(reader.line().split(" ")[1:], ["1", "one"])

    def test_another_server_is_used(self):
        """The second server follows the first one, and is promoted when that stands still."""
        second = self.serve(fsync="on", of=self.server)
        self.url = self.url_of(f"{self.server.folder},{second.folder}")
        self.server.sql("ALTER SYSTEM SET synchronous_standby_names TO '*'")
        self.server.sql("SELECT pg_reload_conf()")
        eventually("no standby", lambda: self.server.sql("SELECT sync_state FROM pg_stat_replication") == "sync")
        self.begin("a", "b")
        self.publish(60)
        self.server.freeze()
        second.promote()
        second.sql("ALTER SYSTEM RESET synchronous_standby_names")
        second.sql("SELECT pg_reload_conf()")
        self.publish(60)
        self.finish()

    def test_a_server_that_says_nothing_is_passed_over(self):
        self.url = self.url_of(f"{self.listener()},{self.server.folder}")
        self.begin("a", options=())
        self.publish(20)
        self.finish()

    def test_nodes_and_tools_say_that_a_server_says_nothing(self):
        url = self.url_of(self.listener())
        err = self.weft("run", self.module, "--store", url, "--stored", "room.>", "--", "idle", code=1)[1]
        self.assertIn("timeout expired", err)
        for verb in VERBS:
            self.assertIn("timeout expired", self.weft("store", *verb.split(" "), "--store", url, code=1)[1])

    def test_tools_end_when_the_server_stands_still(self):
        self.begin("a", options=(), p=("idle",))
        self.publish_one("one")
        self.server.freeze()
        for verb in VERBS:
            self.weft("store", *verb.split(" "), "--store", self.url, code=1)


if __name__ == "__main__":
    unittest.main()
