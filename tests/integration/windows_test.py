#!/usr/bin/env python3
"""weft.exe under wine: two nodes of a chat over TCP, and the verbs that ask them. The runner is in WEFT_RUNNER."""
import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from discovery_test import DNSMASQ, Dns
from etcd_test import ETCD, Etcd
from harness import BUILD, Client, PATIENCE, Program, built, eventually, free_port
from idle_test import observe, settle

WEFT = [os.environ["WEFT_RUNNER"], built("cli", "weft.exe")]
ENV = dict(os.environ, WINEPATH="Z:" + BUILD, LC_ALL="C.UTF-8")


class Windows(unittest.TestCase):
    def weft(self, *words, code=0):
        """Runs a verb to its end, and returns its standard output and error."""
        done = subprocess.run([*WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                              env=ENV)
        out, err = done.stdout.decode().replace("\r", ""), done.stderr.decode().replace("\r", "")
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {out}{err}")
        return out, err

    def node(self, name, module, *args, join=(), options=(), listen="tcp://127.0.0.1:0"):
        """Starts a node, and returns it with the address at which it listens."""
        words = [word for url in join for word in ("--join", url)]
        node = Program(*WEFT, "run", built(*module), "--name", name, "--listen", listen, "--loopback-control", *words,
                       *options, "--",
                       *args, env=ENV)
        self.addCleanup(node.kill)
        return node, node.log(r"listens on ((tls\+)?tcp://127.0.0.\d:\d+)").group(1)

    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        return folder.name

    def certs(self, folder, *words, code=0):
        """Returns the output of the verb, or its error if there is no output."""
        out, err = self.weft("certs", *words, "--dir", "Z:" + folder, code=code)
        return out or err

    def stop(self, node, url):
        """Returns the rest of the output. The node may be gone before its answer is printed."""
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
        for person in people:  # Each node learns the other's members a little later.
            eventually("both nodes are listed", lambda person=person: person.ask("/who") == "* lobby: ann@a ben@b")
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

    def test_idle(self):
        """Threads of wine are threads of the kernel, which counts how often each has run."""
        node, url = self.node("i", ("examples", "echo.dll"), "--port", "0")
        node.line()
        settle(node.pid)
        self.assertEqual(observe(node.pid), {})
        self.stop(node, url)

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

    def test_certificates(self):
        folder = self.folder() + "/new/one"
        self.certs(folder, "init")
        self.assertIn("a (node)", self.certs(folder, "issue", "a", "--san", "127.0.0.1", "--san", "::1"))
        for secret in "ca.key", "a.key", ".":  # Wine shows an access list of one user as that of the user and the group.
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, secret)).st_mode) & 0o007, 0, secret)
        self.assertEqual(stat.S_IMODE(os.stat(folder + "/ca.crt").st_mode) & 0o044, 0o044)
        subprocess.run(["openssl", "verify", "-x509_strict", "-verify_ip", "127.0.0.1", "-CAfile", "ca.crt", "a.crt"],
                       cwd=folder, check=True, capture_output=True, timeout=PATIENCE)
        self.assertIn("is there already", self.certs(folder, "issue", "a", code=1))
        with open(folder + "/a.key", encoding="ascii") as file:
            old = file.read()
        self.certs(folder, "issue", "a", "--force", "--days", "40")
        with open(folder + "/a.key", encoding="ascii") as file:
            self.assertNotEqual(file.read(), old)
        self.assertEqual(sorted(os.listdir(folder)), ["a.crt", "a.key", "ca.crt", "ca.key"])
        shown = json.loads(self.certs(folder, "show", "a", "--json"))
        self.assertEqual((shown["name"], shown["state"], shown["days_left"]), ("a", "valid", 40))
        os.remove(folder + "/ca.key")
        self.assertIn("there is no", self.certs(folder, "issue", "b", code=1))

    def test_nodes_under_tls(self):
        ours, theirs = self.folder(), self.folder()
        for folder in ours, theirs:
            self.certs(folder, "init")
        for name, *words in ("a",), ("b",), ("boss", "--role", "admin"):
            self.certs(ours, "issue", name, *words)
        self.certs(theirs, "issue", "c")
        module, listen = ("tests", "test_modules.dll"), "tls+tcp://127.0.0.1:0"
        a, url = self.node("a", module, "echo", options=("--tls", "Z:" + ours), listen=listen)
        b, _ = self.node("b", module, "echo", join=[url], options=("--tls", "Z:" + ours), listen=listen)
        a.log("linked with node b")
        c, _ = self.node("c", module, "echo", join=[url], options=("--tls", "Z:" + theirs), listen=listen)
        c.log("certificate is not of this cluster's authority")
        there = "--node", url, "--tls", "Z:" + ours, "--as", "boss"
        self.assertEqual(self.weft("call", "echo", "[1]", *there)[0], "[1]\n")
        nodes = [json.loads(line) for line in self.weft("nodes", "--json", *there)[0].splitlines()]
        self.assertEqual([(n["name"], n["state"]) for n in nodes], [("a", "self"), ("b", "up")])
        for node in a, b, c:
            node.kill()

    def test_a_store(self):
        """One node at a time has the store. A killed one leaves no lock, and what it has acknowledged."""
        folder = self.folder()
        module, url = ("tests", "test_modules.dll"), f"sqlite:Z:{folder}/st\u00f6re-\u65e5.db"
        options = "--store", url, "--stored", "room.*"
        a, at_a = self.node("a", module, "echo", options=options)
        a.log("is open")
        self.weft("publish", "room.tea", "--text", "one \u20ac", "--stored", "--node", at_a)
        self.assertIn("st\u00f6re-\u65e5.db", os.listdir(folder))
        b, _ = self.node("b", module, "echo", options=options)
        b.log("has this store open")
        self.assertIn("one \u20ac", self.weft("store", "read", "room.tea", "--store", url)[0])  # Beside the owner.
        a.kill()
        c, at_c = self.node("c", module, "echo", options=options)
        c.log("is open")
        self.weft("publish", "room.tea", "--text", "two", "--stored", "--node", at_c)
        rows = [json.loads(line) for line in self.weft("store", "export", "--store", url)[0].splitlines()]
        self.assertEqual([(row["offset"], row["text"]) for row in rows], [(1, "one \u20ac"), (2, "two")])
        self.stop(c, at_c)
        self.assertIn("no fault", self.weft("store", "check", "--store", url)[0])
        copy = subprocess.run([*WEFT, "store", "import", "--store", url + ".copy"], capture_output=True, env=ENV,
                              input="\r\n".join(map(json.dumps, rows)).encode(), timeout=PATIENCE)
        self.assertIn(b"2 records", copy.stdout, copy.stderr)

    @unittest.skipIf(DNSMASQ is None, "dnsmasq-base is not installed")
    def test_nodes_found_by_dns(self):
        port, module = free_port(), ("tests", "test_modules.dll")
        dns = Dns(self.folder(), f"--srv-host=_weft.test,one.test,{port}")
        self.addCleanup(dns.program.kill)
        dns.says(one=["127.0.0.2"])
        self.node("b", module, "echo", listen=f"tcp://127.0.0.2:{port}")
        for name, spec in ("a", f"dns:one.test:{port}"), ("c", "dns-srv:_weft.test"):
            node, _ = self.node(name, module, "echo", options=("--discover", f"{spec}?server=127.0.0.1:{dns.port}"))
            node.log("linked with node b")

    @unittest.skipIf(ETCD is None, "etcd-server is not installed")
    def test_nodes_found_by_etcd(self):
        etcd = Etcd()
        self.addCleanup(etcd.close)
        options = "--discover", f"etcd:{etcd.url}/w?ttl=2"
        a, _ = self.node("a", ("tests", "test_modules.dll"), "echo", options=options)
        self.node("b", ("tests", "test_modules.dll"), "echo", options=options)
        a.log("linked with node b")
        self.assertEqual({json.loads(v)["name"] for v in etcd.keys("/w").values()}, {"a", "b"})

    def test_words(self):
        self.assertRegex(self.weft("version")[0], r"^weft \d+\.\d+\.\d+\r?\nfeatures: ")
        self.assertIn("usage: weft run", self.weft("run", "--help")[0])
        self.assertIn("not compiled on Windows", self.weft("run", "x.c", code=1)[1])
        self.assertIn("cannot load nothing.dll", self.weft("run", "nothing.dll", code=1)[1])
        self.assertIn("no entry point", self.weft("run", built("tests", "test_no_entry.dll"), code=1)[1])
        self.assertIn("not on Windows", self.weft("sim", "x.dll", code=1)[1])
        self.assertIn("by the URL", self.weft("nodes", code=2)[1])
        self.assertIn("no process listens", self.weft("nodes", "--node", "tcp://127.0.0.1:1", code=3)[1])


if __name__ == "__main__":
    unittest.main()
