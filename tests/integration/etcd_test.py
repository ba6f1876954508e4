#!/usr/bin/env python3
"""Nodes that find each other by etcd, and exclusive names, which one actor of the cluster holds: with a real etcd on
free ports."""
import base64
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

from harness import PATIENCE, Program, built, eventually, free_port, has

WEFT = built("cli", "weft")
MODULE = built("tests", "test_exclusive.so")
ETCD = shutil.which("etcd")
TTL = 2  # Seconds; etcd grants no lease that is shorter.


class Etcd:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="etcd-")
        self.ports = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.ports[0]}"
        self.start()

    def start(self):
        peers = f"http://127.0.0.1:{self.ports[1]}"
        self.program = Program(ETCD, "--data-dir", self.folder.name + "/data", "--listen-client-urls", self.url,
                               "--advertise-client-urls", self.url, "--listen-peer-urls", peers,
                               "--initial-advertise-peer-urls", peers, "--initial-cluster", "default=" + peers,
                               "--log-level", "error",
                               "--bcrypt-cost", "4")  # Otherwise a password costs a second on a busy machine.
        eventually("etcd starts", self.is_up)

    def is_up(self):
        try:
            return self.ask("/v3/maintenance/status")
        except urllib.error.HTTPError:
            raise
        except OSError:
            try:  # Either it ends, or it needs a moment more.
                self.program.process.wait(0.05)
            except subprocess.TimeoutExpired:
                return None
            raise

    def ask(self, path, token=None, **body):
        headers = {"Content-Type": "application/json", **({"Authorization": token} if token else {})}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def keys(self, prefix):
        coded = [base64.b64encode(text.encode()).decode() for text in (prefix, prefix + "\x7f")]
        found = self.ask("/v3/kv/range", key=coded[0], range_end=coded[1]).get("kvs", [])
        return {base64.b64decode(kv["key"]).decode(): base64.b64decode(kv.get("value", "")).decode() for kv in found}

    def put(self, key, value):
        self.ask("/v3/kv/put", key=base64.b64encode(key.encode()).decode(),
                 value=base64.b64encode(value.encode()).decode())

    def delete(self, key):
        self.ask("/v3/kv/deleterange", key=base64.b64encode(key.encode()).decode())

    def signal(self, number):
        self.program.process.send_signal(number)

    def close(self):
        self.program.kill()
        self.folder.cleanup()


class Chorus:
    """The lines that several programs write from now on, in one queue."""

    def __init__(self, programs):
        self.queue = queue.Queue()
        for name, program in programs.items():
            threading.Thread(target=self._copy, args=(name, program.out), daemon=True).start()

    def _copy(self, name, lines):
        while (line := lines.queue.get()) is not lines.END:
            self.queue.put((name, line.split()))
        lines.queue.put(lines.END)

    def next(self, word):
        """Returns the name of the program that writes the next line with this first word, and the words of the line."""
        while True:
            name, words = self.queue.get(timeout=PATIENCE)
            if words[0] == word:
                return name, words


@unittest.skipUnless(ETCD and has("etcd"), "etcd-server is not installed, or this build has no libcurl")
class WithEtcd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.etcd = Etcd()
        cls.addClassCleanup(lambda: cls.etcd.close())

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        self.folder, self.env = folder.name, dict(os.environ, XDG_RUNTIME_DIR=folder.name)
        self.prefix = "/" + self.id().rsplit(".", 1)[1]

    def node(self, name, *args, options="", etcd=None):
        spec = f"etcd:{(etcd or self.etcd).url}{self.prefix}?ttl={TTL}{options}"
        node = Program(WEFT, "run", MODULE, "--name", name, "--listen", "tcp://127.0.0.1:0", "--discover", spec, "--",
                       *args, env=self.env)
        self.addCleanup(node.kill)
        return node

    def send(self, node, tag, to="holder"):
        subprocess.run([WEFT, "send", to, "[]", "--tag", str(tag), "--node", node], env=self.env, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=PATIENCE)

    def says(self, node, what):
        """Returns the numbers in a line such as "held 7 12345": a token and a time."""
        words = node.line().split()
        self.assertEqual(words[0], what)
        return [int(word) for word in words[1:]]


class Discovery(WithEtcd):
    def test_nodes_find_each_other_by_etcd(self):
        a = self.node("a")
        a.log("discover .*0 URLs")
        b = self.node("b")
        a.log("linked with node b")
        c = self.node("c")
        for node in (a, b):
            node.log("linked with node c")
        keys = self.etcd.keys(self.prefix)
        self.assertEqual({json.loads(v)["name"] for v in keys.values()}, {"a", "b", "c"})
        c.stop()  # A node that leaves removes its registration at once.
        self.assertEqual({json.loads(v)["name"] for v in self.etcd.keys(self.prefix).values()}, {"a", "b"})
        a.log("discover .*1 URL:")
        b.process.kill()
        a.log("discover .*0 URLs")  # The lease is over.

    def test_malformed_entries_in_etcd_are_skipped(self):
        for key, value in [("0123456789abcdef", "no json"), ("fedcba9876543210", '{"urls": [1, "x", {}, null]}'),
                           ("short", '{"urls": ["tcp://127.0.0.1:1"]}'), ("0" * 300, "{}")]:
            self.etcd.put(f"{self.prefix}/nodes/{key}", value)
        a = self.node("a")
        a.log("nodes/0123456789abcdef does not describe a node")
        a.log("discover .*0 URLs")
        self.etcd.put(f"{self.prefix}/nodes/0123456789abcdef", '{"urls": ["tcp://127.0.0.1:9"]}')
        a.log("discover .*1 URL: tcp://127.0.0.1:9")

    def test_a_node_whose_entry_is_deleted_registers_again(self):
        a = self.node("a")
        a.log("discover .*0 URLs")
        b = self.node("b")
        a.log("discover .*1 URL:")
        for key, value in self.etcd.keys(self.prefix).items():
            if json.loads(value)["name"] == "b":
                self.etcd.delete(key)
        a.log("discover .*0 URLs")
        a.log("discover .*1 URL:")  # The entry is back.
        b.stop()

    def test_bad_specifications_are_refused(self):
        for spec, why in [("etcd:127.0.0.1:2379", "not a URL like"), ("etcd:ftp://x:1", "not a URL like"),
                          ("etcd:http://x", "not HOST:PORT"), ("etcd:http://x:1?ttl=1", "seconds from 2 to"),
                          ("etcd:http://x:1?ttl=x", "seconds from 2 to"), ("etcd:http://x:1?user=a", "go together"),
                          ("etcd:http://x:1?user=a&password_file=/nowhere", "no password can be read"),
                          ("etcd:http://x:1?lease=7", "no option of etcd:")]:
            done = subprocess.run([WEFT, "run", MODULE, "--discover", spec], env=self.env, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
            by_itself = "nowhere" not in spec  # The others need a look at a file.
            self.assertEqual(done.returncode, 2 if by_itself else 1, spec)
            self.assertRegex(done.stderr, ("--discover: '" if by_itself else "cannot discover by ") + ".*" + why)


class Exclusive(WithEtcd):
    def test_calls_without_an_etcd_option_return_enoetcd(self):
        for mode, says in (("holder", "WEFT_ENOETCD"), ("alone", "WEFT_ENOETCD"),
                           ("none", "WEFT_ENOETCD WEFT_ENOETCD WEFT_ENOETCD WEFT_ENOETCD over")):
            node = Program(WEFT, "run", MODULE, "--name", mode, "--", mode, "x", env=self.env)
            self.addCleanup(node.kill)
            self.assertEqual(node.line(), says)

    def test_bad_exclusive_names_are_refused(self):
        for number, name in enumerate(["", "a b", "a/b", "x" * 65]):
            self.assertEqual(self.node(f"n{number}", "holder", name).line(), "WEFT_EINVAL")

    def test_an_exclusive_name_is_handed_over(self):
        a = self.node("a", "holder", "x")
        one, _ = self.says(a, "held")
        self.send("a", 3)
        self.assertEqual(a.line(), "found sure")
        self.send("a", 5)
        self.assertEqual(a.line(), "grown")
        self.send("a", 2)
        self.assertEqual(a.line(), "WEFT_EEXIST")
        b = self.node("b", "holder", "x")
        b.log("linked with node a")
        self.send("a", 1)
        self.assertTrue(a.line().startswith("let go"))
        two, _ = self.says(b, "held")
        self.send("a", 1)
        self.assertTrue(a.line().startswith("WEFT_ENOACTOR"))
        self.send("a", 4)
        self.assertEqual(a.line(), "WEFT_ETIMEDOUT")
        self.send("a", 2)
        b.stop()  # This end counts like any other.
        three, _ = self.says(a, "held")
        self.assertLess(one, two)
        self.assertLess(two, three)

    def test_the_next_node_holds_the_name_when_its_holder_is_killed(self):
        a = self.node("a", "holder", "x")
        one, _ = self.says(a, "held")
        b = self.node("b", "holder", "x")
        b.log("linked with node a")
        a.process.kill()
        two, _ = self.says(b, "held")
        self.assertLess(one, two)

    def test_a_holder_that_was_stopped_learns_that_it_lost_the_name(self):
        """The holder learns of its loss when it runs again; its own clock knew it before."""
        a = self.node("a", "holder", "x")
        one, _ = self.says(a, "held")
        b = self.node("b", "holder", "x")
        b.log("linked with node a")
        a.process.send_signal(signal.SIGSTOP)
        two, at = self.says(b, "held")
        a.process.send_signal(signal.SIGCONT)
        token, lost_at = self.says(a, "lost")
        self.assertEqual(token, one)
        self.assertLess(one, two)
        self.assertLess(at, lost_at)
        self.send("a", 3)
        self.assertEqual(a.line(), "WEFT_ENOACTOR over")
        b.stop()

    def test_a_holder_whose_key_is_deleted_learns_it_and_holds_it_again(self):
        a = self.node("a", "holder", "x")
        one, _ = self.says(a, "held")
        self.etcd.delete(f"{self.prefix}/exclusive/x")
        self.assertEqual(self.says(a, "lost")[0], one)
        self.send("a", 2)
        self.assertLess(one, self.says(a, "held")[0])

    def test_one_of_three_nodes_runs_a_singleton(self):
        """One of three nodes runs the actor. When it is killed, the next one runs it, and when that is stopped, the
        last one."""
        nodes = {name: self.node(name, "alone", "x") for name in "abc"}
        all_say, before = Chorus(nodes), 0
        for end in ("kill", "stop", "fails", "none"):
            name, words = all_say.next("runs")
            self.assertLess(before, int(words[1]))
            before = int(words[1])
            if end == "kill":
                nodes[name].process.kill()
            elif end == "stop":
                nodes[name].stop()
            elif end == "fails":
                self.send(name, 1, "alone")


    def test_a_draining_node_gives_its_singleton_away(self):
        nodes = {"a": self.node("a", "alone", "x")}
        self.assertIn("runs", [nodes["a"].line().split()[0] for _ in range(2)])
        nodes["b"] = self.node("b", "alone", "x")
        nodes["b"].log("linked with node a")
        all_say = Chorus(nodes)
        for drains, next_one in ("ab", "ba"):
            subprocess.run([WEFT, "drain", "--node", drains], env=self.env, check=True, timeout=PATIENCE,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            self.assertEqual(all_say.next("runs")[0], next_one)
            subprocess.run([WEFT, "drain", "--undo", "--node", drains], env=self.env, check=True, timeout=PATIENCE,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def test_the_keeper_of_a_singleton_ends_with_its_body(self):
        a = self.node("a", "alone", "x")
        lines = [a.line() for _ in range(2)]  # The line of the body may come first.
        self.assertEqual(sorted(line.split()[0] for line in lines), ["ready", "runs"])
        b = self.node("b", "alone", "x")
        b.log("linked with node a")
        self.send("a", 3, "alone")
        self.assertEqual(a.line(), "keeper ended 0")
        eventually("node b runs the singleton", lambda: b.line().startswith("runs"))
        b.stop()


@unittest.skipUnless(ETCD and has("etcd"), "etcd-server is not installed, or this build has no libcurl")
class Outages(WithEtcd):
    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        super().setUp()
        self.etcd = Etcd()
        self.addCleanup(self.etcd.close)

    def test_a_holder_learns_of_its_loss_while_etcd_hangs(self):
        """The holder learns of its loss while etcd still keeps the name for it."""
        a = self.node("a", "holder", "x")
        one, _ = self.says(a, "held")
        b = self.node("b", "holder", "x")
        b.log("linked with node a")
        self.etcd.signal(signal.SIGSTOP)
        token, lost_at = self.says(a, "lost")
        self.send("a", 3)
        self.assertEqual(a.line(), "WEFT_ENOACTOR over")
        self.send("a", 2)
        self.etcd.signal(signal.SIGCONT)
        _, (_, two, at) = Chorus({"a": a, "b": b}).next("held")
        self.assertEqual(token, one)
        self.assertLess(one, int(two))
        self.assertLess(lost_at, int(at))

    def test_etcd_restarts(self):
        a = self.node("a", "holder", "x")
        one, _ = self.says(a, "held")
        self.etcd.program.stop(-signal.SIGTERM)
        a.log("cannot be reached")
        self.assertEqual(self.says(a, "lost")[0], one)
        self.etcd.start()
        self.send("a", 2)
        self.assertLess(one, self.says(a, "held")[0])
        b = self.node("b")
        a.log("linked with node b")
        b.stop()

    def test_a_wrong_password_is_refused(self):
        self.etcd.ask("/v3/auth/role/add", name="root")
        self.etcd.ask("/v3/auth/user/add", name="root", password="secret")
        self.etcd.ask("/v3/auth/user/grant", user="root", role="root")
        self.etcd.ask("/v3/auth/enable")
        path = self.folder + "/password"
        with open(path, "w") as f:
            f.write("wrong\n")
        a = self.node("a", "holder", "x", options=f"&user=root&password_file={path}")
        a.log("refuses .*authentication failed")
        a.kill()
        with open(path, "w") as f:
            f.write("secret\n")
        b = self.node("b", "holder", "x", options=f"&user=root&password_file={path}")
        self.says(b, "held")
        b.stop()


if __name__ == "__main__":
    unittest.main()
