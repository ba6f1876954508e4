"""Shared by the integration tests: processes read line by line, TCP clients, waiting without sleeping.

Every wait has a deadline that only a broken program reaches. The build folder comes from the environment, WEFT_BUILD.
"""
import json
import mmap
import os
import queue
import random
import re
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("WEFT_BUILD", os.path.join(ROOT, "build-gcc")))
PATIENCE = 60.0 * float(os.environ.get("CK_TIMEOUT_MULTIPLIER", "1"))
os.environ["WEFT_CONFIG"] = "none"  # These files must not be those of the user who runs the tests.
# A thousand clients need more descriptors than a shell usually allows; the programs that are started here inherit the
# limit.
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def built(*path):
    return os.path.join(BUILD, *path)


def has(feature):
    """Whether this weft was built with that feature, one of meson_options.txt."""
    done = subprocess.run([built("cli", "weft"), "version", "--json"], capture_output=True, text=True, check=True)
    return feature in json.loads(done.stdout)["features"]


class Program:
    """A running program. Its output is collected as it comes; standard error is kept apart, as text."""

    def __init__(self, *command, env=None, stdin=subprocess.DEVNULL, **more):
        self.command = command
        self.process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=env, **more)
        self.pid = self.process.pid
        self.out, self.err = _Lines(self.process.stdout), _Lines(self.process.stderr)

    def line(self):
        """Returns the next line of standard output."""
        return self.out.next(lambda line: True, self)

    def log(self, pattern):
        """Returns the match of the next line of standard error that has the pattern."""
        found = re.compile(pattern)
        return found.search(self.err.next(found.search, self))

    def end(self, code=0):
        """Waits for its end, and returns the lines of standard output that were not taken yet."""
        try:
            got = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self} does not end; the last lines it wrote: {self.err.seen[-8:]}") from None
        rest = self.out.rest()
        self.err.rest()
        assert got == code, f"{self} ended with {got}, not {code}; it wrote {self.err.seen[-8:]}"
        return rest

    def stop(self, code=0):
        self.process.send_signal(signal.SIGTERM)
        return self.end(code)

    def kill(self):
        """For clean-ups: ends the program, whatever it does. A pid is not used again before its process is waited
        for."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.out.rest(), self.err.rest()

    def __str__(self):
        return " ".join(self.command)


class _Lines:
    END = object()

    def __init__(self, pipe):
        self.seen, self.queue = [], queue.Queue()
        self.thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self.thread.start()

    def _read(self, pipe):
        with pipe:
            for line in pipe:
                line = line.decode(errors="backslashreplace").rstrip("\n")
                self.seen.append(line)
                self.queue.put(line)
        self.queue.put(self.END)

    def next(self, wanted, whose):
        until = time.monotonic() + PATIENCE
        while True:
            try:
                line = self.queue.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{whose} did not write the expected line; the last ones: {self.seen[-8:]}, "
                                     f"{whose.err.seen[-8:]}") from None
            if line is self.END:
                self.queue.put(line)
                raise AssertionError(f"{whose} has ended; the last lines it wrote: {self.seen[-8:]}, "
                                     f"{whose.err.seen[-8:]}")
            if wanted(line):
                return line

    def rest(self):
        self.thread.join(PATIENCE)
        lines = []
        while (line := self.queue.get(timeout=PATIENCE)) is not self.END:
            lines.append(line)
        self.queue.put(line)
        return lines


class Client:
    """A TCP client that sends and reads lines."""

    def __init__(self, address, receive_buffer=0):
        host, port = address.rsplit(":", 1)
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.bytes = b""

    def send(self, *lines):
        self.socket.sendall("".join(line + "\n" for line in lines).encode())

    def line(self):
        """Returns the next line, or None at the end of the stream."""
        while b"\n" not in self.bytes:
            more = self.socket.recv(65536)
            if not more:
                assert not self.bytes, f"half a line before the end: {self.bytes}"
                return None
            self.bytes += more
        line, _, self.bytes = self.bytes.partition(b"\n")
        return line.decode(errors="backslashreplace")

    def lines(self, count):
        return [self.line() for _ in range(count)]

    def rest(self):
        """Returns all lines until the end of the stream."""
        return list(iter(self.line, None))

    def ask(self, line):
        self.send(line)
        return self.line()

    def reset(self):
        """Ends without a last line: the other side sees a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def close(self):
        self.socket.close()


def free_port():
    """Returns a port that is free for connections and for datagrams. It is none of those that the kernel gives away by
    itself, so it stays free for a server that cannot be told to take any port."""
    while True:
        address = "127.0.0.1", random.randrange(10000, 30000)
        with socket.socket() as s, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as d:
            try:
                s.bind(address), d.bind(address)
                return address[1]
            except OSError:
                pass  # Try one more.


def mapped(path, size):
    """Makes a file in memory. What another process counts in it can be read here, also after that process was
    killed."""
    with open(path, "w+b") as file:
        file.truncate(size)
        return mmap.mmap(file.fileno(), size)


def patient(env):
    """The timeout for a tool that is called once. By default it gives up after 5 s, which is too little on a busy
    machine."""
    return dict(env, WEFT_TIMEOUT=str(PATIENCE / 2))


def eventually(what, try_once):
    """Calls try_once, which has to wait by itself for something, until it returns a true value. `what` is a sentence that
    says for which condition the test waits."""
    until = time.monotonic() + PATIENCE
    while not (result := try_once()):
        assert time.monotonic() < until, f"waited {PATIENCE} s in vain for this: {what}"
    return result


class Cluster:
    """Node processes of `weft run`, linked over sockets in a temporary folder; a context manager."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.folder.name)
        self.nodes = {}

    def url(self, name):
        return f"ipc://{self.folder.name}/{name}.link"

    def prefix(self, name):
        """Returns the words with which the command of a node begins."""
        return []

    def run(self, name, module, *args, join=(), options=()):
        command = [*self.prefix(name), built("cli", "weft"), "run", module, "--name", name,
                   "--listen", self.url(name), *options]
        for other in join:
            command += ["--join", self.url(other)]
        node = self.nodes[name] = Program(*command, "--", *args, env=self.env)
        return node

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.kill()
        self.folder.cleanup()
