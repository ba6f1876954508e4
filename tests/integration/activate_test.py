#!/usr/bin/env python3
"""Listeners that a service manager passes to a node: the test takes the part of systemd, and so does
systemd-socket-activate."""
import json
import os
import re
import select
import shutil
import socket
import subprocess
import unittest

from harness import Client, Cluster, PATIENCE, Program, ROOT, built, free_port

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
CHAT = built("examples", "chat.so")

# This program does what systemd does between fork and exec: it passes descriptors from 3 on, and sets the variables that
# describe them.
HAND_OVER = """
import os, sys
fds = [int(word) for word in sys.argv[2].split(",")]
for i, fd in enumerate(fds):
    os.dup2(fd, 100 + i)
for i in range(len(fds)):
    os.dup2(100 + i, 3 + i)
os.environ.update(LISTEN_PID=sys.argv[1] or str(os.getpid()), LISTEN_FDS=str(len(fds)))
os.execv(sys.argv[3], sys.argv[3:])
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)

    def listener(self, family=socket.AF_INET, at=("127.0.0.1", 0), kind=socket.SOCK_STREAM, listens=True):
        s = socket.socket(family, kind)
        self.addCleanup(s.close)
        s.bind(at)
        if listens:
            s.listen()
        return s

    def start(self, sockets, names, *command, pid=""):
        env = dict(self.cluster.env)
        if names is not None:
            env["LISTEN_FDNAMES"] = names
        fds = [s.fileno() for s in sockets]
        program = Program("python3", "-c", HAND_OVER, pid, ",".join(map(str, fds)), WEFT, "run", *command, env=env,
                          pass_fds=fds)
        self.addCleanup(program.kill)
        return program


class Inherit(Case):
    def inherits(self, sockets, names, *wanted, pid=""):
        return self.start(sockets, names, MODULE, "--name", "a", "--", "inherits", *wanted, pid=pid)

    def serve(self, program, name, s, client=None):
        """Checks that the next inherited listener is `s`, under this name."""
        at = s.getsockname()
        text = "%s:%d" % at if isinstance(at, tuple) else "unix:" + at
        self.assertEqual(program.line(), f"{name}: ok {text}")
        if client is None:
            client = socket.create_connection(at) if isinstance(at, tuple) else socket.socket(socket.AF_UNIX)
            if not isinstance(at, tuple):
                client.connect(at)
        with client:
            client.settimeout(PATIENCE)
            client.sendall(b"hello\n")
            self.assertEqual(client.makefile().read(), f"{name}: hello\n")

    def test_a_socket_is_inherited_by_name_once_with_its_early_connections(self):
        path = os.path.join(self.cluster.folder.name, "handed")
        one, other, third = self.listener(), self.listener(socket.AF_UNIX, path), self.listener()
        early = socket.create_connection(third.getsockname())
        node = self.inherits([one, other, third], "web:local:web", "local", "web", "web", "web", "")
        self.serve(node, "local", other)
        self.serve(node, "web", one)
        self.serve(node, "web", third, early)
        self.assertEqual([node.line(), node.line()], ["web: WEFT_ENOTFOUND ", ": WEFT_ENOTFOUND "])
        # A child inherits neither the variables nor the descriptor.
        self.assertEqual(node.end(), ["descriptor"])
        self.assertTrue(os.path.exists(path), "the node removed a file that belongs to the service manager")

    def test_sockets_without_names_are_inherited(self):
        one, other = self.listener(), self.listener()
        node = self.inherits([one, other], None, "unknown", "web", "")
        self.serve(node, "unknown", one)
        self.assertEqual(node.line(), "web: WEFT_ENOTFOUND ")
        self.serve(node, "", other)
        node.end()

    def test_sockets_that_do_not_listen_and_files_are_refused(self):
        datagrams = self.listener(kind=socket.SOCK_DGRAM, listens=False)
        bound, real = self.listener(listens=False), self.listener()
        with open(MODULE, "rb") as file:
            node = self.inherits([datagrams, bound, file, real], "udp:bound:file:web", "udp", "bound", "file", "", "")
            self.assertEqual([node.line() for _ in range(3)],
                             [f"{name}: WEFT_EINVAL " for name in ("udp", "bound", "file")])
            self.serve(node, "", real)
            self.assertEqual(node.line(), ": WEFT_EINVAL ")
            node.end()

    def test_sockets_passed_to_another_process_are_not_inherited(self):
        node = self.inherits([self.listener()], "web", "web", pid="1")
        self.assertEqual(node.line(), "web: WEFT_ENOTFOUND ")
        self.assertEqual(node.end(), ["descriptor"])

    def test_a_process_without_passed_sockets_inherits_none(self):
        node = Program(WEFT, "run", MODULE, "--", "inherits", "", env=self.cluster.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), ": WEFT_ENOTFOUND ")
        node.end()


class Chat(Case):
    def talk(self, address, node):
        client = Client(address)
        self.addCleanup(client.close)
        self.assertIn(" welcome to a, you are guest", client.line())
        self.assertEqual(client.ask("/nick ann"), "* you are ann")
        node.stop()

    def test_the_chat_serves_an_inherited_port(self):
        port = self.listener()
        address = "%s:%d" % port.getsockname()
        early = Client(address)
        self.addCleanup(early.close)
        node = self.start([port], "chat", CHAT, "--name", "a", "--", "--port", "1")
        self.assertEqual(node.line(), "a: chat on " + address)
        self.assertIn("you are guest1 in lobby", early.line())
        self.talk(address, node)

    @unittest.skipUnless(shutil.which("systemd-socket-activate"),
                         "systemd-socket-activate is not installed (Debian: systemd)")
    def test_systemd_starts_the_chat_at_the_first_connection(self):
        """The first connection starts the program, which then gets this connection."""
        address = f"127.0.0.1:{free_port()}"
        keep = [word for name in self.cluster.env for word in ("-E", name)]
        node = Program("systemd-socket-activate", "-l", address, "--fdname=chat", *keep, WEFT, "run", CHAT,
                       "--name", "a", env=self.cluster.env)
        self.addCleanup(node.kill)
        node.log("Listening on")
        self.talk(address, node)
        self.assertIn("a: chat on " + address, node.out.seen)


class Links(Case):
    """Listeners of the node itself."""

    def node(self, sockets, names, url, *words, pid=""):
        return self.start(sockets, names, MODULE, "--name", "a", "--listen", url, *words, "--", "echo", pid=pid)

    def peer(self, url):
        node = Program(WEFT, "run", MODULE, "--name", "b", "--join", url, "--", "idle", env=self.cluster.env)
        self.addCleanup(node.kill)
        return node

    def url(self, s):
        return "tcp://%s:%d" % s.getsockname()

    def refused(self, sockets, names, url, why, *words, pid=""):
        node = self.node(sockets, names, url, *words, pid=pid)
        # A URL that is wrong by itself is refused before the node starts.
        said = f"--listen: '{url}': " if url.startswith("tls+") or url.endswith("://") else f"cannot listen on {url}: "
        node.log(re.escape(said) + ".*" + re.escape(why))
        node.end(2 if said.startswith("--") else 1)

    def waits(self, s):
        """Waits until a connection is in the queue of the socket."""
        self.assertEqual(select.select([s], [], [], PATIENCE)[0], [s], "no connection waits in the socket")

    def test_a_peer_links_with_each_node_that_inherits_the_socket(self):
        """A peer that dials while no node runs waits in the socket, and is linked with the next node."""
        s, other = self.listener(), self.listener()
        url = self.url(s)
        b = self.peer(url)
        self.waits(s)
        for end in (Program.stop, Program.kill, Program.stop):
            a = self.node([other, s], "other:links", "inherited://links")
            a.log("listens on " + re.escape(url))  # Other nodes are told this URL.
            a.log("linked with node b")
            b.log(r"linked with node a \(%s:%d\)" % s.getsockname())
            self.assertEqual(self.told(b), [url])
            end(a)
            self.waits(s)
        b.kill()
        self.assertEqual([line for line in b.err.seen if "no process listens there" in line], [])

    def told(self, b):
        """Returns the URLs of a that b knows."""
        done = subprocess.run([WEFT, "nodes", "--json", "--node", "b"], env=self.cluster.env, capture_output=True,
                              text=True, timeout=PATIENCE, check=True)
        nodes = [json.loads(line) for line in done.stdout.splitlines()]
        return next(node["urls"] for node in nodes if node["name"] == "a")

    def test_the_environment_may_name_two_inherited_sockets(self):
        one, other = self.listener(), self.listener(socket.AF_INET6, ("::1", 0))
        self.cluster.env["WEFT_LISTEN"] = "inherited://v4,inherited://v6"
        a = self.start([one, other], "v4:v6", MODULE, "--name", "a", "--", "echo")
        urls = [self.url(one), "tcp://[::1]:%d" % other.getsockname()[1]]
        a.log("listens on " + re.escape(", ".join(urls)))
        del self.cluster.env["WEFT_LISTEN"]
        self.peer(urls[1]).log("linked with node a")
        a.stop()

    def test_a_socket_that_was_not_passed_is_refused(self):
        s = self.listener()
        self.refused([s], "links", "inherited://other", "the service manager has passed no socket of that name")
        self.refused([s], "links", "inherited://links", "the service manager has passed no socket of that name", pid="1")
        self.refused([s], None, "inherited://links", "FileDescriptorName=")
        self.refused([s], "links", "inherited://", "no name")
        self.refused([s], "links", "inherited://links", "taken already", "--listen", "inherited://links")

    def test_a_node_refuses_inherited_sockets_that_are_no_tcp_listeners(self):
        path = os.path.join(self.cluster.folder.name, "handed")
        file = self.listener(socket.AF_UNIX, path)
        datagrams = self.listener(kind=socket.SOCK_DGRAM, listens=False)
        for s in file, datagrams, self.listener(listens=False):
            self.refused([s], "links", "inherited://links", "not a listening TCP socket")
        self.assertTrue(os.path.exists(path), "the node removed a file that belongs to the service manager")

    def test_an_inherited_socket_that_other_machines_reach_needs_insecure(self):
        """The rule is for the bound address. The socket is bound already, so the node accepts no connection."""
        for family, at in (socket.AF_INET, ("0.0.0.0", 0)), (socket.AF_INET6, ("::", 0)):
            s = self.listener(family, at)
            with socket.create_connection(("127.0.0.1", s.getsockname()[1])):
                self.refused([s], "links", "inherited://links", "is not a loopback address")
                self.waits(s)
            a = self.node([s], "links", "inherited://links", "--insecure")
            a.log(r"listens on tcp://(0\.0\.0\.0|\[::\]):%d" % s.getsockname()[1])
            a.stop()

    def test_an_inherited_socket_has_no_tls(self):
        s = self.listener()
        self.refused([s], "links", "tls+inherited://links", "an inherited socket has no TLS")

    @unittest.skipUnless(shutil.which("systemd-socket-activate"),
                         "systemd-socket-activate is not installed (Debian: systemd)")
    def test_systemd_starts_the_node_when_a_peer_dials(self):
        """The first peer that dials starts the node."""
        address = f"127.0.0.1:{free_port()}"
        keep = [word for name in self.cluster.env for word in ("-E", name)]
        a = Program("systemd-socket-activate", "-l", address, "--fdname=links", *keep, WEFT, "run", MODULE,
                    "--name", "a", "--listen", "inherited://links", "--", "echo", env=self.cluster.env)
        self.addCleanup(a.kill)
        a.log("Listening on")
        b = self.peer("tcp://" + address)
        a.log("listens on tcp://" + re.escape(address))
        b.log("linked with node a")
        a.stop()


class Units(Case):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed (Debian: systemd)")
    def test_systemd_accepts_the_units(self):
        folder, sockets = self.cluster.folder.name, ("chat.socket", "chat-links.socket")
        for name in sockets:
            shutil.copy(os.path.join(ROOT, "examples", name), folder)
        with open(built("packaging", "weft@.service"), encoding="utf-8") as file:
            text = re.sub(r"^ExecStart=\S+", "ExecStart=" + WEFT, file.read(), flags=re.M)
        with open(os.path.join(folder, "weft@.service"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                               *(os.path.join(folder, name) for name in sockets)],
                              capture_output=True, text=True, timeout=PATIENCE)
        said = [line for line in done.stderr.splitlines() if "chat" in line or "weft@" in line]
        self.assertEqual((done.returncode, said), (0, []), done.stderr)


if __name__ == "__main__":
    unittest.main()
