#!/usr/bin/env python3
"""Listeners that a service manager hands over: the test plays systemd; systemd-socket-activate does, too."""
import os
import re
import shutil
import socket
import subprocess
import unittest

from harness import Client, Cluster, PATIENCE, Program, ROOT, built, free_port

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
CHAT = built("examples", "chat.so")

# What systemd does between its fork and its exec: the descriptors from 3 on, and who they are for.
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
        """The next that is taken is `s`, by that name."""
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

    def test_by_name_each_once_and_who_came_before(self):
        path = os.path.join(self.cluster.folder.name, "handed")
        one, other, third = self.listener(), self.listener(socket.AF_UNIX, path), self.listener()
        early = socket.create_connection(third.getsockname())
        node = self.inherits([one, other, third], "web:local:web", "local", "web", "web", "web", "")
        self.serve(node, "local", other)
        self.serve(node, "web", one)
        self.serve(node, "web", third, early)
        self.assertEqual([node.line(), node.line()], ["web: WEFT_ENOTFOUND ", ": WEFT_ENOTFOUND "])
        # A child sees nothing of it, and has no such descriptor.
        self.assertEqual(node.end(), ["descriptor"])
        self.assertTrue(os.path.exists(path), "the file is the service manager's")

    def test_without_names(self):
        one, other = self.listener(), self.listener()
        node = self.inherits([one, other], None, "unknown", "web", "")
        self.serve(node, "unknown", one)
        self.assertEqual(node.line(), "web: WEFT_ENOTFOUND ")
        self.serve(node, "", other)
        node.end()

    def test_what_is_no_listener(self):
        datagrams = self.listener(kind=socket.SOCK_DGRAM, listens=False)
        bound, real = self.listener(listens=False), self.listener()
        with open(MODULE, "rb") as file:
            node = self.inherits([datagrams, bound, file, real], "udp:bound:file:web", "udp", "bound", "file", "", "")
            self.assertEqual([node.line() for _ in range(3)],
                             [f"{name}: WEFT_EINVAL " for name in ("udp", "bound", "file")])
            self.serve(node, "", real)
            self.assertEqual(node.line(), ": WEFT_EINVAL ")
            node.end()

    def test_of_another_process(self):
        node = self.inherits([self.listener()], "web", "web", pid="1")
        self.assertEqual(node.line(), "web: WEFT_ENOTFOUND ")
        self.assertEqual(node.end(), ["descriptor"])

    def test_none(self):
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

    def test_port_of_systemd(self):
        port = self.listener()
        address = "%s:%d" % port.getsockname()
        early = Client(address)
        self.addCleanup(early.close)
        node = self.start([port], "chat", CHAT, "--name", "a", "--", "--port", "1")
        self.assertEqual(node.line(), "a: chat on " + address)
        self.assertIn("you are guest1 in lobby", early.line())
        self.talk(address, node)

    @unittest.skipUnless(shutil.which("systemd-socket-activate"), "no systemd-socket-activate (Debian: systemd)")
    def test_by_systemd(self):
        """The program is started by the first connection, which it then gets."""
        address = f"127.0.0.1:{free_port()}"
        keep = [word for name in self.cluster.env for word in ("-E", name)]
        node = Program("systemd-socket-activate", "-l", address, "--fdname=chat", *keep, WEFT, "run", CHAT,
                       "--name", "a", env=self.cluster.env)
        self.addCleanup(node.kill)
        node.log("Listening on")
        self.talk(address, node)
        self.assertIn("a: chat on " + address, node.out.seen)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze (Debian: systemd)")
    def test_units(self):
        folder = self.cluster.folder.name
        shutil.copy(os.path.join(ROOT, "examples", "chat.socket"), folder)
        with open(built("packaging", "weft@.service"), encoding="utf-8") as file:
            text = re.sub(r"^ExecStart=\S+", "ExecStart=" + WEFT, file.read(), flags=re.M)
        with open(os.path.join(folder, "weft@.service"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                               os.path.join(folder, "chat.socket")], capture_output=True, text=True, timeout=PATIENCE)
        said = [line for line in done.stderr.splitlines() if "chat" in line or "weft@" in line]
        self.assertEqual((done.returncode, said), (0, []), done.stderr)


if __name__ == "__main__":
    unittest.main()
