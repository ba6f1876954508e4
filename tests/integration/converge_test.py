#!/usr/bin/env python3
"""In the end all nodes know the same names, groups, queue groups and retained messages. The test uses real processes
on hosts of their own; the path between two of them is cut, and one is killed and restarted."""
import json
import signal
import unittest

from harness import eventually
from hosts import WHY_NOT, Hosts
from members import news_of

ALL = "abc"


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Converge(unittest.TestCase):
    def setUp(self):
        self.cluster = Hosts(ALL)
        self.addCleanup(self.cluster.__exit__)

    def start(self, name, *join):
        node = self.cluster.start(name, *join, WEFT_PARTITION="none")
        self.cluster.ordered(name, f"register boss-{name}", 0)
        self.cluster.ordered(name, "join all", 0)
        self.cluster.ordered(name, "work job.>", 0)
        return node

    def view(self, of):
        """Returns what this node knows: names and members with their pids and nodes, and the retained messages."""
        names = [json.loads(line) for line in self.cluster.weft("names", "--json", "--node", of).splitlines()]
        groups = [json.loads(line) for line in self.cluster.weft("groups", "--json", "--node", of).splitlines()]
        return (sorted((n["name"], n["pid"], n["node"], n["holds"]) for n in names if n["global"]),
                sorted((g["group"], g["pid"], g["node"]) for g in groups), self.retained(of))

    def retained(self, of):
        """Returns the messages that a new subscriber gets, and those that arrive later."""
        line = self.cluster.weft("subscribe", "state.x", "--json", "--node", of, "--count", "1")
        return json.loads(line)["text"]

    def same_everywhere(self, names, groups, retained):
        def same():
            views = [self.view(name) for name in ALL]
            return (views[0] == views[1] == views[2] and [n[0] for n in views[0][0]] == names
                    and sorted((g[0], g[2]) for g in views[0][1]) == groups and views[0][2] == retained)
        eventually(f"all nodes know {names}, {groups}, {retained}", same)

    def everybody_works(self):
        """A message goes to one member of a queue group, to one on the publisher's node if there is one."""
        for name in ALL:
            before = {other: self.cluster.order(other, "done -") for other in ALL}
            self.assertEqual(self.cluster.order(name, "publish job.new"), 1)
            self.cluster.ordered(name, "done -", before[name] + 1)
            for other in ALL:
                self.assertEqual(self.cluster.order(other, "done -"), before[other] + (other == name))

    def reported(self):
        """A publisher is told how many actors it has reached, here on the command line."""
        for name in ALL:
            said = self.cluster.weft("publish", "job.new", "--text", "x", "--report", "--json", "--node", name)
            self.assertEqual(json.loads(said), {"topic": "job.new", "nodes": 1, "subscribers": 1, "silent": 0})

    def test_all_nodes_agree_after_a_cut_and_a_kill(self):
        nodes = {name: self.start(name, *([] if name == "a" else ["a"])) for name in ALL}
        bosses = ["boss-a", "boss-b", "boss-c"]
        everybody = [("all", name) for name in ALL]
        self.cluster.ordered("a", "retain state.x=one", 0)
        self.same_everywhere(bosses, everybody, "one")
        self.everybody_works()

        self.cluster.cut("a", "b")
        news_of(nodes["a"], "b", "down")
        news_of(nodes["b"], "a", "down")
        for name in "ab":  # Both nodes have the name for a while.
            self.cluster.ordered(name, "register late", 0)
        self.cluster.ordered("a", "retain state.x=two", 0)
        self.cluster.ordered("b", "retain state.x=three", 0)
        self.cluster.ordered("b", "leave all", 0)
        nodes["c"].process.send_signal(signal.SIGKILL)
        nodes["c"].process.wait()
        nodes["c"] = self.start("c", "a", "b")
        self.cluster.net.heal()
        self.same_everywhere([*bosses, "late"], [("all", "a"), ("all", "c")], "three")
        self.everybody_works()
        self.reported()


if __name__ == "__main__":
    unittest.main()
