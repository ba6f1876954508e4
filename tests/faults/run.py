#!/usr/bin/env python3
"""Injects faults between real nodes: each node is in a network namespace of its own, with a million numbered messages
under way.

It prints one row for each fault. docs/faults.md explains the counts. The exit code is 1 if a message is unaccounted
for."""
import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

from net import Net, Program, Tiny, built, has_netem, why_not
from harness import mapped

NODES_MAX, RUNS = 8, 256  # The same numbers are in traffic.c.
FIELDS = ("sent", "received", "doubled", "reordered", "wrong", "next", "downs", "bad_at", "pause")
SIZE = 8 * len(FIELDS)
PORT = 4000
STUCK = 60.0  # After this many seconds without a message a run is taken to be stuck.


class Counts:
    """The counts of traffic.c in one run of a node. They can be read after the node was killed, too."""

    def __init__(self, path):
        self.map = memoryview(mapped(path, NODES_MAX * RUNS * SIZE)).cast("Q")

    def get(self, field, node, run=0):
        return self.map[(node * RUNS + run) * len(FIELDS) + FIELDS.index(field)]

    def set(self, field, node, value):
        self.map[node * RUNS * len(FIELDS) + FIELDS.index(field)] = value

    def all(self, field):
        return sum(self.map[FIELDS.index(field)::len(FIELDS)])


class Node:
    """Node nI: its runs, one after the other."""

    def __init__(self, cluster, index):
        self.cluster, self.index, self.runs, self.logs, self.program = cluster, index, [], [], None

    def start(self, log_to=None):
        c, i = self.cluster, self.index
        path = os.path.join(c.folder, f"{i}.{len(self.runs)}")
        words = [built("cli", "weft"), "run", built("tests", "faults_traffic.so"), "--name", f"n{i}", "--insecure",
                 "--listen", c.url(i), *c.options]
        for seed in (0, 1):
            words += ["--join", c.url(seed)] if seed != i else []
        words += ["--", path, c.count, i, len(self.runs), c.each, c.burst, c.pause]
        words = c.net.inside(i, *[str(w) for w in words])
        if log_to:
            words = ["sh", "-c", 'exec "$@" 2>"$0"', log_to, *words]
        self.runs.append(Counts(path))
        folder = os.path.dirname(log_to) if log_to else c.folder
        self.program = Program(*words, env=dict(os.environ, XDG_RUNTIME_DIR=folder, **c.env_of(i)))
        self.logs.append(self.program.err.seen)

    def signal(self, number):
        os.kill(self.program.pid, number)


class Cluster:
    """A context manager for nodes that send each other numbered messages."""

    def __init__(self, net, count, options, messages, burst=20, pause=10):
        self.net, self.count, self.options = net, count, options
        self.each = messages // (count * (count - 1)) + 1
        self.burst, self.pause = burst, pause
        self.temporary = tempfile.TemporaryDirectory(prefix="weft-")
        self.folder = self.temporary.name
        self.nodes = [Node(self, i) for i in range(count)]

    def url(self, i):
        return f"tcp://{self.net.address(i)}:{PORT}"

    def env_of(self, _):
        """Returns further variables for the environment of node i."""
        return {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            if node.program:
                node.program.kill()
        self.temporary.cleanup()

    def runs(self):
        return [(n.index, r, counts) for n in self.nodes for r, counts in enumerate(n.runs)]

    def received(self):
        return sum(counts.all("received") for _, _, counts in self.runs())

    def ways(self):
        """Returns how many messages have arrived on each way between the present runs."""
        last = {n.index: (len(n.runs) - 1, n.runs[-1]) for n in self.nodes}
        return {(a, b): last[b][1].get("received", a, last[a][0]) for a in last for b in last if a != b}

    def wait(self, what, enough):
        """Waits until enough() is true. It looks every 5 ms, so times are exact to 5 ms."""
        quiet_since, before = time.monotonic(), -1
        while not enough():
            now = self.received()
            if now != before:
                quiet_since, before = time.monotonic(), now
            if time.monotonic() - quiet_since > STUCK:
                raise AssertionError(f"{what}: no message has arrived for {STUCK:.0f} s, {self.state()}")
            for node in self.nodes:
                if node.program and node.program.process.poll() not in (None, 0, -9):
                    raise AssertionError(f"n{node.index} has ended: {node.program.err.seen[-5:]}")
            time.sleep(0.005)

    def state(self):
        return {f"{a}->{b}": n for (a, b), n in self.ways().items() if n < self.each}

    def expect_news(self):
        """From now on the first bad news of each node counts."""
        for _, _, counts in self.runs():
            for node in range(self.count):
                counts.set("bad_at", node, 0)

    def noticed(self, since, victim):
        """Returns the seconds until the last node that got bad news has got it. The victim is not asked."""
        heard = [counts.get("bad_at", about) for node, _, counts in self.runs() for about in range(self.count)
                 if node != victim and victim in (None, about)]
        return max((at / 1e9 - since for at in heard if at), default=None)

    def weft(self, *words, node=0):
        done = subprocess.run([built("cli", "weft"), *words, "--node", f"n{node}"], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=30, check=False,
                              env=dict(os.environ, XDG_RUNTIME_DIR=self.folder))
        return [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []

    def reported(self):
        """Returns {(node, node): frames} that the first node reports as lost, or possibly lost, on links with the
        second."""
        found = {}
        for node in self.nodes:
            for row in self.weft("nodes", "--json", node=node.index):
                if row["state"] != "self":
                    key = node.index, int(row["name"][1:])
                    found[key] = found.get(key, 0) + row["frames_lost"]
        return found


# ---- Faults ------------------------------------------------------------------------------------------------------

class Fault:
    """A fault that happens to a cluster. `hold` says for how long; None means until the end. `victim` is the node whose
    ways it touches; None means all. With `lives` both ends of every link outlive it, and nothing may be lost."""
    nodes, hold, victim, lives = 5, 8.0, 1, True

    def __init__(self, title, **changes):
        self.title = title
        for name, value in changes.items():
            setattr(self, name, value)

    def start(self, c):
        for node in c.nodes:
            node.start()

    def begin(self, c):
        pass

    def end(self, c):
        c.net.heal()

    def clean(self):
        pass


class Bad(Fault):
    """The network is bad everywhere, until the end."""
    hold, victim, how = None, None, {}

    def begin(self, c):
        c.net.worsen(**self.how)


class Cut(Fault):
    both = True

    def begin(self, c):
        for other in range(c.count):
            if other != self.victim:
                c.net.cut(self.victim, other, self.both)


class Stopped(Fault):
    def begin(self, c):
        c.nodes[self.victim].signal(signal.SIGSTOP)

    def end(self, c):
        c.nodes[self.victim].signal(signal.SIGCONT)


class Killed(Fault):
    hold, lives = 2.0, False

    def begin(self, c):
        c.nodes[self.victim].program.kill()

    def end(self, c):
        c.nodes[self.victim].start()


class Restarted(Fault):
    hold, lives = 0.0, False

    def begin(self, c):
        c.nodes[self.victim].program.stop()
        c.nodes[self.victim].start()

    def end(self, c):
        pass


class Full(Cut):
    """The disk for a node's log is full; then its connections break, which the node would log."""
    def start(self, c):
        self.tiny = Tiny().__enter__()
        for node in c.nodes:
            node.start(os.path.join(self.tiny.folder, "log") if node.index == self.victim else None)

    def begin(self, c):
        self.tiny.fill()
        super().begin(c)

    def end(self, c):
        super().end(c)
        self.tiny.empty()

    def clean(self):
        self.tiny.__exit__()


class Exhausted(Cut):
    """A node may open no more descriptors. Its connections break, and it cannot make new ones until the limit is
    lifted."""
    def begin(self, c):
        pid = c.nodes[self.victim].program.pid
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.before = resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, most))
        super().begin(c)
        lost = f"node n{self.victim} is lost"
        c.wait("cut", lambda: sum(lost in line for n in c.nodes for log in n.logs for line in log) >= c.count - 1)
        c.net.heal()

    def end(self, c):
        resource.prlimit(c.nodes[self.victim].program.pid, resource.RLIMIT_NOFILE, self.before)


# A cut of so many seconds is noticed by a detector of 5 s, and over before the resume window of 10 s is.
FAULTS = [
    Bad("loss 1 %", nodes=7, how={"loss": 1}),
    Bad("loss 5 %", how={"loss": 5}),
    Bad("loss 20 %", nodes=7, how={"loss": 20}),
    Bad("delay 50 ms +- 20", how={"delay": 50, "jitter": 20}),
    Bad("reorder 25 %", nodes=3, how={"delay": 10, "reorder": 25}),
    Cut("cut one way", both=False),
    Cut("cut both ways"),
    Cut("cut both ways, too long", hold=20.0, lives=False),
    Killed("kill -9"),
    Stopped("SIGSTOP"),
    Stopped("SIGSTOP, too long", hold=20.0, lives=False),
    Restarted("restart"),
    Full("disk full", nodes=4),
    Exhausted("no descriptors", hold=3.0),
]
QUICK_DETECTOR = ["--heartbeat", "0.1", "--heartbeats-lost", "5", "--resume-window", "20"]
QUICK = [
    Bad("loss 5 %", how={"loss": 5}),
    Cut("cut both ways", hold=1.0),
    Stopped("SIGSTOP", hold=1.0),
]


# ---- One run -----------------------------------------------------------------------------------------------------

def account(c, fault):
    """Counts the messages. `lost` were not received; `told` are those that nodes report as lost or possibly lost."""
    row = {"messages": 0, "lost": 0, "doubled": 0, "reordered": 0, "wrong": 0, "told": 0, "untold": 0}
    reported = c.reported() if not fault.lives else {}
    lost = {}
    for i, run, counts in c.runs():
        for field in ("doubled", "reordered", "wrong"):
            row[field] += counts.all(field)
        for j in [j for j in range(c.count) if j != i]:
            sent = counts.get("sent", j)
            got = sum(other.get("received", i, run) for other in c.nodes[j].runs)
            row["messages"] += sent
            lost[i, run, j] = sent - got
    row["lost"] = sum(lost.values())
    for (i, run, j), n in lost.items():
        last = run == len(c.nodes[i].runs) - 1  # A run that is over cannot be asked.
        row["untold"] += max(0, n - reported.get((i, j), 0)) if last else 0
    row["told"] = sum(reported.values())
    row["ended"] = sum(c.nodes[i].runs[run].all("downs") for i, run, _ in c.runs())
    return row


def run(fault, settings):
    try:
        return run_in_net(fault, settings)
    finally:
        fault.clean()


def run_in_net(fault, settings):
    with Net(fault.nodes, settings.seed, settings.netem) as net, \
            Cluster(net, fault.nodes, settings.options, settings.messages) as c:
        touched = set(range(c.count)) if fault.victim is None else {fault.victim}
        whole = c.each * c.count * (c.count - 1)
        fault.start(c)
        c.wait("start", lambda: c.received() >= whole // 5)
        c.expect_news()
        at = time.monotonic()
        fault.begin(c)
        if fault.hold:
            until = time.monotonic() + fault.hold
            c.wait("fault", lambda: time.monotonic() >= until)
        healed, before = time.monotonic(), c.ways()
        if fault.hold is not None:
            fault.end(c)
            before = c.ways()
            open_ways = [w for w in before if touched & set(w) and before[w] < c.each]
            c.wait("recovery", lambda: all(c.ways()[w] > before[w] for w in open_ways))
        recovered = time.monotonic() - healed
        ways, nodes = [(i, j) for i in range(c.count) for j in range(c.count) if i != j], c.nodes
        c.wait("all sent", lambda: all(nodes[i].runs[-1].get("sent", j) >= c.each for i, j in ways))
        c.wait("all received", lambda: all(
            nodes[j].runs[-1].get("next", i, len(nodes[i].runs) - 1) >= c.each for i, j in ways))
        row = account(c, fault)
        row["time"], row["packets"] = time.monotonic() - at, net.count()
        row["notice"] = c.noticed(at, fault.victim)
        row["recover"] = recovered if fault.hold is not None else None
    row["good"] = row["doubled"] + row["reordered"] + row["wrong"] + row["untold"] == 0 and (
        not fault.lives or row["lost"] + row["ended"] == 0)
    return row


HEAD = "| fault | nodes | messages | lost | doubled | reordered | told | notice | recover | all in | packets lost |"


def show(fault, row):
    def seconds(value):
        return "-" if value is None else f"{value:.2f} s"
    told = "-" if fault.lives else row["told"]
    print(f"| {fault.title} | {fault.nodes} | {row['messages']:,} | {row['lost']} | {row['doubled']} | "
          f"{row['reordered']} | {told} | {seconds(row['notice'])} | {seconds(row['recover'])} | "
          f"{row['time']:.0f} s | {row['packets'][1]:,} of {row['packets'][0]:,} |", flush=True)
    if not row["good"]:
        print(f"  FAULT: {row}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="faults whose names begin so; all")
    parser.add_argument("--quick", action="store_true", help="20,000 messages between 3 nodes, with a quick detector")
    parser.add_argument("--messages", type=int, default=1000000)
    parser.add_argument("--nodes", type=int, help="3 to 7")
    parser.add_argument("--seed", type=int, default=1, help="of what the network does to packets")
    parser.add_argument("--netem", action="store_true", help="tc netem loses, delays and reorders, not the wire")
    settings = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    if settings.netem and not has_netem():
        print("skipped: this kernel has no netem")
        return 77
    faults = QUICK if settings.quick else FAULTS
    faults = [f for f in faults if not settings.names or any(f.title.startswith(n) for n in settings.names)]
    if not faults:
        parser.error(f"no fault begins with: {' '.join(settings.names)}")
    settings.options = QUICK_DETECTOR if settings.quick else []
    if settings.quick:
        settings.messages, settings.nodes = 20000, 3
    print(HEAD + "\n|" + "---|" * HEAD.count(" | ") + "---|")
    good = True
    for fault in faults:
        fault.nodes = settings.nodes or fault.nodes
        row = run(fault, settings)
        show(fault, row)
        good &= row["good"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
