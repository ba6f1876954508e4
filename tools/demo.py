#!/usr/bin/env python3
"""./dev demo: three node processes, one chat; TCP clients see each other's lines across the nodes.

usage: demo.py BUILD_FOLDER

It ends by itself. It fails if a line is missing, doubled or out of order, or if a node does not stop gracefully."""
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "integration"))
import harness  # noqa: E402

TYPED, BURST = 400, 200  # lines one at a time, from which the times come; lines of each person at once
PEOPLE = [("ann", "a"), ("bob", "b"), ("cy", "c")]
COLOURS = {"a": "36", "b": "33", "c": "35", "ok": "32", "bad": "31", "dim": "2", "head": "1"}


def coloured():
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(colour, text):
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if coloured() else text


def plain(text):
    """Returns the text that a client was sent, without the control sequences of terminals."""
    return "".join(char if char.isprintable() else "?" for char in text)


def show(text=""):
    print(text, flush=True)


def faults(said, seen):
    """Compares the lines that one client saw with `said`, the lines of each speaker in order. Returns {"missing": n,
    "doubled": n, "out of order": n, "unknown": n}."""
    speaker_of = {line: nick for nick, lines in said.items() for line in lines}
    place = {line: i for lines in said.values() for i, line in enumerate(lines)}
    bad = {"missing": 0, "doubled": 0, "out of order": 0, "unknown": 0}
    met, latest = set(), {}
    for line in seen:
        nick = speaker_of.get(line)
        if nick is None:
            bad["unknown"] += 1
        elif line in met:
            bad["doubled"] += 1
        else:
            met.add(line)
            bad["out of order"] += place[line] < latest.get(nick, -1)
            latest[nick] = max(place[line], latest.get(nick, -1))
    bad["missing"] = len(speaker_of) - len(met)
    return bad


class Person:
    def __init__(self, nick, node, address):
        self.nick, self.node, self.client = nick, node, harness.Client(address)
        self.client.line()  # the welcome

    def label(self):
        return paint(self.node, f"{self.nick} on {self.node}".ljust(10))

    def say(self, text):
        show(f"  {self.label()} types  {text}")
        self.client.send(text)

    def hear(self):
        line = self.client.line()
        show(f"  {self.label()} {paint('dim', 'sees ')}  {plain(line)}")
        return line


class Demo:
    def __init__(self, folder):
        self.folder, self.nodes, self.people = folder, {}, []
        self.said = {nick: [] for nick, _ in PEOPLE}  # lines as everybody shall see them
        self.seen = {nick: [] for nick, _ in PEOPLE}

    def start_node(self, name, seed):
        env = dict(os.environ, XDG_RUNTIME_DIR=self.folder)
        join = ["--join", seed] if seed else []
        node = harness.Program(harness.built("cli", "weft"), "run", harness.built("examples", "chat.so"),
                               "--name", name, "--listen", "tcp://127.0.0.1:0", *join, "--", "--port", "0", env=env)
        self.nodes[name] = node
        url = node.log(r"listens on (tcp://[\d.:]+)").group(1)
        address = node.line().split(" on ")[1]
        show(f"  node {paint(name, name)}  pid {node.pid:<7}  links {url:<23} chat {address}"
             f"  {'joins ' + seed if seed else 'the seed'}")
        return url, address

    def start(self):
        seed = None
        for nick, name in PEOPLE:
            url, address = self.start_node(name, seed)
            seed = seed or url
            self.people.append(Person(nick, name, address))
            self.people[-1].client.ask(f"/nick {nick}")

    def meet(self):
        start = time.monotonic()
        wanted = "* lobby: " + " ".join(f"{nick}@{name}" for nick, name in PEOPLE)
        for person in self.people:
            harness.eventually("all members of the room are listed", lambda p=person: p.client.ask("/who") == wanted)
        show(f"  each of the three has asked /who and sees {wanted[9:]} ({time.monotonic() - start:.1f} s)")

    def expect(self, person, text):
        self.said[person.nick].append(f"[lobby] {person.nick}: {text}")

    def talk(self):
        ann, bob, cy = self.people
        for person, text in ((ann, "hello, is anybody there?"), (bob, "yes, on node b"),
                             (cy, "and on c, where are you?"), (ann, "on a; the three of us share no process")):
            person.say(text)
            self.expect(person, text)
            for other in self.people:
                self.seen[other.nick].append(other.hear())

    def measure(self):
        """Sends one line at a time from a and measures the time until b shows it. c gets it, too."""
        ann, bob, cy = self.people
        times = []
        for i in range(TYPED):
            text = f"line {i}"
            self.expect(ann, text)
            start = time.perf_counter()
            ann.client.send(text)
            line = bob.client.line()
            times.append((time.perf_counter() - start) * 1e3)
            self.seen[bob.nick].append(line)
            for other in (ann, cy):
                self.seen[other.nick].append(other.client.line())
        cuts = statistics.quantiles(times, n=100)
        show(f"  {TYPED} lines typed on a, until shown on b:  p50 {cuts[49]:.2f} ms  p99 {cuts[98]:.2f} ms")

    def burst(self):
        for i in range(BURST):
            for person in self.people:
                self.expect(person, f"burst {i}")
                person.client.send(f"burst {i}")
        for person in self.people:
            self.seen[person.nick] += person.client.lines(BURST * len(PEOPLE))
        show(f"  {BURST} lines of each of the three at once: all shown to all")

    def part(self):
        for person in self.people:
            person.client.send("/quit")
            rest = person.client.rest()
            self.seen[person.nick] += rest[:-1]  # the last one is "* bye"
        for node in self.nodes.values():
            node.stop()
        show("  all clients left, all nodes ended in order")

    def verdict(self):
        bad = {}
        for nick, _ in PEOPLE:
            for what, count in faults(self.said, self.seen[nick]).items():
                bad[what] = bad.get(what, 0) + count
        lines = sum(map(len, self.said.values())) * len(PEOPLE)
        words = ", ".join(f"{count} {what}" for what, count in bad.items() if what != "unknown" or count)
        show(paint("bad" if any(bad.values()) else "ok", f"{lines} lines to be shown: {words}"))
        return 1 if any(bad.values()) else 0

    def end(self):
        for node in self.nodes.values():
            node.kill()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    harness.BUILD = os.path.abspath(sys.argv[1])
    harness.PATIENCE = 15.0
    show(paint("head", "weft demo: one chat over three nodes"))
    show("Three processes of `weft run chat.so` find each other from the address of one; three people connect to")
    show("them over plain TCP, as `nc` would. What one types is shown to all. The demo ends by itself, in seconds.\n")
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        demo = Demo(folder)
        try:
            for title, step in (("Nodes", demo.start), ("They meet", demo.meet), ("A conversation", demo.talk),
                                ("How fast", demo.measure), ("All at once", demo.burst), ("The end", demo.part)):
                show(paint("head", title))
                step()
            return demo.verdict()
        except (AssertionError, OSError) as why:
            show(paint("bad", f"the demo failed: {why}"))
            return 1
        finally:
            demo.end()


if __name__ == "__main__":
    sys.exit(main())
