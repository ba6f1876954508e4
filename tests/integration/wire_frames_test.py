#!/usr/bin/env python3
"""docs/wire.md, section by section, against real nodes: bytes, WebSockets and frames."""
import os
import re
import shutil
import socket
import struct
import unittest

import wire_peer
from harness import ROOT, Program
from wire_case import HIGHEST, PAGE, PUBLISH_IT, SELF, Wire, both, nested
from wire_peer import (CALL, CALL_NAME, HELLO, INTEREST, NO_DEADLINE, PING, PUBLISH, PUBLISH_TO, REPLY, RESUME,
                       RETAINED, SEND, SEND_NAME, SWIM_SYNC, TABLE, WATCH, WELCOME, pack, unpack)


class Bytes(Wire):
    def connect(self):
        s = socket.create_connection(("127.0.0.1", int(self.url.rsplit(":", 1)[1])), wire_peer.PATIENCE)
        self.addCleanup(s.close)
        return s

    def test_a_connection_with_another_header_is_closed(self):
        s = self.connect()
        s.sendall(b"\0SP\0\0\x11\0\0")
        self.assertEqual(s.recv(100), wire_peer.SP)
        self.assertEqual(s.recv(100), b"")
        self.node.log("does not speak the SP protocol of PAIR")

    def test_a_handshake_may_come_byte_by_byte(self):
        peer = self.peer()
        hello = pack([HELLO, [1, 0, "weft", "p", HIGHEST, 0, 60000, []]])
        s = self.connect()
        for byte in wire_peer.SP + struct.pack(">Q", 0) + struct.pack(">Q", len(hello)) + hello:
            s.sendall(bytes([byte]))
        got = b""
        while len(got) < 16 or len(got) < 16 + struct.unpack(">Q", got[8:16])[0]:
            got += s.recv(1000)
        self.assertEqual(got[:8], wire_peer.SP)
        self.assertEqual(unpack(got, 16)[0][0], HELLO)
        peer.link()
        peer.connection.send(b"")  # This is an empty batch.
        self.assertGreater(self.puppet(peer, SELF), 0)

    def test_a_message_over_the_limit_ends_the_connection(self):
        c = self.raw()
        c.stream.sendall(struct.pack(">Q", 4097))
        self.closes(c, "a message of 4097 bytes is over the limit of 4096")
        peer = self.peer().link()
        peer.connection.stream.sendall(struct.pack(">Q", wire_peer.BATCH_MAX + 1))
        self.closes(peer.connection, "over the limit of 17040384")

    def test_a_peer_over_a_unix_socket_is_linked(self):
        node, url = self.start("local", listen=f"ipc://{self.cluster.folder.name}/here.sock")
        peer = self.peer(url=url).link()
        self.assertGreater(self.puppet(peer, SELF), 0)
        peer.connection.stream.sendall(b"\2" + struct.pack(">Q", 1))
        self.assertTrue(peer.closed())
        node.log("unknown type of message on a local socket")


class WebSockets(Wire):
    def setUp(self):
        super().setUp()
        self.node, self.ws = self.start("w", listen="ws://127.0.0.1:0/some/where")

    def test_a_peer_over_websocket_is_linked(self):
        for incarnation in both():
            peer = self.peer("p", incarnation, url=self.ws).link()
            self.assertGreater(self.puppet(peer, SELF), 0)
            stream = peer.connection.stream
            data = peer.connection.wrapped(pack([CALL_NAME, "puppet", 5, SELF, 9, b""]))
            stream.sendall(b"are you there?", 9)  # This is a ping.
            stream.sendall(data[:3], 2, False)
            stream.sendall(data[3:7], 0, False)
            stream.sendall(data[7:], 0, True)
            self.assertEqual(peer.frame(REPLY)[4], 9)
            peer.fence()
            self.assertEqual(stream.pong, b"are you there?")
            peer.leave()

    def test_a_broken_link_goes_on(self):
        peer = self.peer(url=self.ws, capabilities=RESUME).link()
        peer.send_part(15, [CALL_NAME, "puppet", 5, SELF, 9, b""])
        peer.resume()
        self.assertEqual(peer.frame(REPLY)[4], 9)

    def answer(self, old, new):
        host = self.ws.split("/")[2]
        lines = ["GET /some/where?this=is&not=read HTTP/1.1", f"Host: {host}", "upgrade: WebSocket",
                 "CONNECTION: keep-alive, Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                 "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Protocol: chat, {wire_peer.SUBPROTOCOL}", "X-Other: 1"]
        text = "\r\n".join([*lines, "", ""]).replace(old, new.replace("HOST", host))
        plain = wire_peer.dial("tcp://" + host)[0]
        self.addCleanup(plain.close)
        plain.sendall(text.encode())
        return plain.recv(12).decode().split()[1]

    def test_requests_for_a_websocket_are_answered_as_documented(self):
        for old, new, status in (
                ("", "", "101"), ("Host: HOST", "Host: localhost", "101"),
                ("HTTP/1.1", "HTTP/1.0", "400"), ("X-Other: 1", "Host: HOST", "400"), ("dGhl", "dG", "400"),
                ("chat, pair.sp", "pair1.sp", "400"), ("X-Other: 1", "Origin: http://HOST", "403"),
                ("/some/where", "/elsewhere", "404"), ("GET", "POST", "405"),
                ("Host: 127.0.0.1", "Host: x.example", "421"),
                ("Version: 13", "Version: 8", "426"), ("upgrade: WebSocket", "upgrade: h2c", "426"),
                ("X-Other: 1", "X-Other: " + "1" * 4096, "431")):
            with self.subTest(old=old, new=new[:40]):
                self.assertEqual(self.answer(old, new), status)

    def test_bad_frames_of_a_websocket_end_the_link(self):
        for data, why in ((b"\x81\x80\0\0\0\0", "not binary"), (b"\x82\x01a", "not masked"),
                          (b"\xc2\x80\0\0\0\0", "reserved bits set"),
                          (b"\x89\xfe\0\x7e\0\0\0\0", "bad control"),
                          (b"\x88\x80\0\0\0\0", "closed by the other side")):
            with self.subTest(why=why):
                peer = self.peer("p", url=self.ws).link()
                peer.connection.stream.plain.sendall(data)
                self.assertTrue(peer.closed())
                self.node.log(why)

    def test_the_node_dials(self):
        peer = self.peer("p").listen("ws")
        node, _ = self.start("d", "--join", peer.urls[0])
        peer.accept()
        stream = peer.connection.stream
        self.assertEqual(stream.request, "GET /peer HTTP/1.1")
        self.assertEqual(stream.headers["sec-websocket-protocol"], wire_peer.SUBPROTOCOL)
        self.assertNotIn("origin", stream.headers)
        peer.link()
        self.assertGreater(self.puppet(peer, SELF), 0)
        node.log("linked with node p")

    @unittest.skipIf(shutil.which("nngcat") is None, "nngcat is not installed")
    def test_sp_over_websocket_is_another_protocol(self):
        cat = Program("nngcat", "--pair0", "--dial", self.ws, "--data", "hello")
        self.addCleanup(cat.kill)
        self.node.log("closed a connection from .*: does not speak the SP protocol of PAIR")
        self.works(url=self.ws)


class Frames(Wire):
    def test_every_encoding_of_msgpack_is_read(self):
        """Numbers and lengths may be wide, numbers signed, frames may have more values, and unknown kinds may have any
        values."""
        peer = self.peer(capabilities=RESUME).link()
        deep = b"\x91" * 31 + b"\xc0"
        for kind in (b"\xcd\0\x19", b"\xd0\x19", b"\xd3" + struct.pack(">q", 25), b"\xcf" + struct.pack(">Q", 25)):
            frame = (b"\xdd\0\0\0\x09" + kind + b"\xdb\0\0\0\x06puppet" + b"\xd1\0\5" + b"\xcc\1" + b"\x07" +
                     b"\xc6\0\0\0\0" + pack(NO_DEADLINE) + b"\xcb" + bytes(8) + deep)
            peer.state.sent += 1
            peer.connection.send(pack([99, "?"]) + pack([12]) + frame + pack([2 ** 64 - 1, {"a": [1.5 and None]}]))
            peer.state.sent += 2
            self.assertEqual(peer.frame(REPLY)[4], 7)
        peer.fence()
        self.assertEqual(peer.state.sent, 12)  # The node has acknowledged this since: see LinkState.acknowledged.

    def test_a_frame_of_the_wrong_shape_ends_the_link(self):
        for frame, says in (
                ([SEND, "text", 0, 0, 0, b""], "SEND"), ([SEND, 1, 0, 0xFFFFFF00, 0, b""], "SEND"),
                ([SEND, 1, 0, 0, 0, "text"], "SEND"), ([SEND, 1, 0, 0, 0], "SEND"),
                ([SEND, -1, 0, 0, 0, b""], "SEND"),
                ([SEND_NAME, "", 0, 0, 0, b""], "SEND_NAME"), ([SEND_NAME, "a b", 0, 0, 0, b""], "SEND_NAME"),
                ([SEND_NAME, "n" * 65, 0, 0, 0, b""], "SEND_NAME"), ([WATCH, 1, 1, 0, 0, b"x" * 132], "WATCH"),
                ([48, 1, 1, 2, 0, b"x" * 8193], "PROBE"), ([PUBLISH, "a..b", 0, 0, b""], "PUBLISH"),
                ([INTEREST, 1, ["a.>.b"]], "INTEREST"), ([INTEREST, 0, ["a"]], "INTEREST"),
                ([INTEREST, 3, ["a"]], "INTEREST"), ([PING], "PING"), ([WELCOME, 0, 0, 3], "WELCOME"),
                (["text"], "unknown"), ([], "unknown"), ([99, nested(34)], "unknown"),
                ([CALL, 1, 1, 0, 0, b"", "soon"], "CALL"), ([TABLE, 1, 1, "name", 5, 0], "TABLE"),
                ([RETAINED, "a", 0, 0, 0, 0, 1, b""], "RETAINED"), ([SWIM_SYNC, 0, [[1, 4, 0, 0]]], "SWIM SYNC"),
                ([PUBLISH_TO, "a", 0, 0, 0, 0, 0, 0, ["q"] * 3, b""], "PUBLISH_TO")):
            with self.subTest(frame=str(frame)[:60]):
                peer = self.peer(f"p{next(self.incarnations)}").link()
                peer.connection.send(pack(frame))
                self.closes(peer.connection, f"malformed {says} frame at offset [0-9]+")

    def test_handshake_frames_at_the_wrong_time_end_the_connection(self):
        peer = self.peer().link()
        peer.connection.send(pack([HELLO, peer.hello]))
        self.closes(peer.connection, "a handshake frame on an established link")
        c = self.raw()
        c.send(pack([99]) + pack([PING, 1]))
        self.closes(c, "PING instead of HELLO")

    def test_messages_and_patterns_at_their_bounds_are_accepted(self):
        peer = self.peer().link()
        peer.send([SEND_NAME, "puppet", 0, 0xFFFFFEFF, 0, b"x" * 16 * 1024 * 1024])
        self.assertRegex(self.node.line(), f"^got {0xFFFFFEFF} x+$")
        peer.send([INTEREST, 1, [f"p.{i}" for i in range(4096)]], [INTEREST, 1, ["y.*"]],
                  [INTEREST, 1, ["n.*"]], [INTEREST, 1, ["n.*"]], [INTEREST, 2, ["n.*"]])
        self.in_effect(peer)
        peer.send(*([CALL_NAME, "puppet", 5, PUBLISH_IT, 1, topic] for topic in (b"n.1", b"y.1")))
        peer.frame(PUBLISH, where=lambda frame: frame[1] == "y.1")
        self.assertNotIn("n.1", self.published(peer))
        peer.connection.send(pack([INTEREST, 1, ["x"] * 4097]))
        self.closes(peer.connection, "malformed INTEREST")

    def test_names_and_topics_follow_their_grammar(self):
        peer = self.peer().link()
        for name in ("a", "A.b_c-d$9", "n" * 64):
            self.assertEqual(peer.call(name, 1)[3], 6, name)
        word = "w" * 16
        for pattern in ("*", ">", "a.*.b.>", "$SYS.x-y_z", ".".join("abcdefghijklmnop"), ".".join([word] * 15)):
            peer.send([INTEREST, 1, [pattern]])
            peer.fence()
        for pattern in (".".join("abcdefghijklmnopq"), "w" * 256, "a*", "", ".a", "a.", ">.a", "a b"):
            with self.subTest(pattern=pattern):
                peer = self.peer(f"p{next(self.incarnations)}").link()
                peer.connection.send(pack([INTEREST, 1, [pattern]]))
                self.closes(peer.connection, "malformed INTEREST")

    def test_the_page_has_all_error_codes(self):
        with open(os.path.join(ROOT, "include", "weft", "error.h"), encoding="utf-8") as file:
            codes = dict(re.findall(r'X\(E\w+,\s*-(\d+),\s*"([^"]*)"\)', file.read()))
        table = PAGE.split("| code | | code | |", 1)[1].split("\n\n", 1)[0]
        said = {code: text for row in table.splitlines()
                for code, text in re.findall(r"\| (\d+) \| ([^|]*?) (?=\|)", row)}
        self.assertEqual(said, codes)


if __name__ == "__main__":
    unittest.main()
