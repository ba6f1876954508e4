#!/usr/bin/env python3
"""Work queues in real processes: the command line, and workers and stores that are killed while there are jobs."""
import json
import os
import subprocess
import unittest

from harness import Cluster, PATIENCE, Program, built, patient

WEFT = built("cli", "weft")
MODULE = built("tests", "test_queueing.so")
LINK = ("--heartbeat", "0.2", "--resume-window", "1")
JOBS = 300


class Queues(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.env = self.cluster.env
        self.addCleanup(self.cluster.__exit__)
        self.url = "sqlite:" + os.path.join(self.cluster.folder.name, "q.db")
        self.listen = self.cluster.url("store")

    def weft(self, *words, code=0):
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.env))
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def node(self, *what, name, options=()):
        node = Program(WEFT, "run", MODULE, "--name", name, *LINK, *options, "--", *what, env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line().strip(), "ready")
        return node

    def store(self, rules, *what):
        return self.node(*(what or ("idle",)), name="store", options=(
            "--listen", self.listen, "--store", self.url, "--queues", "jobs.>" + rules))

    def other(self, *what, name):
        return self.node(*what, name=name, options=("--join", self.listen))

    def counts(self):
        """{queue: (ready, delayed, leased, dead)}"""
        rows = [json.loads(line) for line in
                self.weft("store", "queues", "--store", self.url, "--json")[0].splitlines()]
        return {row["queue"]: (row["ready"], row["delayed"], row["leased"], row["dead"]) for row in rows}

    @staticmethod
    def kill(program):
        program.process.kill()
        program.process.wait()
        program.out.rest()

    def test_verbs(self):
        store = self.store(":attempts=1:lease=600")
        putter = self.other("put", "jobs.x", "2", name="p")
        self.assertEqual([putter.line(), putter.line()], ["put job-0", "put job-1"])
        self.assertEqual(self.counts(), {"jobs.x": (2, 0, 0, 0)})
        holder = self.other("hold", "jobs.x", name="h")
        self.assertEqual(holder.line(), "holds job-0")
        self.assertEqual(self.counts(), {"jobs.x": (1, 0, 1, 0)})
        holder.stop()  # the actor ends, and this was the only attempt
        while self.counts() != {"jobs.x": (1, 0, 0, 1)}:
            pass
        out = self.weft("store", "queues", "--store", self.url)[0]
        self.assertEqual(out.split(), "jobs.x 1 ready 0 delayed 0 leased 1 dead".split())
        self.assertEqual(self.weft("store", "dead", "jobs.x", "--store", self.url)[0], "1 1 1 job-0\n")
        self.assertEqual(self.weft("store", "dead", "jobs.y", "--store", self.url)[0], "")
        self.assertIn("no dead job 2", self.weft("store", "retry", "jobs.x", "2", "--node", "store", code=1)[1])
        self.assertIn("no id", self.weft("store", "retry", "jobs.x", "x", "--node", "store", code=2)[1])
        self.assertIn("does not take", self.weft("store", "retry", "other", "--node", "store", code=1)[1])
        out = self.weft("store", "retry", "jobs.x", "--node", "store")[0]
        self.assertEqual(out, "jobs.x: 1 jobs can be taken again\n")
        self.assertEqual(self.counts(), {"jobs.x": (2, 0, 0, 0)})
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])
        store.stop()
        for value in ("jobs.>:lease=x", "jobs.>:size=3"):
            self.assertIn("lease=", self.weft("run", MODULE, "--store", self.url, "--queues", value, code=2)[1])

    def test_a_lost_node_keeps_its_lease(self):
        store = self.store(":lease=600", "watch")
        self.other("put", "jobs.x", "1", name="p").line()
        holder = self.other("hold", "jobs.x", name="h")
        self.assertEqual(holder.line(), "holds job-0")
        self.assertEqual(store.line().strip(), "watches")
        self.kill(holder)
        self.assertEqual(store.line(), "ended: lost")
        self.assertEqual(self.counts(), {"jobs.x": (0, 0, 1, 0)})

    def test_a_store_that_was_killed_monitors_its_workers(self):
        """Of two workers one ends, which gives its job back at once; the node of the other one is lost meanwhile."""
        store = self.store(":lease=600")
        self.other("put", "jobs.x", "2", name="p").line()
        lost, holder = [self.other("hold", "jobs.x", name=name) for name in ("lost", "h")]
        self.assertEqual({lost.line(), holder.line()}, {"holds job-0", "holds job-1"})
        self.kill(store)
        self.kill(lost)
        store = self.store(":lease=600")
        store.log("linked with node h")
        self.assertEqual(self.counts(), {"jobs.x": (0, 0, 2, 0)})
        holder.stop()
        while self.counts() != {"jobs.x": (1, 0, 1, 0)}:
            pass

    def test_no_job_is_lost(self):
        store = self.store(":lease=2")
        workers = [self.other("work", "jobs.x", name=f"w{i}") for i in range(2)]
        putter = self.other("put", "jobs.x", str(JOBS), name="p")
        put, seen = [], []
        for turn in range(3):
            put += [putter.line() for _ in range(JOBS // 4)]
            while workers[0].line().split()[0] != "takes":  # it has a job at this moment, or has just ended it
                pass
            self.kill(workers[0])
            seen += workers[0].out.seen
            if turn > 0:
                self.kill(store)
                store = self.store(":lease=2")
            workers[0] = self.other("work", "jobs.x", name=f"x{turn}")
        put += [putter.line() for _ in range(JOBS - len(put))]
        while self.counts():
            pass
        for worker in workers:
            worker.stop()
            seen += worker.out.seen
        taken = {line.split()[1] for line in seen if line.startswith("takes ")}
        self.assertEqual(taken, {line.split()[1] for line in put})
        self.assertEqual(len(taken), JOBS)
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])


if __name__ == "__main__":
    unittest.main()
