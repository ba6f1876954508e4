"""Shared by the tests of stores that run processes: a cluster with a file for the store, verbs, and nodes."""
import json
import os
import subprocess
import unittest

from harness import Cluster, PATIENCE, Program, built, eventually, patient
from postgres_server import Postgres, without

WEFT = built("cli", "weft")
SOON_LOST = ("--heartbeat", "0.2", "--resume-window", "1")


class StoreCase(unittest.TestCase):
    module = None  # The nodes run this module; its actors print "ready" first.

    def setUp(self):
        self.cluster = Cluster()
        self.env = self.cluster.env
        self.addCleanup(self.cluster.__exit__)
        self.file = os.path.join(self.cluster.folder.name, "store.db")
        self.url = "sqlite:" + self.file
        self.listen = self.cluster.url("store")

    def weft(self, *words, code=0):
        """Runs a verb to its end, and returns its standard output and error."""
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.env))
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def inside(self, _name):
        """Returns the first words of the command of that node."""
        return ()

    def start(self, *what, name, options=()):
        node = Program(*self.inside(name), WEFT, "run", self.module, "--name", name, *options, "--", *what, env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line().strip(), "ready")
        return node


class PostgresCase(StoreCase):
    """The stores are in a server of the test's own."""

    def setUp(self):
        if without():
            self.skipTest(without())
        super().setUp()

    def serve(self, **options):
        server = Postgres(**options)
        self.addCleanup(server.close)
        return server


class StandbyNodes:
    """Nodes with a store for which others stand by; a publisher and a reader on nodes without one."""
    module = built("tests", "test_storing.so")

    def node(self, *what, name, store=True, options=("--store-standby",)):
        words = ("--store", self.url, "--stored", "room.>", *options) if store else ()
        joins = () if name == "p" else ("--join", self.cluster.url("p"))
        return self.start(*what, name=name, options=("--listen", self.cluster.url(name), *joins, *SOON_LOST, *words))

    def begin(self, *names, options=("--store-standby",), p=("publish", "room.a", "8")):
        """Starts a publisher on p and a reader on r, without a store, and the nodes of these names with one."""
        self.publisher = self.node(*p, name="p", store=False)
        self.nodes = {}
        for name in names:
            self.nodes[name] = self.node("idle", name=name, options=options)
        self.reader = self.node("read", "room.a", name="r", store=False)
        self.assertEqual(self.reader.line(), "subscribed")
        self.read, self.taken = 0, 1  # p has said that it is ready

    def serving(self):
        """Returns the node that has the name of the store, as p knows it, or None."""
        rows = [json.loads(line) for line in self.weft("names", "--prefix", "weft.store", "--node", "p", "--json")[0].splitlines()]
        return next((row["node"] for row in rows if row["name"] == "weft.store"), None)

    def publish(self, count):
        """Waits until so many more publications are acknowledged."""
        until = len(self.publisher.out.seen) + count
        while self.taken < until:
            self.publisher.line()
            self.taken += 1

    def read_all(self):
        """Checks that the reader gets all that was acknowledged, in order, without a gap or a double."""
        wanted = {line for line in self.publisher.out.seen[1:] if len(line.split(" ")) == 3}
        while wanted:
            line = self.reader.line()
            self.read += 1
            self.assertEqual(line.split(" ")[1], str(self.read), line)
            wanted.discard(line)

    def finish(self):
        self.publisher.process.kill()
        self.publisher.process.wait()
        self.publisher.out.rest()
        self.read_all()
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])
