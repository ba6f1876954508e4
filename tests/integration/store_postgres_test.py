#!/usr/bin/env python3
"""Stored topics in PostgreSQL, in real processes: nodes that are killed while they publish, and a server that is."""
import json
import subprocess
import unittest

import persist_processes_test
import queue_processes_test
from harness import PATIENCE, built
from postgres_server import Postgres, without
from store_nodes import StoreCase, WEFT

KILLS = 3
SERVER = None  # All classes share this server.


def setUpModule():
    global SERVER
    if without():
        raise unittest.SkipTest(without())
    SERVER = Postgres(fsync="on")
    unittest.addModuleCleanup(SERVER.close)


class InPostgres(StoreCase):
    """Does with an empty database what the tests of stores in files do with a file."""

    def setUp(self):
        super().setUp()
        self.server = SERVER
        self.server.sql("SET client_min_messages TO error; DROP SCHEMA IF EXISTS weft CASCADE")
        self.url = f"postgres://weft@/postgres?host={self.server.folder}"


class QueuesInPostgres(InPostgres, queue_processes_test.Queues):
    """Workers and stores are killed."""


class StatesInPostgres(InPostgres, persist_processes_test.States):
    """Actors that remember, and their stores, are killed."""


class StoreInPostgres(InPostgres):
    module = built("tests", "test_storing.so")

    def node(self, *what, name="a", url=None):
        return self.start(*what, name=name, options=("--store", url or self.url, "--stored", "room.>"))

    def stored(self, topic):
        """Returns {offset: text} of a log, and checks that the log has no hole."""
        rows = [json.loads(line) for line in
                self.weft("store", "read", topic, "--store", self.url, "--json")[0].splitlines()]
        self.assertEqual([row["offset"] for row in rows], list(range(1, len(rows) + 1)))
        return {row["offset"]: row["text"] for row in rows}

    def check_acknowledged(self, lines):
        stored = self.stored("room.a")
        for line in lines:
            words = line.split(" ")
            if len(words) == 3:  # The last line of a killed node may be cut.
                self.assertEqual(stored.get(int(words[1])), words[2])
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])

    def test_killed_nodes_lose_nothing(self):
        acknowledged = []
        for turn in range(KILLS):
            node = self.node("publish", "room.a", "8")
            for _ in range(50 + 37 * turn):
                node.line()
            node.process.kill()
            node.process.wait()
            node.out.rest()
            acknowledged += node.out.seen[1:-1]
            self.check_acknowledged(acknowledged)

    def test_a_node_goes_on_after_a_crash_of_the_postgresql_server(self):
        """Publishers get an error while the server is away, and the node goes on when it is back."""
        node = self.node("publish", "room.a", "8")
        for turn in range(2):
            for _ in range(60):
                node.line()
            self.server.crash()
            publish = ("publish", "room.b", "--text", f"turn {turn}", "--stored", "--node", "a")
            self.assertIn("system error", self.weft(*publish, code=1)[1])
            node.log("store postgres:weft")
            self.server.start()
            self.assertIn("stored as", self.weft(*publish)[0])
        for _ in range(60):
            node.line()
        node.stop()
        node.out.rest()
        self.check_acknowledged(node.out.seen[1:])
        self.assertEqual(list(self.stored("room.b").values()), ["turn 0", "turn 1"])

    def test_a_second_node_is_refused_as_owner_of_the_store(self):
        self.node("idle")
        err = self.weft("run", self.module, "--name", "b", "--store", self.url, "--stored", "a", "--", "idle", code=1)[1]
        self.assertIn("another node has this store open", err)

    def test_passwords_are_not_shown(self):
        url = f"postgres:host={self.server.folder} user=weft dbname=postgres password=hidden"
        node = self.node("idle", url=url)
        with open(f"/proc/{node.process.pid}/cmdline", encoding="utf-8") as f:
            words = f.read()
        self.assertIn("postgres:weft@" + self.server.folder, words)
        self.assertNotIn("hidden", words)
        node.stop()
        self.assertFalse([line for line in node.err.seen if "hidden" in line])
        self.assertTrue([line for line in node.err.seen if "is open" in line and "postgres:weft@" in line])
        shown = subprocess.run([WEFT, "config", "show"], env={**self.env, "WEFT_STORE": url}, capture_output=True,
                               text=True, timeout=PATIENCE, check=True).stdout
        self.assertIn("postgres:weft@", shown)
        self.assertNotIn("hidden", shown)

    def test_queues_and_states_are_listed(self):
        self.node("idle").stop()
        for verb in ("queues", "states", "cursors", "topics"):
            self.weft("store", verb, "--store", self.url)
        out = self.weft("store", "export", "--store", self.url)[0]
        self.assertEqual(out, "")


if __name__ == "__main__":
    unittest.main()
