#!/usr/bin/env python3
"""Nodes that are given nothing but a seed: they find each other with every carrier. Nodes that do not listen are
known as leaves, and no node waits for a link with them."""
import os
import subprocess
import tempfile
import unittest

from harness import Program, built, eventually, free_port
from hosts import WHY_NOT, Hosts
from members import MODULE, Members, WEFT, news_of


class Seeded(Members):
    """Starts nodes of which only the first one is told where to listen."""

    def started(self, name, *options, tls=None):
        words = [*self.prefix(name), built("cli", "weft"), "run", MODULE, "--name", name, *options]
        words += ["--tls", tls] if tls else []
        self.env["WEFT_META"] = f"is={name}"
        node = self.nodes[name] = Program(*words, env=self.env)
        assert node.line() == "watching"
        return node


class Seed(unittest.TestCase):
    def setUp(self):
        self.cluster = Seeded()
        self.addCleanup(self.cluster.__exit__)
        self.cluster.env.update(WEFT_PROBE="0.2", WEFT_HEARTBEAT="0.2", WEFT_RESUME_WINDOW="60", WEFT_SUSPICION="4")

    def becomes(self, of, name, *states):
        eventually(f"{name} is {states} for {of}", lambda: self.cluster.states(of).get(name) == sorted(states))

    def linked(self, *names):
        for of in names:
            for name in names:
                if name != of:
                    self.becomes(of, name, "up")

    def three_are_one_cluster(self, seed, tls=None):
        """Node a listens at this URL, and b and c are given this URL alone."""
        a = self.cluster.started("a", "--listen", seed, tls=tls)
        seed = self.cluster.rows("a")[0]["urls"][0]
        b, c = (self.cluster.started(name, "--join", seed, tls=tls) for name in "bc")
        self.linked("a", "b", "c")
        self.cluster.ordered("b", "hear news.>", 0)
        self.cluster.ordered("c", "hear news.>", 0)
        for publisher, hearer in ("b", "c"), ("c", "b"):
            before = self.cluster.order(hearer, "done -")
            eventually(f"node {hearer} gets what node {publisher} publishes", lambda p=publisher, h=hearer, n=before: self.cluster.order(
                p, "publish news.x") >= 0 and self.cluster.order(h, "done -") > n)
        self.cluster.ordered("b", "register boss", 0)
        self.cluster.ordered("c", "whereis boss", 0)
        self.cluster.ordered("c", "register boss", -11)
        a.kill()
        news_of(b, "a", "down")
        news_of(c, "a", "down")
        self.linked("b", "c")
        self.cluster.ordered("c", "whereis boss", 0)
        return [self.cluster.rows(name)[0]["urls"] for name in "bc"]

    def test_nodes_find_each_other_over_tcp(self):
        for urls in self.three_are_one_cluster("tcp://127.0.0.1:0"):
            self.assertRegex(urls[0], r"^tcp://127\.0\.0\.1:[1-9]\d*$")

    def test_nodes_find_each_other_by_host_name(self):
        for urls in self.three_are_one_cluster(f"tcp://localhost:{free_port()}"):
            self.assertRegex(urls[0], r"^tcp://(127\.0\.0\.1|\[.*:1\]):[1-9]\d*$")

    def test_nodes_find_each_other_over_local_sockets(self):
        for name, urls in zip("bc", self.three_are_one_cluster(self.cluster.url("a"))):
            self.assertEqual(urls, [self.cluster.url(name)])

    def test_nodes_find_each_other_over_websockets(self):
        for urls in self.three_are_one_cluster(f"ws://127.0.0.1:{free_port()}/weft"):
            self.assertRegex(urls[0], r"^ws://127\.0\.0\.1:[1-9]\d*/weft$")

    def test_nodes_find_each_other_over_tls(self):
        if subprocess.run([WEFT, "certs", "--help"], capture_output=True).returncode != 0:
            self.skipTest("this build has no TLS")
        with tempfile.TemporaryDirectory() as folder:
            for words in ("init",), *(("issue", name, "--san", "127.0.0.1") for name in "abc"):
                subprocess.run([WEFT, "certs", *words, "--dir", folder], check=True, capture_output=True)
            for urls in self.three_are_one_cluster("tls+tcp://127.0.0.1:0", folder):
                self.assertRegex(urls[0], r"^tls\+tcp://127\.0\.0\.1:[1-9]\d*$")

    def test_a_restarted_node_is_found_at_its_new_port(self):
        """A restarted node has another port, and the others learn it."""
        self.cluster.started("a", "--listen", self.cluster.url("a"))
        seed = ("--join", self.cluster.url("a"))
        b, c = (self.cluster.started(name, *seed) for name in "bc")
        self.linked("a", "b", "c")
        c.kill()
        news_of(b, "c", "down")
        self.cluster.started("c", *seed)
        news_of(b, "c", "up")
        self.becomes("c", "b", "up")

    def test_same_name_in_another_cluster(self):
        """The socket of one node must not take the place of the other's."""
        self.cluster.started("a", "--listen", self.cluster.url("a"))
        b = self.cluster.started("b", "--join", self.cluster.url("a"))
        self.linked("a", "b")
        env = dict(self.cluster.env, XDG_RUNTIME_DIR=self.cluster.folder.name + "/other")
        os.mkdir(env["XDG_RUNTIME_DIR"])
        for name, url in ("a", self.cluster.url("other")), ("b", None):
            where = ["--listen", url] if url else ["--join", self.cluster.url("other")]
            node = self.cluster.nodes[f"other {name}"] = Program(
                WEFT, "run", MODULE, "--name", name, "--cluster", "other", *where, env=env)
            self.assertEqual(node.line(), "watching")
        found = node.log("listens on (ipc://.*), for")[1]
        self.assertRegex(found, r"/b-[0-9a-f]{8}\.link$")
        self.cluster.started("c", "--join", self.cluster.url("a"))
        self.linked("a", "b", "c")

    def test_warnings_of_many_seeds_that_are_down_are_bounded(self):
        """The log has a few warnings and one for all others, not one for each seed."""
        seeds = [word for _ in range(12) for word in ("--join", f"tcp://127.0.0.1:{free_port()}")]
        a = self.cluster.started("a", *seeds)
        self.assertEqual(int(a.log(r"cannot connect to .*no process listens.*\(and (\d+) more like it")[1]), 7)
        self.assertEqual(len([line for line in a.err.seen if "cannot connect to" in line]), 5)

    def test_weft_nodes_causes_no_warning_in_the_nodes_it_tries(self):
        """Without a name, weft nodes tries all sockets of this user."""
        nodes = [self.cluster.started(name, "--join", self.cluster.url("a")) for name in "bc"]
        done = subprocess.run([WEFT, "nodes"], env=self.cluster.env, capture_output=True, text=True)
        self.assertIn("several nodes run here", done.stderr)
        for node in nodes:
            node.stop()
            self.assertEqual([line for line in node.err.seen if "closed a connection" in line], [])

    def leaves(self):
        a = self.cluster.started("a", "--listen", self.cluster.url("a"))
        seed = ("--listen", "none", "--join", self.cluster.url("a"))
        b, c = (self.cluster.started(name, *seed) for name in "bc")
        for node in b, c:
            node.log("does not listen \(listen: none\)")
        for name in "bc":
            self.becomes(name, "a", "up")
            self.becomes("a", name, "up")
        self.becomes("b", "c", "leaf")
        self.becomes("c", "b", "leaf")
        return a, b, c

    def test_nodes_that_listen_nowhere_are_leaves(self):
        """Two nodes that listen nowhere have no link and say so; a third one that listens has a link with each."""
        self.leaves()
        self.assertEqual(self.cluster.rows("b")[0]["urls"], [])
        self.cluster.started("d", "--join", self.cluster.url("a"))
        for name in "abc":
            self.becomes(name, "d", "up")
            self.becomes("d", name, "up")
        self.becomes("b", "c", "leaf")

    def test_the_younger_of_two_leaves_with_one_name_loses_it(self):
        """The node between them tells the younger holder that it has lost the name."""
        _, b, c = self.leaves()
        self.cluster.ordered("b", "register boss", 0)
        self.cluster.ordered("a", "whereis boss", 0)
        self.assertEqual(self.cluster.order("c", "register boss"), 0)
        c.out.next(lambda line: line == "lost boss", c)
        self.cluster.ordered("c", "whereis boss", -6)
        # The name is b's alone: when b is gone, c may have it.
        b.stop()
        news_of(self.cluster.nodes["a"], "b", "down")
        self.cluster.ordered("c", "register boss", 0)
        self.cluster.ordered("a", "whereis boss", 0)

    def test_leaves_that_held_one_name_before_they_share_a_node_settle_it(self):
        """Both had the name before any node was linked with both."""
        seed = ("--listen", "none", "--join", self.cluster.url("a"))
        b, c = (self.cluster.started(name, *seed) for name in "bc")
        self.assertEqual(self.cluster.order("b", "register boss"), 0)
        self.assertEqual(self.cluster.order("c", "register boss"), 0)
        self.cluster.started("a", "--listen", self.cluster.url("a"))
        c.out.next(lambda line: line == "lost boss", c)
        self.cluster.ordered("a", "whereis boss", 0)
        self.assertNotIn("lost boss", b.out.seen)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Address(unittest.TestCase):
    """The seeds have addresses that other machines reach, so the rules of --listen apply."""

    def test_nodes_find_each_other_on_several_machines(self):
        for options in (), ("--insecure",):
            with self.subTest(options=options), Hosts("abc") as cluster:
                self.three(cluster, *options)

    def three(self, cluster, *options):
        cluster.start("a")
        del cluster.env["WEFT_INSECURE"]
        seed = cluster.url("a")
        nodes = []
        for name in "bc":
            words = [*cluster.prefix(name), WEFT, "run", MODULE, "--name", name, "--join", seed, *options]
            node = cluster.nodes[name] = Program(*words, env=dict(cluster.env, WEFT_META=f"is={name}"))
            self.assertEqual(node.line(), "watching")
            nodes.append(node)
        state = "up" if options else "leaf"
        for of, name in ("b", "c"), ("c", "b"):
            eventually(f"{name} is {state} for {of}", lambda o=of, n=name: cluster.states(o).get(n) == [state])
        if not options:
            nodes[0].log(r"node b does not listen: 10\..* is not a loopback address: .*--listen")


if __name__ == "__main__":
    unittest.main()
