"""Shared by the tests of stores that run processes: a cluster with a file for the store, verbs, and nodes."""
import os
import subprocess
import unittest

from harness import Cluster, PATIENCE, Program, built, patient

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

    def start(self, *what, name, options=()):
        node = Program(WEFT, "run", self.module, "--name", name, *options, "--", *what, env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line().strip(), "ready")
        return node
