#!/usr/bin/env python3
"""Actors that remember, in real processes: the command line, and owners and stores that are killed while they write."""
import json
import os
import time
import unittest

from harness import PATIENCE, built
from store_nodes import SOON_LOST, StoreCase

KILLS = 4


class States(StoreCase):
    module = built("tests", "test_remembering.so")

    def node(self, *what, name, options=()):
        return self.start(*what, name=name, options=(*SOON_LOST, *options))

    def store(self):
        return self.node("idle", name="store", options=(
            "--listen", self.listen, "--store", self.url, "--states", "counter.*"))

    def owner(self, name):
        return self.node("own", "counter.x", name=name, options=("--join", self.listen))

    def test_verbs(self):
        store, owner = self.store(), self.owner("o")
        self.assertEqual(owner.line(), "opened 1 0")
        for i in range(1, 60):
            self.assertEqual(owner.line(), f"event {i} 1")
        owner.kill()
        row = json.loads(self.weft("store", "states", "--store", self.url, "--json")[0])
        self.assertEqual((row["state"], row["opening"], row["snapshot"]), ("counter.x", 1, 8))
        self.assertGreaterEqual(row["last"], 59)
        self.assertEqual(row["bytes"], 8 * row["events"])
        words = self.weft("store", "states", "--store", self.url)[0].split()
        self.assertEqual(words[:3] + words[-2:], ["counter.x", "8", "bytes", "opening", "1"])
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])
        store.stop()
        self.assertIn("--states", self.weft("run", self.module, "--store", self.url, code=2)[1])
        self.assertIn("--store", self.weft("run", self.module, "--states", "a", code=2)[1])

    def check(self, lines):
        """Each event was confirmed once, and each opening has loaded all events that were confirmed before it."""
        events, opened = {}, {}
        for line in lines:
            what, one, two = line.split()
            if what == "event":
                self.assertNotIn(int(one), events, "two owners have stored the same event")
                events[int(one)] = int(two)
            elif what == "opened":
                opened[int(one)] = int(two)
            else:
                self.assertEqual(line, "ready", lines)
        for number, by in events.items():
            for opening, last in opened.items():
                self.assertTrue(number > last if opening <= by else number <= last,
                                f"event {number} of opening {by}; opening {opening} has loaded {last}")
        return events

    def writer(self, owners):
        """Returns which owner writes: it has stored 20 more events."""
        before, end = [len(o.out.seen) for o in owners], time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for at, owner in enumerate(owners):
                if len(owner.out.seen) > before[at] + 20:
                    return at
            os.sched_yield()
        raise AssertionError(f"no owner writes: {[o.err.seen[-8:] for o in owners]}")

    def test_no_confirmed_event_is_lost_when_owners_and_the_store_are_killed(self):
        """The owner is killed, and the other one takes over; the store is killed, too."""
        store = self.store()
        owners = [self.owner(f"o{i}") for i in range(2)]
        lines = []
        for turn in range(KILLS):
            at = self.writer(owners)
            if turn % 2:
                store.kill()
                store = self.store()
            else:
                owners[at].kill()
                lines += owners[at].out.seen[1:]
                owners[at] = self.owner(f"n{turn}")
        for owner in owners:
            owner.kill()
            lines += owner.out.seen[1:]
        self.assertGreater(len(self.check(lines)), 20 * KILLS - 1)
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])


if __name__ == "__main__":
    unittest.main()
