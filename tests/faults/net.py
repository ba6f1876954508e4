"""Network namespaces of our own, one for each node, with tests/faults/wire.c between them."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from harness import Program, built  # noqa: E402


def ip(*words, namespace=None):
    where = ["-n", namespace] if namespace else []
    done = subprocess.run(["ip", *where, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join([*where, *words])}: {done.stderr.strip()}")
    return done.stdout


def why_not():
    """Returns the reason why this machine cannot make namespaces, or None."""
    if not sys.platform.startswith("linux"):
        return "network namespaces need Linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "ip is not installed: apt install iproute2"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun is missing or closed to us"
    name = f"weft-{os.getpid()}-try"
    try:
        ip("netns", "add", name)
        try:
            ip("link", "set", "lo", "up", namespace=name)  # This fails in a chroot, where "/" is not a mount point.
        finally:
            ip("netns", "delete", name)
    except OSError as error:
        return f"no network namespace can be made here ({error})"
    return None


def has_netem():
    """Returns whether the kernel's netem can replace tests/faults/wire.c."""
    name = f"weft-{os.getpid()}-try"
    ip("netns", "add", name)
    try:
        done = subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "netem", "loss", "1%"],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode == 0
    except FileNotFoundError:
        return False
    finally:
        ip("netns", "delete", name)


class Net:
    """A context manager for `count` namespaces; node I is at address(I). Everything that it makes is removed at its
    end."""

    def __init__(self, count, seed=1, netem=False):
        self.names = [f"weft-{os.getpid()}-{i}" for i in range(count)]
        self.made, self.wire, self.seed, self.netem = [], None, seed, netem

    def __enter__(self):
        try:
            for name in self.names:
                ip("netns", "add", name)
                self.made.append(name)
            self.wire = Program(built("tests", "faults_wire"), str(self.seed), *self.names, stdin=subprocess.PIPE)
            assert self.wire.line() == "ready"
            for i, name in enumerate(self.names):
                ip("address", "add", f"{self.address(i)}/24", "dev", "weft0", namespace=name)
                ip("link", "set", "weft0", "up", namespace=name)
                ip("link", "set", "lo", "up", namespace=name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.wire:
            self.wire.process.stdin.close()
            self.wire.kill()
        for name in self.made:
            try:
                ip("netns", "delete", name)
            except OSError as error:
                print(error, file=sys.stderr)
        self.made = []

    @staticmethod
    def address(i):
        return f"10.77.0.{i + 1}"

    def inside(self, i, *command):
        return ["ip", "netns", "exec", self.names[i], *command]

    def say(self, *lines):
        """Sends a command to the wire."""
        for line in lines:
            self.wire.process.stdin.write((line + "\n").encode())
            self.wire.process.stdin.flush()
            assert self.wire.line() == "ok", line

    def count(self):
        """Returns (number of packets, how many of them were lost)."""
        self.wire.process.stdin.write(b"count\n")
        self.wire.process.stdin.flush()
        return tuple(int(word) for word in self.wire.line().split())

    def cut(self, one, other, both=True):
        self.say(f"cut {one} {other}", *[f"cut {other} {one}"] if both else [])

    def worsen(self, loss=0, delay=0, jitter=0, reorder=0):
        """All ways lose this percentage, or delay packets by this many ms; `reorder` percent are not delayed."""
        if not self.netem:
            self.say(f"loss {loss}", f"delay {delay} {jitter}", f"reorder {reorder}")
            return
        words = ["loss", f"{loss}%"] if loss else []
        words += ["delay", f"{delay}ms", f"{jitter}ms"] if delay else []
        words += ["reorder", f"{reorder}%"] if reorder else []
        for name in self.names:
            subprocess.run(["tc", "-n", name, "qdisc", "replace", "dev", "weft0", "root", "netem", *words],
                           check=True)

    def heal(self):
        """Ends the cuts; losses and delays stay."""
        self.say("sound")


class Tiny:
    """A context manager for a file system of a few KiB, which can be filled."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="weft-")
        self.mounted = False

    def __enter__(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "weft-faults", self.folder], check=True)
        self.mounted = True
        return self

    def fill(self):
        """Returns when nothing more can be written."""
        with open(os.path.join(self.folder, "filler"), "ab", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass

    def empty(self):
        os.unlink(os.path.join(self.folder, "filler"))

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", self.folder], check=False)
        os.rmdir(self.folder)
