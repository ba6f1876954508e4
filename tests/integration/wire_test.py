#!/usr/bin/env python3
"""docs/wire.md, section by section, against real nodes: handshakes and links.

wire_frames_test.py tests what comes before, and wire_messages_test.py what comes after."""
import itertools
import random
import signal
import struct
import time
import unittest

from harness import eventually
from wire_case import (COUNT, COUNTED, HIGHEST, LOWEST, ME, NUMBERED, POUR, PUBLISH_IT, SELF, SUBSCRIBE, Wire, both,
                       number, numbers, reason)
from wire_peer import (ACK, BYE, CALL_NAME, CHUNK, CHUNKS, GOSSIP, HELLO, INTEREST, OVER, PEERS, PING, PUBLISH, REPLY,
                       RESUME, RETAINED, SEND, SEND_NAME, START, SWIM_PING, SWIM_SYNC, TABLE, TOOL, UP, WATCH, WELCOME,
                       Closed, Refused, pack)


class Handshake(Wire):
    def refused(self, code, reason, **more):
        peer = self.peer(**more)
        with self.assertRaises(Refused) as why:
            peer.link()
        self.assertEqual(why.exception.code, code)
        self.assertRegex(why.exception.reason, reason)
        return peer

    def test_versions_are_negotiated(self):
        for version, newest in ((1, None), (1, 1), (1, 2), (2, None), (1, 9), (0, 1)):
            for incarnation in both():
                with self.subTest(version=version, newest=newest, incarnation=incarnation):
                    peer = self.peer("p", incarnation, version=version, newest=newest).link()
                    self.assertGreater(self.puppet(peer, SELF), 0)
                    peer.leave()
        self.refused(1, "speaks version 2 .*version 3", version=3, newest=9)
        self.refused(1, "speaks version", version=0, newest=0)

    def test_newest_may_be_nil_and_more_may_follow(self):
        for last in ([None], [[]], [[2, "later"], "later", {}], []):
            c = self.raw()
            c.send(pack([HELLO, [1, 0, "weft", f"p{next(self.incarnations)}", both()[1], 0, 1000, [], *last]]))
            self.assertEqual(c.batch()[0][0], HELLO)
            c.send(pack([WELCOME]))
            self.assertEqual(c.batch()[0][0], WELCOME)
            c.close()

    def test_a_peer_that_does_not_fit_is_refused_with_its_reason(self):
        self.refused(2, "node n is in cluster weft, node p in cluster other", cluster="other")
        self.refused(3, "there is another node named n", name="n")
        peer = self.peer("p", 5).link()
        peer.fence()  # The node knows, too, that it is linked.
        self.refused(3, "there is another node named p", name="p", incarnation=6)
        self.refused(5, "this is the node itself", incarnation=peer.node)
        self.refused(7, "node q uses the incarnation of node p", name="q", incarnation=5)

    def test_a_node_keeps_its_incarnation_whatever_others_report(self):
        """A reported name or state does not keep the node away, and the node keeps the incarnation afterwards."""
        for gossips in False, True:
            liar = self.peer("liar", next(COUNT), capabilities=GOSSIP if gossips else 0).link()
            for incarnation in both():
                with self.subTest(gossips=gossips, incarnation=incarnation):
                    if gossips:
                        liar.send([SWIM_SYNC, 0, [[incarnation, 0, 7, 0, ["ghost", [], {}]]]])
                        liar.send([SWIM_SYNC, 0, [[incarnation, 3, 8, 0]]])
                    else:
                        liar.send([PEERS, [["ghost", incarnation, []]]])
                    liar.fence()
                    peer = self.peer("p", incarnation).link()
                    self.node.log("linked with node p")
                    liar.send([PEERS, [["ghost", incarnation, []]]])
                    liar.fence()
                    self.assertGreater(self.puppet(peer, SELF), 0)
                    self.refused(7, "node liar2 uses the incarnation of node p", name="liar2", incarnation=incarnation)
                    self.refused(7, "tool p uses the incarnation of node p", name="p", incarnation=incarnation, flags=TOOL)
                    peer.leave()
                    self.node.log("node p is down")
            liar.leave()

    def test_a_handshake_gets_no_link_of_a_node_that_linked_meanwhile(self):
        """The handshake shows the number of the link, and is refused nonetheless."""
        for incarnation in both():
            thief = self.peer("thief", incarnation, capabilities=RESUME).connect().greet()
            peer = self.peer("p", incarnation, capabilities=RESUME).link()
            peer.fence()
            thief.connection.send(pack([WELCOME, peer.state.number, 0, 1]))
            with self.assertRaises(Refused) as why:
                while True:
                    thief.during(WELCOME)
            self.assertEqual(why.exception.code, 7)
            self.assertGreater(self.puppet(peer, SELF), 0)
            thief.close()
            peer.leave()
            self.node.log("node p is down")

    def test_the_refused_side_closes_the_connection(self):
        """The refused side closes. The refusing side reads nothing more, and closes later."""
        peer = self.peer(cluster="other")
        with self.assertRaises(Refused):
            peer.link()
        peer.connection.send(pack([WELCOME]))
        self.assertTrue(peer.closed())

    def test_a_second_connection_is_refused_while_the_link_is_up(self):
        """Without bit 0 the lower one refuses the connection; with bit 0 it does if both say that the link is up."""
        high, other = HIGHEST, HIGHEST - 1
        first = self.peer("p", high).link()
        self.refused(4, "linked already", incarnation=high)
        self.assertGreater(self.puppet(first, SELF), 0)
        first.leave()
        first = self.peer("q", other, capabilities=RESUME).link()
        second = self.peer("q", other, capabilities=RESUME).connect().greet()
        second.connection.send(pack([WELCOME, first.state.number, 0, UP]))
        with self.assertRaises(Refused) as why:
            second.during(WELCOME)
        self.assertEqual(why.exception.code, 4)
        self.assertGreater(self.puppet(first, SELF), 0)

    def test_a_peer_has_to_wait_after_its_second_fault(self):
        """The first fault may be a mishap; after the second one the peer has to wait."""
        for _ in range(2):
            peer = self.peer("p", 5).link()
            peer.connection.send(pack([PING]))
            self.assertTrue(peer.closed())
            self.node.log("node p is down")
        self.refused(8, "malformed PING", incarnation=5)
        eventually("the peer may link again", lambda: self.is_let_in(5))

    def is_let_in(self, incarnation):
        peer = self.peer("p", incarnation)
        try:
            peer.link()
        except Refused as why:
            self.assertEqual(why.code, 8)
            peer.close()
            return False
        return True

    def test_frames_may_follow_the_second_welcome_at_once(self):
        """The lower one may send frames in the batch of its WELCOME."""
        for capabilities in 0, RESUME:
            peer = self.peer("p", both()[0], capabilities=capabilities)
            peer.link([CALL_NAME, "puppet", 5, SELF, 3, b""])
            self.assertEqual(peer.frame(REPLY)[4], 3)
            peer.leave()

    def test_a_tool_is_no_node_and_is_not_resumed(self):
        """A tool is no node, and is not resumed whatever it offers."""
        tool = self.peer("n", flags=TOOL, capabilities=255).link()
        self.assertEqual(tool.state.number, 0)
        self.assertEqual(tool.ask(3)[0], "n")
        self.assertEqual([row[0] for row in tool.ask(2)], ["n"])
        tool.send([PEERS, [["ghost", 5, ["tcp://127.0.0.1:1"]]]], [SWIM_PING, 1, 0, 1, []],
                  [TABLE, 1, 1, "name", 5, 1])
        tool.fence()
        self.assertEqual([row[0] for row in tool.ask(2)], ["n"])
        self.assertNotIn("name", [row[0] for row in tool.ask(9)])

    def answers(self, peer):
        try:
            return self.puppet(peer, SELF) > 0
        except Closed:
            return False

    def test_one_of_two_connections_at_the_same_time_becomes_the_link(self):
        """Of two connections at the same time one becomes the link."""
        for incarnation in both():
            name = f"p{incarnation}"
            peer = self.peer(name, incarnation).listen()
            node, url = self.start(f"d{incarnation}", "--join", peer.urls[0])
            peer.accept()
            other = self.peer(name, incarnation, url=url)
            other.urls = peer.urls
            peer.greet()
            other.connect().greet()
            made = [0, 0]
            for i, one in enumerate((peer, other)):
                try:
                    one.link()
                    made[i] = 1
                except (Refused, Closed):
                    one.connection.close()
            self.assertIn(made, ([1, 0], [0, 1], [1, 1]))
            # Where both were made, the one that the node has made last takes the place of the other. That may be
            # after the other has answered.
            for _ in range(2):
                answered = [self.answers(one) for i, one in enumerate((peer, other)) if made[i]]
            self.assertEqual(answered.count(True), 1)


class Heartbeats(Wire):
    options = "--heartbeat", "0.1"

    def test_the_node_sends_heartbeats_and_a_silent_peer_is_lost(self):
        for beats, silent_for in ((100, 0.5), (0, 0.1), (HIGHEST, None)):
            with self.subTest(heartbeat=beats):
                peer = self.peer(f"p{beats}", heartbeat=beats).link()
                for _ in range(3 if beats else 0):
                    peer.frame(PING)
                if silent_for is None:
                    peer.leave()
                    continue
                peer.answers_pings = False
                self.assertTrue(peer.closed())
                found = self.node.log(f"node p{beats} is down: no heartbeat for ([0-9.]+) s")
                self.assertGreaterEqual(float(found[1]), silent_for if beats else 0.0)

    def test_any_frame_of_a_peer_is_a_sign_of_life(self):
        """Frames without any meaning count as heartbeats, for longer than silence may last."""
        peer = self.peer(heartbeat=100).link()
        peer.answers_pings = False
        for _ in range(15):
            peer.frame(PING)
            peer.send([99])
        self.assertGreater(self.puppet(peer, SELF), 0)


class Pauses(Wire):
    options = "--heartbeat", "0.4"

    def test_a_node_does_not_take_its_own_pause_for_silence_of_a_peer(self):
        peer = self.peer(heartbeat=400).link()
        for _ in range(3):
            self.node.process.send_signal(signal.SIGSTOP)
            time.sleep(2.2)  # The pause that is tested: longer than the 2 s after which a silent peer is lost.
            peer.send([99])
            self.node.process.send_signal(signal.SIGCONT)
            self.assertGreater(self.puppet(peer, SELF), 0)


class Links(Wire):
    options = "--resume-window", "60"

    def counted(self, peer, count):
        """All numbered messages have arrived once, in order."""
        got = peer.call("puppet", COUNTED)
        self.assertEqual(struct.unpack("<QQ", got[5]), (count + 1, 0))

    def test_a_resumed_link_loses_and_doubles_no_frame(self):
        """The connection is cut at any byte, while both sides send numbered messages."""
        for incarnation, resend in itertools.product(both(), (False, True)):
            with self.subTest(incarnation=incarnation, resend=resend):
                peer = self.peer(f"p{incarnation}-{resend}", incarnation + 2 * resend - 1, capabilities=RESUME).link()
                self.send_both_ways(peer, random.Random(4711 + resend), resend)
                peer.leave()

    def send_both_ways(self, peer, chance, resend, there=600, back=20000):
        before = struct.unpack("<QQ", peer.call("puppet", COUNTED)[5])[0] - 1
        awaited, sent, cuts = 1, 0, 0
        self.puppet(peer, POUR, numbers(ME, back, 64))
        while sent < there or awaited <= back:
            # So many bytes, and the connection is gone. A batch that has not come to its end comes again, so now and
            # then it has to be more than a batch has.
            peer.connection.budget = chance.randrange(150_000)
            try:
                while sent < there or awaited <= back:
                    frames = [[SEND_NAME, "puppet", 0, NUMBERED, 0, numbers(before + sent + i)] for i in (1, 2, 3)]
                    if sent < there:
                        sent += 3
                        if chance.randrange(8) == 0:
                            peer.send_part(chance.randrange(150), *frames)
                            raise Closed("cut while sending")
                        peer.send(*frames)
                    if awaited <= back:
                        awaited = self.see_numbered(peer, awaited)
                    else:
                        peer.fence()
            except Closed:
                if peer.connection is not None:
                    peer.cut()
                cuts += 1
                awaited = self.see_inbox(peer, awaited)
                peer.resume(resend=resend)
        peer.connection.budget = None
        self.counted(peer, before + sent)
        self.assertEqual(self.node.line(), "poured 0")
        self.assertGreater(cuts, 10)
        self.assertGreater(next(row[14] for row in peer.ask(2) if row[0] == peer.name), 10)

    def see_inbox(self, peer, awaited):
        while peer.inbox:
            frame = peer.inbox.popleft()
            if frame[0] == SEND and frame[3] == NUMBERED:
                self.assertEqual(frame[1], ME)
                self.assertEqual(number(frame[5][:8]), awaited)
                awaited += 1
        return awaited

    def see_numbered(self, peer, awaited):
        peer.pump()
        if peer.state.received % 7 == 0:
            peer.acknowledge()
        return self.see_inbox(peer, awaited)

    def test_large_messages_are_cut_within_a_chunk(self):
        """A body of three parts goes each way; the connection ends in the middle of the second part."""
        for incarnation in both():
            peer = self.peer(f"p{incarnation}", incarnation, capabilities=RESUME | CHUNKS).link()
            peer.fence()
            body = b"text" * 192000
            parts = [body[i:i + 256000] for i in range(0, len(body), 256000)]
            peer.send([CHUNK, len(body), [SEND_NAME, "puppet", 0, 3, 0, parts[0]]])
            peer.send_part(100000, [CHUNK, parts[1]])
            peer.resume()
            peer.send([CHUNK, parts[2]])
            self.assertTrue(self.node.line().startswith("got 3 "))
            peer.send([CALL_NAME, "puppet", 5, POUR, 1, numbers(ME, 2, 700000)])
            peer.frame(REPLY)
            peer.connection.budget = 400000
            with self.assertRaises(Closed):
                while True:
                    peer.pump()
            peer.cut()
            peer.resume()
            for expected in 1, 2:
                got = peer.frame(SEND)
                self.assertEqual((number(got[5][:8]), len(got[5])), (expected, 700000))
            self.assertEqual(self.node.line(), "poured 0")
            peer.leave()

    def test_a_link_of_an_older_version_is_resumed(self):
        peer = self.peer(capabilities=RESUME, version=1, newest=None).link()
        self.assertGreater(peer.state.number, 0)
        # Without this the link may come to the next connection first, and then to this one, which is closed.
        peer.fence()
        peer.cut()
        peer.resume()
        self.node.log("the link with node p is resumed")
        self.assertGreater(self.puppet(peer, SELF), 0)

    def test_a_link_without_the_capability_is_not_resumed(self):
        for capabilities in 0, 255 & ~RESUME:
            peer = self.peer(capabilities=capabilities).link()
            self.assertEqual(peer.state.number, 0)
            peer.fence()
            peer.cut()
            self.node.log("node p is down: connection lost")

    def test_the_node_dials_again(self):
        """The node knows where the peer listens."""
        for incarnation in both():
            peer = self.peer(f"p{incarnation}", incarnation, capabilities=RESUME).listen().link()
            self.puppet(peer, POUR, numbers(ME, 10, 8))
            peer.cut()
            peer.accept().resume()
            self.node.log(f"the link with node p{incarnation} is resumed")
            self.assertEqual([number(peer.frame(SEND)[5]) for _ in range(10)], list(range(1, 11)))
            self.assertEqual(self.node.line(), "poured 0")
            peer.leave()

    def test_a_new_connection_loses_nothing_of_the_old_one(self):
        """The old connection is read to its end first."""
        for incarnation in both():
            peer = self.peer(f"p{incarnation}", incarnation, capabilities=RESUME).link()
            before = struct.unpack("<QQ", peer.call("puppet", COUNTED)[5])[0] - 1
            peer.send(*([SEND_NAME, "puppet", 0, NUMBERED, 0, numbers(before + i)] for i in range(1, 101)))
            old, peer.connection = peer.connection, None
            peer.resume()
            self.counted(peer, before + 100)
            old.close()
            peer.leave()

    def test_a_link_that_one_side_gave_up_is_replaced(self):
        """State 0 with this number, or another number, makes a new link."""
        for incarnation in both():
            peer = self.peer(f"p{incarnation}", incarnation, capabilities=RESUME).link()
            self.assertGreater(self.puppet(peer, SELF), 0)
            first = peer.state.number
            peer.cut()
            self.node.log("is lost: .*; resuming")
            peer.give_up()
            peer.link()
            self.node.log("is down: the other side has given the link up")
            self.assertNotEqual(peer.state.number, first)
            self.assertGreater(self.puppet(peer, SELF), 0)
            peer.leave()

    def test_a_link_whose_welcome_was_lost_is_resumed(self):
        """The side with the higher incarnation never learned of the link. The link goes on, because nothing has arrived
        from that side."""
        peer = self.peer("p", HIGHEST, capabilities=RESUME).connect().greet()
        peer.connection.send(pack([WELCOME, 0, 0, OVER]))
        peer.during(WELCOME)
        self.node.log("linked with node p")
        peer.cut()
        self.node.log("is lost: .*; resuming")
        peer.link()
        self.node.log("the link with node p is resumed")
        self.assertGreater(self.puppet(peer, SELF), 0)

    def test_the_number_0_is_not_resumed(self):
        peer = self.peer("p", LOWEST, capabilities=RESUME).connect().greet()
        peer.during(WELCOME)
        peer.connection.send(pack([WELCOME, 0, 0, 0]) + pack([SEND_NAME, "puppet", 0, 9, 0, b"x"]))
        self.assertEqual(self.node.line(), "got 9 x")
        peer.cut()
        self.node.log("node p is down: connection lost")

    def test_unknown_kinds_are_counted(self):
        peer = self.peer(capabilities=RESUME).link()
        peer.send([99], [200, "x"], [12], [0])
        self.assertEqual(peer.state.sent, 2)
        peer.fence()
        self.assertEqual(len(peer.state.kept), 0)

    def fault(self, why, *frames, name=None, **more):
        peer = self.peer(name or f"p{next(self.incarnations)}", capabilities=RESUME, **more).link()
        peer.connection.send(b"".join(map(pack, frames)))
        self.assertTrue(peer.closed())
        self.node.log(why)

    def test_frames_out_of_place_end_the_link(self):
        self.fault("acknowledges frames that were never sent", [ACK, 1000000])
        self.fault("START in the middle of a connection", [START, 0])
        self.fault("a chunk without a message", [CHUNK, b"x"])
        self.fault("a message in chunks begins before the end", *[[CHUNK, 100, [SEND, 1, 0, 0, 0, b""]]] * 2)
        self.fault("a chunk that does not fit", [CHUNK, 100, [SEND, 1, 0, 0, 0, b""]], [CHUNK, b"x" * 101])
        self.fault("malformed message in the first of its chunks", [CHUNK, 100, [RETAINED, "a", 1, 0, 0, 0, 1, b""]])
        self.fault("malformed message in the first of its chunks", [CHUNK, 132, [WATCH, 1, 1, 0, 0, b""]])

    def test_bad_frames_after_the_welcome_end_the_connection(self):
        for second, why in ((pack([SEND, 1, 0, 0, 0, b""]), "no START on a connection"),
                            (pack([START, 1]), "frames are missing")):
            peer = self.peer(f"p{next(self.incarnations)}", LOWEST + next(self.incarnations), capabilities=RESUME)
            peer.connect().greet()
            peer.during(WELCOME)
            peer.connection.send(pack([WELCOME, 1, 0, OVER]) + second)
            self.closes(peer.connection, why)

    def test_a_peer_that_acknowledges_nothing_is_lost(self):
        peer = self.peer(capabilities=RESUME, urls=()).link()
        peer.acknowledges = False
        self.puppet(peer, POUR, numbers(ME, 10, 8))
        self.assertTrue(peer.closed())
        self.node.log("does not acknowledge received frames")

    def test_a_start_in_the_middle_ends_the_connection(self):
        peer = self.peer().link()
        peer.connection.send(pack([START, 0]))
        self.closes(peer.connection, "START in the middle of a connection")


class WhileLinked(Wire):
    def test_publications_follow_interest(self):
        peer = self.peer().link()
        self.assertEqual(self.puppet(peer, SUBSCRIBE, "room.*"), 0)
        self.assertEqual(peer.frame(INTEREST), [INTEREST, 1, ["room.*"]])
        peer.send([PUBLISH, "room.a", ME, 3, b"hello"], [PUBLISH, "elsewhere", ME, 3, b"not heard"])
        self.assertEqual(self.node.line(), "got 3 hello")
        peer.send([INTEREST, 1, ["news.>"]])
        self.in_effect(peer)
        peer.send([CALL_NAME, "puppet", 5, PUBLISH_IT, 1, b"news.of.today"])
        got = peer.frame(PUBLISH, where=lambda frame: frame[1] == "news.of.today")
        self.assertEqual((got[1], *got[3:5]), ("news.of.today", 7, b"news"))
        peer.send([INTEREST, 2, ["news.>"]])
        self.in_effect(peer)
        self.puppet(peer, PUBLISH_IT, "news.of.today")
        peer.fence()
        self.assertNotIn("news.of.today", self.published(peer))

    def test_too_many_patterns_end_the_link(self):
        node, url = self.start("few", "--max-patterns", "10")
        peer = self.peer(url=url).link()
        peer.send([INTEREST, 1, [f"p.{i}" for i in range(10)]])
        peer.fence()
        peer.send([INTEREST, 1, ["one.more"]])
        self.assertTrue(peer.closed())
        node.log("too many topic patterns, more than --max-patterns 10")

    def test_nodes_without_membership_learn_of_each_other(self):
        """Nodes without membership learn of each other in this way, and each node that comes later is told, too."""
        first = self.peer("first", urls=["tcp://127.0.0.1:1"]).link()
        second = self.peer("second").link()
        self.assertEqual(second.frame(PEERS)[1], [["first", first.incarnation, ["tcp://127.0.0.1:1"]]])
        self.assertEqual(first.frame(PEERS)[1], [["second", second.incarnation, []]])

    def test_a_node_that_a_peer_names_is_dialled(self):
        peer = self.peer("teller").link()
        other = self.peer("other", LOWEST).listen()
        peer.send([PEERS, [["other", LOWEST, other.urls]]])
        other.accept().link()
        self.node.log("linked with node other")

    def test_a_peer_that_leaves_is_down_with_its_reason(self):
        for text, logged in (("left", "left"), ("left, not drained", "left, not drained"), ("anything else", "left")):
            for capabilities in 0, RESUME:
                peer = self.peer(capabilities=capabilities).link()
                peer.send([SEND_NAME, "puppet", 0, 1, 0, b"last"], [BYE, text])
                self.assertEqual(self.node.line(), "got 1 last")
                self.assertTrue(peer.closed())
                self.node.log(f'node p is down: {logged}"')
                if capabilities:
                    self.assertFalse(peer.state.kept)

    def test_the_node_leaves(self):
        peer = self.peer(capabilities=RESUME).link()
        self.node.process.terminate()
        self.assertEqual(peer.frame(BYE), [BYE, "left"])
        peer.acknowledge()
        peer.close()
        self.node.end()


if __name__ == "__main__":
    unittest.main()
