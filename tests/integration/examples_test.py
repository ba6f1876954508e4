#!/usr/bin/env python3
"""Runs the examples, all but the larger ones with a test of their own."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Client, Cluster, Program, built, eventually, free_port  # noqa: E402


def source(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def promised(name):
    """Returns the output that the comment at the top of an example promises."""
    comment = source("examples", name + ".c").split("*/")[0]
    return [line.removeprefix(" *     ").rstrip() for line in comment.splitlines() if line.startswith(" *     ")][1:]


class Programs(unittest.TestCase):
    def start(self, name, *args, **more):
        program = Program(built("examples", name), *args, **more)
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
        # There are four, or more on a machine that stood still for a while; each comes once, in order.
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

    def test_examples_print_the_output_of_their_head_comment(self):
        for name in ("endings", "events", "links", "processes", "topics"):
            with self.subTest(name):
                self.assertEqual(self.start(name).end(), promised(name))

    @unittest.skipUnless(os.path.exists(built("examples", "jobs")), "this build has no SQLite")
    def test_jobs(self):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                self.assertEqual(self.start("jobs", cwd=folder).end(), promised("jobs"))

    @unittest.skipUnless(os.path.exists(built("examples", "bank")), "this build has no SQLite")
    def test_bank(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.start("bank", cwd=folder).end(), promised("bank"))
            balance = 157
            for _ in range(3):
                program = self.start("bank", "1000000", cwd=folder)
                opened = int(program.line().split()[-1])
                self.assertGreaterEqual(opened, balance)  # One deposit more may be stored, which was not printed yet.
                self.assertLessEqual(opened, balance + 1)
                for _ in range(150):  # These are more events than there are between two snapshots.
                    program.line()
                program.process.kill()
                program.process.wait()
                program.out.rest()
                balance = int(program.out.seen[-1].split()[-1])
                self.assertEqual(program.out.seen[1:], [f"ann has {i}" for i in range(opened + 1, balance + 1)])

    def test_supervisor(self):
        program = self.start("supervisor")
        self.assertEqual(program.end(), [
            "adder starts", "1, in all 1", "2, in all 3", "adder starts", "4, in all 4", "5, in all 9",
            "all has been added"])
        self.assertIn("n != 3 does not hold", "\n".join(program.err.seen))

    def test_pubsub(self):
        """A subscriber that keeps up, and those that are slow under each policy, see what the page promises."""
        got = {line.split()[0]: line for line in self.start("pubsub").end()}
        self.assertEqual(got, {line.split()[0]: line for line in promised("pubsub")})

    def test_typed(self):
        lines = self.start("typed").end()
        self.assertEqual(lines[0], "order 7 (paid): 2 tea, 1 bread, 9.25 in all, by card")
        self.assertEqual(json.loads(lines[1]), {
            "id": 7, "state": "paid", "labels": {"by": "card"}, "note": None,
            "lines": [{"name": "tea", "price": 3.5, "count": 2}, {"name": "bread", "price": 2.25, "count": 1}]})
        self.assertEqual(lines[2:], ["refused: order.lines[0].price: expected real, got str"])

    def test_msgpack(self):
        self.assertEqual(self.start("msgpack").end(), promised("msgpack"))

    def test_test_kit(self):
        self.assertEqual(self.start("test_kit").end(), ["a session ends half an hour after its last request"])

    def test_pool(self):
        self.assertEqual(self.start("pool").end(), [
            "12 squared is 144", "13: the request was freed without a reply", "14 squared is 196",
            "3 members, 0 requests outstanding", "1000 jobs done when the pool had ended"])

    def test_gather(self):
        self.assertEqual(self.start("gather").end(), [
            "a majority: 2 of 3 shops",
            "all of them: no; the third: the request was freed without a reply",
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
        # These lines come from two actors, perhaps on two workers.
        self.assertEqual(sorted(lines[3:]), ["one has ended", "one has failed with 42"])

    def test_handler(self):
        self.assertEqual(self.start("handler").end(), ["100000 counters, each counted to 3: 300000"])

    def test_bad_options_print_the_usage(self):
        for name in ("echo", "chat"):
            program = self.start(name, "--prot", "0")
            self.assertEqual(program.end(1), [])
            self.assertIn(f"usage: {name} ", "\n".join(program.err.seen))


class Tutorial(unittest.TestCase):
    def test_each_step_of_the_tutorial_prints_the_promised_output(self):
        for name in ("kv1", "kv2", "kv3", "kv4", "kv_test", "chat1"):
            with self.subTest(name):
                program = Program(built("examples", "tutorial_" + name))
                self.addCleanup(program.kill)
                self.assertEqual(program.end(), promised("tutorial/" + name))

    def test_the_page_quotes_the_programs(self):
        for page, least in (("tutorial.md", 8), ("tutorial-chat.md", 6)):
            quoted = re.findall(r"```c\n/\* (\S+) \*/\n(.*?)```", source("docs", page), re.S)
            self.assertGreaterEqual(len(quoted), least)
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


class TutorialChat(unittest.TestCase):
    """The steps of docs/tutorial-chat.md that talk."""

    def chat(self, name):
        program = Program(built("examples", "tutorial_" + name), "0")
        self.addCleanup(program.kill)
        return program, program.line().removeprefix("chat on ")

    def client(self, address, nick, greeting):
        client = Client(address)
        self.addCleanup(client.close)
        self.assertEqual((client.line(), client.ask(nick)), ("* your name?", greeting))
        return client

    def past(self, client, count):
        """Returns the lines that come until /past is answered, and the last line."""
        client.send(f"/past {count}")
        lines = []
        while not (line := client.line()).startswith("* "):
            lines.append(line)
        return lines, line

    def hear(self, ann, text, *clients):
        """She sends a line, and the clients read it and everything before it; what they read next is history."""
        ann.send(text)
        for client in (ann, *clients):
            while (line := client.line()) != f"ann: {text}":
                self.assertIsNotNone(line, "the chat has closed the connection")

    def test_a_room_of_the_tutorial_carries_lines(self):
        program, address = self.chat("chat2")
        ann, bob = (self.client(address, nick, f"* welcome, {nick}") for nick in ("ann", "bob"))
        ann.send("hello")
        self.assertEqual((ann.line(), bob.line()), ("ann: hello", "ann: hello"))
        bob.send("he", "llo")
        self.assertEqual((ann.lines(2), bob.lines(2)), (["bob: he", "bob: llo"],) * 2)
        ann.close()
        self.assertEqual(bob.ask("still here"), "bob: still here")
        program.stop()

    def test_control_characters_of_a_client_do_not_reach_other_terminals(self):
        for name in ("chat2", "chat3"):
            program, address = self.chat(name)
            ann, eve = Client(address), Client(address)
            self.addCleanup(ann.close)
            self.addCleanup(eve.close)
            for client, nick in ((ann, "ann"), (eve, "e\x1bve\u009b")):
                client.line()
                client.ask(nick)
            eve.send("x\x1b[2J\u202e\u009b2J\x07tail")
            self.assertEqual(ann.line(), "e?ve??: x?[2J?????2J?tail")
            if name == "chat3":
                said = eventually("the line is in the history", lambda to=ann: self.past(to, 9)[0])
                self.assertEqual(said, ["e?ve??: x?[2J?????2J?tail"])
            program.stop()

    def test_a_past_that_fails_and_comes_back(self):
        program, address = self.chat("chat3")
        client = Client(address)
        self.addCleanup(client.close)
        self.assertEqual(client.line(), "* your name?")
        self.assertRegex(client.ask("ann"), r"^\* welcome to \S+, ann$")
        for i in range(300):
            self.assertEqual(client.ask(f"line {i}"), f"ann: line {i}")
        self.assertEqual(self.past(client, 2), (["ann: line 298", "ann: line 299"], "* that was it"))
        self.assertEqual(self.past(client, -1), ([], "* that was it"))
        self.assertEqual(self.past(client, 99), ([], "* no past: the request was freed without a reply"))
        eventually("the history is back", lambda: self.past(client, 9) == ([], "* that was it"))
        client.ask("again")
        self.assertEqual(eventually("the history has the new line", lambda: self.past(client, 9)[0])[-1], "ann: again")
        program.stop()

    def test_three_nodes(self):
        """The nodes start as in the tutorial: b and c are given one URL, that of a."""
        with Cluster() as cluster:
            clients, where = {}, ["--listen", "tcp://127.0.0.1:0"]
            for name in "abc":
                words = ["run", built("examples", "chat4.so"), "--name", name, *where, "--", "0"]
                node = cluster.nodes[name] = Program(built("cli", "weft"), *words, env=cluster.env)
                if name == "a":
                    where = ["--join", node.log("listens on (tcp://.*)\"")[1]]
                clients[name] = self.client(node.line().removeprefix("chat on "), f"{name}nn",
                                            f"* welcome to {name}, {name}nn")
            a = clients.pop("a")
            for client in clients.values():
                eventually("the client reads a line of node a",
                           lambda c=client: a.ask("hello") and "ann: hello" in self.past(c, 20)[0])
            b = clients["b"]
            self.hear(a, "that was it for now", *clients.values())
            eventually("the history of b has the line", lambda: "ann: that was it for now" in self.past(b, 20)[0])
            self.assertEqual(self.past(b, 99), ([], "* no past: the request was freed without a reply"))
            # Ask at once: the new history may get this line before it has asked the others.
            self.hear(a, "the end", b)
            known = {"ann: hello", "ann: that was it for now", "ann: the end"}
            eventually("the history of b has all three lines", lambda: known <= set(self.past(b, 20)[0]))
            cluster.nodes["a"].stop()
            eventually("a line of b reaches c without a", lambda: b.ask("still here") and
                       "bnn: still here" in self.past(clients["c"], 20)[0])
            for name in "bc":
                cluster.nodes[name].stop()

    def test_lines_that_were_said_before_the_nodes_were_linked(self):
        """b and c have their own history when they first know each other, through a."""
        with Cluster() as cluster:
            clients, urls = [], [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
            for name, where in (("b", ["--listen", urls[0]]), ("c", ["--listen", urls[1]]),
                                ("a", ["--join", urls[0], "--join", urls[1]])):
                node = cluster.nodes[name] = Program(built("cli", "weft"), "run", built("examples", "chat4.so"),
                                                     "--name", name, *where, "--", "0", env=cluster.env)
                clients.append(self.client(node.line().removeprefix("chat on "), f"{name}nn",
                                           f"* welcome to {name}, {name}nn"))
                if name != "a":
                    self.assertEqual(clients[-1].ask(f"from {name}"), f"{name}nn: from {name}")
                    eventually("the line is in the history", lambda c=clients[-1]: self.past(c, 9)[0])
            both = ["bnn: from b", "cnn: from c"]
            for client in clients:
                eventually("each history has both lines", lambda c=client: sorted(self.past(c, 9)[0]) == both)
            for name in "abc":
                cluster.nodes[name].stop()


class Echo(unittest.TestCase):
    def setUp(self):
        self.server = Program(built("examples", "echo"), "--port", "0")
        self.addCleanup(self.server.kill)
        self.address = self.server.line().removeprefix("echo on ")

    def client(self, **options):
        client = Client(self.address, **options)
        self.addCleanup(client.close)
        return client

    def test_a_thousand_clients_get_their_lines_back(self):
        clients = [self.client() for _ in range(1000)]
        for turn in range(3):
            for i, client in enumerate(clients):
                client.send(f"{turn} {i}")
            for i, client in enumerate(clients):
                self.assertEqual(client.line(), f"{turn} {i}")
        self.server.stop()

    def test_a_server_takes_more_clients_than_the_soft_limit_of_descriptors(self):
        server = Program("sh", "-c", 'ulimit -Sn 100 && exec "$@"', "sh", built("examples", "echo"), "--port", "0")
        self.addCleanup(server.kill)
        address = server.line().removeprefix("echo on ")
        for i in range(300):
            client = Client(address)
            self.addCleanup(client.close)
            self.assertEqual(client.ask(f"{i}"), f"{i}")
        server.stop()

    def test_a_client_that_ends_its_input_gets_its_lines_back(self):
        client = self.client()
        client.send("one", "two")
        client.socket.shutdown(1)
        self.assertEqual(client.rest(), ["one", "two"])

    def test_sixteen_megabytes_come_back(self):
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

    def test_an_echo_server_survives_clients_that_reset(self):
        for _ in range(200):
            client = self.client()
            client.send("x" * 1000)
            client.reset()
        self.assertEqual(self.client().ask("still there"), "still there")
        self.server.stop()

    def test_a_port_that_is_taken_is_reported(self):
        second = Program(built("examples", "echo"), "--port", self.address.rsplit(":", 1)[1])
        self.addCleanup(second.kill)
        second.end(1)
        self.assertIn(f"echo: cannot listen on {self.address}: address is in use by another process", second.err.seen)


if __name__ == "__main__":
    unittest.main()
