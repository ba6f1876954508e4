#!/usr/bin/env python3
"""Runs the examples as programs and, the chat, as modules on several nodes."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Client, Cluster, Program, built, eventually  # noqa: E402


def source(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def promised(name):
    """The output that the comment at the top of an example promises."""
    comment = source("examples", name + ".c").split("*/")[0]
    return [line.removeprefix(" *     ") for line in comment.splitlines() if line.startswith(" *     ")][1:]


class Programs(unittest.TestCase):
    def start(self, name, *args):
        program = Program(built("examples", name), *args)
        self.addCleanup(program.kill)
        return program

    def test_hello(self):
        self.assertEqual(self.start("hello").end(), ["hello from an actor"])

    def test_readme_quotes_hello(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
            quoted = re.search(r"```c\n(.*?)```", f.read(), re.S).group(1)
        with open(os.path.join(ROOT, "examples", "hello.c"), encoding="utf-8") as f:
            program = f.read()
        self.assertEqual(quoted, program[program.index("#include"):])

    def test_timers(self):
        lines = self.start("timers").end()
        with open(os.path.join(ROOT, "examples", "timers.c"), encoding="utf-8") as f:
            self.assertEqual(lines[:6], [line[7:].rstrip() for line in f.readlines()[4:10]])
        lines = lines[6:]
        self.assertEqual(lines[-1], "time is up")
        ticks = [line for line in lines if line.startswith("tick")]
        # 4, or more on a machine that stood still for a while; each once, in order.
        self.assertGreaterEqual(len(ticks), 4)
        self.assertEqual(ticks, [f"tick {i + 1}" for i in range(len(ticks))])
        self.assertEqual(lines.count("another actor says: half time"), 1)
        self.assertEqual(len(lines), len(ticks) + 2)

    def files(self, folder, *sizes):
        names = [os.path.join(folder, f"{i + 1}.txt") for i in range(len(sizes))]
        for name, size in zip(names, sizes):
            with open(name, "wb") as f:
                f.write(b"x" * size)
        return names

    def test_files_are_read_side_by_side(self):
        sizes = [4552, 0, 1024, 1, 100_000]
        with tempfile.TemporaryDirectory() as folder:
            names = self.files(folder, *sizes)
            lines = self.start("files", *names, folder + "/missing").end()
        for i, (name, size) in enumerate(zip(names, sizes), 1):
            mine = [line for line in lines if line.startswith(f"[{i}] ")]
            blocks = [f"[{i}] {min(1024, size - at)} bytes at {at}" for at in range(0, size, 1024)]
            self.assertEqual(mine[:-1], blocks)
            self.assertRegex(mine[-1], rf"{re.escape(name)} has {size} bytes, \d+ of {len(blocks) + 1} reads at once")
        self.assertIn(f"[6] {folder}/missing: file or entry point not found", lines)

    def test_ctrl_c_ends_in_good_order(self):
        with tempfile.TemporaryDirectory() as folder:
            names = self.files(folder, 10, 20)
            program = self.start("files", "-f", *names)
            seen = [program.line() for _ in range(4)]
            self.assertEqual(sum("the end" in line for line in seen), 2)
            with open(names[1], "ab") as f:
                f.write(b"more")
            self.assertEqual(program.line(), "[2] 4 bytes at 20")
            program.process.send_signal(signal.SIGINT)
            self.assertEqual(sorted(program.end()),
                             [f"[1] closed {names[0]} at 10", f"[2] closed {names[1]} at 24"])

    def test_as_promised(self):
        for name in ("endings", "events", "links", "processes", "topics"):
            with self.subTest(name):
                self.assertEqual(self.start(name).end(), promised(name))

    def test_supervisor(self):
        program = self.start("supervisor")
        self.assertEqual(program.end(), [
            "adder starts", "1, in all 1", "2, in all 3", "adder starts", "4, in all 4", "5, in all 9",
            "all has been added"])
        self.assertIn("n != 3 does not hold", "\n".join(program.err.seen))

    def test_pubsub(self):
        """Who keeps up, and who is too slow by his own choice of what happens then, sees what the page promises."""
        got = {line.split()[0]: line for line in self.start("pubsub").end()}
        self.assertEqual(got, {line.split()[0]: line for line in promised("pubsub")})

    def test_typed(self):
        lines = self.start("typed").end()
        self.assertEqual(lines[0], "order 7 (paid): 2 tea, 1 bread, 9.25 in all, by card")
        self.assertEqual(json.loads(lines[1]), {
            "id": 7, "state": "paid", "labels": {"by": "card"}, "note": None,
            "lines": [{"name": "tea", "price": 3.5, "count": 2}, {"name": "bread", "price": 2.25, "count": 1}]})
        self.assertEqual(lines[2:], ["refused: order.lines[0].price: expected real, got str"])

    def test_test_kit(self):
        self.assertEqual(self.start("test_kit").end(), ["a session ends half an hour after its last request"])

    def test_pool(self):
        self.assertEqual(self.start("pool").end(), [
            "12 squared is 144", "13: the request was let go without an answer", "14 squared is 196",
            "3 members, 0 requests outstanding", "1000 jobs done when the pool had ended"])

    def test_gather(self):
        self.assertEqual(self.start("gather").end(), [
            "a majority: 2 of 3 shops",
            "all of them: no; the third: the request was let go without an answer",
            "two that call each other: a cycle of calls waits for itself (2 actors)"])

    def test_offload(self):
        self.assertEqual(self.start("offload").end(), [
            "primes below 1000: 168", "primes below 100000: 9592", "still answering: ping", "slow: deadline passed"])

    def test_state_machine(self):
        self.assertEqual(self.start("state_machine").end(), [
            "locked after 0 / pushed in vain / a coin / somebody passes / "
            "locked after 1 / a coin / nobody came / locked after 1 / closed"])

    def test_group(self):
        lines = self.start("group").end()
        self.assertEqual(lines[:3], ["3 helpers are here", "handed to 3", "one has left"])
        # Of two actors, perhaps on two workers.
        self.assertEqual(sorted(lines[3:]), ["one has ended", "one has failed with 42"])

    def test_handler(self):
        self.assertEqual(self.start("handler").end(), ["100000 counters, each counted to 3: 300000"])

    def test_bad_options(self):
        for name in ("echo", "chat"):
            program = self.start(name, "--prot", "0")
            self.assertEqual(program.end(1), [])
            self.assertIn(f"usage: {name} ", "\n".join(program.err.seen))


class Tutorial(unittest.TestCase):
    def test_each_step_prints_what_it_promises(self):
        for name in ("kv1", "kv2", "kv3", "kv4", "kv_test"):
            with self.subTest(name):
                program = Program(built("examples", "tutorial_" + name))
                self.addCleanup(program.kill)
                self.assertEqual(program.end(), promised("tutorial/" + name))

    def test_the_page_quotes_the_programs(self):
        quoted = re.findall(r"```c\n/\* (\S+) \*/\n(.*?)```", source("docs", "tutorial.md"), re.S)
        self.assertGreaterEqual(len(quoted), 8)
        for name, code in quoted:
            text = source("examples", "tutorial", name)
            for part in code.split("...\n"):
                self.assertIn(part, text, name)

    def test_the_module_answers_the_command_line(self):
        with Cluster() as cluster:
            cluster.run("a", built("examples", "kv5.so"))

            def call(body, tag):
                done = subprocess.run([built("cli", "weft"), "call", "kv", body, "--tag", tag, "--node", "a"],
                                      env=cluster.env, text=True, capture_output=True, check=False)
                return done.stdout.strip()
            self.assertEqual(eventually("kv answers", lambda: call('["color","blue"]', "1")), "[true]")
            self.assertEqual(call('["",""]', "1"), "")
            self.assertEqual(call('["color"]', "2"), '["blue"]')


class Echo(unittest.TestCase):
    def setUp(self):
        self.server = Program(built("examples", "echo"), "--port", "0")
        self.addCleanup(self.server.kill)
        self.address = self.server.line().removeprefix("echo on ")

    def client(self, **options):
        client = Client(self.address, **options)
        self.addCleanup(client.close)
        return client

    def test_many_clients(self):
        clients = [self.client() for _ in range(1000)]
        for turn in range(3):
            for i, client in enumerate(clients):
                client.send(f"{turn} {i}")
            for i, client in enumerate(clients):
                self.assertEqual(client.line(), f"{turn} {i}")
        self.server.stop()

    def test_more_clients_than_the_shell_allows(self):
        server = Program("sh", "-c", 'ulimit -Sn 100 && exec "$@"', "sh", built("examples", "echo"), "--port", "0")
        self.addCleanup(server.kill)
        address = server.line().removeprefix("echo on ")
        for i in range(300):
            client = Client(address)
            self.addCleanup(client.close)
            self.assertEqual(client.ask(f"{i}"), f"{i}")
        server.stop()

    def test_half_close(self):
        client = self.client()
        client.send("one", "two")
        client.socket.shutdown(1)
        self.assertEqual(client.rest(), ["one", "two"])

    def test_large(self):
        sent, got = os.urandom(16 << 20), bytearray()
        client = self.client()

        def send():
            client.socket.sendall(sent)
            client.socket.shutdown(1)

        sender = threading.Thread(target=send)
        sender.start()
        while more := client.socket.recv(1 << 20):
            got += more
        sender.join()
        self.assertEqual(got, sent)

    def test_abrupt_ends(self):
        for _ in range(200):
            client = self.client()
            client.send("x" * 1000)
            client.reset()
        self.assertEqual(self.client().ask("still there"), "still there")
        self.server.stop()

    def test_port_is_taken(self):
        second = Program(built("examples", "echo"), "--port", self.address.rsplit(":", 1)[1])
        self.addCleanup(second.kill)
        second.end(1)
        self.assertIn(f"echo: cannot listen on {self.address}: address is in use by another process", second.err.seen)


class ChatCase(unittest.TestCase):
    def join(self, address, nick, room=None):
        client = Client(address)
        self.addCleanup(client.close)
        self.assertRegex(client.line(), r"^\* welcome to \S+, you are guest\d+ in lobby; /join ROOM, ")
        self.assertEqual(client.ask(f"/nick {nick}"), f"* you are {nick}")
        if room is not None:
            self.assertEqual(client.ask(f"/join {room}"), f"* you are in {room}")
        return client

    def gather(self, clients, room, people):
        """Every node knows of every other one's members when /who shows all of them to everybody."""
        wanted = f"* {room}: " + " ".join(sorted(people))
        for client in clients:
            eventually(f"{people} are not all in {room}", lambda c=client: c.ask("/who") == wanted)


class ChatOnOneNode(ChatCase):
    args = ()

    def setUp(self):
        self.server = Program(built("examples", "chat"), "--port", "0", *self.args)
        self.addCleanup(self.server.kill)
        self.node, self.address = self.server.line().split(": chat on ")

    def test_two(self):
        ann, bob = self.join(self.address, "ann"), self.join(self.address, "bob")
        ann.send("hello, bob")
        self.assertEqual([ann.line(), bob.line()], ["[lobby] ann: hello, bob"] * 2)
        bob.send("hello, \u00e4nn\r")
        self.assertEqual([ann.line(), bob.line()], ["[lobby] bob: hello, \u00e4nn"] * 2)
        self.server.stop()

    def test_who(self):
        ann, bob = self.join(self.address, "ann"), self.join(self.address, "bob")
        self.join(self.address, "eve", "elsewhere")
        self.gather([ann, bob], "lobby", [f"ann@{self.node}", f"bob@{self.node}"])
        ann.send("/who", "goes on while it waits")
        self.assertEqual(ann.line(), "[lobby] ann: goes on while it waits")
        self.assertTrue(ann.line().startswith(f"* lobby: ann@{self.node}"))

    def test_rooms_are_apart(self):
        ann, bob, eve = (self.join(self.address, nick, "one") for nick in ("ann", "bob", "eve"))
        self.assertEqual(bob.ask("/join two"), "* you are in two")
        self.assertEqual(bob.ask("/join two"), "* you are in two")
        ann.send("in one")
        self.assertEqual([ann.line(), eve.line()], ["[one] ann: in one"] * 2)
        self.assertEqual(bob.ask("in two"), "[two] bob: in two")
        self.assertEqual(eve.ask("/join two"), "* you are in two")
        self.assertEqual(bob.ask("again"), "[two] bob: again")
        line = eve.line()
        if line == "[two] bob: in two":  # said before she came, under way to her worker when she subscribed
            line = eve.line()
        self.assertEqual(line, "[two] bob: again")
        self.assertEqual(ann.ask("alone"), "[one] ann: alone")

    def test_bad_input(self):
        ann = self.join(self.address, "ann")
        rule = " is 1 to 24 letters, digits, _ or -"
        for name in ("", " ", "a b", "a.b", "*", ">", "x" * 25, "\u00e4", "a\tb", "$x"):
            self.assertEqual(ann.ask(f"/join {name}"), "* a room's name" + rule)
            self.assertEqual(ann.ask(f"/nick {name}"), "* a nick" + rule)
        self.assertEqual(ann.ask("/nick " + "y" * 24), "* you are " + "y" * 24)
        for line in ("/", "/foo", "/who me", "/quit now", "/joinx", "//"):
            self.assertEqual(ann.ask(line),
                             "* unknown command; there are /join ROOM, /nick NAME, /who, /watch, /history, /quit")
        ann.send("", "\r")
        self.assertEqual(ann.ask("a\x1b[2J\x07b"), "[lobby] " + "y" * 24 + ": a?[2J?b")
        ann.socket.sendall(b"zero \0 in it\n\xff\xfe\n")
        ann.line()
        self.assertEqual(ann.line(), "[lobby] " + "y" * 24 + ": \\xff\\xfe")

    def test_longest_line(self):
        ann = self.join(self.address, "ann")
        self.assertEqual(ann.ask("x" * 511), "[lobby] ann: " + "x" * 511)
        ann.send("x" * 512)
        self.assertEqual(ann.rest(), ["* a line has at most 511 bytes", "* bye"])

    def test_no_newline(self):
        ann, bob = self.join(self.address, "ann"), self.join(self.address, "bob")
        ann.socket.sendall(b"half a line")
        self.assertEqual(bob.ask("does not wait for it"), "[lobby] bob: does not wait for it")
        self.assertEqual(ann.line(), "[lobby] bob: does not wait for it")
        ann.socket.sendall(b" and the rest\n")
        self.assertEqual([ann.line(), bob.line()], ["[lobby] ann: half a line and the rest"] * 2)
        try:
            while True:
                ann.socket.sendall(b"x" * 100)
        except OSError:
            pass  # told and closed
        self.gather([bob], "lobby", [f"bob@{self.node}"])

    def test_pipelined(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        client.send("/nick ann", "/join x", "one", "two", "/quit", "never")
        self.assertEqual(client.rest()[1:], ["* you are ann", "* you are in x", "[x] ann: one", "[x] ann: two",
                                             "* bye"])

    def test_end_of_input(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        client.socket.sendall(b"/nick ann\nlast line without newline")
        client.socket.shutdown(1)
        self.assertEqual(client.rest()[1:], ["* you are ann", "[lobby] ann: last line without newline", "* bye"])

    def test_abrupt_ends(self):
        bob = self.join(self.address, "bob")
        for i in range(200):
            client = Client(self.address)
            client.line()
            client.send(f"{i}")
            client.reset()
        bob.send("all gone")
        last = eventually("bob's line", lambda: (line := bob.line()) and line.endswith(": all gone") and line)
        self.assertEqual(last, "[lobby] bob: all gone")
        self.gather([bob], "lobby", [f"bob@{self.node}"])
        self.server.stop()

    def test_many(self):
        clients = [self.join(self.address, f"c{i}", "crowd") for i in range(200)]
        for turn in range(5):
            for client in clients[:20]:
                client.send(f"turn {turn}")
        for client in clients:
            said = {}
            for line in client.lines(100):
                nick, text = re.fullmatch(r"\[crowd\] (\S+): (.*)", line).groups()
                said.setdefault(nick, []).append(text)
            self.assertEqual(said, {f"c{i}": [f"turn {t}" for t in range(5)] for i in range(20)})
        everybody = re.compile(r"\* crowd:( c\d+@\S+){40} and 160 more")
        eventually("not all of the crowd answer", lambda: everybody.fullmatch(clients[7].ask("/who")))
        self.server.stop()

    def test_stop_tells(self):
        ann = self.join(self.address, "ann")
        self.server.stop()
        self.assertEqual(ann.rest(), ["* the server stops"])

    def test_history_is_in_a_file(self):
        if not shutil.which("pkg-config") or subprocess.run(["pkg-config", "sqlite3"], check=False).returncode != 0:
            self.skipTest("no libsqlite3-dev: the chat keeps its lines in memory")
        with tempfile.TemporaryDirectory() as folder:
            options = ("--port", "0", "--history", os.path.join(folder, "lines"))
            for start in range(0, 240, 120):
                server = Program(built("examples", "chat"), *options)
                self.addCleanup(server.kill)
                ann = self.join(server.line().split(": chat on ")[1], "ann")
                for i in range(start, start + 120):
                    self.assertEqual(ann.ask(str(i)), f"[lobby] ann: {i}")
                ann.send("/history")
                kept = [f"[lobby] (earlier) ann: {i}" for i in range(start + 20, start + 120)]
                self.assertEqual(ann.lines(101), kept + ["* lobby: 100 in all"])
                server.stop()
            with contextlib.closing(sqlite3.connect(os.path.join(folder, "lines"))) as lines:
                self.assertEqual([int(text) for (text,) in lines.execute("SELECT text FROM lines ORDER BY rowid")],
                                 list(range(240)))


class SlowClient(ChatOnOneNode):
    """A client that never reads is dropped; the others notice nothing."""

    args = ("--patience", "1")

    def test_never_reads(self):
        deaf = Client(self.address, receive_buffer=4096)
        self.addCleanup(deaf.close)
        deaf.line()
        deaf.ask("/nick deaf")
        ann = self.join(self.address, "ann")
        self.gather([ann], "lobby", [f"ann@{self.node}", f"deaf@{self.node}"])
        text, number = "x" * 480, 0

        def talk():
            """Until the deaf one's window and the server's buffer for him are full, and then until he is gone."""
            nonlocal number
            for _ in range(2000):
                ann.send(f"{number} {text}")
                self.assertEqual(ann.line(), f"[lobby] ann: {number} {text}")
                number += 1
            return ann.ask("/who") == f"* lobby: ann@{self.node}"

        eventually("the deaf one stays", talk)
        self.server.log(r"deaf is dropped: deadline passed")
        self.server.stop()


for name in [n for n in dir(ChatOnOneNode) if n.startswith("test_")]:
    setattr(SlowClient, name, None)  # only its own


class ChatOnManyNodes(ChatCase):
    def cluster(self, names, seed="a"):
        cluster = self.enterContext(Cluster()) if hasattr(self, "enterContext") else Cluster()
        self.addCleanup(cluster.__exit__)
        address = {}
        for name in names:
            node = cluster.run(name, built("examples", "chat.so"), "--port", "0", join=[seed] if name != seed else [])
            shown, address[name] = node.line().split(": chat on ")
            self.assertEqual(shown, name)
        return cluster, address

    def test_two_nodes(self):
        cluster, address = self.cluster("ab")
        ann, bob = self.join(address["a"], "ann"), self.join(address["b"], "bob")
        self.gather([ann, bob], "lobby", ["ann@a", "bob@b"])
        for i in range(500):
            ann.send(f"a {i}")
            bob.send(f"b {i}")
        for client in (ann, bob):
            got = client.lines(1000)
            for nick in "ab":
                name = {"a": "ann", "b": "bob"}[nick]
                self.assertEqual([x for x in got if x.startswith(f"[lobby] {name}")],
                                 [f"[lobby] {name}: {nick} {i}" for i in range(500)])
        self.assertEqual(ann.ask("/join x"), "* you are in x")
        self.gather([bob], "lobby", ["bob@b"])
        self.assertEqual(bob.ask("nobody hears"), "[lobby] bob: nobody hears")
        self.assertEqual(ann.ask("me neither"), "[x] ann: me neither")
        for node in cluster.nodes.values():
            node.stop()

    def test_three_nodes_from_one_seed(self):
        cluster, address = self.cluster("abc")
        clients = {n: self.join(address[n], f"at-{n}", "hall") for n in "abc"}
        self.gather(clients.values(), "hall", [f"at-{n}@{n}" for n in "abc"])
        for n, client in clients.items():
            client.send(*[f"{i}" for i in range(200)])
        for client in clients.values():
            got = client.lines(600)
            for n in "abc":
                self.assertEqual([x for x in got if x.startswith(f"[hall] at-{n}:")],
                                 [f"[hall] at-{n}: {i}" for i in range(200)])

    def test_a_node_ends(self):
        cluster, address = self.cluster("abc")
        clients = {n: self.join(address[n], f"at-{n}") for n in "abc"}
        self.gather(clients.values(), "lobby", [f"at-{n}@{n}" for n in "abc"])
        cluster.nodes["c"].stop()
        self.assertEqual(clients.pop("c").rest(), ["* the server stops"])
        self.gather(clients.values(), "lobby", ["at-a@a", "at-b@b"])
        cluster.nodes["b"].kill()
        clients.pop("b")
        self.gather(clients.values(), "lobby", ["at-a@a"])
        again = cluster.run("b", built("examples", "chat.so"), "--port", "0", join=["a"])
        clients["b"] = self.join(again.line().removeprefix("b: chat on "), "back")
        self.gather(clients.values(), "lobby", ["at-a@a", "back@b"])
        clients["b"].send("hello again")
        self.assertEqual([c.line() for c in clients.values()], ["[lobby] back: hello again"] * 2)

    # ---- Rooms: the owner of "room.lobby" is on the first node that had a member ----

    def history(self, client, lines):
        """What the room keeps, as soon as its owner, wherever that is, has heard of it."""
        wanted = [f"[lobby] (earlier) {line}" for line in lines] + [f"* lobby: {len(lines)} in all"]

        got = []

        def has():
            client.send("/history")
            got[:] = [client.line()]
            while got[-1].startswith("[lobby] (earlier) "):
                got.append(client.line())
            return got == wanted
        try:
            eventually("the history", has)
        except AssertionError:
            self.assertEqual(got, wanted)

    def test_who_moves_gets_what_he_missed(self):
        cluster, address = self.cluster("ab")
        ann, bob = self.join(address["a"], "ann"), self.join(address["b"], "bob")
        self.gather([ann, bob], "lobby", ["ann@a", "bob@b"])
        self.assertEqual(ann.ask("together"), "[lobby] ann: together")
        self.assertEqual(bob.line(), "[lobby] ann: together")
        self.assertEqual(ann.ask("/quit"), "* bye")
        ann.close()
        self.gather([bob], "lobby", ["bob@b"])
        for text in ("one", "two"):
            self.assertEqual(bob.ask(text), f"[lobby] bob: {text}")
        eve = self.join(address["b"], "eve")
        self.history(bob, ["ann: together", "bob: one", "bob: two"])  # the lines of two actors may cross
        said = eve.ask("three")
        if said == "[lobby] bob: two":  # it was on its way to the other worker when she came
            said = eve.line()
        self.assertEqual(said, "[lobby] eve: three")
        self.history(eve, ["ann: together", "bob: one", "bob: two", "eve: three"])
        ann = self.join(address["b"], "ann")
        self.assertEqual(ann.lines(4), [f"[lobby] (earlier) {x}" for x in ("bob: one", "bob: two", "eve: three")]
                         + ["* lobby: 3 while you were away"])
        self.assertEqual(ann.ask("back"), "[lobby] ann: back")
        self.history(eve, ["ann: together", "bob: one", "bob: two", "eve: three", "ann: back"])
        for node in cluster.nodes.values():
            node.stop()

    def test_who_watches_is_told_who_comes_and_goes(self):
        """By the owner of the room, which is on node a."""
        cluster, address = self.cluster("ab")
        ann = self.join(address["a"], "ann")
        self.assertEqual(ann.ask("/watch"), "* you see who comes and goes")
        bob = self.join(address["b"], "bob")
        self.assertEqual(ann.line(), "* lobby: bob has come")
        self.gather([ann, bob], "lobby", ["ann@a", "bob@b"])
        self.assertEqual(bob.ask("/nick rob"), "* you are rob")
        self.assertEqual(ann.line(), "* lobby: bob is now rob")
        self.assertEqual(bob.ask("/join x"), "* you are in x")
        self.assertEqual(ann.line(), "* lobby: rob has left")
        self.assertEqual(bob.ask("/join lobby"), "* you are in lobby")
        self.assertEqual(ann.line(), "* lobby: rob has come")
        bob.reset()
        self.assertEqual(ann.line(), "* lobby: rob is gone")
        self.assertEqual(ann.ask("/watch"), "* you do not see any more who comes and goes")
        eve = self.join(address["b"], "eve")
        self.gather([ann, eve], "lobby", ["ann@a", "eve@b"])
        self.assertEqual(eve.ask("hello"), "[lobby] eve: hello")
        self.assertEqual(ann.line(), "[lobby] eve: hello")
        for node in cluster.nodes.values():
            node.stop()

    def test_the_owner_of_a_room_is_killed(self):
        cluster, address = self.cluster("abc")
        ann, bob, eve = (self.join(address[n], nick) for n, nick in (("a", "ann"), ("b", "bob"), ("c", "eve")))
        self.gather([ann, bob, eve], "lobby", ["ann@a", "bob@b", "eve@c"])
        for client, nick in ((ann, "ann"), (bob, "bob")):
            for i in range(3):
                self.assertEqual(client.ask(f"{i}"), f"[lobby] {nick}: {i}")
                others = [c for c in (ann, bob, eve) if c is not client]
                self.assertEqual([c.line() for c in others], [f"[lobby] {nick}: {i}"] * 2)
        said = [f"{nick}: {i}" for nick in ("ann", "bob") for i in range(3)]
        for client in (ann, bob, eve):
            self.history(client, said)

        def owned():
            return sum("room.lobby is owned here" in line for n in "bc" for line in cluster.nodes[n].err.seen)
        before = owned()
        cluster.nodes["a"].kill()
        eventually("nobody else owns the room", lambda: owned() > before)
        self.gather([bob, eve], "lobby", ["bob@b", "eve@c"])
        for client in (bob, eve):
            self.history(client, said)  # of another owner
        self.assertEqual(bob.ask("she is away"), "[lobby] bob: she is away")
        self.assertEqual(eve.line(), "[lobby] bob: she is away")
        self.history(eve, said + ["bob: she is away"])
        ann = self.join(address["c"], "ann")
        self.assertEqual(ann.lines(2), ["[lobby] (earlier) bob: she is away", "* lobby: 1 while you were away"])
        self.history(ann, said + ["bob: she is away"])


if __name__ == "__main__":
    unittest.main()
