#!/usr/bin/env python3
"""Texts that peers and actors choose reach no terminal unescaped: verbs of the command line, log lines, the chat."""
import json
import os
import struct
import subprocess
import threading
import unittest

import wire_peer as wire
from harness import Client, Cluster, PATIENCE, Program, built, eventually, has

WEFT = built("cli", "weft")
# The lie has a C1 control as UTF-8 and as a raw byte, an escape, directions of text, and a line end.
EVIL = "x\u009b2J\u202ey\u2066z\x1b[2J\x07\ntail"
OBEYED = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
          if chr(code) != "\n"]
MODULE = r"""
#include <string.h>
#include <weft.h>
static const char evil[] = "x\xc2\x9b" "2J\x9b" "2J\xe2\x80\xae" "y\xe2\x81\xa6" "z\x1b[2J\x07\n" "tail";
static void fails(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_log(WEFT_WARN, "said %s", evil);
    weft_fail(77, "%s", evil);
}
static void evils(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_register("evil") < 0) return;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_wants_reply(m)) weft_ignore(weft_reply(m, 1, evil, sizeof evil - 1));
        weft_ignore(weft_publish("evil.topic", 1, evil, sizeof evil - 1));
    }
}
static void first(const void *arg, size_t size)
{
    const weft_spawn_options options = {.kind = evil};
    weft_pid pid;
    (void)arg, (void)size;
    if (weft_spawn(&pid, evils, NULL, 0, &options) < 0 || weft_spawn(NULL, fails, NULL, 0, NULL) < 0) return;
    (void)weft_send(weft_self(), 9, NULL, 0);
    (void)weft_sleep(WEFT_FOREVER);
}
WEFT_MODULE(first)
"""

# These are the numbers of verbs of $node.
PS, NODES, SUBSCRIBE, NEWS, NAMES, GROUPS, INSPECT, WAITS, DROPS, TRACE, TRACED = 1, 2, 6, 8, 9, 10, 12, 13, 14, 15, 16
RELOAD, TOP, BODIES, LOG, CERTS, DRAIN, MISSED, PAGE, WHO = 17, 18, 19, 20, 21, 22, 23, 24, 26
LIE = 'x", "y": \x1b[2J\u009b2J\n\\'


class Liar:
    """A node that gives the same lie for everything that it is asked."""

    def __init__(self):
        self.peer = wire.Peer(None, "liar", heartbeat=3_600_000).listen()
        self.url = self.peer.urls[0]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                self.peer.accept()
                self.peer.state = None
                self.peer.link()
                while True:
                    self.answer(self.peer.frame(wire.CALL, wire.CALL_NAME))
            except wire.Closed:
                self.peer.cut()
                self.peer.inbox.clear()
            except OSError:
                return

    def answer(self, call):
        sender, verb, ref, body = call[2:6]
        self.peer.send([wire.REPLY, sender, 7, *self.says(verb, body)[:1], ref, wire.pack(self.says(verb, body)[1])])
        if verb == BODIES:
            row = [1, 1, LIE, LIE, 5, LIE + "x" * (32 - len(LIE.encode())), True, LIE, LIE, 4, b"body"]
            self.peer.send([wire.SEND, sender, 7, TRACED, 0, wire.pack([LIE, 7, 1, row])])

    @staticmethod
    def says(verb, body):
        who = [LIE, LIE, LIE, LIE, LIE, LIE, LIE, 5, True, 1, ""]
        if verb == WHO:
            return verb, [[asked, *who] for asked in wire.unpack(body)[0][1]]
        known = {DROPS: [[[LIE, 2]], [[5, LIE, LIE, LIE, 9, LIE, LIE, LIE]]], WAITS: [[LIE, LIE + "2", 5]],
                 INSPECT: {"pid": "0.1.1", "kind": LIE, "asks": [LIE], LIE: LIE}, BODIES: None, LOG: LIE,
                 CERTS: [LIE, LIE], DRAIN: True, PAGE: [b"this one again", []]}
        return (verb, known[verb]) if verb in known else (0, LIE)


class Breaker(Liar):
    """A node that answers each request with a frame that is malformed."""

    def answer(self, call):
        self.peer.send([wire.FAILED, call[2]])


class Stranger(Liar):
    """A node whose answers have values of other types than weft's."""

    @staticmethod
    def says(verb, body):
        return verb, {PAGE: [b"", [[1] * 20]], TOP: [{"node": 5}], RELOAD: [[1] * 9], NODES: [[1] * 20]}.get(verb, 7)


class Mumbler(Liar):
    """A node that accepts each request, and then sends what has another type than weft's."""

    def __init__(self, tag):
        self.tag = tag
        super().__init__()

    def answer(self, call):
        super().answer(call)
        self.peer.send([wire.SEND, call[2], 7, self.tag, 0, wire.pack([LIE])])

    @staticmethod
    def says(verb, body):
        return verb, None


class Endless(Liar):
    """A node whose lists have pages without an end, or so many, with large rows or with many."""
    MANY = wire.pack(["", "", "", False, False]) * 170_000
    pages = None
    LARGE = wire.pack(["k" * 1_000_000, "k" * 1_000_000, "", "", "", 1, 1, 1, 1]) * 7

    def answer(self, call):
        sender, asked, ref, body = call[2:6]
        if asked != PAGE:
            self.peer.send([wire.REPLY, sender, 7, 0, ref, b"no"])
            return
        verb, at = wire.unpack(body)[0][:2]
        many = verb == NAMES
        rows = struct.pack(">BI", 0xDD, 170_000 if many else 7) + (self.MANY if many else self.LARGE)
        at = 1 + int.from_bytes(at, "big")
        page = b"\x92" + wire.pack(b"" if at == self.pages else struct.pack(">Q", at)) + rows
        self.peer.send([wire.REPLY, sender, 7, PAGE, ref, page])


class Terminal(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)
        folder = self.cluster.folder.name
        self.env = dict(self.cluster.env, XDG_CACHE_HOME=os.path.join(folder, "cache"), LC_ALL="C.UTF-8")

    def is_plain(self, data):
        text = data.decode()  # Raw bytes are no UTF-8.
        self.assertEqual([char for char in OBEYED if char in text], [])
        return text

    def weft(self, *words):
        done = subprocess.run([WEFT, *words, "--node", "a"], capture_output=True, env=self.env, timeout=PATIENCE)
        return self.is_plain(done.stdout) + self.is_plain(done.stderr)

    def test_verbs_and_the_log_print_no_control_characters(self):
        path = os.path.join(self.cluster.folder.name, "evil.c")
        log = os.path.join(self.cluster.folder.name, "log")
        with open(path, "w", encoding="utf-8") as file:
            file.write(MODULE)
        node = Program(WEFT, "run", path, "--name", "a", "--log-file", log, env=self.env)
        self.addCleanup(node.kill)
        eventually("the client evil is in the room", lambda: "evil" in self.weft("names"))
        for words in (["ps"], ["ps", "--json"], ["ps", "--by-kind"], ["inspect", "evil"],
                      ["inspect", "evil", "--json"], ["inspect", "--record"], ["top", "--once"],
                      ["why-dropped"], ["call", "evil", "[]"], ["nodes"],
                      ["call", "evil", "[]", "--json"]):
            with self.subTest(words=words):
                self.weft(*words)
        self.assertIn("x??2J", self.weft("ps"))
        kinds = [json.loads(line)["kind"] for line in self.weft("ps", "--json").splitlines()]
        # A program gets the original bytes.
        self.assertTrue(any(kind.startswith("x\u009b2J") for kind in kinds), kinds)
        with open(log, "rb") as file:
            said = self.is_plain(file.read())
        self.assertIn(r"said x\u009b2J\ufffd2J\u202ey\u2066z\u001b[2J\u0007\ntail", said)
        node.stop()

    def test_the_answers_of_a_lying_node_are_harmless_text_and_proper_json(self):
        """As text the answers are harmless; as JSON they are proper, and have what the node sent."""
        liar = Liar()
        for words in (["why-dropped"], ["inspect"], ["inspect", "0.1.1"], ["log"],
                      *([["certs", "reload"]] if has("tls") else []),
                      ["trace", "--count", "1"]):
            for form in ([], ["--json"]):
                with self.subTest(words=words, form=form):
                    done = subprocess.run([WEFT, *words, *form, "--node", liar.url], capture_output=True,
                                          env=self.env, timeout=PATIENCE)
                    said = self.is_plain(done.stdout)
                    self.is_plain(done.stderr)
                    self.assertNotEqual(said, "", done.stderr)
                    values = [json.loads(line) for line in said.splitlines() if form]
                    self.assertTrue(not form or any(LIE in value.values() for value in values), values)

    def test_a_list_without_an_end_ends_each_verb_that_asks_for_it(self):
        """Each page of the lying node has no rows, and names itself as the next one."""
        liar = Liar()
        for words in (["ps"], ["ps", "--sort", "name"], ["names"], ["groups"], ["send", "x", "1"], ["drain"]):
            with self.subTest(words=words):
                done = subprocess.run([WEFT, *words, "--node", liar.url], capture_output=True, env=self.env,
                                      timeout=PATIENCE)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("liar: its list does not end", self.is_plain(done.stderr))

    def fails(self, liar, *words):
        """What a verb says that fails."""
        done = subprocess.run([WEFT, *words, "--node", liar.url], capture_output=True, env=self.env, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, done)
        return done.stdout, self.is_plain(done.stderr)

    def test_answers_of_other_types_are_not_taken_for_answers(self):
        liar = Stranger()
        for words in (["subscribe", "t"], ["trace"], ["trace", "--no-body"], ["top", "--once"],
                      ["top", "--once", "--json"], ["reload", "a.so"], ["ps"], ["ps", "--json"],
                      ["ps", "--sort", "name"], ["names"], ["groups"], ["nodes"], ["nodes", "--json"]):
            with self.subTest(words=words):
                out, said = self.fails(liar, *words)
                self.assertIn("liar: cannot decode the answer", said)
                table = words[0] in ("ps", "names", "groups", "nodes") and "--json" not in words
                self.assertLessEqual(out.count(b"\n"), int(table), out)  # The head of a table at most.

    def test_a_verb_that_listens_ends_when_it_hears_what_it_cannot_decode(self):
        for words, tag in ((["subscribe", "t"], NEWS), (["subscribe", "t"], MISSED), (["trace", "--no-body"], TRACE),
                           (["trace", "--no-body"], TRACED)):
            with self.subTest(words=words, tag=tag):
                out, said = self.fails(Mumbler(tag), *words)
                self.assertIn("liar: cannot decode the answer", said)
                self.assertEqual(out, b"")

    def test_lists_have_a_bound(self):
        liar = Endless()
        for words, why in ((["names", "--prefix", "none"], "liar: its list does not end: it has more than 16777215 rows"),
                           (["ps", "--sort", "kind"],
                            "its rows take more than 256 MiB: choose with --kind KIND or a small --limit N")):
            with self.subTest(words=words):
                out, said = self.fails(liar, *words)
                self.assertIn(why, said)
                self.assertEqual([line for line in out.splitlines() if not line.startswith(b"NAME ")], [])
        liar.pages = 20  # They have more than can be kept, of which few are shown.
        done = subprocess.run([WEFT, "ps", "--sort", "kind", "--limit", "2", "--node", liar.url], capture_output=True,
                              env=self.env, timeout=PATIENCE)
        self.assertEqual(len(done.stdout.splitlines()), 3, done.stderr)

    def test_verbs_say_why_the_link_has_ended(self):
        breaker = Breaker()
        for words in (["ps"], ["call", "x", "1"], ["send", "x", "1"], ["stop"]):
            with self.subTest(words=words):
                done = subprocess.run([WEFT, *words, "--node", breaker.url], capture_output=True, env=self.env,
                                      timeout=PATIENCE)
                self.assertEqual(done.returncode, 3, done)
                said = self.is_plain(done.stderr).splitlines()
                self.assertEqual(len(said), 1, said)
                self.assertIn("node liar is gone: connection lost: malformed FAILED", said[0])

    def test_a_line_from_another_node_controls_no_terminal(self):
        node = self.cluster.run("a", built("examples", "chat.so"), "--port", "0")
        client = Client(node.line().split(" on ")[1])
        self.addCleanup(client.close)
        client.line()
        body = json.dumps(["ann\u009b", EVIL.replace("\n", "\u0085"), 1])
        eventually("the line comes", lambda: "handed to" in self.weft("publish", "room.lobby", body, "--tag", "1"))
        line = client.line()
        self.assertEqual([char for char in OBEYED if char in line], [])
        self.assertEqual(line, "[lobby] ann??: x??2J???y???z?[2J???tail")


if __name__ == "__main__":
    unittest.main()
