#!/usr/bin/env python3
"""Work queues in real processes: the command line, and workers and stores that are killed while there are jobs."""
import json
import subprocess
import unittest
import urllib.request

from harness import PATIENCE, built
from store_nodes import SOON_LOST, WEFT, StoreCase

JOBS = 300




class Queues(StoreCase):
    module = built("tests", "test_queueing.so")

    def node(self, *what, name, options=()):
        return self.start(*what, name=name, options=(*SOON_LOST, *options))

    def store(self, rules, *what):
        return self.node(*(what or ("idle",)), name="store", options=(
            "--listen", self.listen, "--store", self.url, "--queues", "jobs.>" + rules))

    def other(self, *what, name):
        return self.node(*what, name=name, options=("--join", self.listen))

    def counts(self):
        """Returns {queue: (ready, delayed, leased, dead)}."""
        rows = [json.loads(line) for line in
                self.weft("store", "queues", "--store", self.url, "--json")[0].splitlines()]
        return {row["queue"]: (row["ready"], row["delayed"], row["leased"], row["dead"]) for row in rows}

    def test_verbs(self):
        store = self.store(":attempts=1:lease=600")
        putter = self.other("put", "jobs.x", "2", name="p")
        self.assertEqual([putter.line(), putter.line()], ["put job-0", "put job-1"])
        self.assertEqual(self.counts(), {"jobs.x": (2, 0, 0, 0)})
        holder = self.other("hold", "jobs.x", name="h")
        self.assertEqual(holder.line(), "holds job-0")
        self.assertEqual(self.counts(), {"jobs.x": (1, 0, 1, 0)})
        holder.stop()  # The actor ends, and this was the only attempt.
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
            self.assertIn("lease=", self.weft("run", self.module, "--store", self.url, "--queues", value, code=2)[1])

    def test_a_lost_node_keeps_its_lease(self):
        store = self.store(":lease=600", "watch")
        self.other("put", "jobs.x", "1", name="p").line()
        holder = self.other("hold", "jobs.x", name="h")
        self.assertEqual(holder.line(), "holds job-0")
        self.assertEqual(store.line().strip(), "watches")
        holder.kill()
        self.assertEqual(store.line(), "ended: lost")
        self.assertEqual(self.counts(), {"jobs.x": (0, 0, 1, 0)})

    def test_a_store_that_was_killed_monitors_its_workers(self):
        """One of two workers ends, which gives its job back at once; the node of the other one is lost meanwhile."""
        store = self.store(":lease=600")
        self.other("put", "jobs.x", "2", name="p").line()
        lost, holder = [self.other("hold", "jobs.x", name=name) for name in ("lost", "h")]
        self.assertEqual({lost.line(), holder.line()}, {"holds job-0", "holds job-1"})
        store.kill()
        lost.kill()
        store = self.store(":lease=600")
        store.log("linked with node h")
        self.assertEqual(self.counts(), {"jobs.x": (0, 0, 2, 0)})
        holder.stop()
        while self.counts() != {"jobs.x": (1, 0, 1, 0)}:
            pass

    def scrape(self, url):
        """Returns {line without its value: the value} of the lines that the store adds to /metrics."""
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            text = answer.read().decode()
        self.assertIn("weft_messages_received_total", text)
        self.assertTrue(text.endswith("\n"))
        rows = [line for line in text.splitlines() if line.startswith("weft_store_")]
        self.assertEqual(len(rows), len(set(rows)))
        return {row.rsplit(" ", 1)[0]: int(row.rsplit(" ", 1)[1]) for row in rows}

    def test_metrics(self):
        store = self.node("idle", name="store", options=(
            "--listen", self.listen, "--store", self.url, "--queues", "jobs.>:attempts=1:lease=600", "--stored", "room.>",
            "--metrics", "0"))
        url = store.log(r"metrics on (http://127\.0\.0\.1:\d+/metrics)")[1]
        while self.scrape(url) != {"weft_store_queues": 0, "weft_store_topics": 0, "weft_store_cursors": 0}:
            pass  # The page is there before the store is open.
        putter = self.other("put", "jobs.x", "3", name="p")
        self.assertEqual([putter.line() for _ in range(3)], ["put job-0", "put job-1", "put job-2"])
        died = self.other("hold", "jobs.x", name="died")
        died.line()
        died.stop()
        self.other("hold", "jobs.x", name="holds").line()
        self.weft("publish", "room.tea", "--text", "hello", "--stored", "--node", "store")
        self.weft("publish", "room.tea", "--text", "again", "--stored", "--node", "store")
        wanted = {f'weft_store_jobs{{queue="jobs.x",state="{state}"}}': value for state, value in
                  (("ready", 1), ("delayed", 0), ("leased", 1), ("dead", 1))}
        wanted |= {"weft_store_queues": 1, "weft_store_topics": 1, "weft_store_cursors": 0,
                   'weft_store_topic_records{topic="room.tea"}': 2, 'weft_store_topic_bytes{topic="room.tea"}': 10}
        while self.scrape(url) != wanted:  # The store counts once in a second.
            pass
        spread = self.other("spread", "jobs.many", "150", name="s")
        self.assertEqual(spread.line().strip(), "spread")
        while (rows := self.scrape(url)).get("weft_store_queues") != 151:  # None: a count has failed.
            pass
        self.assertEqual(len([row for row in rows if 'state="ready"' in row]), 101)
        self.assertEqual(rows['weft_store_jobs{queue="jobs.many.099",state="ready"}'], 1)
        self.assertEqual(rows['weft_store_jobs{queue="(others)",state="ready"}'], 51)
        self.assertEqual(rows['weft_store_jobs{queue="(others)",state="dead"}'], 1)

    def test_top_shows_queues(self):
        self.store(":attempts=1:lease=600")
        self.other("put", "jobs.x", "2", name="p").line()
        died = self.other("hold", "jobs.x", name="died")
        died.line()
        died.stop()

        def queues(*words):
            rows = [json.loads(line) for line in self.weft("top", "--json", "--once", *words)[0].splitlines()]
            return {row["node"]: row["queues"] for row in rows if "queues" in row}
        wanted = {"store": [{"queue": "jobs.x", "ready": 1, "delayed": 0, "leased": 0, "dead": 1}]}
        while queues("--node", "store") != wanted:  # The store counts once in a second.
            pass
        self.assertEqual(queues("--node", "p"), {})
        self.assertEqual(queues("--node", "p", "--all"), wanted)
        text = self.weft("top", "--once", "--node", "store", "--interval", "0.1")[0]
        self.assertRegex(text, r"QUEUE +READY +DELAYED +LEASED +DEAD\njobs\.x +1 +0 +0 +1\n")

    def reminders(self):
        return [json.loads(line) for line in
                self.weft("store", "reminders", "--store", self.url, "--json")[0].splitlines()]

    def test_no_reminder_is_lost(self):
        """The node that has set a reminder, those that get it, and the store are killed; no reminder is lost."""
        store = self.store(":lease=2")
        setter = self.other("remind", "jobs.ann", "60", name="s")
        lines = [setter.line() for _ in range(60)]
        self.assertEqual(lines, [f"set key-{i}" for i in range(60)])
        setter.kill()
        seen = []
        for turn in range(3):
            reminded = self.other("reminded", "jobs.ann", name=f"r{turn}")
            while reminded.line().split()[0] != "gets":
                pass
            reminded.kill()
            seen += reminded.out.seen
            store.kill()
            store = self.store(":lease=2")
        reminded = self.other("reminded", "jobs.ann", name="last")
        while self.reminders():
            pass
        reminded.stop()
        seen += reminded.out.seen
        got = {line.split()[1] for line in seen if line.startswith("gets ")}
        self.assertEqual(got, {line.split()[1] for line in lines})
        self.assertEqual(self.counts(), {})
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])

    def test_reminders_are_listed(self):
        self.store("")
        setter = self.other("remind", "jobs.ann", "2", name="s")
        self.assertEqual([setter.line(), setter.line()], ["set key-0", "set key-1"])
        first, second = self.reminders()
        self.assertEqual((first["queue"], first["key"], second["key"]), ("jobs.ann", "key-0", "key-1"))
        self.assertEqual(second["at"] - first["at"], 20_000_000)
        self.assertEqual((first["period"], first["attempts"], first["dead"]), (0, 0, False))
        line = self.weft("store", "reminders", "--store", self.url)[0].splitlines()[0]
        self.assertRegex(line, r'^jobs\.ann +"key-0" 2\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ   0 attempts$')

    def test_no_job_is_lost(self):
        store = self.store(":lease=2")
        workers = [self.other("work", "jobs.x", name=f"w{i}") for i in range(2)]
        put, seen = [], []
        for turn in range(4):  # Each part is put when both workers are there, so both get jobs of it.
            putter = self.other("put", "jobs.x", str(JOBS // 4), str(turn * JOBS // 4), name=f"p{turn}")
            while workers[0].line().split()[0] != "takes":  # It has a job at this moment, or has just ended it.
                pass
            workers[0].kill()
            seen += workers[0].out.seen
            if turn > 0:
                store.kill()
                store = self.store(":lease=2")
            workers[0] = self.other("work", "jobs.x", name=f"x{turn}")
            put += [putter.line() for _ in range(JOBS // 4)]
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
