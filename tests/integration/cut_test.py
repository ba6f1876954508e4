#!/usr/bin/env python3
"""A cluster that is cut in two while both sides live: five processes in five network namespaces."""
import unittest

from harness import eventually
from hosts import WHY_NOT, Hosts
from members import news_of

ALL = "abcde"
FEW, MANY = "de", "abc"
EMINORITY, ENOACTOR = -25, -6


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Cut(unittest.TestCase):
    def setUp(self):
        self.cluster = Hosts(ALL)
        self.addCleanup(self.cluster.__exit__)

    def five(self):
        """Starts five nodes. Each has a global name of its own and is in a group with the others."""
        nodes = {name: self.cluster.start(name, *([] if name == "a" else ["a"])) for name in ALL}
        for name in ALL:
            self.all_up(name)
            self.cluster.ordered(name, f"register boss-{name}", 0)
            self.cluster.ordered(name, "join all", 0)
        self.converged()
        return nodes

    def all_up(self, name):
        self.states(name, **{other: "up" for other in ALL if other != name})

    def states(self, of, **expected):
        """Waits until this node sees some others in these states."""
        def seen():
            states = self.cluster.states(of)
            return all(states.get(name) == [state] for name, state in expected.items())
        eventually(f"node {of} sees {expected}", seen)

    def converged(self):
        for name in ALL:
            self.cluster.ordered(name, "group all", len(ALL))
            self.cluster.ordered(name, "whereis boss-" + ("e" if name in MANY else "a"), 0)

    def says_of_itself(self, name, reason):
        eventually(f"{name} says {reason!r}", lambda: self.cluster.rows(name)[0]["reason"] == reason)

    def test_the_larger_side_goes_on(self):
        nodes = self.five()
        for one in MANY:
            for other in FEW:
                self.cluster.cut(one, other)
        for name in FEW:
            news_of(nodes[name], name, "minority")
            self.says_of_itself(name, "in a minority: 2 of 5 nodes are there")
            self.cluster.ordered(name, "minority -", 1)
            self.states(name, a="down", b="down", c="down")
        for name in MANY:
            self.states(name, d="down", e="down")
            self.says_of_itself(name, "")
            self.cluster.ordered(name, "group all", len(MANY))
            self.cluster.ordered(name, "whereis boss-d", ENOACTOR)
        # The smaller side refuses this, and the larger side does it.
        self.cluster.ordered("d", "register late", EMINORITY)
        self.cluster.ordered("d", "spawn e", EMINORITY)
        self.cluster.ordered("a", "register late", 0)
        self.cluster.ordered("a", "spawn b", 0)
        # The smaller side still does this.
        self.cluster.ordered("d", "spawn d", 0)
        self.cluster.ordered("d", "group all", len(FEW))
        self.cluster.ordered("d", "whereis boss-e", 0)
        self.cluster.net.heal()
        for name in FEW:
            news_of(nodes[name], name, "majority")
        for name in ALL:
            self.all_up(name)
            self.says_of_itself(name, "")
            self.cluster.ordered(name, "whereis late", 0)
        self.cluster.ordered("d", "spawn a", 0)
        self.converged()

    def test_a_one_way_cut_ends_one_link_and_puts_no_node_in_a_minority(self):
        """Frames from a to e are lost. These two lose their link, the others keep both, and no node is in a
        minority."""
        nodes = self.five()
        self.cluster.cut("a", "e", both=False)
        news_of(nodes["a"], "e", "down")
        news_of(nodes["e"], "a", "down")
        self.states("a", b="up", c="up", d="up", e="connecting")
        self.states("e", a="connecting", b="up", c="up", d="up")
        for name in "bcd":
            self.all_up(name)
        for name in ALL:
            self.says_of_itself(name, "")
        self.cluster.ordered("a", "whereis boss-e", ENOACTOR)
        self.cluster.net.heal()
        for name in ALL:
            self.all_up(name)
        self.converged()


if __name__ == "__main__":
    unittest.main()
