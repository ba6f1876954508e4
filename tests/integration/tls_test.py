#!/usr/bin/env python3
"""TLS between real processes: which peers are accepted and refused, and the messages of both sides about it."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import unittest

import wire_peer
from harness import PATIENCE, Program, built, patient
from wire_peer import Peer, pack

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
ANY = "tls+tcp://127.0.0.1:0"
NOBODY = "tls+tcp://127.0.0.1:1"


class Tls(unittest.TestCase):
    """Makes a folder with an authority and certificates, once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weft-")
        cls.certs = cls.folder.name + "/certs"
        base = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
        cls.env = dict(base, XDG_RUNTIME_DIR=cls.folder.name, WEFT_CERTS=cls.certs)
        cls.weft("certs", "init")
        for name, role in (("a", "node"), ("b", "node"), ("g", "guest"), ("eye", "observe"), ("boss", "admin")):
            cls.weft("certs", "issue", name, "--role", role)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def weft(cls, *words, code=0, env=None):
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(env or cls.env))
        assert done.returncode == code, f"weft {' '.join(words)}: {done.returncode} {done.stdout}{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def run_node(self, name, *options, tls=None, listen=ANY):
        """Starts a node that listens on a free port, and returns it with its URL."""
        node = Program(WEFT, "run", MODULE, "--name", name, "--listen", listen, "--tls", tls or self.certs, *options,
                       "--", "echo", env=self.env)
        self.addCleanup(node.kill)
        url = node.log(r"listens on (\S+)").group(1).rstrip('",')
        self.assertEqual(node.line(), "ready")
        return node, url

    def ask(self, verb, url, *words, who="boss", tls=None, code=0):
        return self.weft(*verb.split(), *words, "--node", url, "--tls", tls or self.certs, "--as", who, code=code)

    def openssl(self, *words, cwd=None):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=cwd or self.certs, timeout=PATIENCE)

    def peer(self, who, url, name, incarnation=1, flags=0):
        """Returns a node by hand, with this certificate and any name, which is not linked yet."""
        peer = Peer(url, name, incarnation, flags, tls=(self.certs, who))
        self.addCleanup(peer.close)
        return peer

    def refusal(self, *args, **more):
        """Returns code and reason for a peer that is refused."""
        with self.assertRaises(wire_peer.Refused) as why:
            self.peer(*args, **more).link()
        return why.exception.code, why.exception.reason

    def other_folder(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        return folder.name

    def other_authority(self):
        """Returns a folder with a certificate for b that another authority has signed."""
        folder = self.other_folder()
        env = dict(self.env, WEFT_CERTS=folder)
        self.weft("certs", "init", env=env)
        self.weft("certs", "issue", "b", env=env)
        return folder

    def copy(self, folder, *names):
        for name in names:
            with open(f"{self.certs}/{name}", "rb") as file, open(f"{folder}/{name}", "wb") as out:
                os.fchmod(out.fileno(), 0o600)
                out.write(file.read())


class Members(Tls):
    def test_two_nodes_link_over_tls(self):
        a, url = self.run_node("a")
        b, other = self.run_node("b", "--join", url)
        b.log("linked with node a")
        a.log("linked with node b")
        nodes = [json.loads(line) for line in self.ask("nodes", url, "--json", who="eye").splitlines()]
        self.assertEqual([(n["name"], n["state"]) for n in nodes], [("a", "self"), ("b", "up")])
        self.assertEqual(json.loads(self.ask("call", url, "echo", json.dumps(["x" * 100000, 7]))), ["x" * 100000, 7])
        self.assertIn("b has ended", self.ask("stop", other))
        a.log("node b is down: left")
        b.end()
        a.stop()

    def test_the_nodes_own_certificate_serves_its_tools(self):
        _, url = self.run_node("a")
        self.assertIn("echo", self.ask("ps", url, who="a"))
        folder = self.other_folder()
        self.copy(folder, "ca.crt", "a.crt", "a.key")
        self.assertIn("echo", self.weft("ps", "--node", url, "--tls", folder))
        self.assertIn("--as NAME", self.weft("ps", "--node", url, "--tls", "auto", code=2))

    def test_a_node_is_reached_over_a_secure_websocket(self):
        a, url = self.run_node("a", listen="wss://127.0.0.1:0/weft")
        self.assertIn("echo", self.ask("ps", url))
        a.stop()


class Roles(Tls):
    def test_each_role_may_use_the_verbs_of_its_rights(self):
        a, url = self.run_node("a")
        denied = "permission denied|does not grant"
        for who, verb, words, allowed in (("eye", "ps", (), True), ("eye", "nodes", (), True),
                                          ("eye", "call", ("echo", "[1]"), False),
                                          # The tool gets no answer; that the node refuses this message is tested below.
                                          ("eye", "send", ("echo", "[1]"), True),
                                          ("eye", "publish", ("t", "[1]"), False), ("eye", "stop", (), False),
                                          ("g", "call", ("echo", "[1]"), True), ("g", "publish", ("t", "[1]"), True),
                                          ("g", "ps", (), False), ("g", "stop", (), False),
                                          ("b", "call", ("echo", "[1]"), True), ("b", "ps", (), True),
                                          ("b", "stop", (), False), ("b", "reload", (MODULE,), False),
                                          ("boss", "call", ("echo", "[1]"), True),
                                          ("boss", "ps", (), True), ("boss", "publish", ("t", "[1]"), True)):
            with self.subTest(who=who, verb=verb):
                said = self.ask(verb, url, *words, who=who, code=0 if allowed else 1)
                if not allowed:
                    self.assertRegex(said, denied)
        # The node has executed this request.
        self.assertIn("has no migrate hook", self.ask("reload", url, MODULE, who="boss", code=1))
        a.log(r"refused a CALL_NAME of eye-\w+ \(127.0.0.1:\d+\): no role of its certificate grants it")
        self.assertIn("a has ended", self.ask("stop", url, who="boss"))
        self.assertEqual(a.end(), ["asked to stop"])  # No message of eye has arrived.

    def test_frames_that_a_guest_has_no_right_to_send_are_refused(self):
        _, url = self.run_node("a")
        guest = self.peer("g", url, "g").link()
        guest.send([25, "echo", 7, 5, 1, b"\xc0"])
        answer = guest.frame(18)
        self.assertEqual(answer[4:6], [1, b"\xc0"])
        echo = answer[2]
        self.assertNotEqual(echo, 0)
        guest.send([20, echo, 7, 0, 0, b""], [46, echo, 7, 0, 0, b""], [43, echo, 7, 0, 9, b""],
                   [62, 0, 7, 0, 3, pack(["x", b"", False, False])], [25, "$node", 7, 4, 4, pack(0)])
        self.assertEqual(struct.unpack("<i", guest.frame(45)[5][:4])[0], -17)  # The answer to LINK is WEFT_EACCESS.
        self.assertEqual(guest.frame(19)[3:5], [17, 3])
        self.assertIn(b"does not grant", guest.frame(18)[5])
        guest.send([25, "echo", 7, 5, 2, b"\xc0"])  # The actor lives.
        self.assertEqual(guest.frame(18)[4], 2)
        nodes = {n["name"]: n for n in map(json.loads, self.ask("nodes", url, "--json").splitlines())}
        self.assertEqual(nodes["g"]["refused"], 5)
        self.assertIn("5 refused", self.ask("nodes", url))

    def test_names_are_those_of_certificates(self):
        a, url = self.run_node("a")
        for who, name, flags, says in (("b", "x", 0, "it claims to be node x, but has the certificate of b"),
                                       ("b", "a", 0, "it claims to be node a, but has the certificate of b"),
                                       ("b", "b-1", 0, "it claims to be node b-1, but has the certificate of b"),
                                       ("boss", "b-1", 1, "it claims to be node b-1, but has the certificate of boss"),
                                       ("eye", "eye", 0, "the certificate of eye is for a tool (roles: observe)")):
            with self.subTest(who=who, name=name):
                code, reason = self.refusal(who, url, name, flags=flags)
                self.assertEqual(code, 7)
                self.assertIn(says, reason)
                a.log(re.escape(says))
        self.peer("b", url, "b-1", incarnation=9, flags=1).link()
        self.peer("b", url, "b", incarnation=10).link()
        a.log("linked with node b")
        stolen = self.refusal("g", url, "g", incarnation=10)[1]
        self.assertIn("node g uses the incarnation of node b", stolen)

    def test_a_tool_is_no_node(self):
        _, url = self.run_node("a")
        eye = Program(WEFT, "run", MODULE, "--name", "eye", "--tls", self.certs, "--", "echo", env=self.env)
        self.addCleanup(eye.kill)
        eye.log("the certificate of eye is for a tool: issue it with --role node")
        eye.end(1)
        g, _ = self.run_node("g", "--join", url)
        g.log("linked with node a")


    def test_a_role_that_may_not_talk_sees_no_bodies_in_a_trace(self):
        _, url = self.run_node("a")
        words = "trace", "--node", url, "--tls", self.certs, "--count", "1", "--as", "eye"
        self.assertIn("the role of your certificate does not grant this", self.weft(*words, code=1))
        eye = Program(WEFT, *words, "--no-body", env=self.env)
        self.addCleanup(eye.kill)
        eye.log("all actors on node a")
        self.weft("send", "echo", "[1]", "--tag", "5", "--node", url, "--tls", self.certs, "--as", "boss")
        self.assertRegex(eye.end()[0], r" a \S+ receives 5 from \S+$")


class Renewed(Tls):
    """Certificates are replaced while nodes run."""

    def own_folder(self, name):
        folder = self.other_folder()
        self.copy(folder, "ca.crt", "ca.key", f"{name}.crt", f"{name}.key")
        return folder

    def issue(self, folder, name):
        self.weft("certs", "issue", name, "--force", "--dir", folder)
        return self.serial_in(f"{folder}/{name}.crt")

    @staticmethod
    def serial_in(path):
        said = subprocess.run(["openssl", "x509", "-noout", "-serial", "-in", path], check=True, capture_output=True,
                              text=True, timeout=PATIENCE).stdout
        return said.strip().removeprefix("serial=").lower()

    def served(self, url):
        """Returns the serial number of the certificate that a new connection gets."""
        done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:" + url.rsplit(":", 1)[1], "-tls1_2",
                               "-cert", f"{self.certs}/boss.crt", "-key", f"{self.certs}/boss.key"], input="",
                              text=True, capture_output=True, timeout=PATIENCE, check=False)
        path = f"{self.other_folder()}/served.crt"
        with open(path, "w", encoding="ascii") as file:
            file.write(re.search("-----BEGIN.*?-----END CERTIFICATE-----\n", done.stdout, re.S).group())
        return self.serial_in(path)

    def test_new_connections_get_the_new_one(self):
        folder = self.own_folder("a")
        a, url = self.run_node("a", tls=folder)
        b, _ = self.run_node("b", "--join", url)
        b.log("linked with node a")
        first = self.serial_in(f"{folder}/a.crt")
        self.assertEqual(self.served(url), first)
        second = self.issue(folder, "a")
        self.assertNotEqual(second, first)
        self.assertEqual(self.served(url), first)  # The node was not told yet.
        said = json.loads(self.ask("certs reload", url, "--json"))
        self.assertEqual((said["node"], said["serial"]), ("a", second))
        self.assertEqual(self.served(url), second)
        third = self.issue(folder, "a")
        a.process.send_signal(signal.SIGHUP)
        a.log("reloaded its certificates: serial " + third)
        self.assertEqual(self.served(url), third)
        nodes = [json.loads(line) for line in self.ask("nodes", url, "--json").splitlines()]
        self.assertEqual([(n["name"], n["state"], n.get("resumes", 0)) for n in nodes if n["name"] == "b"],
                         [("b", "up", 0)])  # The existing link goes on.
        c, _ = self.run_node("g", "--join", url)
        c.log("linked with node a")

    def test_a_node_that_dials_shows_its_new_certificate(self):
        """A node whose certificate was replaced by one of another authority is refused where it dials next."""
        folder = self.own_folder("b")
        _, url = self.run_node("a")
        b, other = self.run_node("b", tls=folder)
        self.assertIn("b shows the certificate", self.ask("certs reload", other))
        wrong = self.other_authority()
        for name in ("ca.crt", "b.crt", "b.key"):
            os.replace(f"{wrong}/{name}", f"{folder}/{name}")
        b.process.send_signal(signal.SIGHUP)
        b.log("reloaded its certificates")
        self.weft("ps", "--node", url, "--tls", folder, "--as", "b", code=3)
        self.ask("ps", other, code=3)  # Now b trusts the other authority, and no longer boss.
        self.weft("ps", "--node", other, "--tls", folder, "--as", "b")

    def test_wrong_files_change_nothing(self):
        folder = self.own_folder("a")
        a, url = self.run_node("a", tls=folder)
        first = self.served(url)
        os.rename(f"{folder}/a.key", f"{folder}/gone")
        self.assertRegex(self.ask("certs reload", url, code=1), "a.key is missing or cannot be read")
        a.log("still uses its old certificates: .*a.key is missing")
        self.assertEqual(self.served(url), first)
        os.rename(f"{folder}/gone", f"{folder}/a.key")
        self.copy(folder, "b.crt", "b.key")
        for ending in ("crt", "key"):
            os.replace(f"{folder}/b.{ending}", f"{folder}/a.{ending}")
        self.assertIn("is the certificate of b, not of a", self.ask("certs reload", url, code=1))
        self.assertEqual(self.served(url), first)
        self.assertRegex(self.ask("certs reload", url, who="eye", code=1), "does not grant")

    def test_a_node_without_certificates_has_none_to_reload(self):
        node = Program(WEFT, "run", MODULE, "--name", "plain", "--listen", "tcp://127.0.0.1:0", "--loopback-control",
                       "--", "echo", env=self.env)
        self.addCleanup(node.kill)
        url = node.log(r"listens on (\S+)").group(1).rstrip('",')
        self.assertIn("it was started without --tls", self.weft("certs", "reload", "--node", url, code=1))


class Refused(Tls):
    """Each wrong certificate causes a message on this side, and another one on the other side, at once."""

    def wrong(self, folder, who, here, there):
        """A tool with the certificates of this folder dials a good node."""
        a, url = self.run_node("a")
        self.assertIn(here, self.ask("ps", url, who=who, tls=folder, code=3))
        a.log("closed a connection from 127.0.0.1:[0-9]+: " + there)
        self.assertIn("echo", self.ask("ps", url))  # The node still works.

    def expired(self, name, *days):
        folder = self.other_folder()
        self.copy(folder, "ca.crt", f"{name}.crt", f"{name}.key")
        self.openssl("x509", "-x509toreq", "-in", f"{name}.crt", "-signkey", f"{name}.key", "-out", f"{folder}/req")
        with open(f"{folder}/ext", "w", encoding="ascii") as file:
            file.write("subjectAltName=URI:weft:role:node\n")
        self.openssl("x509", "-req", "-in", f"{folder}/req", "-CA", "ca.crt", "-CAkey", "ca.key", "-extfile",
                     f"{folder}/ext", *days, "-set_serial", "77", "-out", f"{folder}/{name}.crt")
        return folder

    def test_files_are_looked_at_before_the_network(self):
        folder = self.expired("b", "-days", "-1")
        self.assertRegex(self.weft("ps", "--node", NOBODY, "--tls", folder, "--as", "b", code=1),
                         r"b.crt has expired on \d+-\d\d-\d\d; issue it again: weft certs issue b --force")
        folder = self.other_folder()
        ps = ["ps", "--node", NOBODY, "--tls", folder, "--as", "b"]
        self.assertRegex(self.weft(*ps, code=1), "ca.crt is missing.*; make it with 'weft certs init'")
        self.copy(folder, "ca.crt")
        self.assertRegex(self.weft(*ps, code=1), "b.crt is missing.*; make it with 'weft certs issue b'")
        self.copy(folder, "b.crt")
        self.assertRegex(self.weft(*ps, code=1), "b.key is missing")
        self.copy(folder, "a.key")
        os.rename(folder + "/a.key", folder + "/b.key")
        self.assertRegex(self.weft(*ps, code=1), "b.key is not the key of the certificate beside it")
        self.copy(folder, "a.crt", "b.key")
        os.rename(folder + "/a.crt", folder + "/b.crt")
        self.assertRegex(self.weft(*ps, code=1), "b.key is not the key")
        self.copy(folder, "a.key")
        os.rename(folder + "/a.key", folder + "/b.key")
        self.assertRegex(self.weft(*ps, code=1), "b.crt is the certificate of a, not of b")
        with open(folder + "/b.crt", "w", encoding="ascii") as file:
            file.write("-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n")
        self.assertRegex(self.weft(*ps, code=1), "b.crt is no certificate")

    def test_a_certificate_of_another_authority_is_refused(self):
        folder = self.other_authority()
        a, url = self.run_node("a")
        said = self.ask("ps", url, who="b", tls=folder, code=3)
        self.assertIn("its certificate is not of this cluster's authority", said)
        a.log("it refuses this side's certificate: signed by no authority that it trusts")
        # A stranger that accepts any server still has to show a certificate of our authority.
        self.copy(folder, "ca.crt")
        self.openssl_client(url, "-cert", f"{folder}/b.crt", "-key", f"{folder}/b.key")
        a.log("its certificate is not of this cluster's authority")
        self.openssl_client(url)
        a.log("it has shown no certificate")
        self.openssl_client(url, "-tls1_3")
        a.log("closed a connection")

    def test_a_node_that_refuses_a_certificate_waits_until_its_alert_was_read(self):
        """If a side closes while bytes of the other side are under way, the connection is reset, and the alert may be
        lost."""
        folder = self.other_authority()
        a, url = self.run_node("a")
        done = bytes.fromhex("16030300040e000000")  # This is the last record of the server's first flight.
        with socket.create_server(("127.0.0.1", 0)) as between, \
                socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), PATIENCE) as node:
            between.settimeout(PATIENCE)
            tool = Program(WEFT, "ps", "--node", f"tls+tcp://127.0.0.1:{between.getsockname()[1]}", "--tls", folder,
                           "--as", "b", env=self.env)
            self.addCleanup(tool.kill)
            client, _ = between.accept()
            with client:
                client.settimeout(PATIENCE)
                node.sendall(client.recv(4096))
                flight = b""
                while not flight.endswith(done):
                    flight += node.recv(4096)
                client.sendall(flight[:-len(done)])
                alert = client.recv(100)
                self.assertEqual(alert[0], 0x15)
                for byte in done:
                    client.sendall(bytes([byte]))
                node.sendall(alert)
                a.log("it refuses this side's certificate: signed by no authority that it trusts")
            tool.log("its certificate is not of this cluster's authority")
            tool.end(3)

    def openssl_client(self, url, *words):
        port = url.rsplit(":", 1)[1]
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *words],
                              capture_output=True, timeout=PATIENCE, input=b"x" * 64)
        return done.stdout + done.stderr

    def test_an_expired_certificate_is_refused_at_the_handshake(self):
        folder = self.expired("b", "-days", "-1")
        a, url = self.run_node("a")
        self.openssl_client(url, "-cert", f"{folder}/b.crt", "-key", f"{folder}/b.key")
        a.log("its certificate has expired")

    def test_a_certificate_without_a_role_is_refused(self):
        folder = self.expired("b", "-days", "9")
        with open(f"{folder}/ext", "w", encoding="ascii") as file:
            file.write("subjectAltName=URI:weft:role:king\n")
        self.openssl("x509", "-req", "-in", f"{folder}/req", "-CA", "ca.crt", "-CAkey", "ca.key", "-extfile",
                     f"{folder}/ext", "-set_serial", "78", "-out", f"{folder}/b.crt")
        self.assertIn("b.crt grants no role", self.ask("ps", NOBODY, who="b", tls=folder, code=1))
        a, url = self.run_node("a")
        self.openssl_client(url, "-cert", f"{folder}/b.crt", "-key", f"{folder}/b.key")
        a.log("its certificate, of b, grants no role")

    def test_a_node_may_listen_with_and_without_tls(self):
        a, url = self.run_node("a", "--listen", "tcp://127.0.0.1:0")
        lines = " ".join(a.err.seen)
        plain = re.search(r"tcp://127.0.0.1:\d+", lines.split(url)[1]).group(0)
        # The user of this certificate may be anybody.
        self.assertIn("not by this address", self.weft("ps", "--node", plain, code=1))
        self.assertEqual(self.weft("call", "echo", "[1]", "--node", plain).strip(), "[1]")
        said = self.weft("ps", "--node", url.replace("tls+", ""), code=3)
        self.assertIn("that port speaks TLS: use tls+tcp:// and --tls", said)
        a.log("it does not use TLS, this port does")
        self.assertIn("that port speaks no TLS: use tcp://", self.ask("ps", "tls+" + plain, code=3))
        a.log("it speaks TLS, this port does not")
        self.assertIn("TLS needs a certificate: give --tls DIR", self.weft("ps", "--node", url, code=3))
        with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), PATIENCE) as s:
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            self.assertEqual(s.recv(100)[0], 0x15)  # The answer is an alert.
        a.log("it speaks no TLS")

    def test_a_plain_node_and_a_tls_node_say_why_they_do_not_link(self):
        a, url = self.run_node("a")
        b = Program(WEFT, "run", MODULE, "--name", "b", "--join", url.replace("tls+", ""), "--", "echo", env=self.env)
        self.addCleanup(b.kill)
        b.log("that port speaks TLS: use tls")
        a.log("it does not use TLS, this port does")

    def test_a_node_without_certificates_listens_on_loopback_only(self):
        for url, words, says in (("tcp://0.0.0.0:0", (), "is not a loopback address"),
                                 ("tcp://[::]:0", (), "is not a loopback address"), ("tcp://:0", (), "loopback"),
                                 ("ws://0.0.0.0:0/x", (), "use wss://"),
                                 ("tls+tcp://127.0.0.1:0", (), "needs certificates"),
                                 ("tcp://0.0.0.0:0", ("--tls", self.certs), "is not a loopback address")):
            with self.subTest(url=url):
                node = Program(WEFT, "run", MODULE, "--name", "a", "--listen", url, *words, env=self.env)
                self.addCleanup(node.kill)
                node.log(re.escape("cannot listen on " + url) + ".*" + says)
                node.end(1)
        node = Program(WEFT, "run", MODULE, "--listen", "tcp://127.0.0.1:x@0.0.0.0:0", env=self.env)
        self.addCleanup(node.kill)
        node.log("a URL of a node has no user")
        node.end(2)

    def test_key_that_others_can_read(self):
        folder = self.other_folder()
        self.copy(folder, "ca.crt", "a.crt", "a.key")
        os.chmod(folder + "/a.key", 0o644)
        node = Program(WEFT, "run", MODULE, "--name", "a", "--listen", ANY, "--tls", folder, "--", "echo",
                       env=self.env)
        self.addCleanup(node.kill)
        node.log("a.key can be read by others: chmod 600 it")
        url = node.log(r"listens on (tls\+tcp://[0-9.:]+)")[1]
        self.assertEqual(node.line(), "ready")
        says = "a.key can be read by others: chmod 600 it"
        self.assertIn(says, self.run_tool("ps", "--node", url, "--tls", folder))
        os.chmod(folder + "/a.key", 0o600)
        self.assertNotIn(says, self.run_tool("ps", "--node", url, "--tls", folder))
        node.stop()

    def test_authority_that_others_can_read(self):
        folder = self.other_folder()
        self.run_tool("certs", "init", "--dir", folder)
        self.assertNotIn("can be read", self.run_tool("certs", "issue", "x", "--dir", folder))
        os.chmod(folder + "/ca.key", 0o640)
        self.assertIn("ca.key can be read by others: chmod 600 it",
                      self.run_tool("certs", "issue", "y", "--dir", folder))

    def run_tool(self, *words):
        """Returns the standard error of a verb that succeeds."""
        done = subprocess.run([WEFT, *words], env=self.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr


if __name__ == "__main__":
    unittest.main(verbosity=2)
