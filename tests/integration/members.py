"""Nodes that print the events of other nodes, and execute commands: members.c."""
import json
import subprocess

from harness import PATIENCE, Cluster, built, eventually, patient

MODULE = built("tests", "test_members.so")
WEFT = built("cli", "weft")


class Members(Cluster):
    def start(self, name, *join, **env):
        """`env` has options as WEFT_... A node that shows its metadata is a member there, and not only linked."""
        kept = dict(self.env)
        self.env.update({"WEFT_META": f"is={name}"}, **env)
        node = self.run(name, MODULE, join=join)
        self.env = kept
        assert node.line() == "watching"
        return node

    def weft(self, *words):
        done = subprocess.run([WEFT, *words], env=patient(self.env), capture_output=True, text=True,
                              timeout=PATIENCE)
        ended = {name: (node.process.returncode, node.err.rest()) for name, node in self.nodes.items()
                 if done.returncode != 0 and node.process.poll() is not None}
        assert done.returncode == 0, f"{words}: {done.stderr}; nodes that have ended, and what they said: {ended}"
        return done.stdout

    def rows(self, of):
        """Returns the rows of `weft nodes` on this node; the first one is the node itself."""
        return [json.loads(line) for line in self.weft("nodes", "--json", "--node", of).splitlines()]

    def states(self, of):
        """Returns the states of all runs of each other member, by name."""
        found = {}
        for row in self.rows(of)[1:]:
            if row["meta"]:
                found.setdefault(row["name"], []).append(row["state"])
        return {name: sorted(states) for name, states in found.items()}

    def order(self, of, order):
        """Executes a verb and a word of members.c, and returns the result."""
        return int(self.weft("call", "do", "--text", order, "--node", of))

    def ordered(self, of, order, result):
        """Executes it until it has this result."""
        eventually(f"{order} on {of}: {result}", lambda: self.order(of, order) == result)


def news_of(node, name, *what):
    """Returns the next line about this node that has one of these kinds; others are skipped."""
    return node.out.next(lambda line: line.split()[0] in what and line.split()[1].rstrip(":") == name, node)
