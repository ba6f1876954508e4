#!/usr/bin/env python3
"""Shared cursors in real processes: the command line, and members and stores that are killed."""
import contextlib
import json
import sqlite3
import unittest

from harness import Program, built
from store_nodes import SOON_LOST, WEFT, StoreCase

RECORDS = 100  # of each turn
QUEUE = "$shared.bill"


class Shared(StoreCase):
    module = built("tests", "test_sharing.so")

    def store(self, rules):
        return self.start("idle", name="store", options=(
            *SOON_LOST, "--listen", self.listen, "--store", self.url, "--stored", "orders.>", "--stored", "few.>:count=2",
            "--queues", "$shared.>" + rules))

    def other(self, *what, name):
        return self.start(*what, name=name, options=(*SOON_LOST, "--join", self.listen))

    def rows(self, verb):
        return [json.loads(line) for line in self.weft("store", verb, "--store", self.url, "--json")[0].splitlines()]

    def left(self):
        """How many records are behind the cursor, or were given and not acknowledged."""
        rows = self.rows("cursors")
        return sum(row["behind"] for row in rows) + (rows[0]["unacknowledged"] if rows else 0)

    def publish(self, topic, *texts):
        for text in texts:
            self.weft("publish", topic, "--text", text, "--stored", "--node", "store")

    def follow(self, *words, code=0):
        out = self.weft("subscribe", *words, "--shared", "bill", "--node", "store", code=code)[0]
        return [(line.split()[0], int(line.split(":")[1].split()[0]), line.split()[-1]) for line in out.splitlines()]

    def test_no_record_is_lost(self):
        store = self.store(":lease=2")
        members = [self.other("share", "orders.>", "2", name=f"m{i}") for i in range(2)]
        stored, seen = [], []
        for turn in range(3):
            writer = self.other("publish", "orders.a", str(RECORDS), name=f"w{turn}")
            while members[0].line().split()[0] != "takes":
                pass
            members[0].kill()
            seen.append(members[0].out.seen)
            if turn > 0:
                store.kill()
                store = self.store(":lease=2")
            members[0] = self.other("share", "orders.>", "2", name=f"x{turn}")
            stored += [writer.line() for _ in range(RECORDS)]
        while self.left():
            pass
        for member in members:
            member.stop()
            seen.append(member.out.seen)
        lines = [line.split() for part in seen for line in part if line.split()[0] in ("takes", "did")]
        taken = {words[1] for words in lines if words[0] == "takes"}
        self.assertLessEqual({line.split()[1] for line in stored}, taken)
        done = {words[1]: int(words[2]) for words in lines if words[0] == "did"}
        for what, record, attempts in lines:
            if what == "takes" and record in done:
                self.assertLessEqual(int(attempts), done[record], f"{record} was given after it was acknowledged")
        self.assertEqual(len({(words[1], words[2]) for words in lines if words[0] == "takes"}),
                         len([words for words in lines if words[0] == "takes"]), "a record was given to two members")
        self.assertGreater(len(seen[1]) + len(seen[-1]), 0)
        self.assertEqual(self.rows("queues"), [])
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])

    def test_verbs(self):
        self.store(":attempts=2:lease=600")
        self.publish("orders.a", "one", "two")
        self.assertEqual(self.follow("orders.>", "--count", "1"), [("orders.a", 1, "one")])
        self.assertEqual(self.follow("orders.>", "--count", "1"), [("orders.a", 2, "two")])
        self.publish("orders.b", "three")
        self.assertEqual(self.follow("orders.>", "--timeout", "0.5", code=4), [("orders.b", 1, "three")])
        row = self.rows("cursors")[0]
        self.assertEqual((row["cursor"], row["topic"], row["offset"], row["behind"], row["shared"],
                          row["unacknowledged"], row["dead"]), ("bill", "orders.a", 2, 0, True, 0, 0))
        self.assertRegex(self.weft("store", "cursors", "--store", self.url)[0],
                         r"^bill +orders\.a +[0-9a-f]{16}:2 +0 behind   shared: 0 unacknowledged, 0 dead\n")
        # A node that ends gives back what its member has and has not acknowledged: dead after the second time.
        holder = self.other("hold", "orders.>", name="h")
        self.publish("orders.a", "xa", "xb")
        self.assertEqual([holder.line(), holder.line()], ["holds orders.a:3 1", "holds orders.a:4 1"])
        holder.stop()
        holder = self.other("hold", "orders.>", name="i")
        self.assertEqual([holder.line(), holder.line()], ["holds orders.a:3 2", "holds orders.a:4 2"])
        holder.stop()
        while self.rows("queues") != [{"queue": QUEUE, "ready": 0, "delayed": 0, "leased": 0, "dead": 2}]:
            pass
        lines = self.weft("store", "dead", QUEUE, "--store", self.url)[0].splitlines()
        self.assertRegex(lines[0], r"^\d+ 2 orders\.a [0-9a-f]{16}:3 0 xa$")
        self.assertEqual([line.split()[-1] for line in lines], ["xa", "xb"])
        row = json.loads(self.weft("store", "dead", QUEUE, "--store", self.url, "--json", "--count", "1")[0])
        self.assertEqual((row["topic"], row["offset"], row["attempts"], row["text"]), ("orders.a", 3, 2, "xa"))
        self.assertEqual(self.weft("store", "drop", QUEUE, str(row["id"]), "--node", "store")[0],
                         f"{QUEUE}: 1 jobs are removed\n")
        self.assertIn("no dead job", self.weft("store", "drop", QUEUE, str(row["id"]), "--node", "store", code=1)[1])
        self.assertEqual(self.weft("store", "retry", QUEUE, "--node", "store")[0], f"{QUEUE}: 1 jobs can be taken again\n")
        self.assertEqual(self.follow("orders.>", "--count", "1"), [("orders.a", 4, "xb")])
        self.assertEqual(json.loads(self.weft("store", "drop", QUEUE, "--node", "store", "--json")[0]), {"dropped": 0})

    def test_the_log_says_that_there_are_too_many_cursors(self):
        self.store(":lease=600").stop()
        with contextlib.closing(sqlite3.connect(self.file)) as db:
            db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
                       " INSERT INTO cursors SELECT 'c' || i, 'orders.x', 1, 1, 0 FROM n")
            db.commit()
        store = self.store(":lease=600")
        self.publish("orders.a", "one")
        self.other("share", "orders.>", "2", name="m")
        store.log("topic orders.a: its records cannot be given to the members of .shared.bill: the store has as many cursors,")
        self.assertIn("full", self.weft("subscribe", "orders.>", "--shared", "bill", "--node", "store", code=1)[1])
        store.stop()
        self.assertEqual(sum("cannot be given" in line for line in store.err.seen), 1)

    def test_gaps_and_names(self):
        self.store(":lease=600")
        self.publish("few.x", "xa")
        self.assertEqual(self.follow("few.*", "--count", "1"), [("few.x", 1, "xa")])
        self.publish("few.x", "xb", "xc", "xd", "xe")
        out, err = self.weft("subscribe", "few.*", "--shared", "bill", "--count", "2", "--node", "store")
        self.assertEqual([line.split()[-1] for line in out.splitlines()], ["xd", "xe"])
        self.assertIn("2 records before 4 are not stored any more", err)
        self.assertIn("a shared cursor: give --shared",
                      self.weft("subscribe", "few.x", "--cursor", "bill", "--node", "store", code=1)[1])
        self.weft("subscribe", "few.x", "--cursor", "plain", "--count", "1", "--node", "store")
        self.assertIn("plain cursors, or members with another pattern",
                      self.weft("subscribe", "few.x", "--shared", "plain", "--node", "store", code=1)[1])
        member = Program(WEFT, "subscribe", "few.>", "--shared", "bill", "--node", "store", env=self.env)
        self.addCleanup(member.kill)
        self.publish("few.x", "xf")
        self.assertIn(" xf", member.line())
        self.assertIn("another pattern", self.weft("subscribe", "few.*", "--shared", "bill", "--node", "store", code=1)[1])
        for words in (("--shared", "c d"), ("--shared", "c..d"), ("--shared", "c", "--cursor", "c")):
            self.weft("subscribe", "few.x", *words, "--node", "store", code=2)


if __name__ == "__main__":
    unittest.main()
