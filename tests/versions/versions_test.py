#!/usr/bin/env python3
"""Nodes of two versions of weft in one cluster, as processes: today's, and the one in the folder WEFT_OTHER, which
tests/versions/build.sh has built. Without WEFT_OTHER both are today's; so the suite runs all of this, too."""
import contextlib
import json
import os
import random
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from etcd_test import ETCD, TTL, Etcd
from harness import PATIENCE, ROOT, Program, built, eventually, has, patient
from store_nodes import SOON_LOST


class Version:
    """A build of weft: its command, the modules that were compiled with its headers, and its abilities."""

    def __init__(self, build, modules, include):
        self.build, self.modules = build, modules
        self.weft = os.path.join(build, "cli", "weft")
        self.verbs = set(re.findall(r"(?m)^  ([a-z-]+(?: [a-z]+)?) +[A-Z]", self.ask("help")))
        self.options = set(re.findall(r"--[a-z-]+", self.ask("run", "--help")))
        with open(os.path.join(include, "weft", "names.h"), encoding="utf-8") as file:
            self.has_tables = "weft_register_global" in file.read()

    def ask(self, *words):
        return subprocess.run([self.weft, *words], capture_output=True, text=True, check=True, timeout=PATIENCE,
                              env=self.env(os.environ)).stdout

    def env(self, more):
        """Makes a program run with its own libraries, whatever the environment says."""
        return dict(more, LD_LIBRARY_PATH=self.build)

    def has(self, module):
        return os.path.exists(self.module(module))

    def module(self, name):
        return os.path.join(self.modules, f"test_{name}.so")


TODAY = OTHER = Version(built(), built("tests"), os.path.join(ROOT, "include"))
if folder := os.environ.get("WEFT_OTHER"):
    OTHER = Version(os.path.join(folder, "build"), os.path.join(folder, "modules"), os.path.join(folder, "tree", "include"))


class Wire:
    """Stands between the socket of a node and the peers that dial it, and cuts all connections on demand."""

    def __init__(self, path):
        self.path, self.real, self.lock, self.open = path, path + ".real", threading.Lock(), set()
        os.rename(path, self.real)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, far = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
                far.connect(self.real)
            except OSError:
                return  # The test is over.
            with self.lock:
                self.open |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def _copy(self, one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        self._end({one, other})

    def _end(self, ended):
        with self.lock:
            for one in ended & self.open:
                self.open.remove(one)
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                one.close()

    def cut(self):
        with self.lock:
            ended = set(self.open)
        self._end(ended)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.folder)

    def url(self, name):
        return f"ipc://{self.folder}/{name}.link"

    def run_node(self, version, name, module, *args, join=(), options=(), listen=None):
        command = [version.weft, "run", version.module(module), "--name", name, "--listen", listen or self.url(name)]
        for other in join:
            command += ["--join", self.url(other)]
        node = Program(*command, *options, "--", *args, env=version.env(self.env))
        self.addCleanup(node.kill)
        return node

    def ready(self, version, *args, **more):
        node = self.run_node(version, *args, **more)
        self.assertEqual(node.line().strip(), "ready")
        with open(f"/proc/{node.pid}/maps", encoding="utf-8") as file:
            self.assertEqual({os.path.dirname(path) for path in re.findall(r"(/\S*/libweft[-a-z]*\.so)", file.read())},
                             {version.build})
        return node

    def weft(self, version, *words, code=0):
        """Runs a verb to its end, and returns its standard output and error. With None for `code` any exit code is
        right."""
        done = subprocess.run([version.weft, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(version.env(self.env)))
        if code is not None:
            self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def need(self, what, both):
        if not both:
            self.skipTest(f"one of the two versions has no {what}")


class Pair:
    """Tests that work between a node of the version `server` and a node, or a tool, of the version `client`."""
    server = client = None

    def both(self, question):
        return question(self.server) and question(self.client)

    def serve(self, **more):
        return self.ready(self.server, "s", "mixed", "serve", **more)

    def probe(self, join=("s",), **more):
        tables = self.both(lambda v: v.has_tables)
        node = self.run_node(self.client, "p", "mixed", "probe", "s", *([] if tables else ["plain"]), join=join, **more)
        lines = []
        while not lines or lines[-1] != "done":
            lines.append(node.line())
        self.assertEqual([line for line in lines if not line.startswith("ok ")], ["done"], lines)
        self.assertGreaterEqual(len(lines), 50 if tables else 35)
        return node

    def test_actors_of_both_versions_use_every_kind_of_message(self):
        s = self.serve()
        p = self.probe()
        s.log("linked with node p")
        p.stop()
        s.log("node p is down: left")
        s.stop()

    def test_every_verb(self):
        s = self.serve()
        tried = {
            "ps": [([], r"(?m)^\S+ +main +desk ")],
            "inspect": [(["desk"], r"(?m)^state +waiting"), ([], "^")],
            "top": [(["--once"], r"(?m)^s +up "), (["--once", "--json"], '"node": "s"')],
            "nodes": [([], r"(?m)^s +[0-9a-f]{16} +self")],
            "names": [([], r"(?m)^desk +node +s "), ([], r"(?m)^desk\.s +cluster +s ")],
            "groups": [([], r"(?m)^crew +s ")],
            "call": [(["desk", "[1, 2]", "--tag", "1"], r"^\[1, 2\]$")],
            "send": [(["desk", "[1]", "--tag", "1"], "^")],
            "publish": [(["ask.s.it", "[1]"], "handed to 1")],
            "spawn": [(["mixed.greeter", '["ann", 3]'], r"^\d+\.\d+\.\d+@[0-9a-f]{16}$")],
            "why-dropped": [([], r"s has dropped|DROPPED|dropped")],
            "log": [([], "info"), (["debug"], "debug"), (["info"], "info")],
            "drain": [([], "takes no new work"), (["--undo"], "takes new work")],
        }
        for verb, uses in tried.items():
            for words, expected in uses if verb in self.client.verbs else ():
                with self.subTest(verb, words=words):
                    # A node that lacks these verbs may not know the request of the tool, which then says so.
                    if not {verb, "names"} <= self.server.verbs:
                        out, err = self.weft(self.client, verb, *words, "--node", "s", code=None)
                        self.assertRegex(out + err, f"{expected}|s runs a version of weft that does not know this request")
                        continue
                    self.assertRegex(self.weft(self.client, verb, *words, "--node", "s")[0].rstrip("\n"), expected)
        self.assertIn("s has ended", self.weft(self.client, "stop", "--node", "s")[0])
        s.end()

    def test_a_tool_receives_publications(self):
        self.need("weft subscribe", self.both(lambda v: "subscribe" in v.verbs))
        self.serve()
        tool = Program(self.client.weft, "subscribe", "news.>", "--count", "1", "--json", "--node", "s",
                       env=self.client.env(self.env))
        self.addCleanup(tool.kill)
        tool.log("on node s")
        self.weft(self.client, "publish", "news.one", "[7]", "--node", "s")
        self.assertEqual(json.loads(tool.line())["body"], [7])
        tool.end()

    def test_the_other_node_is_seen_by_verbs(self):
        """A tool of either version asks one node about both."""
        self.serve()
        p = self.run_node(self.client, "p", "mixed", "serve", join=("s",))
        p.log("linked with node s")
        for node, other in (("s", "p"), ("p", "s")):
            asked, tool = (self.server, self.client) if node == "s" else (self.client, self.server)
            eventually("the node is up", lambda n=node, o=other, t=tool: re.search(
                rf"(?m)^{o} +[0-9a-f]{{16}} +up", self.weft(t, "nodes", "--node", n)[0]))
            if "names" in asked.verbs & tool.verbs and self.both(lambda v: v.has_tables):
                eventually("the name of the node is listed", lambda n=node, o=other, t=tool: re.search(
                    rf"(?m)^desk\.{o} +cluster +{o} ", self.weft(t, "names", "--node", n)[0]))
            if "top" in self.server.verbs & self.client.verbs:
                told = [json.loads(line) for line in
                        self.weft(tool, "top", "--once", "--all", "--json", "--node", node)[0].splitlines()]
                self.assertEqual(sorted(row["node"] for row in told if "workers" in row), ["p", "s"])

    def test_connections_that_are_cut(self):
        self.need("links that are resumed", self.both(lambda v: "--resume-window" in v.options))
        patient_link = ("--resume-window", str(PATIENCE), "--heartbeat", "0.2", "--heartbeats-lost", "50")
        self.serve(options=patient_link)
        wire = Wire(f"{self.folder}/s.link")
        self.addCleanup(wire.close)
        p = self.run_node(self.client, "p", "mixed", "stream", "s", "3000", join=("s",), listen="none",
                          options=patient_link)
        while (line := p.line()) != "done":
            self.assertFalse(line.startswith("WRONG"), line)
            if line.startswith("at ") and int(line.split()[1]) % 500 == 0:
                wire.cut()
        row = [json.loads(line) for line in self.weft(self.client, "nodes", "--json", "--node", "p")[0].splitlines()]
        self.assertGreaterEqual({one["name"]: one["resumes"] for one in row}["s"], 3)
        self.assertNotIn("is down", " ".join(p.err.seen))

    def test_roles_under_tls(self):
        self.need("TLS", self.both(lambda v: "--tls" in v.options and "certs issue" in v.verbs))
        self.env["WEFT_CERTS"] = certs = self.folder + "/certs"
        self.weft(self.server, "certs", "init")
        for number, (name, role) in enumerate((("s", "node"), ("p", "node"), ("eye", "observe"), ("boss", "admin"))):
            self.weft((self.server, self.client)[number % 2], "certs", "issue", name, "--role", role)
        s = self.run_node(self.server, "s", "mixed", "serve", listen="tls+tcp://127.0.0.1:0", options=("--tls", certs))
        url = s.log(r"listens on (\S+)").group(1).rstrip('",')
        self.assertEqual(s.line(), "ready")
        self.probe(join=(), listen="tls+tcp://127.0.0.1:0", options=("--tls", certs, "--join", url)).stop()

        def ask(who, *words, code=0):
            return self.weft(self.client, *words, "--node", url, "--tls", certs, "--as", who, code=code)
        self.assertIn("desk", ask("eye", "ps")[0])
        ask("eye", "top", "--once")
        self.assertRegex(ask("eye", "stop", code=1)[1], "role of your certificate|permission denied")
        self.assertIn("s has ended", ask("boss", "stop")[0])
        s.end()

    @unittest.skipUnless(ETCD and has("etcd"), "etcd-server is not installed, or this build has no libcurl")
    def test_exclusive_names(self):
        self.need("exclusive names", self.both(lambda v: v.has("exclusive")))
        etcd = Etcd()
        self.addCleanup(etcd.close)

        def holder(version, name):
            return self.run_node(version, name, "exclusive", "holder", "x", listen="tcp://127.0.0.1:0",
                                 options=("--discover", f"etcd:{etcd.url}/versions?ttl={TTL}"))

        def token(node):
            word, number, _ = node.line().split()
            self.assertEqual(word, "held")
            return int(number)
        a = holder(self.server, "a")
        first = token(a)
        b = holder(self.client, "b")
        b.log("linked with node a")
        self.weft(self.client, "send", "holder", "[]", "--tag", "1", "--node", "a")  # The node gives the name back.
        self.assertTrue(a.line().startswith("let go"))
        second = token(b)
        # The node registers the name again.
        self.weft(self.server, "send", "holder", "[]", "--tag", "2", "--node", "a")
        b.stop()
        third = token(a)
        self.assertLess(first, second)
        self.assertLess(second, third)

    # ---- The store ------------------------------------------------------------------------------------------------

    def store(self, version, name="store"):
        self.file = f"{self.folder}/{name}.db"
        options = [*SOON_LOST, "--store", "sqlite:" + self.file, "--stored", "room.>"]
        options += ["--queues", "jobs"] if version.has("queueing") else []
        options += ["--states", "counter.*"] if version.has("remembering") else []
        return self.ready(version, name, "storing", "idle", options=options)

    def publications(self, version, at_least):
        """Stores publications until `count` are acknowledged, and returns these by position."""
        node = self.ready(version, "writer", "storing", "publish", "room.tea", "2", join=("store",))
        lines = [node.line() for _ in range(at_least)] + node.stop()
        return {tuple(line.split()[:2]): line.split()[2] for line in lines}

    def check_records(self, version, written):
        """A reader of this version gets all records."""
        node = self.ready(version, "reader", "storing", "read", "room.tea", join=("store",))
        self.assertEqual(node.line(), "subscribed")
        got = {}
        while len(written.keys() - got.keys()) > 0:
            epoch, offset, text = node.line().split()
            got[epoch, offset] = text
        self.assertEqual({at: got[at] for at in written}, written)
        node.stop()

    def test_store_and_its_clients(self):
        self.need("store", self.both(lambda v: v.has("storing")))
        s = self.store(self.server)
        written = self.publications(self.client, 200)
        self.check_records(self.client, written)
        self.check_records(self.server, written)
        node = self.ready(self.client, "follower", "storing", "follow", "room.tea", "mine", join=("store",))
        self.assertEqual([node.line() for _ in range(5)], ["subscribed", "got 1", "did 1", "got 2", "did 2"])
        node.stop()
        out = self.weft(self.client, "publish", "room.tea", "[1]", "--stored", "--node", "store")[0]
        self.assertIn("stored as", out)
        out = self.weft(self.client, "subscribe", "room.tea", "--from", "start", "--count", "3", "--node", "store")[0]
        self.assertEqual(len(out.splitlines()), 3)
        s.stop()

    def test_queues_and_their_clients(self):
        self.need("queues", self.both(lambda v: v.has("queueing")))
        self.store(self.server)
        node = self.run_node(self.client, "putter", "queueing", "put", "jobs", "30", join=("store",))
        jobs = {line.split()[1] for line in (node.line() for _ in range(31)) if line.startswith("put ")}
        self.assertEqual(len(jobs), 30)
        workers = [self.run_node(version, name, "queueing", "work", "jobs", join=("store",))
                   for version, name in ((self.client, "w1"), (self.server, "w2"))]
        def done():
            lines = [line.split() for worker in workers for line in list(worker.out.seen)]
            return sorted(words[1] for words in lines if words and words[0] == "did")
        eventually("all jobs are done", lambda: set(done()) == jobs or os.sched_yield())
        self.assertEqual(len(done()), 30)  # Each job is done once.

    def test_states_and_their_owners(self):
        self.need("actors that remember", self.both(lambda v: v.has("remembering")))
        self.store(self.server)
        last = 0
        for turn, version in enumerate((self.client, self.server, self.client), 1):
            node = self.ready(version, f"owner{turn}", "remembering", "own", "counter.x", join=("store",),
                              options=SOON_LOST)
            word, opening, loaded = node.line().split()
            self.assertEqual((word, int(opening)), ("opened", turn))
            self.assertGreaterEqual(int(loaded), last)  # An event may be stored although its answer is lost.
            for _ in range(80):
                word, number, _ = node.line().split()
                self.assertEqual(word, "event")
                last = int(number)
            node.kill()

    def tables(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as file:
            return file.execute("PRAGMA user_version").fetchone()[0]

    def test_file_of_a_store(self):
        """The server's version makes the file, the client's goes on with it, and the server's opens it again."""
        self.need("store", self.both(lambda v: v.has("storing")))
        s = self.store(self.server)
        written = self.publications(self.server, 100)
        s.stop()
        made = self.tables()
        s = self.run_node(self.client, "store", "storing", "idle",
                          options=("--store", "sqlite:" + self.file, "--stored", "room.>"))
        if self.client is OTHER and made > self.version_of_tables(OTHER):
            self.refuses(s)
            self.go_back(self.server, self.client, written)
            return
        self.assertEqual(s.line(), "ready")
        self.check_records(self.client, written)
        written |= self.publications(self.client, 100)
        self.check_records(self.server, written)
        s.stop()
        if self.tables() > made:
            s = self.run_node(self.server, "store", "storing", "idle",
                              options=("--store", "sqlite:" + self.file, "--stored", "room.>"))
            self.refuses(s)
            self.go_back(self.client, self.server, written)
            return
        s = self.store(self.server)
        self.check_records(self.client, written)
        self.assertIn("no fault", self.weft(self.client, "store", "check", "--store", "sqlite:" + self.file)[0])
        s.stop()
        self.go_back(self.client, self.server, written)

    def version_of_tables(self, version):
        mine, self.file = self.file, None
        self.store(version, "empty").stop()
        number = self.tables()
        self.file = mine
        return number

    def refuses(self, node):
        """A version does not open the file of a later version, and does not change it."""
        with open(self.file, "rb") as file:
            before = file.read()
        node.log("use a newer weft|newer version")
        node.process.wait(PATIENCE)
        self.assertEqual(node.process.returncode, 1)
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), before)


    def go_back(self, later, earlier, written):
        """The earlier version reads what the later one exports."""
        if "store import" not in earlier.verbs:
            return
        records = self.weft(later, "store", "export", "--store", "sqlite:" + self.file)[0]
        subprocess.run([earlier.weft, "store", "import", "--store", f"sqlite:{self.folder}/back.db"], input=records, text=True,
                       capture_output=True, check=True, timeout=PATIENCE, env=earlier.env(self.env))
        s = self.store(earlier, "back")
        rows = [json.loads(line) for line in self.weft(earlier, "store", "read", "room.tea", "--store", "sqlite:" + self.file,
                                                       "--json")[0].splitlines()]
        self.assertLessEqual(set(written.values()), {row.get("text") for row in rows})
        s.stop()


class TodayServes(Pair, Case):
    server, client = TODAY, OTHER


@unittest.skipIf(OTHER is TODAY, "no other version was given to compare with")
class OtherServes(Pair, Case):
    server, client = OTHER, TODAY


class Rolling(Case):
    """Five nodes have traffic; one after the other is stopped in order, and started with the other version."""
    NODES = [f"n{i}" for i in range(5)]

    def setUp(self):
        super().setUp()
        self.need("global names", TODAY.has_tables and OTHER.has_tables)
        self.nodes, self.ends, self.lines = {}, {}, []  # ends: in which order incarnations have ended

    def start(self, version, name):
        others = [n for n in self.nodes if n != name]
        self.nodes[name] = self.ready(version, name, "rolling", *self.NODES,
                                      join=random.sample(others, min(2, len(others))))

    def stop(self, name, tool):
        node = self.nodes.pop(name)
        if tool is not None:
            self.assertIn("has ended", self.weft(tool, "stop", "--node", name)[0])
        else:
            node.process.terminate()
        node.end()
        lines = list(node.out.seen)
        self.lines += lines
        for line in lines:
            if line.startswith("counted "):
                self.ends[line.split()[1]] = len(self.ends)

    def all_talk(self):
        """Each node has got new answers from each node."""
        begun = {name: len(node.out.seen) for name, node in self.nodes.items()}
        for name, node in self.nodes.items():
            def heard(name=name, node=node):
                node.line()
                return {f"beat {other}" for other in self.nodes} <= set(node.out.seen[begun[name]:])
            eventually(f"{name} gets all publications", heard)

    def all_agree(self):
        """All nodes know the same holder of the name, and the same retained message."""
        def holders():
            tables = [self.weft(TODAY, "names", "--json", "--node", name)[0].splitlines() for name in self.nodes]
            found = [[row["pid"] for row in map(json.loads, rows) if row["name"] == "ledger" and row["global"]]
                     for rows in tables]
            running = {json.loads(line)["incarnation"] for name in self.nodes for line in
                       self.weft(TODAY, "nodes", "--json", "--node", name)[0].splitlines()
                       if json.loads(line)["state"] == "self"}
            return all(len(one) == 1 and one == found[0] for one in found) and found[0][0].split("@")[1] in running

        def retained():
            last = {[line for line in list(node.out.seen) if line.startswith("knows ")][-1:][0]
                    for node in self.nodes.values() if any(line.startswith("knows ") for line in list(node.out.seen))}
            return len(last) == 1 or os.sched_yield()
        eventually("all know one holder of the name", holders)
        eventually("all keep the same message", retained)

    def check_sums(self):
        counted, answered, unknown, heard, sent, published = {}, {}, 0, {}, {}, {}
        for line in self.lines:
            what, *words = line.split()
            self.assertNotEqual(what, "WRONG", line)
            if what == "counted":
                counted[words[0]] = int(words[1])
            elif what == "answered":
                answered[words[0]] = answered.get(words[0], 0) + int(words[1])
            elif what == "unknown":
                unknown += int(words[0])
            elif what == "heard":
                heard[words[0], words[1]] = int(words[2]), int(words[3])
            elif what == "sent":
                sent[words[0], words[1]] = int(words[2])
            elif what == "published":
                published[words[0]] = int(words[1])
        # Every answered call was counted; further counts belong to calls that have failed.
        for node, count in answered.items():
            self.assertGreaterEqual(counted[node], count, node)
        self.assertLessEqual(sum(counted.values()), sum(answered.values()) + unknown)
        # Messages that a node has sent before it left arrive, unless the receiver has left before.
        whole = 0
        for (sender, to), count in sent.items():
            got = heard.get((to, sender), (0, 0))[0]
            self.assertLessEqual(got, count, (sender, to))
            if self.ends[to] > self.ends[sender.split(".")[0]]:
                self.assertEqual(got, count, f"messages of {sender}, which left, to {to}")
                whole += 1
        self.assertGreater(whole, 20)
        for publisher, count in published.items():
            for to, end in self.ends.items():
                got = heard.get((to, publisher), (0, 0))[1]
                self.assertLessEqual(got, count)
                if end > self.ends[publisher.split(".")[0]] and got > 0:
                    self.assertEqual(got, count, f"publications of {publisher}, which left, to {to}")

    def test_upgrade_and_downgrade(self):
        for name in self.NODES:
            self.start(OTHER, name)
        self.all_talk()
        self.all_agree()
        for version in (TODAY, OTHER):
            for number, name in enumerate(self.NODES):
                self.stop(name, (None, TODAY, OTHER)[number % 3])
                self.start(version, name)
                self.all_talk()
                self.all_agree()
        for name in self.NODES:
            self.stop(name, None)
        self.check_sums()


if __name__ == "__main__":
    unittest.main()
