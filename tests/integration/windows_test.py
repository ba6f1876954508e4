#!/usr/bin/env python3
"""weft.exe under wine: two nodes of a chat over TCP, and the verbs that ask them. The runner is in WEFT_RUNNER."""
import json
import os
import subprocess
import unittest

from harness import BUILD, Client, PATIENCE, Program, built, eventually

WEFT = [os.environ["WEFT_RUNNER"], built("cli", "weft.exe")]
ENV = dict(os.environ, WINEPATH="Z:" + BUILD, LC_ALL="C.UTF-8")


class Windows(unittest.TestCase):
    def weft(self, *words, code=0):
        """Runs a verb to its end; its standard output and error."""
        done = subprocess.run([*WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                              env=ENV)
        out, err = done.stdout.decode().replace("\r", ""), done.stderr.decode().replace("\r", "")
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {out}{err}")
        return out, err

    def node(self, name, module, *args, join=()):
        """A running node, and where it listens."""
        words = [word for url in join for word in ("--join", url)]
        node = Program(*WEFT, "run", built(*module), "--name", name, "--listen", "tcp://127.0.0.1:0", *words, "--",
                       *args, env=ENV)
        self.addCleanup(node.kill)
        return node, node.log(r"listens on (tcp://127.0.0.1:\d+)").group(1)

    def stop(self, node, url):
        """What it still wrote. It may be gone before its answer is out."""
        subprocess.run([*WEFT, "stop", "--node", url], stdin=subprocess.DEVNULL, timeout=PATIENCE, env=ENV)
        return node.end()

    def test_two_nodes_chat(self):
        chat = "examples", "chat.dll"
        a, url_a = self.node("a", chat, "--port", "0")
        b, url_b = self.node("b", chat, "--port", "0", join=[url_a])
        a.log("linked with node b")
        people = [Client(node.line().split()[-1]) for node in (a, b)]
        for person, name in zip(people, ("ann", "ben")):
            self.addCleanup(person.close)
            self.assertIn("welcome to", person.line())
            self.assertEqual(person.ask("/nick " + name), f"* you are {name}")
        for person in people: # each node learns of the other's members a little later
            eventually("both are seen", lambda person=person: person.ask("/who") == "* lobby: ann@a ben@b")
        for person, name in zip(people, ("ann", "ben")):
            person.send("hello from " + name)
            self.assertEqual([p.line() for p in people], [f"[lobby] {name}: hello from {name}"] * 2)
        nodes = [json.loads(line) for line in self.weft("nodes", "--json", "--node", url_b)[0].splitlines()]
        self.assertEqual([(n["name"], n["state"]) for n in nodes], [("b", "self"), ("a", "up")])
        self.assertIn("session", self.weft("ps", "--node", url_a)[0])
        eventually("both know the room's owner", lambda: "room.lobby" in self.weft("names", "--node", url_b)[0])
        for person in people:
            person.send("/quit")
            self.assertEqual(person.line(), "* bye")
            self.assertIsNone(person.line())
        self.stop(b, url_b), self.stop(a, url_a)

    def test_talking_to_a_node(self):
        e, url = self.node("e", ("tests", "test_modules.dll"), "echo")
        self.assertEqual(e.line(), "ready\r")
        there = "--node", url
        self.assertEqual(self.weft("call", "echo", '["caf\u00e9", {"1": null}]', *there)[0],
                         '["caf\u00e9", {"1": null}]\n')
        self.weft("send", "echo", "[1, 2]", "--tag", "12", *there)
        self.assertEqual(e.line(), "got tag 12, 3 bytes\r")
        self.weft("spawn", "test.greeter", '["bob", 3]', *there)
        self.assertIn("bob greets 3 times", self.weft("call", "bob", "[]", *there)[0])
        reader = Program(*WEFT, "subscribe", "news.>", "--count", "1", "--json", *there, env=ENV)
        self.addCleanup(reader.kill)
        reader.log("on node e")
        self.assertIn("handed to 1", self.weft("publish", "news.one", "[7]", *there)[0])
        self.assertEqual(json.loads(reader.line())["body"], [7])
        reader.end()
        self.assertEqual(self.stop(e, url), ["asked to stop\r"])

    def test_words(self):
        self.assertRegex(self.weft("version")[0], r"^weft \d+\.\d+\.\d+\n$")
        self.assertIn("usage: weft run", self.weft("run", "--help")[0])
        self.assertIn("not compiled on Windows", self.weft("run", "x.c", code=1)[1])
        self.assertIn("cannot load nothing.dll", self.weft("run", "nothing.dll", code=1)[1])
        self.assertIn("no entry point", self.weft("run", built("tests", "test_no_entry.dll"), code=1)[1])
        self.assertIn("not on Windows", self.weft("sim", "x.dll", code=1)[1])
        self.assertIn("by the URL", self.weft("nodes", code=2)[1])
        self.assertIn("nobody listens", self.weft("nodes", "--node", "tcp://127.0.0.1:1", code=3)[1])


if __name__ == "__main__":
    unittest.main()
