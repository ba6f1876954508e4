#!/usr/bin/python3
"""A node of a weft cluster in Python, with nothing but a socket and msgpack: docs/wire.md in code.

usage: peer.py URL NAME [TOPIC]      for example: peer.py tcp://127.0.0.1:4001 snake 'news.*'

It joins the node at URL as NAME, subscribes to TOPIC and prints what is published there, answers calls to the name
"shout" (the body in capitals), and publishes each line of its standard input to the topic "python.line". It ends with
its standard input, or when the node leaves.
"""
import queue
import secrets
import socket
import struct
import sys
import threading
import time

import msgpack

HELLO, WELCOME, REFUSED, BYE, PING, PONG, PEERS, INTEREST = range(1, 9)
SEND, CALL, REPLY, FAILED, STOP = range(16, 21)
SEND_NAME, CALL_NAME, PUBLISH = 24, 25, 32
NO_SUCH_ACTOR = 6
HEARTBEAT = 1.0
SP_PAIR = b"\0SP\0\0\x10\0\0"
TEXT = "utf-8"


class Refused(Exception):
    """The node refuses this peer."""


class Peer:
    """One link. It offers no capabilities, so frames are neither numbered nor sent again: a broken link is over."""

    def __init__(self, host, port, name, actors, cluster="weft"):
        self.name, self.cluster = name, cluster
        self.incarnation = secrets.randbits(64) or 1
        self.socket = socket.create_connection((host, port))
        self.lock = threading.Lock()  # One thread at a time sends a batch.
        self.node = None  # name and incarnation of the other side
        self.subscribers = {}  # pattern -> function(topic, tag, body)
        self.actors = actors  # registered name -> function(tag, body), whose result is the answer to a call
        self.replies, self.last_ref = {}, 0
        self.left = threading.Event()
        self._greet()
        threading.Thread(target=self._read_on, daemon=True).start()
        threading.Thread(target=self._keep_alive, daemon=True).start()

    # ---- Bytes: a message is a batch of frames, and before it its length

    def _send(self, *frames):
        batch = b"".join(msgpack.packb(frame) for frame in frames)
        with self.lock:
            self.socket.sendall(struct.pack(">Q", len(batch)) + batch)

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("closed by the other side")
            data += more
        return data

    def _batch(self):
        size = struct.unpack(">Q", self._exactly(8))[0]
        frames = msgpack.Unpacker(max_buffer_size=0, raw=False)
        frames.feed(self._exactly(size))
        return list(frames)

    # ---- The handshake

    def _greet(self):
        self.socket.sendall(SP_PAIR)
        if self._exactly(8) != SP_PAIR:
            raise Refused("this is no node")
        self._send([HELLO, [1, 0, self.cluster, self.name, self.incarnation, 0, int(HEARTBEAT * 1000), []]])
        first, linked = True, False  # the node with the higher incarnation says WELCOME, then the other one
        while not linked:
            for frame in self._batch():
                if frame[0] == HELLO:
                    self.node = (frame[1][3], frame[1][4])
                    first = self.incarnation > self.node[1]
                    if first:
                        self._send([WELCOME])
                elif frame[0] == REFUSED:
                    raise Refused(frame[2])
                elif frame[0] == WELCOME and not linked:
                    linked = True
                    if not first:
                        self._send([WELCOME])
                elif linked:
                    self._take(frame)

    # ---- While linked

    def _keep_alive(self):
        while not self.left.wait(HEARTBEAT):
            try:
                self._send([PING, time.monotonic_ns()])
            except OSError:
                return

    def _read_on(self):
        try:
            while not self.left.is_set():
                for frame in self._batch():
                    self._take(frame)
        except OSError:
            pass
        self.left.set()
        for waiting in list(self.replies.values()):
            waiting.put(None)

    def _take(self, frame):
        kind = frame[0]
        if kind == PING:
            self._send([PONG, frame[1]])
        elif kind == BYE:
            self.left.set()
        elif kind == PUBLISH:
            _, topic, _, tag, body = frame[:5]
            for pattern, hear in list(self.subscribers.items()):
                if matches(pattern, topic):
                    hear(topic, tag, body)
        elif kind in (SEND_NAME, CALL_NAME):
            _, name, sender, tag, ref, body = frame[:6]
            actor = self.actors.get(name)
            if actor is None and kind == CALL_NAME:
                self._send([FAILED, sender, 0, NO_SUCH_ACTOR, ref, b""])
            elif actor is not None:
                answer = actor(tag, body)
                if kind == CALL_NAME:
                    self._send([REPLY, sender, 1, tag, ref, answer])
        elif kind in (REPLY, FAILED):
            waiting = self.replies.pop(frame[4], None)
            if waiting is not None:
                waiting.put(frame)
        # Every other kind is skipped: that is what keeps nodes of different versions together.

    # ---- What a program does with it

    def subscribe(self, pattern, hear):
        self.subscribers[pattern] = hear
        self._send([INTEREST, 1, [pattern]])

    def publish(self, topic, tag, body):
        self._send([PUBLISH, topic, 0, tag, body])

    def send(self, name, tag, body):
        self._send([SEND_NAME, name, 0, tag, 0, body])

    def call(self, name, tag, body, timeout=5.0):
        """Returns the answer, (tag, body), of the actor that has this name on the other node."""
        self.last_ref += 1
        waiting = self.replies[self.last_ref] = queue.Queue()
        self._send([CALL_NAME, name, 1, tag, self.last_ref, body, int(timeout * 1e6)])
        frame = waiting.get(timeout=timeout)
        if frame is None or frame[0] == FAILED:
            raise LookupError(f"{name}: no answer" if frame is None else f"{name}: error {-frame[3]}")
        return frame[3], frame[5]

    def leave(self):
        """Sends BYE behind all earlier frames; then the other side closes."""
        try:
            self._send([BYE, "left"])
            self.left.wait(5)
        except OSError:
            pass
        self.socket.close()


def matches(pattern, topic):
    """'*' matches one word, and '>' at the end matches one or more."""
    words, wanted = topic.split("."), pattern.split(".")
    if wanted[-1] == ">":
        return len(words) >= len(wanted) and matches(".".join(wanted[:-1]), ".".join(words[:len(wanted) - 1]))
    return len(words) == len(wanted) and all(w in ("*", word) for w, word in zip(wanted, words))


def main():
    url, name, topics = sys.argv[1], sys.argv[2], sys.argv[3:]
    host, port = url.removeprefix("tcp://").rsplit(":", 1)
    try:
        peer = Peer(host, int(port), name, {"shout": lambda tag, body: body.upper()})
    except (Refused, OSError) as why:
        sys.exit(f"peer.py: {why}")
    for topic in topics:
        peer.subscribe(topic, lambda at, tag, body: print("heard", at, tag, body.decode(TEXT, "replace"), flush=True))
    print(f"linked with {peer.node[0]}", flush=True)
    for line in sys.stdin:
        peer.publish("python.line", 1, line.rstrip("\n").encode(TEXT))
    peer.leave()


if __name__ == "__main__":
    main()
