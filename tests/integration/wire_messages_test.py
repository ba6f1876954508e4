#!/usr/bin/env python3
"""docs/wire.md, section by section, against real nodes: messages, tables, topics, membership, requests to $node."""
import os
import random
import re
import struct
import unittest

from harness import ROOT, Program, eventually
from wire_case import (CALL_IT, FIND, FORGET, GLOBAL, GONE, HIGHEST, JOIN, LEND, LINK_IT, LOWEST, MAY, ME, MODULE,
                       NUMBERED, ORDER, PAGE, POUR, PUBLISH_IT, QUEUE, REACH, RETAIN, SELF, SLOW, SUBSCRIBE,
                       TO_GROUP, UNLINK_IT, WATCH_IT, WEFT, Wire, number, numbers, reason)
from wire_peer import (BYE, CALL, CALL_NAME, CHUNK, CHUNKS, CREDIT, CREDITS, CREDIT_REQUEST, CREDIT_REQUEST_NAME,
                       DOWN, EXIT, FAILED, GOSSIP, GROUP_SEND, INTEREST, KILL, LINK, MISSED, NO_DEADLINE, PATTERNS,
                       PEERS, PUBLISH, PUBLISH_TO, REPLY, RETAINED, SEND, SEND_NAME, SPAWN, SPAWNED, SPAWNS, STOP,
                       SWIM_ACK, SWIM_ASK, SWIM_PING, SWIM_SYNC, TABLE, TABLES, TOOL, TOPICS, UNLINK, UNWATCH, WATCH,
                       Closed, pack, unpack)


class Messages(Wire):
    def test_sends_and_calls_reach_an_actor_by_pid_and_by_name(self):
        peer = self.peer().link()
        actor = self.puppet(peer, SELF)
        for to in actor, "puppet":
            send, call = (SEND, CALL) if to == actor else (SEND_NAME, CALL_NAME)
            peer.send([send, to, 0, 9, 0, b"from nobody"], [send, to, ME, 9, 12345, b"from me"],
                      [call, to, 0, SELF, 1, b""])  # The answer to this request goes nowhere.
            self.assertEqual([self.node.line(), self.node.line()], ["got 9 from nobody", "got 9 from me"])
            for left in [], [NO_DEADLINE], [60_000_000]:
                ref = random.getrandbits(64)
                peer.send([call, to, HIGHEST, SELF, ref, b"", *left])
                self.assertEqual(peer.frame(REPLY)[:5], [REPLY, HIGHEST, actor, SELF, ref])

    def test_a_call_to_no_actor_fails_and_a_send_is_dropped(self):
        peer = self.peer().link()
        for to, code in ((GONE, 6), ("nobody", 6), ("puppet", 21)):
            got = peer.call(to, FORGET)
            self.assertEqual((got[0], got[3], got[5]), (FAILED, code, b""))
        peer.send([SEND, GONE, ME, 1, 0, b""], [SEND_NAME, "nobody", ME, 1, 0, b""], [REPLY, GONE, ME, 1, 1, b""],
                  [FAILED, GONE, ME, 1, 1, b""], [STOP, GONE, 0, 0, 0, b""], [KILL, GONE, 0, 0, 0, b""])
        peer.fence()
        drops = dict(peer.ask(14)[0])
        self.assertEqual([drops[why] for why in ("no-actor", "no-name", "late-reply")], [2, 2, 1])

    def test_an_expired_request_is_dropped_and_not_answered(self):
        """The actor is busy. A request that is over when the actor gets to it is dropped, and not answered."""
        peer = self.peer().link()
        slow = self.puppet(peer, SLOW)
        peer.send([CALL, slow, ME, 1, 1, b""], [CALL, slow, ME, 1, 2, b"", 1],
                  [CALL, slow, ME, 1, 3, b"", 60_000_000])
        self.puppet(peer, MAY, numbers(2))
        self.assertEqual([peer.frame(REPLY)[4] for _ in range(2)], [1, 3])
        self.assertEqual(dict(peer.ask(14)[0])["expired"], 1)

    def test_the_node_takes_answers_and_errors_to_its_calls(self):
        peer = self.peer().link()
        for answer, says in (([REPLY, 5, b"good"], "answer 5 good"), ([FAILED, 6, b""], "answer -6"),
                             ([FAILED, 40000, b""], "answer -9")):
            self.puppet(peer, CALL_IT, numbers(ME))
            ask = peer.frame(CALL)
            self.assertEqual((ask[1], ask[3], ask[5]), (ME, 5, b"ask"))
            self.assertLessEqual(ask[6], 60_000_000)
            kind, tag, body = answer
            peer.send([kind, ask[2], ME, tag, ask[4] ^ 1, b"wrong"], [kind, ask[2], 0, tag, ask[4], body],
                      [kind, ask[2], ME, tag, ask[4], b"twice"])
            self.assertEqual(self.node.line(), says)

    def test_a_peer_may_stop_and_kill_actors(self):
        peer = self.peer().link()
        for kind, why in ((STOP, 1), (KILL, 2)):
            actor = self.puppet(peer, LEND)
            peer.send([WATCH, actor, ME, 0, 5, b""], [kind, actor, 0, 0, 0, b"not read"])
            self.assertEqual(reason(peer.frame(DOWN)[5]), (why, ""))


class MonitorsAndLinks(Wire):
    def test_a_peer_may_monitor_actors(self):
        peer = self.peer().link()
        actor = self.puppet(peer, LEND)
        peer.send([WATCH, actor, ME, 0, 1, b""], [WATCH, actor, ME, 0, HIGHEST, b"x" * 131],
                  [WATCH, actor, ME, 0, 3, b""], [UNWATCH, actor, ME, 0, 3, b""], [WATCH, actor, 0, 0, 4, b""],
                  [SEND, actor, ME, 1, 0, b""])
        got = [peer.frame(DOWN) for _ in range(2)]
        self.assertEqual(sorted(frame[4] for frame in got), [1, HIGHEST])
        for frame in got:
            self.assertEqual((frame[1:3], reason(frame[5])), ([ME, actor], (77, "wire.c: why")))
        peer.send([WATCH, actor, ME, 0, 9, b""], [LINK, actor, ME, 0, 9, b""])
        down, end = peer.frame(DOWN), peer.frame(EXIT)
        self.assertEqual((down[2], down[4], reason(down[5])), (actor, 9, (3, "")))
        self.assertEqual((end[1:3], reason(end[5])), ([ME, actor], (3, "")))

    def test_the_node_monitors_actors_of_a_peer(self):
        peer = self.peer().link()
        puppet = self.puppet(peer, SELF)
        self.assertEqual(self.puppet(peer, WATCH_IT, numbers(ME)), 0)
        watch = peer.frame(WATCH)
        self.assertEqual((watch[1:3], watch[5]), ([ME, puppet], b""))
        peer.send([DOWN, puppet, ME + 1, 0, watch[4], struct.pack("<i", 9)],
                  [DOWN, puppet, ME, 0, 1, struct.pack("<i", 9)],
                  [DOWN, puppet, ME, 0, watch[4], struct.pack("<i", -6) + b"text"],
                  [DOWN, puppet, ME, 0, watch[4], struct.pack("<i", 9)])
        self.assertEqual(self.node.line(), "down -6 text")
        self.puppet(peer, WATCH_IT, numbers(ME))
        peer.frame(WATCH)
        peer.leave()
        self.assertEqual(self.node.line(), "down 4")

    def test_a_peer_may_link_actors(self):
        peer = self.peer().link()
        puppet, actor = self.puppet(peer, SELF), self.puppet(peer, LEND)
        # An EXIT with reason 0 does not end the actor.
        peer.send([LINK, actor, ME, 0, 1, b""], [EXIT, actor, ME, 0, 0, struct.pack("<i", 0)],
                  [LINK, actor, ME, 0, 2, b""], [WATCH, actor, ME, 0, 1, b""],
                  [EXIT, actor, ME, 0, 0, struct.pack("<i", 55)])
        self.assertEqual(reason(peer.frame(DOWN)[5]), (55, ""))
        peer.send([LINK, puppet, ME, 0, 1, b""], [EXIT, puppet, ME, 0, 0, struct.pack("<i", 0) + b"t"])
        self.assertEqual(self.node.line(), "exit 0 t")
        actor = self.puppet(peer, LEND)
        peer.send([LINK, actor, ME, 0, 5, b""], [SEND, actor, ME, 1, 0, b""])
        end = peer.frame(EXIT)
        self.assertEqual((end[1:3], reason(end[5])), ([ME, actor], (77, "wire.c: why")))

    def test_each_side_takes_back_its_own_link(self):
        peer = self.peer().link()
        puppet = self.puppet(peer, SELF)
        peer.send([CALL_NAME, "puppet", 5, LINK_IT, 1, numbers(ME)])
        link = peer.frame(LINK)
        theirs = link[4]
        self.assertTrue(0 < theirs < 2 ** 32)
        # We take back the number of the node; our own one stays, so they are still linked.
        peer.send([LINK, puppet, ME, 0, 8, b""], [UNLINK, puppet, ME, 0, theirs, b""],
                  [EXIT, puppet, ME, 0, 0, struct.pack("<i", 55)])
        self.assertEqual(self.node.line(), "exit 55")
        peer.send([LINK, puppet, ME, 0, 9, b""], [UNLINK, puppet, ME, 0, 9 << 32, b""],
                  [EXIT, puppet, ME, 0, 0, struct.pack("<i", 55)], [SEND, puppet, ME, 1, 0, b"unlinked"])
        self.assertEqual(self.node.line(), "got 1 unlinked")
        peer.send([LINK, puppet, ME, 0, 10, b""], [CALL_NAME, "puppet", 5, UNLINK_IT, 1, numbers(ME)])
        self.assertEqual(peer.frame(UNLINK)[4], 10)


class Spawning(Wire):
    def test_the_node_starts_actors(self):
        peer = self.peer(capabilities=SPAWNS).link()
        order = pack(["wire.made", pack(["hello"]), 5, 6])
        peer.send([SPAWN, 0, ME, 0, 99, order], [SPAWN, 0, 0, 0, 98, order])
        got = peer.frame(SPAWNED)
        self.assertEqual((got[1], got[3], got[4]), (ME, 0, 99))
        self.assertEqual(self.node.line(), "made 0 hello")
        peer.send([SEND, got[2], ME, 1, 0, b""])
        frames = {kind: peer.frame(kind) for kind in (DOWN, EXIT)}
        self.assertEqual((frames[DOWN][4], reason(frames[DOWN][5])), (5, (77, "wire.c: why")))
        self.assertEqual(reason(frames[EXIT][5]), (77, "wire.c: why"))
        for body, code, says in ((pack(["none", b"", 0, 0]), 6, "exports no actor none"),
                                 (pack(["wire.made", pack([1]), 0, 0]), 9, "expected str"),
                                 (b"\xc0", 9, "malformed order")):
            peer.send([SPAWN, 0, ME, 0, 1, body])
            got = peer.frame(SPAWNED)
            self.assertEqual((got[2], got[3]), (0, code))
            self.assertIn(says, got[5].decode())

    def test_the_peer_starts_actors(self):
        peer = self.peer(capabilities=SPAWNS).link()
        for answer, says in (([88, 0, b""], "spawned 88"), ([0, 8, b"no more"], "spawned -8")):
            self.puppet(peer, ORDER, "p")
            got = peer.frame(SPAWN)
            name, arguments, monitor, link = unpack(got[5])[0]
            self.assertEqual((got[1], name, arguments, link), (0, "made.up", b"args", 0))
            self.assertNotEqual(monitor, 0)
            peer.send([SPAWNED, got[2], answer[0], answer[1], got[4], answer[2]])
            self.assertEqual(self.node.line(), says)
            if answer[0]:
                peer.send([DOWN, got[2], 88, 0, monitor, struct.pack("<i", 5) + b"x"])
                self.assertEqual(self.node.line(), "child down 5 x")
        peer.send([SPAWNED, GONE, 66, 0, 1234, b""])  # No actor waits for this answer.
        self.assertEqual(peer.frame(KILL)[1], 66)


class Credits(Wire):
    ASKER = 2 << 24 | 1  # No actor has this number.

    def test_the_node_keeps_to_its_credit(self):
        """The node waits for credit, and then continues; no message is lost."""
        peer = self.peer(capabilities=CREDITS).link()
        self.puppet(peer, POUR, numbers(ME, 2000, 2048))  # Each message costs three units.
        awaited, granted, last, requested = 1, 256, 0, 0
        while awaited <= 2000:
            got = peer.frame(SEND, CREDIT_REQUEST)
            if got[0] == SEND:
                self.assertEqual(number(got[5][:8]), awaited)
                awaited += 1
                self.assertLessEqual(3 * (awaited - 1) - last, granted + 2)  # The last message may exceed the credit.
                continue
            self.assertEqual((got[1], got[5]), (ME, bytes(4)))
            self.assertTrue(0 < got[3] < 2 ** 31)
            self.assertNotEqual(got[3], requested)
            last, granted, requested = 3 * (awaited - 1), 300, got[3]
            # The first CREDIT has the number of another request.
            peer.send([CREDIT, got[2], ME, got[3] + 1, got[4], struct.pack("<I", 2 ** 20)],
                      [CREDIT, got[2], ME, got[3], got[4], struct.pack("<I", granted)])
        self.assertEqual(self.node.line(), "poured 0")

    def request(self, to, tag, kind=CREDIT_REQUEST):
        return [kind, to, self.ASKER, tag, 5, bytes(4)]

    def test_the_node_gives_credit(self):
        peer = self.peer(capabilities=CREDITS).link()
        slow, puppet = self.puppet(peer, SLOW), self.puppet(peer, SELF)
        for frame, units in ((self.request(puppet, 1), None), (self.request("puppet", 2, CREDIT_REQUEST_NAME), None),
                             (self.request(GONE, 3), 0), (self.request("nobody", 4, CREDIT_REQUEST_NAME), 0),
                             (self.request(slow, 5), None)):
            to = frame[1] if isinstance(frame[1], int) else GONE
            peer.send([CREDIT_REQUEST, to, self.ASKER, 99, 5, b""], frame)  # The first entry is malformed.
            got = peer.frame(CREDIT)
            self.assertEqual((got[1], got[3:5]), (self.ASKER, [frame[3], 5]))
            self.assertNotEqual(got[2], 0)
            given = struct.unpack("<I", got[5])[0]
            self.assertEqual(given > 0, units is None)
        # The mailbox is full: the CREDIT waits until there is space, and a new CREDIT_REQUEST replaces the old one.
        peer.send(*([SEND, slow, ME, NUMBERED, 0, b""] for _ in range(100)), self.request(slow, 6))
        peer.send(self.request(slow, 7))
        peer.fence()
        self.assertNotIn(CREDIT, [frame[0] for frame in peer.inbox])
        self.puppet(peer, MAY, numbers(100))
        self.assertEqual(peer.frame(CREDIT)[3], 7)
        self.assertEqual(dict(peer.ask(14)[0])["mailbox-full"], 0)

    def test_a_peer_that_far_exceeds_its_credit_loses_its_link(self):
        peer = self.peer(capabilities=CREDITS).link()
        slow = self.puppet(peer, SLOW)
        try:
            while True:
                peer.send(*([SEND, slow, ME, NUMBERED, 0, b""] for _ in range(500)))
        except Closed:
            pass
        self.node.log("it sends more than it was given credit for")

    def test_messages_of_a_peer_without_credit_that_do_not_fit_are_dropped(self):
        peer = self.peer().link()
        slow = self.puppet(peer, SLOW)
        peer.send(*([SEND, slow, ME, NUMBERED, 0, b""] for _ in range(1000)))
        peer.fence()
        self.assertEqual(dict(peer.ask(14)[0])["mailbox-full"], 1000 - 2 * 64)


class Tables(Wire):
    def link(self, name="p", incarnation=None, **more):
        return self.peer(name, incarnation, capabilities=more.pop("capabilities", TABLES), **more).link()

    def test_global_names_are_exchanged(self):
        peer = self.link()
        self.assertEqual(peer.frame(TABLE), [TABLE, 3])
        self.assertEqual(self.puppet(peer, GLOBAL, "clock"), 0)
        set_ = peer.frame(TABLE)
        self.assertEqual(set_[:4], [TABLE, 1, 1, "clock"])
        self.assertEqual(set_[4], self.puppet(peer, SELF))
        self.assertGreater(set_[5], 10 ** 15)
        peer.send([TABLE, 3], [TABLE, 1, 1, "mine", ME, 5], [TABLE, 1, 9, "?", 1], [TABLE, 7],
                  [TABLE, 1, 1, "other", ME, 6], [TABLE, 2, 1, "other", ME])
        peer.fence()
        self.assertEqual([self.puppet(peer, FIND, name) for name in ("mine", "other")], [ME, 0])
        # An older entry takes the name from the node's own actor.
        peer.send([TABLE, 1, 1, "clock", ME, 5])
        gone = peer.frame(TABLE)
        self.assertEqual(gone, [TABLE, 2, 1, "clock", set_[4]])
        self.assertEqual(self.puppet(peer, FIND, "clock"), ME)
        # This goes from the node to the actor with the name, which is now the peer's.
        peer.send([TABLE, 3])
        peer.fence()
        self.assertEqual(self.puppet(peer, FIND, "mine"), 0)

    def test_the_younger_of_two_leaves_is_told_that_it_lost_the_name(self):
        """A node that is linked with both tells the peer whose registration is younger."""
        first, second = self.link("first"), self.link("second")
        first.send([TABLE, 1, 1, "only", ME, 5])
        first.fence()
        second.send([TABLE, 1, 1, "only", ME + 1, 6])
        told = second.frame(TABLE, where=lambda f: f[1] == 4)
        self.assertEqual(told, [TABLE, 4, 1, "only", ME, 5, first.incarnation])

    def test_a_node_does_not_believe_a_peer_about_names_of_third_nodes(self):
        """A node that listens has links with all others, and does not believe what they say about third nodes."""
        peer = self.link()
        self.puppet(peer, GLOBAL, "kept")
        peer.send([TABLE, 4, 1, "kept", 9, 5, 12345])
        peer.fence()
        self.assertEqual(self.puppet(peer, FIND, "kept"), self.puppet(peer, SELF))

    def test_members_of_groups_are_exchanged(self):
        peer = self.link()
        self.puppet(peer, JOIN, "all")
        self.assertEqual(peer.frame(TABLE, where=lambda f: f[1] == 1)[2:4], [2, "all"])
        peer.send([TABLE, 1, 2, "all", ME], [GROUP_SEND, "all", ME, 3, b"to all"])
        self.assertEqual(self.node.line(), "got 3 to all")
        peer.fence()
        peer.send([CALL_NAME, "puppet", 5, TO_GROUP, 1, b"all"])
        got = peer.frame(GROUP_SEND)
        self.assertEqual((got[1], got[3], got[4]), ("all", 7, b"all"))
        self.assertEqual(self.node.line(), "got 7 all")
        for taken in ([TABLE, 2, 2, "all", ME, True, -3], [TABLE, 2, 2, "all", ME]):
            peer.send(taken)
        peer.fence()
        self.assertEqual([row[2] for row in peer.ask(10)], ["n"])


class Topics(Wire):
    ALL = TABLES | TOPICS | PATTERNS

    def test_queue_groups_are_exchanged(self):
        peer = self.peer(capabilities=self.ALL).link()
        self.puppet(peer, QUEUE, "jobs.*")
        self.assertEqual(peer.frame(TABLE, where=lambda f: f[1] == 1), [TABLE, 1, 3, "jobs.*", "workers"])
        peer.fence()
        self.assertNotIn(INTEREST, [frame[0] for frame in peer.inbox])
        # The message goes to one member, which the answer counts. It is passed on to no other node.
        peer.send([PUBLISH_TO, "jobs.a", 0, ME, 3, 0, 0, 55, ["jobs.*", "workers"], b"job"])
        self.assertEqual(self.node.line(), "got 3 job")
        got = peer.frame(REPLY)
        self.assertEqual(got[1:], [ME, 0, 0, 55, struct.pack("<I", 1)])
        peer.send([PUBLISH_TO, "jobs.a", 0, ME, 3, 1, 0, 56, ["jobs.*", "others"], b"job"],
                  [PUBLISH_TO, "jobs.a", 9, ME, 3, 0, 2, 57, ["jobs.*", "workers"], b"passed on"])
        self.assertEqual(peer.frame(REPLY)[4:], [56, struct.pack("<I", 0)])
        self.assertEqual(self.node.line(), "got 3 passed on")
        # A message that comes by PUBLISH is for subscriptions without a queue.
        self.puppet(peer, SUBSCRIBE, "plain.*")
        peer.send([PUBLISH, "jobs.a", ME, 3, b"not heard"], [PUBLISH_TO, "plain.a", 0, ME, 4, 1, 0, 0, [], b"heard"])
        self.assertEqual(self.node.line(), "got 4 heard")

    def test_the_node_chooses_a_peer(self):
        peer = self.peer(capabilities=self.ALL).link()
        peer.send([TABLE, 1, 3, "jobs.*", "q"], [INTEREST, 1, ["jobs.*"]])
        self.in_effect(peer)
        peer.send([CALL_NAME, "puppet", 5, REACH, 1, b"jobs.x"])
        got = peer.frame(PUBLISH_TO)
        self.assertEqual((got[1], got[2], got[4], got[5] & 1, got[6], got[8], got[9]),
                         ("jobs.x", 0, 7, 1, 0, ["jobs.*", "q"], b"news"))
        self.assertNotEqual(got[7], 0)
        peer.send([REPLY, got[3], 0, 0, got[7], struct.pack("<I", 2)])
        self.assertEqual(number(peer.frame(REPLY)[5]), 2)

    def test_queue_groups_work_with_a_peer_without_bit_6(self):
        """INTEREST names queue groups, too, and PUBLISH goes to one member of each."""
        peer = self.peer(capabilities=TABLES).link()
        self.puppet(peer, QUEUE, "jobs.*")
        self.assertEqual(peer.frame(INTEREST), [INTEREST, 1, ["jobs.*"]])
        peer.send([PUBLISH, "jobs.a", ME, 3, b"job"])
        self.assertEqual(self.node.line(), "got 3 job")

    def test_retained_messages_are_exchanged(self):
        peer = self.peer(capabilities=self.ALL).link()
        self.puppet(peer, SUBSCRIBE, "state.*")
        node = peer.incarnation
        peer.send([RETAINED, "state.a", node, ME, 1, 1, 5, b"live"],
                  [RETAINED, "state.a", node, ME, 2, 0, 4, b"older"],
                  [RETAINED, "state.b", 777, ME, 3, 0, 5, b"not live"], [RETAINED, "state.b", node, ME, 4, 0, 6, b""])
        self.assertEqual([self.node.line(), self.node.line()], ["got 1 live", "got 3 not live"])
        peer.send([CALL_NAME, "puppet", 5, RETAIN, 1, b"state.c"])
        got = peer.frame(RETAINED)
        self.assertEqual((got[1], got[2], got[4], got[5] & 1, got[7]), ("state.c", peer.node, 7, 1, b"kept"))
        self.assertGreater(got[6], 10 ** 15)
        self.assertEqual(self.node.line(), "got 7 kept")
        # A new link gets the messages that were published here, or on nodes that are not linked, but not those of the
        # peer itself.
        other = self.peer("q", capabilities=self.ALL).link()
        told = other.frame(RETAINED)
        self.assertEqual((told[1], told[5] & 1), ("state.c", 0))
        peer.leave()
        third = self.peer("r", capabilities=self.ALL).link()
        told = sorted((f[1], f[7]) for f in (third.frame(RETAINED) for _ in range(3)))
        self.assertEqual(told, [("state.a", b"live"), ("state.b", b""), ("state.c", b"kept")])

    def test_a_peer_may_report_missed_messages(self):
        peer = self.peer(capabilities=self.ALL).link()
        peer.send([MISSED, "state.*", 5])
        peer.fence()


class Membership(Wire):
    options = "--probe", "0.2", "--suspicion", "4"

    def states(self, tool):
        return {row[0]: row[2] for row in tool.ask(2)}

    def greet(self, name="p", incarnation=None, **more):
        peer = self.peer(name, incarnation, capabilities=GOSSIP, **more)
        peer.members.metadata = {"zone": "eu"}
        peer.link()
        peer.members.greet()
        return peer

    def test_a_greeting_has_digest_and_metadata(self):
        peer = self.greet()
        greeting = peer.frame(SWIM_PING)
        self.assertEqual((greeting[3] & 1, greeting[4][0][0]), (1, peer.node))
        self.assertEqual(greeting[4][0][4][0], "n")
        peer.frame(SWIM_ACK)
        # When both know the same members, the digests are the same.
        eventually("the digests agree", lambda: peer.frame(SWIM_PING)[2] == peer.members.digest())
        self.assertEqual(next(row[16] for row in peer.ask(2) if row[0] == "p"), {"zone": "eu"})

    def test_a_peer_without_a_digest_is_sent_the_whole_table(self):
        """A peer that sends 0 is sent the whole table."""
        peer = self.peer(capabilities=GOSSIP)
        peer.members.computes = False
        peer.link()
        peer.send([SWIM_PING, 7, 0, 0, []])
        self.assertEqual(peer.frame(SWIM_ACK)[1], 7)

        def is_told():
            peer.send([SWIM_PING, 8, 0, 0, []])
            peer.frame(SWIM_ACK)
            return any(frame[0] == SWIM_SYNC and frame[1] == 1 for frame in peer.inbox)
        eventually("the node sends its whole table and asks for the peer's", is_told)
        self.assertIn(peer.node, [update[0] for update in peer.frame(SWIM_SYNC)[2]])

    def test_a_peer_may_ask_for_the_whole_table(self):
        peer = self.greet()
        peer.send([SWIM_SYNC, 1, []])
        known = [update[0] for update in peer.frame(SWIM_SYNC, where=lambda f: len(f[2]) > 1)[2]]
        self.assertEqual(sorted(known), sorted([peer.node, peer.incarnation]))

    def test_members_hear_of_each_other_and_are_dialled(self):
        first = self.greet("first")
        second = self.peer("second", LOWEST, capabilities=GOSSIP).listen()
        first.send([SWIM_SYNC, 0, [[LOWEST, 0, 1, 0, second.members.own()]]])
        second.accept().link()
        self.node.log("linked with node second")
        second.members.greet()
        eventually("the second peer knows the first one",
                   lambda: second.pump() or first.incarnation in second.members.table)
        self.assertNotIn(PEERS, [frame[0] for frame in second.inbox])

    def test_a_suspected_member_refutes(self):
        """A suspected member raises its number; the next PING tells a suspected member that it is suspected."""
        peer = self.greet()
        peer.frame(SWIM_ACK)
        peer.send([SWIM_PING, 3, 0, 0, [[peer.node, 1, 0, 99]]])
        eventually("the node refutes the suspicion", lambda: peer.pump() or peer.members.table[peer.node][1] > 0)
        peer.send([SWIM_PING, 4, 0, 0, [[peer.incarnation, 1, 1, 99, peer.members.own()]]])
        eventually("the peer refutes the suspicion", lambda: peer.pump() or peer.members.table[peer.incarnation][1] > 1)
        tool = self.peer("tool", flags=TOOL).link()
        eventually("the node takes the peer to be up", lambda: peer.pump() or self.states(tool)["p"] == "up")

    def test_a_node_probes_another_member_on_request(self):
        first, second = self.greet("first"), self.greet("second")
        second.frame(SWIM_ACK)  # The node knows this member.
        first.send([SWIM_ASK, 41, second.incarnation, []])

        def answered():
            second.fence()  # The peer answers what it reads meanwhile, which may be PINGs of the node.
            first.fence()
            return any(f[0] == SWIM_ACK and f[1] == 41 for f in first.inbox)
        eventually("the node has probed the second peer", answered)
        self.assertEqual(first.frame(SWIM_ACK, where=lambda f: f[1] == 41)[3], 1)
        first.send([SWIM_ASK, 42, 98765, []])  # No member has this number.
        self.assertEqual(first.frame(SWIM_ACK, where=lambda f: f[1] == 42)[3], 0)

    def test_a_member_that_leaves_is_known_to_have_left(self):
        peer = self.greet("p")
        peer.frame(SWIM_ACK)
        peer.leave()
        self.node.log("node p is down: left")
        tool = self.peer("tool", flags=TOOL).link()
        self.assertEqual(self.states(tool)["p"], "left")


class TracesAndChunks(Wire):
    ID = bytes(range(1, 17))

    def test_trace_ids_are_passed_on(self):
        """A node on which no tool looks passes on ids that a tool did not begin."""
        peer = self.peer().link()
        peer.send([INTEREST, 1, ["news.*"]])
        self.in_effect(peer)
        for kind, tag, body in ((PUBLISH, PUBLISH_IT, b"news.x"), (CALL, CALL_IT, numbers(ME))):
            peer.send([CALL_NAME, "puppet", 5, tag, 1, body, NO_DEADLINE, self.ID + b"\0" + b"later"])
            got = peer.frame(kind, where=lambda frame: not str(frame[1]).startswith("mark."))
            if kind == PUBLISH:
                self.assertEqual(got[5], self.ID + b"\0")
        for extra in (b"short", "text", None, 5, self.ID + b"\1"):
            with self.subTest(extra=extra):
                peer.send([SEND_NAME, "puppet", 0, 9, 0, b"x", extra], [WATCH, GONE, ME, 0, 1, b"", extra])
                self.assertEqual(self.node.line(), "got 9 x")
                peer.frame(DOWN)

    def test_a_reply_has_the_id_of_its_request(self):
        peer = self.peer().link()
        peer.send([CALL_NAME, "puppet", 5, SELF, 1, b"", NO_DEADLINE, self.ID + b"\0"])
        self.assertEqual(peer.frame(REPLY)[6], self.ID + b"\0")

    def test_a_trace_shows_the_id_of_a_message(self):
        peer = self.peer().link()
        peer.send([CALL_NAME, "$node", ME, 15, 1, pack([None, "puppet", "", False])])
        self.assertEqual(peer.frame(REPLY)[5], b"\xc0")
        self.assertEqual(unpack(peer.frame(SEND, where=lambda f: f[3] == 15)[5])[0], ["n", peer.node])
        peer.send([SEND_NAME, "puppet", ME, 9, 0, b"seen", self.ID + b"\1"])
        row = unpack(peer.frame(SEND, where=lambda f: f[3] == 16)[5])[0][3]
        self.assertEqual((row[1], row[4], row[5], row[9], row[10]), (2, 9, self.ID.hex(), 4, None))
        # This is a pid of the peer, as text.
        self.assertEqual(row[3], f"0.{ME}.0@{peer.incarnation:016x}")

    def test_a_message_in_chunks_is_put_together(self):
        """Other messages go between the parts; a part may be small; the deadline counts from the first part."""
        peer = self.peer(capabilities=CHUNKS).link()
        body = b"".join(numbers(i) for i in range(100))
        peer.send([CHUNK, len(body), [CALL_NAME, "puppet", ME, WATCH_IT, 9, b""]])
        for i, byte in enumerate(body):
            peer.send([CHUNK, bytes([byte])], [SEND_NAME, "puppet", 0, 9, 0, b"between"])
        self.assertEqual(peer.frame(REPLY)[4], 9)
        for _ in body:
            self.assertEqual(self.node.line(), "got 9 between")
        self.puppet(peer, SUBSCRIBE, "big")
        peer.send([CHUNK, 4, [PUBLISH, "big", 0, 5, b""]], [CHUNK, b"news"])
        self.assertEqual(self.node.line(), "got 5 news")

    def test_the_node_sends_chunks(self):
        peer = self.peer(capabilities=CHUNKS).link()
        self.puppet(peer, POUR, numbers(ME, 1, 600000))
        got = peer.frame(SEND)
        self.assertEqual((got[1], len(got[5])), (ME, 600000))


class Control(Wire):
    def test_every_verb_has_its_number(self):
        with open(os.path.join(ROOT, "transport", "wire", "requests.h"), encoding="utf-8") as file:
            verbs = dict(re.findall(r"WF_CONTROL_(\w+) = (\d+)", file.read()))
        self.assertIn("PS", verbs)
        for verb, tag in verbs.items():
            if verb == "ERROR":
                continue
            found = re.search(rf"^\| {verb} \| {tag} \|", PAGE, re.M)
            self.assertTrue(found, verb)

    def test_answers_of_node_have_the_documented_shapes(self):
        peer = self.peer("p", 0xABC).link()
        self.puppet(peer, JOIN, "group")
        self.puppet(peer, GLOBAL, "clock")
        peer.send([CALL_NAME, "puppet", 5, CALL_IT, 1, numbers(ME)])
        peer.frame(CALL)
        actors, nodes, info, names, groups = (peer.ask(verb) for verb in (1, 2, 3, 9, 10))
        self.assertEqual({len(row) for row in actors}, {15})
        self.assertEqual(([row[2] for row in nodes], {len(row) for row in nodes}), (["self", "up"], {18}))
        self.assertIn(nodes[1][17], ("nng", "nng callbacks"))
        self.assertEqual((info[0], info[2], len(info)), ("n", "weft", 7))
        self.assertIn(["clock", True, True], [[row[0], row[3], row[4]] for row in names])
        self.assertEqual([(row[0], row[2], len(row)) for row in groups], [("group", "n", 3)])
        self.assertEqual({len(row) for row in peer.ask(11)[1:]}, {9})
        one = peer.ask(12, "puppet")
        for key in ("pid", "kind", "name", "state", "waits_for", "mailbox", "mailbox_max", "received", "dropped",
                    "stack_most", "held", "held_bytes", "mailbox_bytes", "stack_bytes", "heap_bytes", "waits_ns",
                    "asks", "links", "monitors", "watchers", "callers"):
            self.assertIn(key, one)
        self.assertEqual(peer.ask(12, one["pid"])["name"], "puppet")
        waits = peer.ask(13)
        self.assertEqual((waits[0][1], len(waits[0])), (f"0.{ME}.0@{0xABC:016x}", 4))
        drops = peer.ask(14)
        self.assertEqual((len(drops), {len(row) for row in drops[0]}), (2, {2}))
        self.assertEqual(peer.ask(25), [])
        who = peer.ask(26, [False, ["puppet", "nobody"]])
        self.assertEqual((sorted(row[0] for row in who), {len(row) for row in who}), (["nobody", "puppet"], {12}))

    def test_the_answer_for_top_has_the_documented_keys(self):
        peer = self.peer().link()
        for more in [], [True]:
            one = peer.ask(18, ["mailbox", 10, "", True, *more])[0]
            for key in ("node", "incarnation", "cluster", "state", "at_ns", "resident_bytes", "processor_ns",
                        "actor_count", "actors_matched", "drops", "workers", "stuck", "links", "kinds", "actors"):
                self.assertIn(key, one)
            self.assertEqual(one["incarnation"], f"{peer.node:016x}")

    def test_lists_come_in_pages(self):
        peer = self.peer().link()
        rows, at = [], b""
        while True:
            at, some = peer.ask(24, [1, at, 2, "", ""])
            self.assertLessEqual(len(some), 2)
            rows += some
            if at == b"":
                break
        self.assertEqual(sorted(row[0] for row in rows), sorted(row[0] for row in peer.ask(1)))

    def test_publishing_and_subscribing(self):
        peer = self.peer().link()
        peer.send([CALL_NAME, "$node", ME, 6, 1, pack("news.*")])
        self.assertEqual(peer.frame(REPLY)[5], b"\xc0")
        self.assertEqual(peer.frame(SEND)[3], 6)
        hold = peer.frame(CALL)
        self.assertEqual(hold[3], 7)
        self.assertGreaterEqual(peer.ask(5, ["nobody", 3, b""]), 0)
        peer.send([CALL_NAME, "$node", 5, 5, 2, pack(["news.x", 3, b"body", 1000])])
        frames = [peer.frame(SEND, REPLY), peer.frame(SEND, REPLY)]
        news = next(frame for frame in frames if frame[0] == SEND)
        topic, tag, _, body = unpack(news[5])[0]
        self.assertEqual((news[3], topic, tag, body), (8, "news.x", 3, b"body"))
        self.assertEqual(unpack(next(frame for frame in frames if frame[0] == REPLY)[5])[0], [1, 1, 0])
        peer.send([REPLY, hold[2], ME, 0, hold[4], b""])  # No further message comes.
        eventually("the subscription has ended", lambda: peer.ask(5, ["news.x", 3, b"body"]) == 0)

    def test_requests_to_control_are_executed(self):
        peer = self.peer().link()
        self.assertRegex(peer.ask(20, ""), "info")
        self.assertIsNone(peer.ask(22, True))
        self.node.log("node n drains")
        self.assertIn("was started without --tls", peer.ask(21))
        self.assertIn("cannot", peer.ask(17, "/nothing.so"))
        self.assertEqual(peer.ask(99), "unknown request")
        self.assertIn("malformed", peer.ask(24, "no page"))
        peer.send([SEND_NAME, "$node", ME, 4, 0, pack(0)])  # This is no CALL, so nothing happens.
        self.assertIsNone(peer.ask(4, 30_000))
        self.assertEqual(peer.frame(BYE)[0], BYE)
        peer.close()
        self.node.end()

    def test_a_peer_without_the_right_is_told(self):
        node, url = self.start_plain()
        tool = self.peer("tool", flags=TOOL, url=url).link()
        for verb in (1, 4, 20):
            self.assertIn("not by this address", tool.ask(verb))
        tool.send([LINK, GONE, ME, 0, 1, b""], [SPAWN, 0, ME, 0, 2, pack(["wire.made", b"", 0, 0])],
                  [STOP, GONE, 0, 0, 0, b""])
        self.assertEqual(reason(tool.frame(EXIT)[5])[0], -17)
        got = tool.frame(FAILED)
        self.assertEqual((got[2], got[3], got[4]), (0, 17, 2))
        node.log("refused a CALL_NAME of tool")

    def start_plain(self):
        node = Program(WEFT, "run", MODULE, "--name", "strict", "--listen", "tcp://127.0.0.1:0", env=self.cluster.env)
        self.cluster.nodes["strict"] = node
        url = node.log(r"listens on ([^\s\",]+)")[1]
        self.assertEqual(node.line(), "ready 0")
        return node, url


if __name__ == "__main__":
    unittest.main()
