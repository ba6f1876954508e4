"""Hosts in network namespaces, on one bridge; the way between any two can be cut, in one direction or both.

Each namespace is held by a process of its own, which ends with its standard input: nothing is left behind, however
the test ends. What is cut is dropped without a word, as in a network: its packets go to an address that nobody has.
"""
import os
import shutil
import subprocess
import unittest

PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
NOWHERE = "02:00:00:00:00:00"


class _Space:
    def __init__(self):
        self.holder = subprocess.Popen([shutil.which("unshare", path=PATH), "--net", "cat"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.holder.stdin.write(b"there\n")
            self.holder.stdin.flush()
            there = self.holder.stdout.readline() != b""
        except BrokenPipeError:
            there = False
        if not there:
            why = self.holder.stderr.read().decode().strip()
            self.close()
            raise unittest.SkipTest(f"no network namespaces here: {why}")

    def enter(self):
        return [shutil.which("nsenter", path=PATH), f"--target={self.holder.pid}", "--net"]

    def ip(self, *lines):
        subprocess.run(self.enter() + [shutil.which("ip", path=PATH), "-batch", "-"], check=True, text=True,
                       input="\n".join(lines) + "\n")

    def close(self):
        for pipe in self.holder.stdin, self.holder.stdout, self.holder.stderr:
            pipe.close()
        self.holder.wait()


class Network:
    """A context manager. Hosts have the addresses 10.87.0.1 and so on, in the order of their names."""

    def __init__(self, names):
        for tool in "unshare", "nsenter", "ip":
            if shutil.which(tool, path=PATH) is None:
                raise unittest.SkipTest(f"no network namespaces here: the tool {tool} is missing")
        self.address = {name: f"10.87.0.{i}" for i, name in enumerate(names, 1)}
        self.bridge, self.hosts = None, {}
        try:
            self._build(names)
        except BaseException:
            self.close()
            raise

    def _build(self, names):
        self.bridge = _Space()
        self.hosts = {name: _Space() for name in names}
        try:
            self.bridge.ip("link add name bridge type bridge", "link set bridge up")
            for name, host in self.hosts.items():
                self.bridge.ip(f"link add to-{name} type veth peer name eth0 netns {host.holder.pid}",
                               f"link set to-{name} master bridge up")
                host.ip("link set lo up", f"address add {self.address[name]}/24 dev eth0", "link set eth0 up")
        except subprocess.CalledProcessError as e:
            raise unittest.SkipTest(f"no bridge between network namespaces here: {e}") from None

    def enter(self, name):
        """What runs a command on that host."""
        return self.hosts[name].enter()

    def cut(self, senders, receivers):
        """Nothing from the ones arrives at the others any more; the other way is as it was."""
        for name in senders:
            self.hosts[name].ip(*(f"neigh replace {self.address[to]} lladdr {NOWHERE} nud permanent dev eth0"
                                  for to in receivers))

    def heal(self, senders, receivers):
        for name in senders:
            self.hosts[name].ip(*(f"neigh del {self.address[to]} dev eth0" for to in receivers))

    def close(self):
        for space in list(self.hosts.values()) + [self.bridge]:
            if space is not None:
                space.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
