#!/usr/bin/env python3
"""Nodes that find each other by DNS: a real server (dnsmasq) on a free port, and one that answers nonsense."""
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from harness import PATIENCE, Program, built, free_port, has

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
DNSMASQ = shutil.which("dnsmasq", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Dns:
    """Runs dnsmasq. It knows the names of its file; no other name under .test exists."""

    def __init__(self, folder, *options, port=0):
        self.port = port or free_port()
        self.hosts = os.path.join(folder, "hosts")
        if not os.path.exists(self.hosts):
            open(self.hosts, "w").close()
        self.program = Program(DNSMASQ, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                               f"--port={self.port}", "--listen-address=127.0.0.1", "--bind-interfaces",
                               "--local=/test/", "--local-ttl=1", "--neg-ttl=1", f"--addn-hosts={self.hosts}",
                               "--log-facility=-", "--log-queries", "--user=", "--pid-file=", *options)
        self.program.log("read .*hosts - ")

    def says(self, **records):
        """From now on these names have these addresses: name=["127.0.0.1", ...]."""
        with open(self.hosts, "w") as f:
            for name, addresses in records.items():
                for address in addresses:
                    f.write(f"{address} {name}.test\n")
        self.program.process.send_signal(signal.SIGHUP)
        self.program.log("read .*hosts - ")


class Nonsense(threading.Thread):
    """A DNS server of the test. It answers every question with the same bytes, behind the question's first two."""

    def __init__(self, answer):
        super().__init__(daemon=True)
        self.answer, self.asked = answer, threading.Semaphore(0)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            question, who = self.socket.recvfrom(4096)
            if not question:
                return
            self.socket.sendto(self.answer(question), who)
            self.asked.release()

    def close(self):
        self.socket.sendto(b"", ("127.0.0.1", self.port))
        self.join(PATIENCE)
        self.socket.close()


class Discovery(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        self.folder, self.env = folder.name, dict(os.environ, XDG_RUNTIME_DIR=folder.name)

    def dns(self, *options, port=0):
        dns = Dns(self.folder, *options, port=port)
        self.addCleanup(dns.program.kill)
        return dns

    def node(self, name, listen, *discover):
        words = [w for spec in discover for w in ("--discover", spec)]
        node = Program(WEFT, "run", MODULE, "--name", name, "--listen", listen, *words, "--", "echo", env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "ready")
        return node

    def nonsense(self, answer):
        server = Nonsense(answer)
        self.addCleanup(server.close)
        return server


@unittest.skipUnless(DNSMASQ and has("dns"), "dnsmasq-base is not installed, or this build has no c-ares")
class Dnsmasq(Discovery):
    def test_nodes_find_each_other_by_address_records(self):
        dns, port = self.dns(), free_port()
        spec = f"dns:chat.test:{port}?server=127.0.0.1:{dns.port}"
        a = self.node("a", f"tcp://127.0.0.1:{port}", spec)
        a.log("there is no name chat.test .*is it spelled right")
        dns.says(chat=["127.0.0.1", "127.0.0.2", "::1"])
        a.log("3 URLs")
        self.node("b", f"tcp://127.0.0.2:{port}")
        a.log("linked with node b")
        self.node("c", f"tcp://[::1]:{port}", spec)
        a.log("linked with node c")

    def test_changed_records_are_followed(self):
        dns, port = self.dns(), free_port()
        dns.says(chat=["127.0.0.1", "127.0.0.2"])
        a = self.node("a", f"tcp://127.0.0.1:{port}", f"dns:chat.test:{port}?server=127.0.0.1:{dns.port}")
        b = self.node("b", f"tcp://127.0.0.2:{port}")
        a.log("linked with node b")
        dns.says(chat=["127.0.0.3"])
        a.log(f"1 URL: tcp://127.0.0.3:{port}")
        b.stop()
        a.log("node b is down")
        self.node("c", f"tcp://127.0.0.3:{port}")
        a.log("linked with node c")
        dns.says()
        a.log("there is no name chat.test")

    def test_a_dns_server_that_comes_back_is_asked_again(self):
        dns, port = self.dns(), free_port()
        dns.says(chat=["127.0.0.1"])
        a = self.node("a", f"tcp://127.0.0.1:{port}", f"dns:chat.test:{port}?server=127.0.0.1:{dns.port}")
        a.log("1 URL")
        dns.program.stop()
        a.log(f"no DNS server answers, or it refuses .asked 127.0.0.1:{dns.port}.; trying again")
        again = self.dns(port=dns.port)
        a.log("discover .*1 URL")  # The earlier answer still counts, and the server works again.
        again.says(chat=["127.0.0.1", "127.0.0.2"])
        a.log("2 URLs")
        self.node("b", f"tcp://127.0.0.2:{port}")
        a.log("linked with node b")

    def test_nodes_find_each_other_by_srv_records(self):
        one, two = free_port(), free_port()
        options = ["--host-record=one.test,127.0.0.1", "--host-record=two.test,::1",
                   f"--srv-host=_weft._tcp.chat.test,one.test,{one}"]
        dns = self.dns(*options)
        spec = f"dns-srv:_weft._tcp.chat.test?server=127.0.0.1:{dns.port}"
        a = self.node("a", f"tcp://127.0.0.1:{one}", spec)
        a.log(f"1 URL: tcp://127.0.0.1:{one}")
        dns.program.stop()
        self.dns(*options, f"--srv-host=_weft._tcp.chat.test,two.test,{two}", port=dns.port)
        a.log(f"2 URLs: tcp://127.0.0.1:{one}, tcp://.::1.:{two}")
        self.node("b", f"tcp://[::1]:{two}")
        a.log("linked with node b")

    def test_a_name_without_records_is_reported(self):
        dns, port = self.dns("--txt-record=empty.test,nothing"), free_port()
        server = f"?server=127.0.0.1:{dns.port}"
        a = self.node("a", f"tcp://127.0.0.1:{port}", f"dns:empty.test:{port}{server}", f"dns-srv:empty.test{server}")
        for _ in range(2):
            a.log("empty.test has no (A or AAAA|SRV) records")


@unittest.skipUnless(has("dns"), "this build has no c-ares")
class Fakes(Discovery):
    def test_the_reason_of_a_failed_look_up_is_logged_once(self):
        """A server that refuses is asked again and again, but the log has one line."""
        server = self.nonsense(lambda q: q[:2] + b"\x81\x85" + q[4:6] + bytes(6) + q[12:])
        a = self.node("a", "tcp://127.0.0.1:0", f"dns:x.test:1?server=127.0.0.1:{server.port}")
        a.log("or it refuses")
        for _ in range(10):
            self.assertTrue(server.asked.acquire(timeout=PATIENCE))
        a.stop()
        self.assertEqual(len([line for line in a.err.seen if "or it refuses" in line]), 1)

    def test_malformed_answers_are_refused(self):
        answers = [lambda q: q[:2] + b"\x81\x80", lambda q: q[:2] + b"\xff" * 400,
                   # This answer has a length that goes beyond its end.
                   lambda q: q[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + q[12:] + b"\xc0\x0c\0\x21\0\1\0\0\0\1\xff\xff\0\0",
                   # This SRV record has a target that points at itself.
                   lambda q: q[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + q[12:] +
                   b"\xc0\x0c\0\x21\0\1\0\0\0\1\0\x08\0\0\0\0\0\1" + (0xc000 | (len(q) + 18)).to_bytes(2, "big")]
        specs = {f"{kind}?server=127.0.0.1:{server.port}": (server, questions)
                 for kind, questions in [("dns:x.test:1", 2), ("dns-srv:_weft._tcp.x.test", 1)]
                 for server in map(self.nonsense, answers)}
        a = self.node("a", "tcp://127.0.0.1:0", *specs)
        for server, questions in specs.values():
            for _ in range(2 * questions):  # A second question shows that the first answer was refused.
                self.assertTrue(server.asked.acquire(timeout=PATIENCE))
        a.stop()
        self.assertNotRegex("\n".join(a.err.seen), r"discover .*[1-9]\d* URL")

    def test_bad_specifications_are_refused(self):
        for spec, why in [("dns:chat.test", "not HOST:PORT"), ("dns:chat.test:0", "not HOST:PORT"),
                          ("dns:chat.test:99999", "not HOST:PORT"), ("dns:a..b:1", "no host name"),
                          ("dns:" + "a" * 64 + ":1", "no host name"), ("dns:x:1?colour=red", "no option of dns:"),
                          ("dns:x:1?server=", "needs a value"), ("dns:x:1?server=nowhere", "not HOST:PORT"),
                          ("dns:x:1?scheme=http", r"tcp or tls\+tcp"), ("dns-srv:", "no host name"),
                          ("chat.test", "known are URLs"), ("x" * 600, "longer than")]:
            done = subprocess.run([WEFT, "run", MODULE, "--discover", spec, "--", "echo"], env=self.env, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 2, spec)
            self.assertRegex(done.stderr, "--discover: '.*" + why)

    def test_a_url_is_a_list_of_one(self):
        """A URL is a list with one entry. An actor that sleeps until the next look-up does not delay the end of the
        node."""
        a = self.node("a", f"ipc://{self.folder}/a")
        b = self.node("b", f"ipc://{self.folder}/b", f"ipc://{self.folder}/a")
        a.log("linked with node b")
        b.stop()
        a.stop()

    def test_libcurl_is_loaded_with_the_first_use_of_etcd(self):
        """A program without etcd does not load libcurl and what it brings. One that needs it says which file is missing."""
        needed = subprocess.run(["readelf", "--dynamic", "--wide", built("libweft.so")], capture_output=True, text=True,
                                check=True).stdout
        loaded = subprocess.run(["strings", built("libweft.so")], capture_output=True, text=True, check=True).stdout
        name = re.search(r"^libcurl\S*\.so\S*$", loaded, re.M)
        if "libcurl" in needed or name is None:
            self.skipTest("this build is linked with libcurl, or has no etcd")
        open(os.path.join(self.folder, name.group()), "w").close()
        env = dict(self.env, LD_LIBRARY_PATH=self.folder + ":" + self.env.get("LD_LIBRARY_PATH", ""))
        done = subprocess.run([WEFT, "run", MODULE, "--discover", "etcd:http://127.0.0.1:1/x", "--", "echo"], env=env,
                              text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "libcurl, which etcd needs, cannot be loaded: .*" + re.escape(name.group()))


if __name__ == "__main__":
    unittest.main()
