#!/usr/bin/env python3
"""Nodes exchange messages for MINUTES while one fault follows the other: no message is lost, and no resource grows.

Four hosts, each a network namespace with three processes: a node that exchanges numbered messages with the others (as
in run.py), a chat, and its visitors, which come and go. A seed chooses faults and hosts. Now and then the sending
pauses: then the counts of messages have to balance, and host 0, which is never killed, must have no more descriptors
and actors than at first."""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

from net import Net, Program, built, why_not
from harness import PATIENCE, mapped
import run

HOSTS = 4
DETECTOR = ["--heartbeat", "0.2", "--heartbeats-lost", "5", "--resume-window", "5"]
RATE = {"burst": 10, "pause": 20}
FIELDS = ("pause", "inside", "visits", "said", "heard", "broken", "wrong")
GROWS = 8 * 1024  # KiB of memory by which a process may grow: it keeps a bit for each message.


def env_of(index):
    """The pools of a process keep up to 20 MiB of free blocks after a burst. On host 0, whose memory is compared,
    nothing is pooled: what its processes have more than at first, they hold."""
    return {"WEFT_POISON": "1"} if index == 0 else {}


class Cluster(run.Cluster):
    def env_of(self, i):
        return env_of(i)


class Worse(run.Fault):
    """Each way loses packets for a while."""
    victim = None

    def begin(self, c):
        c.net.worsen(loss=5)

    def end(self, c):
        c.net.worsen()


FAULTS = [
    run.Cut("cut one way", both=False, hold=3.0),
    run.Cut("cut both ways", hold=3.0),
    run.Cut("cut both ways, too long", hold=10.0, lives=False),
    run.Killed("kill -9", hold=1.0),
    run.Restarted("restart"),
    run.Stopped("SIGSTOP", hold=3.0),
    Worse("loss 5 %", hold=5.0),
]


class Starved(threading.Thread):
    """Measures how long this process did not run although it wanted to; its nodes had to wait as long."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0.0
        self.start()

    def run(self):
        while True:
            before = time.monotonic()
            time.sleep(0.02)
            self.longest = max(self.longest, time.monotonic() - before - 0.02)

    def take(self):
        longest, self.longest = self.longest, 0.0
        return longest


class Host:
    """The processes that run on a host beside the node of run.py."""

    def __init__(self, c, index, seed):
        self.c, self.index, self.visitors = c, index, None
        path = os.path.join(c.folder, f"visitors.{index}")
        self.counts = memoryview(mapped(path, 8 * len(FIELDS))).cast("Q")
        self.start_chat()
        self.visitors = Program(
            *c.net.inside(index, built("cli", "weft"), "run", built("tests", "faults_visitors.so"), "--name",
                          f"v{index}", "--", path, "127.0.0.1:4200", "8", str(seed + index)), env=self.env())

    def env(self):
        return dict(os.environ, XDG_RUNTIME_DIR=self.c.folder, **env_of(self.index))

    def start_chat(self):
        address = self.c.net.address
        joins = [word for i in (0, 1) if i != self.index for word in ("--join", f"tcp://{address(i)}:4100")]
        self.chat = Program(*self.c.net.inside(
            self.index, built("cli", "weft"), "run", built("examples", "chat.so"), "--cluster", "chat", "--insecure",
            "--name", f"c{self.index}", "--listen", f"tcp://{address(self.index)}:4100", *joins, *DETECTOR, "--",
            "--port", "4200"), env=self.env())
        self.chat.line()

    def get(self, field):
        return self.counts[FIELDS.index(field)]

    def pause(self, value):
        self.counts[0] = value

    def check(self):
        for program in (self.chat, self.visitors):
            assert program.process.poll() in (None, 0, -9), f"{program} has ended: {program.err.seen[-5:]}"

    def kill(self):
        self.chat.kill()
        if self.visitors:
            self.visitors.kill()


def processes(c, hosts):
    return {"node": c.nodes[0].program, "chat": hosts[0].chat, "visitors": hosts[0].visitors}


def measure(c, hosts):
    """Returns, for each process of host 0, its KiB of memory, descriptors and actors."""
    found = {}
    for (kind, program), (name, cluster) in zip(processes(c, hosts).items(),
                                                (("n0", "weft"), ("c0", "chat"), ("v0", "weft"))):
        with open(f"/proc/{program.pid}/smaps_rollup", encoding="ascii") as file:
            rss = next(int(line.split()[1]) for line in file if line.startswith("Rss:"))
        listed = subprocess.run([built("cli", "weft"), "ps", "--json", "--node", name, "--cluster", cluster],
                                env=hosts[0].env(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=PATIENCE, check=True).stdout
        actors = sum(1 for line in listed.splitlines() if json.loads(line))
        found[kind] = rss, len(os.listdir(f"/proc/{program.pid}/fd")), actors
    return found


def wait(c, hosts, what, enough):
    until = time.monotonic() + 4 * PATIENCE
    while not enough():
        for host in hosts:
            host.check()
        assert time.monotonic() < until, f"{what}: not after {4 * PATIENCE:.0f} s, {c.state()}"
        time.sleep(0.02)


def balanced(c):
    """Returns whether each message has arrived, or is known to be lost because a later one has arrived."""
    nodes = c.nodes
    return all(nodes[j].runs[-1].get("next", i, len(nodes[i].runs) - 1) >= nodes[i].runs[-1].get("sent", j)
               for i in range(c.count) for j in range(c.count) if i != j)


def pause(c, value):
    for node in c.nodes:
        node.runs[-1].set("pause", node.index, value)


def settle(c, hosts):
    """Pauses all senders, and waits until all messages have arrived."""
    pause(c, 1)
    before = None
    while before != (before := [counts.all("sent") for _, _, counts in c.runs()]):
        time.sleep(0.1)  # This is longer than a burst takes.
    wait(c, hosts, "all received", lambda: balanced(c))


def same(found, before):
    """Returns whether there are as many descriptors and actors as before."""
    return before is not None and all(found[kind][1:] == before[kind][1:] for kind in found)


def no_more(found, first):
    """Returns whether there are at most as many as at first. There may be fewer, if an idle connection was still open
    at first."""
    return all(now <= then for kind in found for now, then in zip(found[kind][1:], first[kind][1:]))


def rest(c, hosts, first):
    """Pauses all senders and returns the figures of host 0, after it had at most what it had at `first`, or the wait
    for that ended."""
    settle(c, hosts)
    for host in hosts:
        host.pause(1)
    wait(c, hosts, "all visitors gone", lambda: all(host.get("inside") == 0 for host in hosts))
    until, before, found = time.monotonic() + PATIENCE, first, measure(c, hosts)
    while time.monotonic() < until and not (same(found, before) if first is None else no_more(found, first)):
        time.sleep(2)  # Sessions end a second after their visitors, and idle connections some time later.
        before, found = first or found, measure(c, hosts)
    return found


def go_on(c, hosts):
    pause(c, 0)
    for host in hosts:
        host.pause(0)


def apply(c, hosts, fault):
    """Injects the fault, and returns when each way that it touched has recovered."""
    host = hosts[fault.victim] if fault.victim is not None else None
    if isinstance(fault, run.Restarted):
        settle(c, hosts)  # Messages for actors that have ended would be dropped without a notice to the sender.
    fault.begin(c)
    pause(c, 0)
    if isinstance(fault, run.Killed):
        host.chat.kill()
    elif isinstance(fault, run.Restarted):
        host.chat.stop()
        host.start_chat()
    elif isinstance(fault, run.Stopped):
        host.chat.process.send_signal(signal.SIGSTOP)
    until = time.monotonic() + fault.hold
    c.wait("fault", lambda: time.monotonic() >= until)
    fault.end(c)
    if isinstance(fault, run.Killed):
        host.start_chat()
    elif isinstance(fault, run.Stopped):
        host.chat.process.send_signal(signal.SIGCONT)
    before = c.ways()
    c.wait("recovery", lambda: all(c.ways()[way] > before[way] for way in before))


def show(began, title, row, hosts, found):
    lines = {field: sum(host.get(field) for host in hosts) for field in FIELDS}
    print(f"| {time.monotonic() - began:.0f} s | {title} | {row['messages']:,} | {row['lost']:,} | {row['told']:,} | "
          f"{lines['visits']:,} | {lines['said']:,} | {lines['heard']:,} | "
          + " | ".join(f"{rss / 1024:.1f} / {fds} / {actors}" for rss, fds, actors in found.values()) + " |",
          flush=True)


def lost_though_alive(row, before, starved):
    """Returns findings that must not occur while all nodes live. A node that does not run for half of its five
    heartbeats, or for as long as the resume window leaves beside a cut, looks to others as if it were cut off."""
    lost = row["lost"] - before["lost"]
    if lost == 0:
        return []
    told = row["ended"] - before["ended"]
    text = f"{lost} lost though all nodes lived; {told} times one was told that another is down"
    if starved < 0.5:
        return [text]
    print(f"    {text}: the machine let a process wait for {starved:.1f} s", flush=True)
    return []


def faults_of(c, row, hosts, found, first):
    """Describes the findings in words."""
    wrong = [f"{field}: {row[field]}" for field in ("doubled", "reordered", "wrong", "untold") if row[field]]
    wrong += [line for n in c.nodes for log in n.logs for line in log if "wrong: " in line]
    wrong += [f"visitors of host {h.index} got {h.get('wrong')} wrong lines: {h.visitors.err.seen[-3:]}"
              for h in hosts if h.get("wrong")]
    if hosts[0].get("broken"):
        wrong.append(f"the chat of host 0, which was never killed, broke {hosts[0].get('broken')} visits: "
                     f"{hosts[0].chat.err.seen[-3:]}")
    for kind, (rss, _, _) in found.items():
        if rss > first[kind][0] + GROWS:
            wrong.append(f"{kind}: memory has grown from {first[kind][0]} to {rss} KiB")
    if not no_more(found, first):
        wrong.append(f"descriptors and actors: {first} at first, now {found}")
    return wrong


def soak(settings, net, c):
    chance, began, any_fault = random.Random(settings.seed), time.monotonic(), run.Fault("rest", lives=False)
    hosts, starved = [], Starved()
    try:
        for node in c.nodes:
            node.start()
        hosts.extend(Host(c, i, settings.seed * 100) for i in range(HOSTS))
        wait(c, hosts, "start", lambda: all(c.ways().values()) and all(host.get("visits") > 20 for host in hosts))
        first = found = rest(c, hosts, None)
        row = run.account(c, any_fault)
        show(began, "none", row, hosts, found)
        while time.monotonic() < began + settings.minutes * 60:
            go_on(c, hosts)
            titles, lives, before = [], True, row
            starved.take()
            for _ in range(settings.faults):
                fault = chance.choice([f for f in FAULTS if f.title.startswith(settings.only)])
                fault.victim = None if isinstance(fault, Worse) else chance.randrange(1, HOSTS)
                titles.append(fault.title)
                lives &= fault.lives or isinstance(fault, run.Restarted)
                apply(c, hosts, fault)
            found = rest(c, hosts, first)
            row = run.account(c, any_fault)
            show(began, ", ".join(titles), row, hosts, found)
            wrong = faults_of(c, row, hosts, found, first)
            if lives:
                wrong += lost_though_alive(row, before, starved.take())
            if wrong:
                print("FAULT: " + "\n    ".join(wrong))
                return 1
        return 0
    finally:
        for host in hosts:
            host.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the faults, their hosts, and what the network loses")
    parser.add_argument("--only", default="", help="the faults whose names begin so")
    parser.add_argument("--faults", type=int, default=3, help="between two rests")
    settings = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    print("Of the processes of host 0: MiB of memory / descriptors / actors.\n\n"
          "| at | faults | messages | lost | told | visits | said | heard | node | chat | visitors |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|")
    with Net(HOSTS, settings.seed) as net, \
            Cluster(net, HOSTS, DETECTOR, 12 * 10**8, **RATE) as c:
        return soak(settings, net, c)


if __name__ == "__main__":
    sys.exit(main())
