#!/usr/bin/env python3
"""Rights of roles: the table of docs/security.md, row by row, frame by frame, with a node that has certificates.

Each kind of frame is sent by each role: as it should be, in the name of an actor of this node, to an actor that is
gone, with a trace id behind it, and as long as it may be. The node's counter shows whether it was refused. All the
time an actor waits for the reply of another one, which no other actor may give."""
import itertools
import os
import re
import socket
import ssl
import struct
import unittest

from harness import PATIENCE, ROOT, Program, built, eventually
from tls_test import MODULE, WEFT, Tls
from wire_peer import GOSSIP, Peer, Refused, TABLES, pack, unpack

TOOL = 1
MAKE_PREY, PUBLISH, GO = 7, 8, 9
LOOK, RECORD, INSPECT, DROPS, RELOAD = 2, 11, 12, 14, 17
EACCESS = 17
GONE = 0x7F000000
TRACE = b"0123456789abcdef\0"
LEAST = 131  # Bytes of the body of frames that carry no text of a program.
ALLOWED, REFUSED, ASKED, OUT = "yes", "no", "asked", "-"
ROLES = ("stranger", "page", "local user", "`observe`", "`guest`", "`node`", "`admin`")
CERTIFICATES = {"`observe`": ("eye", TOOL), "`guest`": ("g", 0), "`node`": ("b", 0), "`admin`": ("boss", TOOL)}
# The roles, and how they connect. Over ws:// a peer has no certificate: a tool is a local user, and a node has the
# rights of a node.
WAYS = [(role, "") for role in ROLES[2:]] + [("local user", "ws"), ("`node`", "ws")]
# These frames would end the link, or belong to a connection. docs/wire.md says where they may come, and
# transport_bad_peer_test tests it.
OF_THE_LINK = {1, 2, 3, 4, 5, 6, 9, 10, 11}
TO_ACTORS = (16, 17, 18, 19, 20, 40, 41, 42, 43, 44, 45, 46, 48, 60, 61, 62, 63)


def kinds_of(cell):
    """Returns the set of numbers in text like "1 to 3, 9"."""
    found = set()
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", cell):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def table():
    """Yields the rows of the table: what, kinds, and a cell for each role."""
    with open(os.path.join(ROOT, "docs", "security.md"), encoding="utf-8") as file:
        lines = file.read().split("## Who may do what", 1)[1].split("\n## ", 1)[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert tuple(cells[0][2:]) == ROLES, cells[0]
    return [(what, kinds_of(frames), dict(zip(ROLES, may))) for what, frames, *may in cells[2:]]


def kinds_in_wire():
    with open(os.path.join(ROOT, "docs", "wire.md"), encoding="utf-8") as file:
        text = file.read().split("| kind | frame |", 1)[1].split("\n\n", 1)[0]
    return set().union(*(kinds_of(line.split("|")[1]) for line in text.splitlines() if line.startswith("| ")))


class Rights(Tls):
    incarnations = itertools.count(1)
    numbers = itertools.count(1000)

    def setUp(self):
        self.has_store = os.path.exists(built("libweft-store.so"))
        url = f"sqlite:{self.folder.name}/{next(self.incarnations)}.db"
        store = ["--store", url, "--stored", "room.>", "--queues", "q", "--states", "s"] if self.has_store else []
        self.node = Program(WEFT, "run", MODULE, "--name", "a", *store, "--listen", "tls+tcp://127.0.0.1:0", "--listen",
                            "tcp://127.0.0.1:0", "--listen", "ws://127.0.0.1:0/weft", "--tls", self.certs, "--",
                            "hunted", env=self.env)
        self.addCleanup(self.node.kill)
        self.tls, self.plain, self.ws = self.node.log(
            r"listens on (tls\+tcp://[0-9.:]+), (tcp://[0-9.:]+), (ws://[0-9.:]+/weft)").groups()
        said = [self.node.line(), self.node.line()]
        self.assertIn("ready 0", said)
        self.caller = int(re.search(r"caller (\d+)", " ".join(said))[1])
        self.boss = self.linked("`admin`")
        self.target = self.call(self.boss, "target", 1)[2]

    # ---- Peers

    def linked(self, role, way=""):
        number = next(self.incarnations)
        if role == "local user":
            peer = Peer(self.ws if way else self.plain, f"tool-{number}", number, TOOL)
        elif way:
            peer = Peer(self.ws, f"n{number}", number)
        else:
            name, flags = CERTIFICATES[role]
            peer = Peer(self.tls, f"{name}-{number}" if flags else name, number, flags, tls=(self.certs, name))
        self.addCleanup(peer.close)
        return peer.link()

    def call(self, peer, name, tag, body=b""):
        """Returns the frame of the answer."""
        return peer.call(name, tag, body, kinds=(18,))

    @staticmethod
    def fence(peer):
        """The node has handled all earlier frames of the peer. Its answers are not read."""
        peer.fence()
        peer.forget()

    def refused(self):
        """Returns how many frames of all peers were refused."""
        body, _ = unpack(self.call(self.boss, "$node", DROPS)[5])
        return dict(body[0])["refused"]

    def heard(self):
        return struct.unpack("<Q", self.call(self.boss, "target", 1)[5])[0]

    def prey(self):
        return struct.unpack("<Q", self.call(self.boss, "target", MAKE_PREY)[5])[0]

    def is_gone(self, actor):
        return self.boss.call(actor, 1)[0] == 19

    # ---- Frames

    def frames(self, kind, to, sender=7, ref=3, body=b"", traced=False):
        """Returns frames of the form that docs/wire.md gives."""
        left = [2 ** 64 - 1] if traced and kind in (17, 25) else []
        extra = [TRACE] if traced else []
        member = self.member_incarnation
        told = {7: [[["ghost", 77, []]]], 8: [1, ["room.*"]], 50: [1, 0, 0, []], 51: [1, 0, 1, []], 52: [1, 77, []],
                53: [0, []], 54: [1, 2, "group", 9], 58: ["room.*", 1]}
        if kind in told:
            return [kind, *told[kind], *extra]
        if kind in (24, 25, 64):
            return [kind, "target", sender, GO, ref, body, *left, *extra]
        if kind == 32:
            return [32, "room.a", sender, GO, body, *extra]
        if kind == 55:
            return [55, "group", sender, GO, body, *extra]
        if kind == 56:
            return [56, "room.a", 0, sender, GO, 1, 0, 0, [], body, *extra]
        if kind == 57:
            return [57, "room.a", member, sender, GO, 1, next(self.numbers), body, *extra]
        if kind == 62:
            return [62, 0, sender, 0, ref, pack(["nothing", b"", 0, 0]), *extra]
        if kind == 48:
            body = pack([0, 1, [[self.node_incarnation, self.caller, ref, 0, "liar"]]])
            return [48, to, sender, 4, ref, body, *extra]
        if kind in (60, 61):
            body = body or b"\0\0\0\0"
        return [kind, to, sender, GO if kind in (16, 17) else 0, ref, body, *left, *extra]

    def variants(self, kind):
        to = {18: self.caller, 19: self.caller, 63: self.caller, 48: self.caller}.get(kind, self.target)
        to = self.prey() if kind in (20, 43, 46) else to
        small = kind in TO_ACTORS and kind not in (16, 17, 18, 19, 48, 62, 63)
        longest = b"x" * (LEAST if small or kind in (19, 64) else 512 if kind == 63 else 60000)
        yield "as it should be", self.frames(kind, to)
        yield "in the name of an actor of the node", self.frames(kind, to, sender=self.caller)
        yield "with a trace id", self.frames(kind, to, traced=True)
        if kind in TO_ACTORS:
            yield "to one that is gone", self.frames(kind, GONE)
            yield "to one that is gone, with a trace id", self.frames(kind, GONE, traced=True)
        if kind not in (60, 61, 64):
            yield "as long as it may be", self.frames(kind, to, body=longest)

    # ---- Tests

    def test_the_table_has_all_kinds(self):
        rows = [kinds for _, kinds, _ in table()]
        self.assertEqual(set().union(*rows), kinds_in_wire())
        self.assertEqual(sum(map(len, rows)), len(set().union(*rows)), "a kind of frames is in two rows")

    def test_frames_that_the_role_does_not_allow_are_refused(self):
        self.node_incarnation, self.member_incarnation = self.boss.node, 77
        for role, way in WAYS:
            peer = self.linked(role, way)
            for what, kinds, may in table():
                for kind in sorted(kinds - OF_THE_LINK):
                    for how, frame in self.variants(kind):
                        with self.subTest(role=role, way=way, what=what, kind=kind, how=how):
                            before = self.refused()
                            peer.send(frame)
                            self.fence(peer)
                            self.assertEqual(self.refused() - before, int(may[role] == REFUSED))
            self.lie(peer)
            peer.socket.close()
        self.assertEqual(self.node.out.queue.qsize(), 0, "another actor has answered the call")
        self.boss.send([24, "holder", 5, GO, 0, b""])
        self.assertEqual(self.node.line(), "answer 0 true")

    def lie(self, peer):
        """Sends all numbers that a counter may have."""
        for ref in range(200):
            peer.send(*[self.frames(kind, self.caller, ref=ref) for kind in (18, 19, 42, 45, 48, 63)])
        self.fence(peer)

    def test_frames_that_the_role_allows_have_their_effect(self):
        self.node_incarnation, self.member_incarnation = self.boss.node, 77
        for role, way in WAYS:
            peer = self.linked(role, way)
            for what, kinds, may in table():
                for kind in sorted(kinds & {16, 17, 24, 25, 32, 55, 56, 57}):
                    if may[role] != ALLOWED:
                        continue
                    with self.subTest(role=role, way=way, kind=kind):
                        before = self.heard()
                        peer.send(self.frames(kind, self.target, body=b"x"))
                        eventually(f"a frame of kind {kind} of role {role} is delivered",
                                   lambda at=before: self.heard() == at + 1)
                for kind in sorted(kinds & {20, 46}):
                    with self.subTest(role=role, way=way, kind=kind):
                        prey = self.prey()
                        peer.send(self.frames(kind, prey))
                        self.fence(peer)
                        if may[role] == ALLOWED:
                            eventually(f"a frame of kind {kind} of role {role} ends an actor",
                                       lambda who=prey: self.is_gone(who))
                        else:
                            self.assertFalse(self.is_gone(prey))
                for kind, answer in ((40, 42), (43, 45), (62, 63), (17, 18)):
                    if kind in kinds:
                        with self.subTest(role=role, way=way, kind=kind):
                            self.see_answer(peer, kind, answer, may[role])
            peer.socket.close()

    def see_answer(self, peer, kind, answer, may):
        ref = next(self.numbers)
        peer.send(self.frames(kind, self.target if kind == 17 else GONE, ref=ref))
        failed = answer if kind in (40, 43) else 19
        got = peer.frame(answer if may == ALLOWED else failed, where=lambda frame: frame[4] == ref)
        if kind in (40, 43):
            self.assertEqual(struct.unpack("<i", got[5][:4])[0], 3 if may == ALLOWED else -EACCESS)
        elif may != ALLOWED:
            self.assertEqual(got[3], EACCESS)

    def test_requests_to_look_and_to_control_follow_the_table(self):
        rows = {what: may for what, kinds, may in table() if not kinds}
        for role, way in WAYS:
            peer = self.linked(role, way)
            for what, verb in (("look at the node", LOOK), ("look at the node", RECORD),
                               ("control the node", RELOAD)):
                with self.subTest(role=role, way=way, what=what, verb=verb):
                    before = self.refused()
                    answer = self.call(peer, "$node", verb)
                    self.assertEqual(self.refused() - before, int(rows[what][role] == REFUSED))
                    if rows[what][role] == REFUSED:
                        self.assertEqual(answer[3], 0)
                        why = "not over ws://" if way else "does not grant this|not by this address"
                        self.assertRegex(answer[5].decode(), why)
            peer.socket.close()

    def test_requests_to_the_store_follow_the_table(self):
        if not self.has_store:
            self.skipTest("there is no store in this build")
        may = next(may for what, _, may in table() if what.startswith("use the store"))
        with open(os.path.join(ROOT, "transport", "store", "common", "store_messages.h"), encoding="utf-8") as file:
            requests = file.read().split("enum wf_store_request", 1)[1].split("};", 1)[0]
        tags = [int(tag) for tag in re.findall(r"WF_STORE_[A-Z_]+ = (\d+),", requests)]
        self.assertGreater(len(tags), 20)
        eventually("the store is open", lambda: self.boss.call("weft.store", 5, b"", kinds=(18, 19))[0] == 18)
        for role, way in WAYS:
            peer = self.linked(role, way)
            for tag in tags:
                with self.subTest(role=role, way=way, tag=tag):
                    before = self.refused()
                    answer = peer.call("weft.store", tag, b"", kinds=(18, 19))
                    self.assertEqual(self.refused() - before, int(may[role] == REFUSED))
                    self.assertEqual(answer[0] == 19 and answer[3] == EACCESS, may[role] == REFUSED)
            peer.socket.close()
        self.assertEqual(self.boss.call("weft.store", 5, b"", kinds=(18, 19))[0], 18)

    def test_a_guest_takes_no_name(self):
        """A peer that may not end an actor may not take its global name either, however low its timestamp is."""
        for name, takes in ("g", False), ("b", True):
            peer = Peer(self.tls, name, next(self.incarnations), capabilities=TABLES, tls=(self.certs, name)).link()
            self.addCleanup(peer.close)
            peer.send([54, 1, 1, "prize", 9, 1000 if takes else 2000])
            if takes:
                self.assertEqual(self.node.line(), "lost a name")
                peer.frame(54, where=lambda frame: frame[1:4] == [2, 1, "prize"])
            else:
                peer.frame(54, where=lambda frame: frame[1:4] == [1, 1, "prize"] and frame[5] == 1999)
                self.assertEqual(self.node.out.queue.qsize(), 0)

    def test_a_member_keeps_no_node_away(self):
        """It reports the incarnation of a node under another name, and cannot have it once the node is linked."""
        guest = Peer(self.tls, "g", next(self.incarnations), capabilities=GOSSIP, tls=(self.certs, "g")).link()
        self.addCleanup(guest.close)
        reported = next(self.incarnations)
        guest.send([7, [["ghost", reported, []]]], [53, 0, [[reported, 0, 9, 0, ["ghost", [], {}]]]])
        guest.fence()
        node = Peer(self.tls, "b", reported, tls=(self.certs, "b")).link()
        self.addCleanup(node.close)
        guest.send([53, 0, [[reported, 3, 10, 0]]])
        guest.fence()
        thief = Peer(self.tls, "g", reported, tls=(self.certs, "g"))
        self.addCleanup(thief.close)
        with self.assertRaisesRegex(Refused, "node g uses the incarnation of node b"):
            thief.link()
        self.assertEqual(self.call(node, "target", 1)[2], self.target)

    def test_every_role_may_subscribe(self):
        for role, way in WAYS:
            peer = self.linked(role, way)
            with self.subTest(role=role, way=way):
                self.assertEqual(next(may for _, kinds, may in table() if 8 in kinds)[role], ALLOWED)
                peer.send([8, 1, ["heard.*"]])
                self.fence(peer)

                def is_heard(by=peer):
                    self.call(self.boss, "target", PUBLISH)
                    return self.soon(by)
                eventually("the peer gets the publication", is_heard)
            peer.socket.close()

    @staticmethod
    def soon(peer):
        """Returns whether a publication arrives before the answer to a PING."""
        peer.fence()
        heard = any(frame[0] == 32 for frame in peer.inbox)
        peer.forget()
        return heard

    def test_monitors_and_links_without_a_sender_leave_nothing_behind(self):
        """A monitor or link without a sender could never be removed: it would stay as long as the actor does."""
        peer = self.linked("`node`")
        peer.send(*([kind, self.target, 0, 0, number, b""] for kind in (40, 43) for number in range(1, 100)))
        self.fence(peer)
        pid = f"{self.target >> 24 & 0xFF}.{self.target & 0xFFFFFF}.{self.target >> 32}"
        seen = self.call(self.boss, "$node", INSPECT, pack(pid))[5]
        self.assertIn(b"\xa8watchers\x90", seen)  # This is an empty array.
        self.assertIn(b"\xa5links\x90", seen)

    def test_a_stranger_is_closed_out(self):
        for _, _, may in table():
            self.assertEqual((may["stranger"], may["page"]), (OUT, OUT))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(f"{self.certs}/ca.crt")
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(("127.0.0.1", int(self.tls.rsplit(":", 1)[1])), PATIENCE) as plain:
            with self.assertRaises(OSError):
                with context.wrap_socket(plain) as wrapped:
                    wrapped.sendall(b"\0SP\0\0\x10\0\0")
                    if not wrapped.recv(8):
                        raise OSError("the node closed the connection")
        with socket.create_connection(("127.0.0.1", int(self.tls.rsplit(":", 1)[1])), PATIENCE) as plain:
            plain.sendall(b"\0SP\0\0\x10\0\0")
            self.assertEqual(plain.recv(1), b"\x15")  # The answer is an alert of TLS, and no header.

    def test_the_web_socket_of_a_page_is_refused(self):
        node = Program(WEFT, "run", MODULE, "--name", "w", "--listen", "ws://127.0.0.1:0/weft", "--", "echo",
                       env=self.env)
        self.addCleanup(node.kill)
        port = int(node.log(r"listens on ws://127\.0\.0\.1:(\d+)")[1])
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as page:
            page.sendall(f"GET /weft HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                         "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                         "Sec-WebSocket-Version: 13\r\n"
                         "Sec-WebSocket-Protocol: pair.sp.nanomsg.org\r\nOrigin: http://example.com\r\n\r\n".encode())
            self.assertRegex(page.recv(4096), rb"^HTTP/1\.1 403 ")


del Tls  # The base class has no tests of its own.

if __name__ == "__main__":
    unittest.main()
