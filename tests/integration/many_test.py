#!/usr/bin/env python3
"""The weft command, and nodes, with very many actors, names, patterns and groups."""
import json
import subprocess
import unittest

from cli_test import Cli, SANITIZED, WEFT
from harness import eventually

ACTORS = 20_000 if SANITIZED else 300_000
NAMES = 20_000 if SANITIZED else 200_000
PATTERNS = 100_000  # This is more than a node of the version before takes.
GROUPS = 2_000


class Many(Cli):
    def test_many(self):
        """One node serves all parts, because it takes some seconds to fill."""
        self.node("a", "crowd", str(ACTORS), str(NAMES), str(PATTERNS), str(GROUPS))
        for part in (self.all_is_listed_once, self.kinds_are_summed, self.some_are_listed, self.everything_else_works,
                     self.another_node_knows_all):
            with self.subTest(part.__name__):
                part()

    def rows(self, *words):
        """Yields the rows that a verb lists, as they come."""
        asked = subprocess.Popen([WEFT, *words, "--json", "--node", "a"], stdout=subprocess.PIPE, env=self.env)
        rows = [json.loads(line) for line in asked.stdout]
        asked.stdout.close()
        self.assertEqual(asked.wait(), 0)
        return rows

    def all_is_listed_once(self):
        actors = self.rows("ps")
        self.assertEqual(sum(row["kind"] == "rests" for row in actors), ACTORS)
        self.assertEqual(len({row["pid"] for row in actors}), len(actors))
        names = [row["name"] for row in self.rows("names")]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual(sum(name.startswith("name.") for name in names), NAMES)
        groups = [row["group"] for row in self.rows("groups")]
        self.assertEqual(sorted(groups), sorted(f"group.{i}" for i in range(GROUPS)))

    def kinds_are_summed(self):
        kinds = {row["kind"]: row for row in self.rows("ps", "--by-kind")}
        listed = self.rows("ps", "--kind", "rests")
        self.assertEqual({f: kinds["rests"][f] for f in ("actors", "mailbox", "held", "heap_bytes", "stack_bytes")},
                         {"actors": ACTORS, "mailbox": 0, "held": 0, "stack_bytes": 0,
                          "heap_bytes": sum(row["heap_bytes"] for row in listed)})

    def some_are_listed(self):
        self.assertEqual([row["kind"] for row in self.rows("ps", "--kind", "rests", "--limit", "3")], ["rests"] * 3)
        self.assertEqual(self.rows("ps", "--kind", "nobody"), [])
        by_name = [row["name"] for row in self.rows("ps", "--kind", "crowd", "--sort", "name")]
        self.assertEqual(by_name, sorted(by_name))
        stacks = [row["stack_most"] for row in self.rows("ps", "--sort", "stack", "--limit", "5")]
        self.assertEqual((len(stacks), stacks), (5, sorted(stacks, reverse=True)))
        last = f"name.{NAMES - 1}"
        self.assertEqual([row["name"] for row in self.rows("names", "--prefix", last)], [last])
        self.assertEqual(len(self.rows("names", "--limit", "7")), 7)
        self.assertEqual([row["group"] for row in self.rows("groups", "--prefix", "group.1999")], ["group.1999"])

    def everything_else_works(self):
        self.weft("send", f"name.{NAMES - 1}", "7", "--node", "a")
        out = self.weft("send", "name.none", "7", "--node", "a", code=1)[1]
        self.assertIn("no actor there has that name", out)
        for verb in ("nodes", "inspect", "why-dropped"):
            self.weft(verb, "--node", "a")
        self.weft("inspect", "name.1", "--node", "a")
        self.weft("inspect", "--record", "--node", "a")
        self.weft("publish", f"topic.{PATTERNS - 1}", "7", "--node", "a", "--report")

    def another_node_knows_all(self):
        self.node("b", "idle", join=["a"]).log("linked with node a")

        def reached():
            report = json.loads(self.weft("publish", f"topic.{PATTERNS - 1}", "7", "--node", "b", "--report",
                                          "--json")[0])
            return report["subscribers"] == 1

        eventually("node b knows the last pattern of node a", reached)


del Cli
if __name__ == "__main__":
    unittest.main()
