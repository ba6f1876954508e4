#!/usr/bin/env python3
"""The reports of a node about its actors: weft inspect, weft why-dropped, weft trace."""
import json
import os
import re
import shutil
import signal
import subprocess
import unittest

from harness import PATIENCE, Cluster, Program, built, eventually, patient

WEFT, MODULE = built("cli", "weft"), built("tests", "test_modules.so")


def has_lines(program):
    with open(program, "rb") as file:
        return b".debug_line\0" in file.read()


class Look(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())

    def node(self, what, *args):
        # A reader that is stopped for long, on a slow machine, keeps its link.
        options = ("--workers", "1", "--heartbeats-lost", "60") if args else ()
        node = self.cluster.run("a", MODULE, what, *args, options=options)
        self.assertEqual(node.line(), "ready")
        return node

    def weft(self, *words, code=0):
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.cluster.env))
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if code else "")

    def objects(self, *words):
        return [json.loads(line) for line in self.weft(*words, "--json").splitlines()]

    def test_inspect_shows_what_an_actor_waits_for_and_is_linked_with(self):
        self.node("tied")
        tied, silent = self.objects("inspect", "tied")[0], self.objects("inspect", "silent")[0]
        self.assertEqual((tied["name"], tied["state"], tied["waits_for"]), ("tied", "waiting", "an answer"))
        self.assertEqual([tied["asks"], tied["links"], tied["monitors"]], [[silent["pid"]]] * 3)
        self.assertGreater(tied["waits_ns"], 0)
        self.assertEqual([silent["links"], silent["watchers"]], [[tied["pid"]]] * 2)
        self.assertEqual((silent["asks"], silent["kind"], silent["waits_ns"]), ([], "silent", 0))
        self.assertEqual(self.objects("inspect", silent["pid"])[0]["name"], "silent")
        self.assertEqual([silent["held"], tied["held"]], [3, 0])
        self.assertGreater(silent["held_bytes"], 300)
        listed = {a["name"]: a for a in self.objects("ps")}
        self.assertEqual((listed["silent"]["held"], listed["silent"]["held_bytes"]), (3, silent["held_bytes"]))
        self.assertRegex(self.weft("ps"), r"(?m)DROPPED +STACK +HELD$")
        self.assertRegex(self.weft("ps"), r"(?m) silent .* 3$")
        short = silent["pid"].split("@")[0]
        text = self.weft("inspect", short)
        self.assertRegex(text, r"(?m)^waits for +sleep$")
        if not shutil.which("addr2line"):
            place = r"\S*test_modules\.so\+0x[0-9a-f]+"
        else:  # Without line numbers only the name of the file is known.
            place = r"silent at \S+/modules\.c:\d+" if has_lines(MODULE) else r"silent at modules\.c"
        self.assertRegex(text, rf"(?m)^in +{place}$")
        self.assertEqual([os.path.basename(caller[0]) for caller in silent["callers"]], ["test_modules.so"])
        named = r"tied \(main " + tied["pid"].split("@")[0].replace(".", r"\.") + r"\)$"
        self.assertRegex(text, r"(?m)^watched by +" + named)
        self.assertEqual(tied["names"][silent["pid"]],
                         {"pid": silent["pid"], "node": "a", "kind": "silent", "name": "silent"})
        self.assertEqual(([w["name"] for w in tied["chain"]], tied["chain_end"]), (["tied", "silent"], "works"))
        own = r"silent \(silent " + short.replace(".", r"\.") + r"\)"
        self.assertRegex(text, rf"(?m)^ +-?\d+\.\d+  {own} waits for sleep$")
        self.assertRegex(text, rf"(?m)^ +-?\d+\.\d+  {own} receives tag 1 from {named}")
        self.assertRegex(text, r"its last event was \d")

    def test_memory_is_listed_by_kind(self):
        self.node("tied")
        figures = "mailbox", "mailbox_bytes", "held", "held_bytes", "stack_bytes", "heap_bytes"

        def in_sum(rows):  # These are the kinds of this module; weft's own actors work meanwhile.
            return {(kind, f): sum(row[f] for row in rows if row["kind"] == kind)
                    for kind in ("silent", "main") for f in figures}

        def looks():  # Between the two outputs a stack may be parked, once.
            by_kind, each = self.objects("ps", "--by-kind"), self.objects("ps")
            return (by_kind, each) if in_sum(by_kind) == in_sum(each) else None

        by_kind, listed = eventually("both outputs agree", looks)
        kinds = {row["kind"]: row for row in by_kind}
        self.assertEqual(set(kinds) - {"$top"}, {row["kind"] for row in listed})
        silent = kinds["silent"]
        self.assertEqual((silent["actors"], silent["held"]), (1, 3))
        for figure in "held_bytes", "stack_bytes", "heap_bytes":
            self.assertGreater(silent[figure], 200, figure)
        lines = self.weft("ps", "--by-kind").splitlines()
        self.assertRegex(lines[0], r"^KIND +ACTORS +MAILBOX +MBOX-BYTES +HELD +HELD-BYTES +STACK +HEAP$")
        self.assertEqual(lines[-1].split()[:3], ["all", "of", "them"])
        self.assertEqual(len(lines), len(kinds) + 2)
        self.assertEqual([row["kind"] for row in self.objects("ps", "--by-kind", "--kind", "silent")], ["silent"])
        self.assertEqual(len(self.weft("ps", "--by-kind", "--limit", "1").splitlines()), 3)
        self.assertIn("--by-kind shows", self.weft("ps", "--by-kind", "--sort", "mailbox", code=2))

    def test_inspect_shows_which_actor_waits_for_which(self):
        self.node("tied")
        tied, silent = self.objects("inspect", "tied")[0], self.objects("inspect", "silent")[0]
        waits = self.objects("inspect")
        self.assertEqual([(w["pid"], w["waits_for"]) for w in waits], [(tied["pid"], silent["pid"])])
        self.assertEqual((waits[0]["name"], waits[0]["waits_for_name"]), ("tied", "silent"))
        self.assertRegex(self.weft("inspect"), r"^tied \(main \d+\.\d+\.\d+\) waits for silent "
                         r"\(silent \d+\.\d+\.\d+\) for [\d.]+ (us|ms|s)\n$")

    def chained(self, *links):
        """Starts nodes a, b, ..., each with an actor that waits for the next one; the first one has begun."""
        for i, (name, to) in enumerate(links):
            node = self.cluster.run("abc"[i], MODULE, "waits-on", name, to, join=["a"] if i > 0 else [])
            self.assertEqual(node.line(), "ready")
        for name in "abc"[:len(links)]:
            eventually(f"{name} is linked with all", lambda n=name: len(links) - 1 == len(
                [node for node in self.objects("nodes", "--node", n) if node["state"] == "up"]))
        self.weft("send", links[0][0], "[]", "--node", "a")

    def chain(self, who, node="a"):
        return self.objects("inspect", who, "--node", node)[0]

    def test_a_chain_is_followed_over_three_nodes(self):
        self.chained(("one", "two@b"), ("two", "three@c"), ("three", "-"))
        eventually("all actors wait", lambda: [w["name"] for w in self.chain("one")["chain"]] == ["one", "two", "three"] and
                   self.chain("one")["chain"][-1]["waits_for"] == "sleep")
        told = self.chain("one")
        self.assertEqual([(w["node"], w["kind"]) for w in told["chain"]], [(node, "main") for node in "abc"])
        self.assertEqual((told["chain_end"], "deadlock" in told), ("works", False))
        self.assertEqual(told["carriers"], {"b": "nng", "c": "nng"})
        pid = r"\(main \d+\.\d+\.\d+\)"
        self.assertRegex(self.weft("inspect", "one", "--node", "a"),
                         rf"(?m)^actors that wait for each other:\n  one {pid} has waited [\d.]+ (us|ms|s) for an answer of\n"
                         rf"    b/two {pid} has waited [\d.]+ (us|ms|s) for an answer of\n"
                         rf"      c/three {pid}, which waits for sleep$")
        self.assertRegex(self.weft("inspect", "one", "--node", "a"),
                         r"(?m)^over        nng to node b\n            nng to node c$")
        self.assertRegex(self.weft("inspect", "--node", "a"), rf"(?m)^one {pid} waits for b/two {pid} for ")
        self.assertNotIn("@", self.weft("inspect", "--node", "a"))

    @unittest.skipUnless(hasattr(signal, "SIGSTOP"), "this system cannot stop a process for a while")
    def test_a_chain_to_a_node_that_does_not_answer(self):
        self.chained(("one", "two@b"), ("two", "three@c"), ("three", "-"))
        eventually("actor two waits", lambda: len(self.chain("one")["chain"]) == 3)
        self.cluster.nodes["c"].process.send_signal(signal.SIGSTOP)
        try:
            told = self.chain("one")
            self.assertEqual((told["chain_end"], told["chain"][-1]["node"]), ("unknown", "c"))
            self.assertRegex(self.weft("inspect", "one", "--node", "a"),
                             r"(?m)^      c/three \(its node (does not answer|is not linked)\)$")
        finally:
            self.cluster.nodes["c"].process.send_signal(signal.SIGCONT)

    def test_a_circle_over_two_nodes_is_found(self):
        """The runtime ends the circle, and the actors begin it anew."""
        self.chained(("one", "two@b"), ("two", "one@a"))
        told = {}

        def seen():
            told.update(self.chain("one"))
            return told["chain_end"] == "circle"

        eventually("the two actors wait for each other", seen)
        self.assertEqual(([w["name"] for w in told["chain"]], told["circle"], told["deadlock"]),
                         (["one", "two"], 0, True))

        def printed():
            told["text"] = self.weft("inspect", "one", "--node", "a")
            return "deadlock" in told["text"]

        eventually("the deadlock is printed", printed)
        pid = r"\(main \d+\.\d+\.\d+\)"
        self.assertRegex(told["text"], rf"(?m)^    b/two {pid}, which waits for an answer of one {pid}: "
                         rf"it waits in a circle\ndeadlock: one {pid} and b/two {pid} wait in a circle$")

    def test_a_chain_has_a_bound(self):
        for name, first in ("a", "0"), ("b", "1"):
            node = self.cluster.run(name, MODULE, "steps", first, "40", "b" if name == "a" else "a",
                                    join=["a"] if name == "b" else [])
            for _ in range(int(first), 41, 2):
                self.assertEqual(node.line(), "ready")
        for name in "ab":
            eventually(f"{name} is linked", lambda n=name: any(node["state"] == "up" for node in
                                                               self.objects("nodes", "--node", n)))
        self.weft("send", "step.0", "[]", "--node", "a")
        eventually("the chain is long", lambda: self.chain("step.0")["chain_end"] == "long")
        self.assertEqual([w["name"] for w in self.chain("step.0")["chain"]], [f"step.{i}" for i in range(32)])
        self.assertIn("the chain is longer than 32 actors", self.weft("inspect", "step.0", "--node", "a"))
        eventually("the rest of the chain ends with an actor that works",
                   lambda: self.chain("step.20")["chain_end"] == "works")
        self.assertEqual(len(self.chain("step.20")["chain"]), 21)

    def test_inspect_counts_the_calls_and_links_that_it_does_not_show(self):
        """The limits are 256 calls of each worker, and 32 ties of an actor."""
        self.node("besieged", "5000")
        done = subprocess.run([WEFT, "inspect", "--json", "--node", "a"], capture_output=True, text=True,
                              timeout=PATIENCE, env=self.cluster.env)
        shown = len(done.stdout.splitlines())
        self.assertLessEqual(shown, 256 * 64)
        self.assertEqual(done.stderr, f"weft: {5000 - shown} other calls are not shown\n")
        actor = self.objects("inspect", "besieged")[0]
        self.assertEqual((len(actor["links"]), actor["links_more"]), (32, 5000 - 32))
        self.assertRegex(self.weft("inspect", "besieged"), r"(?m)^ +and 4968 more$")

    def test_inspect_and_why_dropped_say_that_there_is_no_such_actor_call_or_drop(self):
        self.node("echo")
        self.assertEqual(self.weft("inspect"), "no actor waits for an answer\n")
        self.assertEqual(self.objects("inspect"), [])
        self.assertEqual(self.weft("why-dropped"), "a has dropped nothing\n")
        for who in "nobody", "0.99999.1", "99.1.1", "1.2", "0.0.0", "0.1.1@0000000000000001", "x" * 120:
            self.assertIn("there is no such actor", self.weft("inspect", who, code=1))
        self.assertIn("is no pid and no name", self.weft("inspect", "x" * 200, code=2))

    def publisher(self, count):
        self.node("publishes", str(count))
        reader = Program(WEFT, "subscribe", "numbers", env=self.cluster.env)
        self.addCleanup(reader.kill)
        reader.log("on node a")
        return reader

    def test_a_burst_of_publications_is_printed_whole(self):
        reader = self.publisher(5000)
        self.weft("call", "publisher", "[]")
        self.assertEqual([reader.line() for _ in range(5000)], [f"numbers 0 {i}" for i in range(5000)])
        self.assertEqual(self.weft("why-dropped"), "a has dropped nothing\n")

    @unittest.skipUnless(hasattr(signal, "SIGSTOP"), "this system cannot stop a process for a while")
    def test_a_tool_says_how_much_it_missed(self):
        reader = self.publisher(100000)
        reader.process.send_signal(signal.SIGSTOP)
        self.weft("call", "publisher", "[]")
        reader.process.send_signal(signal.SIGCONT)
        reader.log(r"messages came faster than they could be printed, and were dropped")
        self.weft("publish", "numbers", '"end"')
        seen = []
        while (line := reader.line()) != 'numbers 0 "end"':
            seen.append(int(line.split()[2]))
        self.assertEqual(seen, sorted(set(seen)))

        def missed_now():  # A count may be printed more than once.
            said = (re.search(r"(\d+) messages came faster than they could be printed", line) for line in
                    reader.err.seen)
            return sum(int(found.group(1)) for found in said if found)

        def dropped():
            return {row["reason"]: row["count"] for row in self.objects("why-dropped") if row.get("count")}
        self.assertEqual(dropped(), {"slow-reader": 100000 - len(seen)})
        # Also those that the full queue between two workers could not take: docs/topics.md.
        eventually("all drops are reported", lambda: missed_now() == 100000 - len(seen))

    def test_why_dropped_shows_reason_tag_sender_and_receiver(self):
        self.node("tied")
        tied = self.objects("inspect", "tied")[0]
        rows = self.objects("why-dropped")
        reasons = {row["reason"]: row["count"] for row in rows if "count" in row}
        self.assertEqual(reasons["unread-at-exit"], 2)
        drops = [row for row in rows if "tag" in row]
        self.assertEqual([(d["reason"], d["tag"], d["from"]) for d in drops],
                         [("unread-at-exit", 77, tied["pid"])] * 2)
        self.assertEqual(len({d["to"] for d in drops} - {"", tied["pid"]}), 1)
        self.assertEqual([(d["tag_name"], d["from_name"], d["from_kind"], d["from_node"], d["to_kind"], d["to_name"])
                          for d in drops], [("note", "tied", "main", "a", "short", "brief")] * 2)
        text = self.weft("why-dropped")
        self.assertRegex(text, r"(?m)^ +2  unread-at-exit: the receiver ended before it had read it$")
        pid = r"\d+\.\d+\.\d+"
        self.assertRegex(text, rf"(?m) ago  note \(tag 77\) from tied \(main {pid}\) to brief "
                         rf"\(short {pid}, has ended\): the receiver ended before it had read it$")
        self.assertIn("no actor there has that name", self.weft("send", "no-such-name", "[1]", "--tag", "9", code=1))

    def test_a_dropped_message_shows_its_sender_on_another_node(self):
        for name, to in ("a", "nobody@nowhere"), ("b", "missing@a"):
            node = self.cluster.run(name, MODULE, "hops", to, join=["a"] if name == "b" else [])
            self.assertEqual(node.line(), "ready")
        eventually("a is linked", lambda: any(n["state"] == "up" for n in self.objects("nodes", "--node", "b")))
        self.weft("send", "hop", "[1]", "--tag", "76", "--node", "b")

        def dropped():
            return [row for row in self.objects("why-dropped", "--node", "a") if "ago_ns" in row]

        eventually("the message is dropped", lambda: len(dropped()) == 1)
        drop = dropped()[0]
        self.assertEqual({key: drop[key] for key in ("reason", "tag", "tag_name", "from_node", "from_name", "to")},
                         {"reason": "no-name", "tag": 77, "tag_name": "note", "from_node": "b", "from_name": "hop",
                          "to": ""})
        hop = drop["from"].split("@")[0].replace(".", r"\.")
        line = (rf" ago  note \(tag 77\) from b/hop \(main {hop}\) to nobody known: "
                r"no actor had the name that it was sent to$")
        self.assertRegex(self.weft("why-dropped", "--node", "a"), "(?m)" + line)
        self.weft("stop", "--node", "b")
        gone = self.weft("why-dropped", "--node", "a")
        self.assertRegex(gone, rf"(?m) from b/{hop} \(its node is not linked\) to nobody known")

    def traced(self, *words):
        tracer = Program(WEFT, "trace", *words, env=self.cluster.env)
        self.addCleanup(tracer.kill)
        tracer.log("weft trace: .* on node a")
        return tracer

    def test_a_tracer_prints_messages_as_they_pass(self):
        self.node("echo")
        echo = self.objects("inspect", "echo")[0]["pid"]
        by_tag = self.traced("--tag", "5", "--count", "1", "--json")
        by_actor = self.traced("--actor", echo.split("@")[0], "--count", "2")
        by_name = self.traced("--actor", "echo", "--count", "2")
        bare = self.traced("--tag", "6", "--count", "1", "--json", "--no-body")
        self.weft("call", "echo", "[1]", "--tag", "6")
        self.weft("send", "echo", '["hot"]', "--tag", "5")
        row = json.loads(by_tag.end()[0])
        self.assertEqual({key: row[key] for key in ("event", "node", "actor", "tag", "asked", "bytes", "body")},
                         {"event": "receive", "node": "a", "actor": echo, "tag": 5, "asked": True, "bytes": 5,
                          "body": ["hot"]})
        self.assertRegex(row["trace"], "^[0-9a-f]{32}$")
        lines = by_actor.end()
        self.assertEqual([line.split(" ", 1)[1] for line in by_name.end()], [line.split(" ", 1)[1] for line in lines])
        mine = echo.split("@")[0]
        self.assertRegex(lines[0], rf"^\d\d:\d\d:\d\d\.\d{{6}} [0-9a-f]{{8}} a {mine} receives 6 from \S+ \[1\]$")
        self.assertRegex(lines[1], rf" a {mine} sends 6 to \S+ \[1\]$")
        self.assertNotIn("body", json.loads(bare.end()[0]))

    def test_a_tracer_stops_at_its_count(self):
        """Lines count also where several come in one piece."""
        self.node("echo")
        tracer = self.traced("--actor", "echo", "--count", "3")
        self.weft("call", "echo", "[1]", "--tag", "6")
        self.weft("call", "echo", "[2]", "--tag", "7")
        self.assertEqual([line.split(" ")[5] for line in tracer.end()], ["6", "6", "7"])

    def test_the_record_is_exported_for_a_trace_viewer(self):
        self.node("echo")
        for _ in range(20):
            self.weft("call", "echo", "[1]", "--tag", "6")
        events = json.loads(self.weft("inspect", "--trace"))
        names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.assertIn("a", [e["args"]["name"] for e in events if e["name"] == "process_name"])
        echo = self.objects("inspect", "echo")[0]["pid"].split("@")[0]
        self.assertIn(f"{echo} echo", names.values())
        self.assertIn("$node", " ".join(names.values()))
        slices = [e for e in events if e["ph"] == "X"]
        self.assertLessEqual({e["ph"] for e in events}, {"M", "X", "s", "f"})
        for e in slices:
            self.assertGreaterEqual(e["dur"], 0)
            self.assertIn(e["tid"], names)
        for tid in names:  # An actor does one thing at a time, so no two of its slices overlap.
            end = 0
            for e in sorted((e for e in slices if e["tid"] == tid), key=lambda e: (e["ts"], e["dur"])):
                self.assertGreaterEqual(e["ts"] + 0.001, end, e)
                end = e["ts"] + e["dur"]
        begun = {e["id"]: e for e in events if e["ph"] == "s"}
        ended = {e["id"]: e for e in events if e["ph"] == "f"}
        self.assertEqual(begun.keys(), ended.keys())
        places = {(e["tid"], e["ts"]) for e in slices}
        for number, e in begun.items():
            self.assertLessEqual(e["ts"], ended[number]["ts"])
            self.assertIn((e["tid"], e["ts"]), places)
        one = json.loads(self.weft("inspect", echo, "--trace"))
        self.assertTrue(any(e["ph"] == "X" for e in one))

    def hops(self):
        """Starts three nodes. The actor on a passes its messages on to the one on b, and that to the one on c. Each hop
        adds 1 to the tag."""
        for name, to in ("a", "hop@b"), ("b", "hop@c"), ("c", "nobody@nowhere"):
            node = self.cluster.run(name, MODULE, "hops", to, join=["a"] if name != "a" else [])
            self.assertEqual(node.line(), "ready")
        for name in "abc":
            eventually(f"{name} is linked with both", lambda n=name: 2 == len(
                [node for node in self.objects("nodes", "--node", n) if node["state"] == "up"]))
        return {name: self.objects("inspect", "hop", "--node", name)[0]["pid"] for name in "abc"}

    def test_a_trace_follows_a_message_across_nodes(self):
        pids = self.hops()
        tracer = self.traced("--tag", "5", "--json", "--count", "7", "--node", "a")
        for _ in "bc":
            tracer.log("weft trace: .* on node [bc]")
        self.weft("send", "hop", '["hot", 1]', "--tag", "5", "--node", "a")
        self.weft("send", "hop", "[2]", "--tag", "9", "--node", "a")  # The tracer does not ask for this one.
        rows = [json.loads(line) for line in tracer.end()]
        self.assertEqual({row["trace"] for row in rows}, {rows[0]["trace"]})
        self.assertEqual({json.dumps(row["body"]) for row in rows}, {'["hot", 1]'})
        self.assertEqual({(row["node"], row["event"], row["tag"]) for row in rows},
                         {("a", "receive", 5), ("a", "send", 6), ("b", "receive", 6), ("b", "send", 7),
                          ("c", "receive", 7), ("c", "send", 8), ("c", "fail", 8)})
        self.assertEqual([row["why"] for row in rows if row["event"] == "fail"], ["WEFT_ENONODE"])
        self.assertTrue(all(row["actor"] == pids[row["node"]] for row in rows))
        self.assertEqual({row["tag"] for row in rows if row["asked"]}, {5})
        for name in "abc":  # So do the lines that they have logged.
            self.cluster.nodes[name].log(f"trace={rows[0]['trace']} msg=\"passes on \\d\"")

    def test_a_trace_follows_publications_of_a_topic(self):
        self.hops()
        tracer = self.traced("--topic", "tea.*", "--count", "4", "--json", "--node", "a")
        for _ in "bc":
            tracer.log("weft trace: .* on node [bc]")
        self.weft("publish", "tea.green", '["hot"]', "--tag", "3", "--node", "b")
        self.weft("publish", "coffee", '["hot"]', "--tag", "3", "--node", "b")
        rows = [json.loads(line) for line in tracer.end()]
        self.assertEqual({(row["node"], row["event"], row["name"], row["tag"]) for row in rows},
                         {("b", "send", "tea.green", 3), ("c", "receive", "tea.green", 3),
                          ("c", "send", "nobody@nowhere", 4), ("c", "fail", "nobody@nowhere", 4)})
        self.assertEqual(len({row["trace"] for row in rows}), 1)
        self.assertIn("no actor there has that name", self.weft("trace", "--actor", "echo", "--node", "a", code=1))
        self.assertIn("'a..b': it is not a pattern", self.weft("trace", "--topic", "a..b", "--node", "a", code=2))

    def test_a_tracer_that_goes_leaves_nothing(self):
        self.node("echo")
        tracer = self.traced("--tag", "5")
        self.assertIn("$trace", self.weft("ps"))
        tracer.kill()
        eventually("the tracer's actors end",
                   lambda: not {"$trace", "$guard"} & {actor["kind"] for actor in self.objects("ps")})


if __name__ == "__main__":
    unittest.main()
