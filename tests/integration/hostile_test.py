#!/usr/bin/env python3
"""Attacks by a linked peer, or by a client that only reaches the port, and their cost for a node and its other peers.

usage: hostile_test.py ATTACK
       hostile_test.py --table LOG   the rows of all attacks, from meson's log of them in JSON

A separate process attacks a node, while another linked node, the friend, calls one of its actors all the time. Each
attack is bounded, and stays on 127.0.0.1. Afterwards the friend must have had each of its answers over the link that
it had at first, no worker may have been held up for a second, and the memory that the attacker has cost must have
come back. docs/security.md has a table of the measurements."""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

import wire_peer as wire
from harness import Cluster, PATIENCE, Program, built, eventually

WEFT, MODULE = built("cli", "weft"), built("tests", "test_modules.so")
SANITIZED = os.environ.get("WEFT_SANITIZED") == "1"
TOP, ROUND = 18, 200  # The number of the verb, and the calls between two looks at the node.
KEPT = 32 << 20  # Bytes that may stay: free blocks of the allocator, and records of nodes that have left.
KEPT_OF = {"chunks": 3 << 20, "store_topics": 96 << 20}  # A store has its topics in memory.
ECHO = "echo"


def scaled(count):
    return count // 20 if SANITIZED else count


# ---- Attacks -------------------------------------------------------------------------------------------------------

class Flood:
    """Sends frames in batches that are as long as they may be, and takes no look at the single frame."""

    def __init__(self, peer):
        self.peer, self.parts, self.size = peer, [], 0
        # The attacker reads and drops the node's frames, because one that does not read is cut off soon.
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        stream = self.peer.connection.stream
        stream.settimeout(None)
        try:
            while stream.recv(1 << 20):
                pass
        except OSError:
            pass

    def add(self, packed):
        self.parts.append(packed)
        self.size += len(packed)
        if self.size > 200_000:
            self.flush()

    def flush(self):
        if self.parts:
            self.peer.connection.send(b"".join(self.parts))
        self.parts, self.size = [], 0


def linked(url, capabilities=0, name="attacker"):
    return wire.Peer(url, name, capabilities=capabilities, heartbeat=3_600_000).link()


def actor_named(peer, name):
    return peer.call(name, 1)[2]


def head(*values):
    """Packs the values, for an array that has more."""
    return b"".join(map(wire.pack, values))


def array(count, packed):
    return bytes([0x90 + count]) + packed


def text(prefix, number):
    data = b"%s%08d" % (prefix, number)
    return bytes([0xA0 + len(data)]) + data


def message(kind, to, sender, tag, ref, body=b"", more=b"", values=6):
    return array(values, head(kind, to, sender, tag, ref, body) + more)


def groups(url):
    """Each entry is a group of its own."""
    flood = Flood(linked(url, wire.TABLES))
    for i in range(scaled(400_000)):
        flood.add(array(5, head(wire.TABLE, 1, 2) + text(b"group.", i) + wire.pack(7)))
    flood.flush()


def names(url):
    flood = Flood(linked(url, wire.TABLES))
    stamp = wire.pack(1)
    for i in range(scaled(400_000)):
        flood.add(array(6, head(wire.TABLE, 1, 1) + text(b"name.", i) + wire.pack(7) + stamp))
    flood.flush()


def patterns(url):
    flood = Flood(linked(url, wire.PATTERNS))
    for i in range(0, scaled(400_000), 1000):
        flood.add(array(3, head(wire.INTEREST, 1) + b"\xDC" + struct.pack(">H", 1000) +
                        b"".join(text(b"pattern.", k) for k in range(i, i + 1000))))
    flood.flush()


def watches(url):
    """Sets monitors of one actor, and then removes all, the first one first."""
    peer = linked(url)
    actor = actor_named(peer, ECHO)
    flood = Flood(peer)
    for kind in wire.WATCH, wire.UNWATCH:
        for i in range(1, scaled(150_000)):
            flood.add(message(kind, actor, 5, 0, i))
    flood.flush()


def ties(url):
    """Sets links of actors, and then removes all."""
    peer = linked(url)
    actor = actor_named(peer, ECHO)
    flood = Flood(peer)
    for kind, shift in (wire.LINK, 0), (wire.UNLINK, 32):
        for i in range(1, scaled(150_000)):
            flood.add(message(kind, actor, 100 + i, 0, 1 << shift))
    flood.flush()


def watches_of_the_dead(url):
    flood = Flood(linked(url))
    trace = wire.pack(b"0123456789abcdef\0")
    for i in range(1, scaled(200_000)):
        kind = wire.WATCH if i % 2 else wire.LINK
        flood.add(message(kind, 0x7F000000 + i, 5, 0, i, bytes(120), trace, 7))
    flood.flush()


def retained(url):
    """Sends as many retained messages as a peer may have, with the highest timestamp."""
    peer = linked(url, wire.TOPICS)
    flood, node = Flood(peer), peer.incarnation
    for i in range(scaled(200_000)):
        flood.add(array(8, head(wire.RETAINED) + text(b"topic.", i) + head(node, 5, 1, 1, (1 << 63) - 1, b"poison")))
    flood.flush()


def gossip(url):
    """Sends gossip about nodes that do not exist, at one address on which no program listens."""
    peer = linked(url, wire.GOSSIP)
    flood = Flood(peer)
    with socket.create_server(("127.0.0.1", 0)) as s:
        where = f"tcp://127.0.0.1:{s.getsockname()[1]}"
    for i in range(0, scaled(4_000), 50):
        flood.add(wire.pack([wire.SWIM_SYNC, 0, [[1000 + k, 0, 1, 0, [f"ghost{k}", [where], {}]]
                                                 for k in range(i, i + 50)]]))
    flood.flush()


def answers(url):
    """Sends answers to requests that were never made."""
    flood = Flood(linked(url))
    for i in range(scaled(400_000)):
        kind = (wire.REPLY, wire.FAILED, wire.SPAWNED)[i % 3]
        flood.add(message(kind, 1, 5, 1, i * 0x9E3779B97F4A7C15 % (1 << 64)))
    flood.flush()


def requests(url):
    """Sends requests to actors that do not exist; the node has to answer each."""
    flood = Flood(linked(url))
    for i in range(scaled(400_000)):
        flood.add(message(wire.CALL, 0x7F000000 + i, 5, 1, i))
    flood.flush()


def probes(url):
    """Sends searches for cycles of calls that do not exist, with bodies as long as they may be."""
    peer = linked(url)
    actor, flood = actor_named(peer, ECHO), Flood(peer)
    body = wire.pack([0, 1024, [[peer.incarnation, 5 + i, i, i, "x" * 60] for i in range(64)]])
    for i in range(scaled(20_000)):
        flood.add(message(wire.PROBE, actor, 5, 2 + i % 3, i, body))
    flood.flush()


def spawns(url):
    flood = Flood(linked(url, wire.SPAWNS))
    body = wire.pack(["nothing-here", bytes(1000), 0, 0])
    for i in range(scaled(100_000)):
        flood.add(message(wire.SPAWN, 0, 5, 0, i, body))
    flood.flush()


def chunks(url):
    """Sends the beginning of a long message on many links, and never its end."""
    peers = [linked(url, wire.CHUNKS, f"chunks{i}") for i in range(20)]
    for peer in peers:
        peer.connection.send(wire.pack([wire.CHUNK, 16 << 20, [wire.SEND_NAME, ECHO, 5, 1, 0, bytes(200_000)]]))
    for peer in peers:
        peer.fence()


def malformed(url):
    """Makes links that end with a fault of the peer; each causes a line in the log."""
    for i in range(scaled(2_000)):
        peer = linked(url, name=f"malformed{i}")
        peer.connection.send(wire.pack([wire.SEND, "no number"]))
        peer.closed()
        peer.close()


def links(url):
    for i in range(scaled(2_000)):
        peer = linked(url, wire.TABLES | wire.TOPICS | wire.CREDITS, f"guest{i}")
        peer.leave()


def doors(url):
    """Opens connections to the port and to --metrics that send nothing, or half of a request, and keep their places."""
    ports = [int(url.rsplit(":", 1)[1]), int(os.environ["METRICS"])]
    taken = []
    for i in range(600):
        s = socket.create_connection(("127.0.0.1", ports[i % 2]), PATIENCE, ("127.0.0.2", 0))
        s.settimeout(PATIENCE)
        if i % 3 == 0:
            s.sendall(b"GET / HTTP/1.1\r\n" if i % 2 else b"\0SP\0")
        taken.append(s)
    for s in taken:
        try:
            while s.recv(4096):
                pass
        except OSError:
            pass  # The node closes the connection: at once, or when its time is over.


# ---- Attacks on a store, by a member that uses it as any member may --------------------------------------------------

STORE = "weft.store"
APPEND, READ, STATUS, WATCH, CHANGE, SHARE, STATE, STATE_CLOSE = 1, 2, 5, 7, 8, 16, 20, 21
PUT, TAKE, DONE = range(3)  # The kinds of changes of a queue.


class Requests:
    """Sends requests to the store, at most so many as its mailbox takes, and reads their answers."""

    WINDOW = 500

    def __init__(self, url, name="attacker"):
        self.peer = linked(url, wire.CHUNKS, name)
        self.store = self.peer.call(STORE, STATUS)[2]
        self.parts, self.sent, self.number = [], 0, 0

    def add(self, tag, *fields, sender=5, answered=True):
        """Without an answer the request waits in the store."""
        self.number += 1
        kind = wire.CALL if tag != STATE_CLOSE else wire.SEND
        self._push(wire.pack([kind, self.store, sender, tag, self.number if kind == wire.CALL else 0,
                              wire.pack(list(fields))]), answered and kind == wire.CALL)

    def add_large(self, tag, *fields):
        """A request of more than a chunk."""
        self.number += 1
        body, at_once = wire.pack(list(fields)), 200_000
        self._push(wire.pack([wire.CHUNK, len(body), [wire.CALL, self.store, 5, tag, self.number, body[:at_once]]]) +
                   b"".join(wire.pack([wire.CHUNK, body[i:i + at_once]])
                            for i in range(at_once, len(body), at_once)), True)

    def _push(self, packed, answered):
        self.parts.append(packed)
        self.sent += answered
        if len(self.parts) >= self.WINDOW or sum(map(len, self.parts[-8:])) > 4_000_000:
            self.flush()

    def flush(self):
        """Returns when all has been answered, and what waits has been received."""
        self.add_fence()
        self.peer.connection.send(b"".join(self.parts))
        for _ in range(self.sent):
            self.peer.frame(wire.REPLY, wire.FAILED)
        self.parts, self.sent = [], 0

    def add_fence(self):
        self.number += 1
        self.parts.append(wire.pack([wire.CALL, self.store, 5, STATUS, self.number, b""]))
        self.sent += 1


def store_shares(url):
    """As many shared cursors as a node may have, with different patterns that all match what is published then."""
    r = Requests(url)
    for i in range(500):
        words = ".".join("*" if i >> bit & 1 else "a" for bit in range(9))
        r.add(SHARE, f"cursor{i}", f"room.{words}.>", i + 1, 1, sender=100 + i, answered=False)
    r.flush()
    for i in range(scaled(20_000)):
        r.add(APPEND, f"room.a.a.a.a.a.a.a.a.a.{i}", 1, b"x")
    r.flush()


def store_jobs(url):
    """Thousands of queues with jobs whose leases end all at once, and as many workers as a node may have."""
    r = Requests(url)
    for i in range(scaled(5_000)):
        r.add(CHANGE, PUT, f"jobs.{i}", 0, 0, 0, 1, b"x", "", 0, 0, 0, False)
    for i in range(scaled(20_000)):
        r.add(CHANGE, TAKE, f"jobs.{i % scaled(5_000)}", 0, 0, 0, 0, b"", "", i + 1, 0, 0, False, sender=100 + i,
              answered=i < scaled(10_000))  # A second worker gets a job when the lease of the first one has ended.
    r.flush()


def store_acknowledgements(url):
    """Acknowledgements of jobs that this member does not have, with `upto`."""
    r = Requests(url)
    for i in range(scaled(100_000)):
        r.add(CHANGE, DONE, "jobs.x", i, i, 0, 0, b"", "", 0, 0, 0, True)
    r.flush()


def store_reads(url):
    """Hundreds of readers that read everything, again and again."""
    r = Requests(url)
    for i in range(scaled(20_000)):
        r.add(APPEND, "room.read", 1, bytes(200))
    for _ in range(20):
        for i in range(400):
            r.add(READ, "room.read", 0, 1 + i * 7, 1024, 1 << 20, False, sender=100 + i)
        r.flush()


def store_waits(url):
    """As many reads and watchers as a node may have, which a publication to their topic ends all at once."""
    r = Requests(url)
    for _ in range(3):
        for i in range(scaled(10_000)):
            r.add(READ, "room.wait", 0, 0, 1, 1, True, sender=100 + i, answered=False)
        r.flush()
        for i in range(50):
            r.add(APPEND, "room.wait", 1, b"x")
        r.flush()


def store_large(url):
    """Publications of the largest size."""
    r = Requests(url)
    for _ in range(scaled(200)):
        r.add_large(APPEND, "room.large", 1, bytes(1 << 20))
    r.flush()


def store_topics(url):
    """A new topic with each publication."""
    r = Requests(url)
    for i in range(scaled(100_000)):
        r.add(APPEND, f"room.many.{i}", 1, b"x")
    r.flush()


def store_openings(url):
    """As many actors as may wait for one state, and messages of another actor that waits for nothing."""
    r = Requests(url)
    r.add(STATE, 0, "state.x", 0, 0, 0, 0, b"")
    r.flush()
    for i in range(scaled(2_000)):
        r.add(STATE, 0, "state.x", 0, 0, 0, 0, b"", sender=100 + i, answered=False)
    r.flush()
    for i in range(scaled(100_000)):
        r.add(STATE_CLOSE, 0, "state.x", 0, 0, 0, 0, b"", sender=7)
    r.flush()


ATTACKS = {f.__name__: f for f in (store_shares, store_jobs, store_acknowledgements, store_reads, store_waits,
                                   store_large, store_topics, store_openings, groups, names, patterns, watches, ties, watches_of_the_dead, retained, gossip,
                                   answers, requests, probes, spawns, chunks, malformed, links, doors)}


# ---- The node, and its friend --------------------------------------------------------------------------------------

class Hostile(unittest.TestCase):
    attack = None

    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)
        self.node = Program(WEFT, "run", MODULE, "--name", "victim", "--listen", "tcp://127.0.0.1:0",
                            "--metrics", "0", "--workers", "2", "--probe", "0.2", "--suspicion", "4",
                            "--resume-window", "0.5", *self.store_options(), "--", "echo", env=self.cluster.env)
        self.cluster.nodes["victim"] = self.node
        self.url = self.node.log(r"listens on (tcp://[0-9.:]+)")[1]
        self.metrics = self.node.log(r"metrics on http://.*:(\d+)/metrics")[1]
        self.assertEqual(self.node.line(), "ready")
        path = os.path.join(self.cluster.folder.name, "weft", "victim.sock")
        self.control = wire.Peer("ipc://" + path, "eye", flags=wire.TOOL, heartbeat=3_600_000).link()
        self.friend = wire.Peer(self.url, "friend", heartbeat=3_600_000).link()

    def store_options(self):
        self.stores = self.attack.startswith("store_")
        self.file = os.path.join(self.cluster.folder.name, "store.db")
        return ("--store", "sqlite:" + self.file, "--stored", "room.>:count=50000", "--stored", "victim",
                "--queues", "jobs.>:lease=1", "--states", "state.>") if self.stores else ()

    def publish(self):
        """The friend uses the store, too."""
        begun = time.monotonic()
        got = self.friend.call(STORE, APPEND, wire.pack(["victim", 1, b"hello"]))
        self.stored.append(time.monotonic() - begun)
        self.assertEqual((got[0], wire.unpack(got[5])[0][0]), (wire.REPLY, 0))

    def read_file(self):
        """Operators see the store during the attack."""
        if len(self.stored) == 1:
            self.assertIn("victim", subprocess.run([WEFT, "store", "topics", "--store", "sqlite:" + self.file], text=True,
                                                   capture_output=True, timeout=PATIENCE, check=True).stdout)

    def look(self):
        seen = self.control.ask(TOP, ["mailbox", 0, "", False])[0]
        self.longest = max([self.longest, *(w["longest_ns"] for w in seen["workers"])])
        self.most = max(self.most, seen["resident_bytes"])
        return seen

    def call(self):
        begun = time.monotonic()
        got = self.friend.call(ECHO, 1, b"hello")
        self.took.append(time.monotonic() - begun)
        self.assertEqual((got[0], got[5]), (wire.REPLY, b"hello"))

    def test_attack(self):
        self.longest = self.most = 0
        self.took, self.stored = [], []
        for _ in range(ROUND):
            self.call()  # All caches and pools are warm now.
        before = self.look()
        self.longest, self.took = 0, []
        attacker = subprocess.Popen([sys.executable, __file__, "--attack", self.attack, self.url],
                                    env=dict(self.cluster.env, METRICS=self.metrics), stdout=subprocess.PIPE,
                                    text=True)
        self.addCleanup(attacker.stdout.close)
        self.addCleanup(attacker.kill)
        until = time.monotonic() + 2 * PATIENCE
        while attacker.poll() is None or len(self.took) < ROUND:
            self.assertLess(time.monotonic(), until, "the attack goes on for too long")
            for _ in range(ROUND):
                self.call()
            if self.stores:
                self.publish()
                self.read_file()
            self.look()
        attacker.wait()
        said = attacker.stdout.read().strip()
        self.assertEqual(attacker.returncode, 0, said)

        def memory_is_back():
            self.call()
            kept = KEPT_OF.get(self.attack, KEPT)
            return SANITIZED or self.look()["resident_bytes"] < before["resident_bytes"] + kept
        eventually("the memory comes back", memory_is_back)
        after = self.look()
        # The attack leaves no burden behind: the friend's calls still return, and the node ends as it should.
        self.call()
        self.friend.leave()
        self.node.stop()
        log = "\n".join(self.node.err.seen)
        if not SANITIZED:
            self.assertNotRegex(log, "is held up by")
        self.took.sort()
        self.row(float(said), before, after, len(log))

    def row(self, seconds, before, after, logged):
        processor = (after["processor_ns"] - before["processor_ns"]) / 1e9
        p50, p99 = (round(1e6 * self.took[len(self.took) * part // 100]) for part in (50, 99))
        publications = {}
        if self.stores:
            self.stored.sort()
            publications = {"stored publications of the friend": len(self.stored),
                            "their p50, ms": round(1e3 * self.stored[len(self.stored) // 2], 1),
                            "slowest, ms": round(1e3 * self.stored[-1], 1)}
        print(json.dumps({
            "attack": self.attack, "seconds": round(seconds, 1), "processor, s": round(processor, 1),
            "longest turn, ms": round(self.longest / 1e6, 1), "p50 of a friend, us": p50, "p99, us": p99,
            "MiB before": before["resident_bytes"] >> 20, "at most": self.most >> 20,
            "after": after["resident_bytes"] >> 20, "log, KiB": logged >> 10, **publications}))


def show_table(log):
    with open(log, encoding="utf-8") as file:
        said = "\n".join(json.loads(line).get("stdout", "") for line in file)
    rows = [json.loads(row) for row in said.splitlines() if row.startswith("{")]
    for stores in (False, True):
        chosen = [row for row in rows if row["attack"].startswith("store_") == stores]
        for row in chosen[:1]:
            print("| " + " | ".join(row) + " |\n|" + "---|" * len(row))
        for row in chosen:
            print("| " + " | ".join(map(str, row.values())) + " |")


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        show_table(sys.argv[2])
        sys.exit(0)
    if sys.argv[1] == "--attack":
        began = time.monotonic()
        try:
            ATTACKS[sys.argv[2]](sys.argv[3])
        except (wire.Closed, wire.Refused, ConnectionError):
            pass  # The node has closed the connection.
        print(round(time.monotonic() - began, 2))
        sys.stdout.flush()
        os._exit(0)
    Hostile.attack = sys.argv.pop(1)
    unittest.main()
