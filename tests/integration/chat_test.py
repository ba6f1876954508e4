#!/usr/bin/env python3
"""Runs the chat as a program and as a module on several nodes."""
import errno
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Client, Cluster, Program, built, eventually  # noqa: E402

WEFT = built("cli", "weft")


class ChatCase(unittest.TestCase):
    def join(self, address, nick, room=None):
        client = Client(address)
        self.addCleanup(client.close)
        self.assertRegex(client.line(), r"^\* welcome to \S+, you are guest\d+ in lobby; /join ROOM, ")
        client.send(f"/nick {nick}")
        self.assertEqual(self.next_told(client), f"* you are {nick}")
        if room is not None:
            self.assertEqual(client.ask(f"/join {room}"), f"* you are in {room}")
        return client

    def next_told(self, client):
        """Returns the next line, but skips lines of the room that were under way to the client's worker when he
        joined."""
        while re.match(r"\[\w+\] \w+: ", line := client.line()):
            pass
        return line

    def gather(self, clients, room, people):
        """Waits until /who shows all members to every client; then every node knows the members of the others."""
        wanted = f"* {room}: " + " ".join(sorted(people))
        for client in clients:
            eventually(f"{people} are all in {room}", lambda c=client: c.ask("/who") == wanted)


def fill(path):
    """Makes a file that takes all space that its file system has left."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(file, bytes(4096)) > 0:
            pass
    except OSError as why:
        assert why.errno == errno.ENOSPC, why
    finally:
        os.close(file)


class ChatOnOneNode(ChatCase):
    args = ()

    def setUp(self):
        self.server = Program(built("examples", "chat"), "--port", "0", *self.args)
        self.addCleanup(self.server.kill)
        self.node, self.address = self.server.line().split(": chat on ")

    def test_two_clients_read_each_other(self):
        ann, bob = self.join(self.address, "ann"), self.join(self.address, "bob")
        ann.send("hello, bob")
        self.assertEqual([ann.line(), bob.line()], ["[lobby] ann: hello, bob"] * 2)
        bob.send("hello, \u00e4nn\r")
        self.assertEqual([ann.line(), bob.line()], ["[lobby] bob: hello, \u00e4nn"] * 2)
        self.server.stop()

    def test_who_lists_the_members_of_the_room(self):
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
        # This line was sent before she came, and was under way to her worker when she subscribed.
        if line == "[two] bob: in two":
            line = eve.line()
        self.assertEqual(line, "[two] bob: again")
        self.assertEqual(ann.ask("alone"), "[one] ann: alone")

    def test_a_session_opens_a_hundred_rooms_at_most(self):
        ann, bob = self.join(self.address, "ann"), self.join(self.address, "bob", "of_bob")
        for i in range(100):
            self.assertEqual(ann.ask(f"/join room_{i}"), f"* you are in room_{i}")
        self.assertEqual(ann.ask("/join one_more"),
                         "* you have opened 100 rooms, more are not allowed; join one that is there")
        self.assertEqual(ann.ask("/join of_bob"), "* you are in of_bob")
        self.assertEqual(bob.ask("still there"), "[of_bob] bob: still there")

    def test_bad_names_commands_and_characters_are_refused(self):
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
        self.assertEqual(ann.ask("a\u009b2Jb\u202ec\u2066\u00e4"), "[lobby] " + "y" * 24 + ": a??2Jb???c???\u00e4")
        ann.socket.sendall(b"zero \0 in it\n\xff\xfe\n")
        ann.line()
        self.assertEqual(ann.line(), "[lobby] " + "y" * 24 + ": ??")

    def test_a_line_has_at_most_511_bytes(self):
        ann = self.join(self.address, "ann")
        self.assertEqual(ann.ask("x" * 511), "[lobby] ann: " + "x" * 511)
        ann.send("x" * 512)
        self.assertEqual(ann.rest(), ["* a line has at most 511 bytes", "* bye"])

    def test_half_a_line_holds_up_no_other_client(self):
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
            pass  # The client was told, and its connection was closed.
        self.gather([bob], "lobby", [f"bob@{self.node}"])

    def test_commands_that_come_at_once_are_done_in_order(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        client.send("/nick ann", "/join x", "one", "two", "/quit", "never")
        self.assertEqual(client.rest()[1:], ["* you are ann", "* you are in x", "[x] ann: one", "[x] ann: two",
                                             "* bye"])

    def test_the_last_line_needs_no_newline(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        client.socket.sendall(b"/nick ann\nlast line without newline")
        client.socket.shutdown(1)
        self.assertEqual(client.rest()[1:], ["* you are ann", "[lobby] ann: last line without newline", "* bye"])

    def test_clients_that_reset_their_connections_leave_the_room(self):
        bob = self.join(self.address, "bob")
        for i in range(200):
            client = Client(self.address)
            client.line()
            client.send(f"{i}")
            client.reset()
        bob.send("all gone")
        last = eventually("bob reads his own line", lambda: (line := bob.line()) and line.endswith(": all gone") and line)
        self.assertEqual(last, "[lobby] bob: all gone")
        self.gather([bob], "lobby", [f"bob@{self.node}"])
        self.server.stop()

    def test_two_hundred_clients_share_a_room(self):
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
        eventually("/who lists 40 and counts 160 more", lambda: everybody.fullmatch(clients[7].ask("/who")))
        self.server.stop()

    def test_a_server_that_stops_tells_its_clients(self):
        ann = self.join(self.address, "ann")
        self.server.stop()
        self.assertEqual(ann.rest(), ["* the server stops"])

    def test_history_is_in_a_file(self):
        if not os.path.exists(built("libweft-store.so")):
            self.skipTest("there is no libweft-store, so the chat keeps its lines in memory")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "lines")
            options = ("--port", "0", "--history", file)
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
            seen = subprocess.run([built("cli", "weft"), "store", "check", "--store", f"sqlite:{file}"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(seen.returncode, 0, seen.stdout)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "this test needs root, to mount a file system")
    def test_a_full_disk_is_reported(self):
        if not os.path.exists(built("libweft-store.so")):
            self.skipTest("there is no libweft-store, so the chat keeps its lines in memory")
        with tempfile.TemporaryDirectory() as folder:
            script = f'mount -t tmpfs -o size=512k none {folder} && exec "$@"'
            server = Program("unshare", "-m", "sh", "-c", script, "sh", built("examples", "chat"), "--port", "0",
                             "--history", os.path.join(folder, "lines"))
            self.addCleanup(server.kill)
            ann = self.join(server.line().split(": chat on ")[1], "ann")
            self.assertEqual(ann.ask("fits"), "[lobby] ann: fits")
            fill(f"/proc/{server.pid}/root{folder}/rest")
            numbers = itertools.count()

            def say_one():
                text = f"{next(numbers):05}" * 96
                self.assertEqual(ann.ask(text), f"[lobby] ann: {text}")
                return any("room.lobby: the last lines are not on disk: no space is left on the device" in line
                           for line in server.err.seen)

            # The log of the store has grown before, by half a megabyte or by what there was. How many lines fill it
            # depends on how many of them a busy machine stores together.
            eventually("the chat says that the disk is full", say_one)
            self.assertEqual(ann.ask("goes on"), "[lobby] ann: goes on")
            server.stop()


class SlowClient(ChatOnOneNode):
    """A client that never reads is dropped; the others do not notice."""

    args = ("--patience", "1")

    def test_a_client_that_never_reads_is_dropped(self):
        deaf = Client(self.address, receive_buffer=4096)
        self.addCleanup(deaf.close)
        deaf.line()
        deaf.ask("/nick deaf")
        ann = self.join(self.address, "ann")
        self.gather([ann], "lobby", [f"ann@{self.node}", f"deaf@{self.node}"])
        text, number = "x" * 480, 0

        def talk():
            """Talks until the client's window and the server's buffer are full, and then until the client is
            dropped."""
            nonlocal number
            for _ in range(2000):
                ann.send(f"{number} {text}")
                self.assertEqual(ann.line(), f"[lobby] ann: {number} {text}")
                number += 1
            return ann.ask("/who") == f"* lobby: ann@{self.node}"

        eventually("the client that does not read is dropped", talk)
        self.server.log(r"deaf is dropped: deadline passed")
        self.server.stop()


for name in [n for n in dir(ChatOnOneNode) if n.startswith("test_")]:
    setattr(SlowClient, name, None)  # This class runs its own tests only, and not those of its base.


class ChatOnManyNodes(ChatCase):
    def cluster(self, names, seed="a", options=()):
        cluster = self.enterContext(Cluster()) if hasattr(self, "enterContext") else Cluster()
        self.addCleanup(cluster.__exit__)
        address = {}
        for name in names:
            node = cluster.run(name, built("examples", "chat.so"), "--port", "0", options=options,
                               join=[seed] if name != seed else [])
            shown, address[name] = node.line().split(": chat on ")
            self.assertEqual(shown, name)
        return cluster, address

    def test_empty_rooms_end(self):
        cluster, address = self.cluster("a")

        def rooms():
            listed = subprocess.run([WEFT, "ps", "--node", "a"], capture_output=True, text=True, check=True,
                                    env=cluster.env)
            return sum(" room " in line for line in listed.stdout.splitlines())
        ann, guest = self.join(address["a"], "ann"), Client(address["a"])
        self.addCleanup(guest.close)
        guest.line()
        for i in range(20):
            self.assertEqual(ann.ask(f"/join room_{i}"), f"* you are in room_{i}")
        self.assertEqual(guest.ask("/join quiet"), "* you are in quiet")
        self.assertGreater(rooms(), 20)
        eventually("empty rooms have ended", lambda: rooms() == 2)  # The rooms of ann and of the guest are left.
        self.assertEqual(ann.ask("still there"), "[room_19] ann: still there")
        self.assertEqual(ann.ask("/join room_0"), "* you are in room_0")  # The room is opened anew.
        self.assertEqual(ann.ask("again"), "[room_0] ann: again")

    def test_clients_of_two_nodes_get_all_lines_in_order(self):
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

    def test_clients_of_three_nodes_get_all_lines_in_order(self):
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

    def test_members_of_a_node_that_ends_leave_the_room(self):
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
        """Waits until the room's owner has the lines. The lines of two people may arrive there in another order."""
        def by_nick(texts):
            return sorted(texts, key=lambda text: text.split(":")[0])
        wanted, got = by_nick(lines) + [f"* lobby: {len(lines)} in all"], []

        def has():
            client.send("/history")
            got[:] = []
            while (line := self.next_told(client)).startswith("[lobby] (earlier) "):
                got.append(line.removeprefix("[lobby] (earlier) "))
            got[:] = by_nick(got) + [line]
            return got == wanted
        try:
            eventually("the client gets the history", has)
        except AssertionError:
            self.assertEqual(got, wanted)

    @unittest.skipUnless(os.path.exists(built("libweft-store.so")), "this test needs libweft-store")
    def test_stored_lines_outlive_all_nodes(self):
        """The room's owner is on another node than the store. Both nodes are killed."""
        cluster = Cluster()
        self.addCleanup(cluster.__exit__)
        file = os.path.join(cluster.folder.name, "rooms.db")
        for start in range(2):
            store = cluster.run("a", built("examples", "chat.so"), "--port", "0", "--history", file)
            store.line()
            home = cluster.run("b", built("examples", "chat.so"), "--port", "0", "--history", "cluster",
                               join=["a"])
            bob = self.join(home.line().removeprefix("b: chat on "), "bob")
            home.log("room.lobby is owned here")
            if start == 0:
                for i in range(50):
                    self.assertEqual(bob.ask(f"{i}"), f"[lobby] bob: {i}")

                def stored():
                    read = subprocess.run([WEFT, "store", "read", "history.lobby", "--store", f"sqlite:{file}"],
                                          capture_output=True, check=False)
                    return read.stdout.count(b"bob") == 50
                eventually("the lines are stored", stored)
            else:
                self.history(bob, [f"bob: {i}" for i in range(50)])
            store.kill(), home.kill()

    def test_a_member_that_moves_to_another_node_gets_the_missed_lines(self):
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
        self.history(bob, ["ann: together", "bob: one", "bob: two"])
        eve.send("three")
        self.history(eve, ["ann: together", "bob: one", "bob: two", "eve: three"])
        ann = self.join(address["b"], "ann")
        missed = [self.next_told(ann) for _ in range(4)]
        self.assertEqual(missed, [f"[lobby] (earlier) {x}" for x in ("bob: one", "bob: two", "eve: three")]
                         + ["* lobby: 3 while you were away"])
        ann.send("back")
        self.history(eve, ["ann: together", "bob: one", "bob: two", "eve: three", "ann: back"])
        for node in cluster.nodes.values():
            node.stop()

    def test_a_watcher_of_a_room_is_told_of_each_arrival_and_departure(self):
        """The owner of the room, which is on node a, tells the watcher."""
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

    def test_a_member_may_come_back_before_the_lost_node_is_down(self):
        """During the resume window no node knows yet that the node of his old session is lost."""
        cluster, address = self.cluster("abc", options=("--resume-window", "10"))
        ann, bob, eve = (self.join(address[n], nick) for n, nick in (("a", "ann"), ("b", "bob"), ("c", "eve")))
        self.gather([ann, bob, eve], "lobby", ["ann@a", "bob@b", "eve@c"])
        self.assertEqual(eve.ask("/watch"), "* you see who comes and goes")
        cluster.nodes["a"].kill()
        for n in "bc":
            cluster.nodes[n].log("room.lobby: 1 members on node a are out of reach")
        self.assertEqual(eve.ask("she is away"), "[lobby] eve: she is away")
        self.assertEqual(bob.line(), "[lobby] eve: she is away")
        ann = self.join(address["b"], "ann")
        self.assertEqual(ann.lines(2), ["[lobby] (earlier) eve: she is away", "* lobby: 1 while you were away"])
        for n in "bc":
            cluster.nodes[n].log("node a is down")
        owners = [cluster.nodes[n].err.seen for n in "bc"]
        eventually("another node owns the room",
                   lambda: any("room.lobby is owned here" in line for seen in owners for line in seen))
        self.gather([ann], "lobby", ["ann@b", "bob@b", "eve@c"])
        self.assertEqual(ann.ask("back"), "[lobby] ann: back")
        self.assertEqual(eve.line(), "[lobby] ann: back")  # The others are not told that she was away.

    def test_a_room_stays_where_no_other_node_keeps_it(self):
        cluster, address = self.cluster("a")
        ann = self.join(address["a"], "ann")
        cluster.nodes["a"].log("room.lobby is owned here")
        said = subprocess.run([built("cli", "weft"), "drain", "--node", "a"], env=cluster.env, check=True,
                              capture_output=True, text=True).stdout
        self.assertEqual(said, "a takes no new work; its actors have 1 global names: room.lobby\n")
        self.assertEqual(ann.ask("still here"), "[lobby] ann: still here")
        self.history(ann, ["ann: still here"])

    def test_rooms_leave_a_draining_node(self):
        cluster, address = self.cluster("ab")
        ann, bob = self.join(address["a"], "ann"), self.join(address["b"], "bob")
        self.gather([ann, bob], "lobby", ["ann@a", "bob@b"])
        self.assertEqual(ann.ask("before"), "[lobby] ann: before")
        self.assertEqual(bob.line(), "[lobby] ann: before")
        owners = {n for n in "ab" if any("room.lobby is owned here" in x for x in cluster.nodes[n].err.seen)}
        for drains, other in (("a", "b"), ("b", "a")):
            if drains not in owners:
                continue
            weft = [built("cli", "weft"), "drain", "--node", drains]
            subprocess.run(weft, env=cluster.env, check=True, capture_output=True)
            cluster.nodes[other].log("room.lobby is owned here")
            cluster.nodes[drains].log("room.lobby is kept here, too")
            eventually("no global name is left",
                       lambda: subprocess.run(weft, env=cluster.env, check=True, capture_output=True,
                                              text=True).stdout == f"{drains} takes no new work\n")
            break
        self.assertEqual(bob.ask("after"), "[lobby] bob: after")
        self.assertEqual(ann.line(), "[lobby] bob: after")
        for client in (ann, bob):
            self.history(client, ["ann: before", "bob: after"])
        self.assertEqual(ann.ask("/join new"), "* you are in new")  # No node owns the room, but it works.
        cluster.nodes[drains].log("room.new has no owner for now: the node drains")
        self.assertEqual(ann.ask("alone"), "[new] ann: alone")
        cluster.nodes[drains].stop()
        self.assertEqual(bob.ask("later"), "[lobby] bob: later")
        self.history(bob, ["ann: before", "bob: after", "bob: later"])

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
        eventually("another session owns the room", lambda: owned() > before)
        self.gather([bob, eve], "lobby", ["bob@b", "eve@c"])
        for client in (bob, eve):
            self.history(client, said)  # The history comes from the new owner.
        self.assertEqual(bob.ask("she is away"), "[lobby] bob: she is away")
        self.assertEqual(eve.line(), "[lobby] bob: she is away")
        self.history(eve, said + ["bob: she is away"])
        ann = self.join(address["c"], "ann")
        self.assertEqual(ann.lines(2), ["[lobby] (earlier) bob: she is away", "* lobby: 1 while you were away"])
        self.history(ann, said + ["bob: she is away"])


if __name__ == "__main__":
    unittest.main()
