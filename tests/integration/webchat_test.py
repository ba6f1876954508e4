#!/usr/bin/env python3
"""examples/webchat.c with browsers that are this file: a WebSocket client (RFC 6455) of the standard library."""
import base64
import hashlib
import http.client
import json
import os
import socket
import struct
import time
import unittest

from harness import PATIENCE, Client, Cluster, Program, built, eventually

# The patience for a client that does not answer; other clients have to answer within it.
SOME_TIME = str(max(2, int(PATIENCE / 6)))
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
PROGRAM = built("examples", "webchat")


def split(url):
    host, port = url.removeprefix("http://").rstrip("/").rsplit(":", 1)
    return host, int(port)


class Browser:
    """A client that does what the WebSocket of a page does; receive() sends pongs."""

    def __init__(self, url, nick, room="lobby", receive_buffer=0, method="GET", version="1.1", **headers):
        self.socket, self.bytes = socket.socket(), b""
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(split(url))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        headers = {"Host": url.removeprefix("http://").rstrip("/"), "Upgrade": "websocket", "Connection": "Upgrade",
                   "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
                   **{name.replace("_", "-"): value for name, value in headers.items()}}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
        self.socket.sendall(f"{method} /chat?nick={nick}&room={room} HTTP/{version}\r\n{lines}\r\n".encode())
        while b"\r\n\r\n" not in self.bytes:
            self.more()
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        self.status = int(head.split()[1])
        self.answer = {name.lower(): value for name, value in
                       (line.split(": ", 1) for line in head.decode().split("\r\n")[1:])}
        proof = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        assert self.status != 101 or self.answer["sec-websocket-accept"] == proof.decode(), self.answer

    def more(self):
        more = self.socket.recv(65536)
        if not more:
            raise EOFError
        self.bytes += more

    def frame(self, opcode, payload=b"", fin=True, masked=True):
        mask = os.urandom(4) if masked else b""
        size = len(payload)
        length = bytes([size]) if size < 126 else struct.pack(">BH", 126, size) if size < 65536 else \
            struct.pack(">BQ", 127, size)
        length = bytes([length[0] | (0x80 if masked else 0)]) + length[1:]
        body = payload
        if masked:
            key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            body = (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big")
        self.socket.sendall(bytes([opcode | (0x80 if fin else 0)]) + length + mask + body)

    def take(self, size):
        while len(self.bytes) < size:
            self.more()
        taken, self.bytes = self.bytes[:size], self.bytes[size:]
        return taken

    def receive_frame(self):
        first, second = self.take(2)
        assert not second & 0x80, "a server does not mask"
        size = second & 0x7F
        if size > 125:
            size = struct.unpack(">H", self.take(2))[0] if size == 126 else struct.unpack(">Q", self.take(8))[0]
        return first & 0x0F, self.take(size)

    def receive(self):
        """Returns the next message; a close frame is a tuple of code and text. Pings are skipped."""
        by = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < by, "nothing but pings"
            opcode, payload = self.receive_frame()
            if opcode == PING:
                self.frame(PONG, payload)
            elif opcode == CLOSE:
                return (struct.unpack(">H", payload[:2])[0], payload[2:].decode()) if payload else (0, "")
            elif opcode == TEXT:
                return json.loads(payload)

    def say(self, text):
        self.frame(TEXT, text.encode())

    def line(self):
        """Returns the next line that a member has sent."""
        while "text" not in (message := self.receive()):
            assert isinstance(message, dict), message
        return message["nick"], message["text"]

    def sees(self, *who):
        while self.receive() != {"who": sorted(who)}:
            pass

    def close(self):
        self.socket.close()


@unittest.skipIf(not os.path.exists(PROGRAM), "this build has no libwslay-dev or no libhttp-parser-dev")
class WebChat(unittest.TestCase):
    def one(self, *args):
        program = Program(PROGRAM, "--port", "0", *args)
        self.addCleanup(program.kill)
        self.node, self.url = program.line().split(": chat on ")
        return program

    def two(self, *args):
        cluster = Cluster()
        self.addCleanup(cluster.__exit__)
        urls = {}
        for name in "ab":
            node = cluster.run(name, built("examples", "webchat.so"), "--port", "0", *args,
                               join=["a"] if name == "b" else [])
            urls[name] = node.line().split(": chat on ")[1]
        return cluster, urls

    def browser(self, url, nick, room="lobby", **more):
        browser = Browser(url, nick, room, **more)
        self.addCleanup(browser.close)
        return browser

    def get(self, method, path, headers=None):
        connection = http.client.HTTPConnection(*split(self.url), timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def test_the_page_is_served(self):
        program = self.one()
        status, page = self.get("GET", "/")
        self.assertEqual(status, 200)
        for part in ("<title>weft chat</title>", "width=device-width", "new WebSocket(", "</script>"):
            self.assertIn(part, page)
        self.assertEqual(self.get("HEAD", "/"), (200, ""))
        self.assertEqual(self.get("GET", "/other")[0], 404)
        self.assertEqual(self.get("POST", "/")[0], 405)
        self.assertEqual(self.get("GET", "/", {"X": "x" * 10000})[0], 431)
        self.assertEqual(self.get("GET", "/chat?nick=a&room=b")[0], 400)
        with socket.create_connection(split(self.url), PATIENCE) as s:
            s.sendall(b"nonsense\r\n\r\n")
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 400 "))
        program.stop()

    def test_only_well_formed_requests_of_the_own_page_enter(self):
        self.one()
        host = self.url.removeprefix("http://").rstrip("/")
        for expected, headers in ((101, {}), (101, {"Origin": "http://" + host}),
                                  (403, {"Origin": "http://other.example"}), (403, {"Origin": "null"}),
                                  (426, {"Sec_WebSocket_Version": "8"}),
                                  (400, {"Connection": None}), (400, {"Connection": "keep-alive"}),
                                  (101, {"Connection": "keep-alive, Upgrade"}), (400, {"method": "HEAD"}),
                                  (405, {"method": "POST"}), (400, {"version": "1.0"}), (400, {"Upgrade": None}),
                                  (400, {"Sec_WebSocket_Key": "short"}), (400, {"Sec_WebSocket_Key": None}),
                                  (400, {"nick": "a.b"}), (400, {"room": ""}), (400, {"nick": "x" * 25})):
            browser = self.browser(self.url, **{"nick": "ann", **headers})
            self.assertEqual(browser.status, expected, headers)

    def test_browsers_on_two_nodes_read_each_other(self):
        """Members and lines reach the other page; from one's key to the other's screen nothing waits for anything
        else."""
        cluster, urls = self.two()
        ann, bob = self.browser(urls["a"], "ann"), self.browser(urls["b"], "bob")
        ann.sees("ann@a", "bob@b"), bob.sees("ann@a", "bob@b")
        took = []
        for i in range(100):
            speaker, listener = (ann, bob) if i % 2 else (bob, ann)
            began = time.monotonic()
            speaker.say(f"{i} \u00e4\u20ac\U0001f600")
            line = listener.line()
            took.append(time.monotonic() - began)
            self.assertEqual(line, ("ann" if i % 2 else "bob", f"{i} \u00e4\u20ac\U0001f600"))
            self.assertEqual(line, speaker.line())
        took.sort()
        print(f"from key to screen, between nodes: {took[50] * 1e3:.2f} ms, at most {took[-1] * 1e3:.2f} ms")
        eve = self.browser(urls["b"], "eve", "other")
        eve.sees("eve@b")
        eve.say("alone")
        self.assertEqual(eve.line(), ("eve", "alone"))
        bob.frame(CLOSE, struct.pack(">H", 1000))
        self.assertEqual(bob.receive()[0], 1000)
        ann.sees("ann@a")
        bob = self.browser(urls["b"], "bob")
        ann.sees("ann@a", "bob@b")
        bob.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        bob.close()  # The client ends without a close frame.
        ann.sees("ann@a")
        cluster.nodes["b"].stop()
        self.assertEqual(eve.receive(), (1001, "the server stops"))
        ann.say("still here")
        self.assertEqual(ann.line(), ("ann", "still here"))

    def test_browsers_and_clients_of_lines_share_a_room(self):
        """A room is the same one for browsers and for clients of examples/chat.c."""
        cluster = Cluster()
        self.addCleanup(cluster.__exit__)
        web = cluster.run("a", built("examples", "webchat.so"), "--port", "0").line().split(": chat on ")[1]
        lines = cluster.run("b", built("examples", "chat.so"), "--port", "0", join="a").line().split(": chat on ")[1]
        ann, bob = self.browser(web, "ann"), Client(lines)
        self.addCleanup(bob.close)
        bob.line(), bob.ask("/nick bob")
        eventually("both clients are in the lobby", lambda: bob.ask("/who") == "* lobby: ann@a bob@b")
        bob.send("to the browser")
        self.assertEqual((ann.line(), bob.line()), (("bob", "to the browser"), "[lobby] bob: to the browser"))
        ann.say("to the\x1b terminal")
        self.assertEqual((ann.line(), bob.line()), (("ann", "to the? terminal"), "[lobby] ann: to the? terminal"))

    def test_a_newcomer_on_another_node_gets_the_last_hundred_lines(self):
        """A newcomer on another node gets the last hundred lines, in order and each once, and then new lines."""
        _, urls = self.two()
        ann = self.browser(urls["a"], "ann")
        euros = "\u20ac" * 400
        for i in range(105):
            ann.say(f"{i} {euros}")
            self.assertEqual(ann.line(), ("ann", f"{i} {euros}"))
        bob = self.browser(urls["b"], "bob")
        ann.say("live"), bob.say("live, too")
        told = []  # Other actors send live lines, which may arrive before the history, whose last line is the 105th.
        while not {"live", "live, too", f"104 {euros}"} <= {text for _, text in told}:
            message = bob.receive()
            if "nick" in message:
                told.append(("earlier" in message, message.get("earlier") or message["text"]))
        before = [int(text.split()[0]) for is_earlier, text in told if is_earlier and not text.startswith("live")]
        self.assertIn(len(before), (98, 99, 100))  # The lines that were sent meanwhile are the newest of the hundred.
        self.assertEqual(before, list(range(105 - len(before), 105)))
        self.assertEqual(len({text for _, text in told}), len(told))
        eve = self.browser(urls["b"], "eve", "other")
        eve.say("alone")
        while "text" not in (message := eve.receive()):
            self.assertNotIn("earlier", message)

    def test_a_browser_that_answers_no_ping_is_dropped(self):
        program = self.one("--ping", "1", "--patience", SOME_TIME)
        ann, deaf = self.browser(self.url, "ann"), self.browser(self.url, "deaf")
        ann.sees(*(f"{nick}@{self.node}" for nick in ("ann", "deaf")))
        ann.sees(f"ann@{self.node}")  # The client answers pings meanwhile.
        program.log("deaf is dropped: deadline passed")
        with self.assertRaises(EOFError):
            while True:
                deaf.receive_frame()

    def test_a_browser_that_does_not_read_is_dropped(self):
        """The client is dropped; the others do not notice."""
        program = self.one("--patience", SOME_TIME)
        deaf, ann = self.browser(self.url, "deaf", receive_buffer=4096), self.browser(self.url, "ann")
        ann.sees(*(f"{nick}@{self.node}" for nick in ("ann", "deaf")))
        number, left = 0, False

        def talk():
            nonlocal number, left
            for _ in range(1000):
                ann.say(f"{number} " + "x" * 1500)
                while "text" not in (m := ann.receive()):
                    left = left or m == {"who": [f"ann@{self.node}"]}
                self.assertTrue(m["text"].startswith(f"{number} "), m)
                number += 1
            return left
        eventually("the browser that does not read is dropped", talk)
        program.log("deaf is dropped: deadline passed")
        program.stop()

    def test_frames_in_parts_and_malformed_frames_are_handled(self):
        self.one()
        ann = self.browser(self.url, "ann")
        ann.frame(TEXT, b"in ", fin=False)
        ann.frame(PING, b"between")
        ann.frame(0, b"parts")
        frames = [ann.receive_frame() for _ in range(3)]
        self.assertIn((PONG, b"between"), frames)
        self.assertIn({"nick": "ann", "text": "in parts"}, [json.loads(p) for o, p in frames if o == TEXT])
        ann.say("x" * 1600)
        self.assertEqual(ann.line(), ("ann", "x" * 1600))
        ann.say('"\\\n</script>')
        self.assertEqual(ann.line(), ("ann", '"\\?</script>'))
        ann.frame(BINARY, b"nothing for a chat"), ann.say("")
        for code, send in ((1009, lambda b: b.say("x" * 1601)), (1007, lambda b: b.frame(TEXT, b"\xff\xfe")),
                           (1002, lambda b: b.frame(TEXT, b"x", masked=False)), (1002, lambda b: b.frame(3, b"x")),
                           (1009, lambda b: b.socket.sendall(b"\x81\xff" + b"\x7f" + b"\xff" * 12)),
                           (0, lambda b: b.frame(PING, b"x" * 126)), (0, lambda b: b.frame(PING, b"x", fin=False)),
                           (0, lambda b: b.socket.sendall(b"\x81\xff\x80" + bytes(11))),
                           (1002, lambda b: b.frame(0, b"no start")), (1002, lambda b: b.frame(TEXT | 0x40, b"x")),
                           (1002, lambda b: b.frame(CLOSE, struct.pack(">H", 1005)))):
            browser = self.browser(self.url, "bob")
            send(browser)
            while not isinstance(got := browser.receive(), tuple):
                pass
            self.assertEqual(got[0], code)
        ann.say("still there")
        self.assertEqual(ann.line(), ("ann", "still there"))

    def test_browsers_that_reset_their_connections_leave_the_room(self):
        program = self.one()
        ann = self.browser(self.url, "ann")
        for i in range(100):
            browser = Browser(self.url, f"b{i}")
            browser.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            browser.close()
        ann.say("all gone")
        self.assertEqual(ann.line(), ("ann", "all gone"))
        eve = self.browser(self.url, "eve")
        eve.sees(f"ann@{self.node}", f"eve@{self.node}")
        program.stop()


if __name__ == "__main__":
    unittest.main()
