#!/usr/bin/env python3
"""Stored topics in real processes: the command line, and nodes that are killed while they publish.

STORE_KILLS=N: the number of kills of readers (default 6)."""
import base64
import contextlib
import json
import os
import sqlite3
import subprocess
import unittest

from harness import PATIENCE, Program, built, patient
from store_kills import Kills
from store_nodes import StoreCase, WEFT

MODULE = built("tests", "test_storing.so")
KILLS = int(os.environ.get("STORE_KILLS", "6"))


class Store(StoreCase):
    module = MODULE

    def node(self, *what, options=(), name="a", store=True):
        stores = ("--store", self.url, "--stored", "room.>") if store else ()
        return self.start(*what, name=name, options=(*stores, *options))

    def stored(self, topic):
        """Returns {offset: text} of a log, and checks that the log has no hole."""
        rows = [json.loads(line) for line in
                self.weft("store", "read", topic, "--store", self.url, "--json")[0].splitlines()]
        self.assertEqual([row["offset"] for row in rows], list(range(1, len(rows) + 1)))
        return {row["offset"]: row.get("text") for row in rows}

    def test_a_node_works_while_its_disk_hangs(self):
        """A sync that does not return: publishers wait as long as they want to, the node can be asked and stopped."""
        gate = os.path.join(self.cluster.folder.name, "gate")
        self.env.update(STORE_DROPS="7", STORE_HANGS=gate)
        publish = ("publish", "room.b", "--text", "x", "--stored", "--node", "a")

        def go_on():
            os.rename(gate, gate + ".gone")
            with open(gate + ".gone", "wb"):
                pass  # The sync that hangs has opened it, too.
            os.unlink(gate + ".gone")

        node = self.node("publish", "room.a", "8")
        node.line()
        os.mkfifo(gate)
        self.assertIn("deadline passed", self.weft(*publish, "--timeout", "1", code=4)[1])
        self.assertIn("store", self.weft("ps", "--node", "a")[0])
        self.weft("top", "--once", "--node", "a")
        go_on()
        self.assertIn("stored as", self.weft(*publish)[0])
        for _ in range(60):
            node.line()
        node.stop()
        node = self.node("publish", "room.a", "8", options=("--drain", "1"))
        node.line()
        os.mkfifo(gate)
        self.weft(*publish, "--timeout", "1", code=4)
        self.assertIn("not all actors ended in time", self.weft("stop", "--node", "a", code=5)[1])
        node.process.wait(PATIENCE)

    # ---- The command line -----------------------------------------------------------------------------------------

    def test_verbs(self):
        node = self.node("idle", options=("--stored", "few.*:count=2"))
        out = self.weft("publish", "room.tea", "--text", "one", "--tag", "7", "--stored", "--node", "a")[0]
        epoch = out.split()[-1].split(":")[0]
        self.assertEqual(out, f"room.tea: stored as {epoch}:1\n")
        got = json.loads(self.weft("publish", "room.tea", "[2]", "--stored", "--json", "--node", "a")[0])
        self.assertEqual(got, {"topic": "room.tea", "epoch": epoch, "offset": 2})
        for text in ("xa", "xb", "xc"):
            self.weft("publish", "few.x", "--text", text, "--stored", "--node", "a")
        out = self.weft("subscribe", "room.tea", "--from", "start", "--count", "2", "--node", "a")[0]
        self.assertEqual(out, f"{epoch}:1 7 one\n{epoch}:2 0 [2]\n")
        out = self.weft("subscribe", "room.tea", "--from", f"{epoch}:2", "--count", "1", "--json", "--node", "a")[0]
        self.assertEqual(json.loads(out)["body"], [2])
        out, err = self.weft("subscribe", "few.x", "--from", "1", "--count", "1", "--node", "a")
        self.assertIn(":2 0 xb", out)
        self.assertIn("records 1 to 1 are not stored any more", err)
        self.assertIn("does not take", self.weft("publish", "other", "1", "--stored", "--node", "a", code=1)[1])
        err = self.weft("store", "read", "room.tea", "--store", self.url, "--from", "1:1", code=1)[1]
        self.assertIn("another epoch", err)
        self.weft("subscribe", "room.tea", "--from", "now", "--timeout", "0.2", "--node", "a", code=4)
        self.weft("subscribe", "room.tea", "--from", "3", "--timeout", "0.2", "--node", "a", code=4)
        for topic, what in (("room.*", "is a pattern"), ("a b", "is not a topic"), ("", "is empty")):
            self.assertIn(what, self.weft("publish", topic, "1", "--stored", "--node", "a", code=2)[1])
            self.assertIn(what, self.weft("subscribe", topic, "--from", "start", "--node", "a", code=2)[1])
        for verb in (("dead", "a b", "--store", self.url), ("retry", "a b", "--node", "a"), ("drop", "*", "--node", "a")):
            self.assertIn("not a name of a queue", self.weft("store", *verb, code=2)[1])
        # The tool reads beside the node that has the store open.
        out = self.weft("store", "topics", "--store", self.url)[0].splitlines()
        self.assertEqual([line.split()[:2] for line in out], [["few.x", "2"], ["room.tea", "2"]])
        self.assertEqual(self.stored("room.tea")[1], "one")
        self.assertEqual(self.weft("store", "cursors", "--store", self.url)[0], "")
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])
        self.assertIn("no topic", self.weft("store", "read", "room.milk", "--store", self.url, code=1)[1])
        node.stop()
        self.weft("store", "topics", "--store", self.url)

    def test_a_position_that_the_log_does_not_have(self):
        node = self.node("idle", options=("--stored", "few.*:count=2"))
        for text in "abcd":
            self.weft("publish", "few.x", "--text", text, "--stored", "--node", "a")
        epoch = self.weft("publish", "room.tea", "1", "--stored", "--node", "a")[0].split()[-1].split(":")[0]
        def read(topic, position, code=0):
            return self.weft("store", "read", topic, "--store", self.url, "--from", position, code=code)
        def subscribe(topic, position):
            return self.weft("subscribe", topic, "--from", position, "--count", "1", "--node", "a", code=1)[1]
        self.assertEqual(read("room.tea", "2"), ("", "weft store read: room.tea has no record 2 yet: its last one is 1\n"))
        self.assertEqual(read("room.tea", f"{epoch}:2")[0], "")
        self.assertEqual(read("few.x", "6", code=1), ("", "weft store read: few.x has no record 6: it has the records 3 to 4; give"
                                                         " one of these to --from\n"))
        out, err = read("few.x", "1")
        self.assertEqual(len(out.splitlines()), 2)
        self.assertEqual(err, "weft store read: records 1 to 2 are not stored any more\n")
        for position in ("0", "3", "start"):
            self.assertEqual(read("few.x", position)[1], "")
        self.assertIn("'weft subscribe --from now' waits", read("few.x", "now", code=2)[1])
        self.assertIn("few.x has no record 6: it has the records 3 to 4; --from now waits", subscribe("few.x", "6"))
        self.assertIn("room.milk has no record 2: it has no records yet; --from now", subscribe("room.milk", "2"))
        self.assertIn("room.milk has no record 1: it has no records yet", subscribe("room.milk", f"{epoch}:1"))
        self.assertIn("new epoch", subscribe("room.tea", "1:9"))
        node.stop()

    def export(self, url, *topic):
        """Returns the lines of an export without what its first and its last one have besides, which is checked."""
        rows = [json.loads(line) for line in self.weft("store", "export", *topic, "--store", url)[0].splitlines()]
        self.assertEqual([row.pop("export") for row in rows[:1]], [1][:len(rows)])
        self.assertEqual([row.pop("records") for row in rows[-1:]], [len(rows)][:len(rows)])
        self.assertFalse([row for row in rows if "export" in row or "records" in row])
        return "".join(json.dumps(row) + "\n" for row in rows)

    def read_in(self, url, text, code=0):
        done = subprocess.run([WEFT, "store", "import", "--store", url], input=text, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.env))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_an_import_says_that_its_export_is_cut_off(self):
        def record(offset, topic="a", **more):
            return json.dumps({"topic": topic, "epoch": "6fe2a1b09c4d3e58", "offset": offset, "time": 0, "tag": 7, "text": "x"}
                              | more)
        def first(offset, topic="a", **more):
            return record(offset, topic, export=1, **more)
        def last(offset, records, topic="a"):
            return record(offset, topic, records=records)
        cut, note, imported = "is cut off behind line ", " does not say that it is the last one", "are imported: "
        for number, (lines, code, texts, stored) in enumerate((
                ([first(1), record(2), last(3, 3)], 0, [": 3 records"], 3), ([first(1, records=1)], 0, [": 1 records"], 1),
                ([], 0, [": 0 records"], 0),
                ([first(1)], 1, [cut + "1", imported + "1"], 1), ([first(1), record(2)], 1, [cut + "2", imported + "2"], 2),
                ([first(1), "", record(2), ""], 1, [cut + "3", imported + "2"], 2),
                ([first(1), last(2, 3)], 1, ["line 2: the export had 3 records, and here are 2", imported + "2"], 2),
                ([first(1), record(2), last(3, 2)], 1, ["line 3: the export had 2 records, and here are 3", imported + "3"], 3),
                ([first(1), record(2), first(1, "b", records=1)], 1, [cut + "2", imported + "2"], 2),
                ([first(1), last(2, 2), first(1, "b"), last(3, 2)], 0, [": 4 records"], 4),
                ([record(2), last(3, 3)], 0, ["line 2 is the last one of an export of 3 records, whose begin", ": 2 records"], 2),
                ([record(1), record(2)], 0, ["line 2" + note, ": 2 records"], 2),
                ([record(1), first(1, "b", records=1)], 0, ["line 1" + note, ": 2 records"], 2),
                ([record(1), record(2, export=2)], 1, ["line 2: ", "use a newer weft", imported + "1"], 1),
                ([record(1, export="1")], 1, ["use a newer weft"], 0), ([record(1, records=0)], 1, ["from 1 on"], 0))):
            url = f"{self.url}.{number}"
            said = self.read_in(url, "\n".join(lines), code=code)
            for text in texts:
                self.assertIn(text, said)
            self.assertEqual("weft store import" in said, code == 1 or "line" in texts[0], said)
            self.assertEqual(len(self.export(url).splitlines()), stored)

    def test_a_disk_that_fails_is_in_the_log(self):
        self.inside = lambda _name: ("sh", "-c", 'ulimit -f 1400; exec "$@"', "sh")  # 700 KiB
        node = self.node("idle")
        publish = (WEFT, "publish", "room.tea", "--text", "x" * 100000, "--stored", "--node", "a")
        said = ["", ""]
        while "see the log" not in said[-2]:
            done = subprocess.run(publish, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
                                  env=patient(self.env))
            said.append(done.stderr)
        self.assertIn("see the log", said[-1])  # Also for the one after it.
        self.assertIn("nothing more is stored until", node.log("the disk failed [(]File too large[)]: ").string)
        node.stop()
        self.assertEqual(sum("the disk failed" in line for line in node.err.seen), 1)

    def test_a_node_says_which_tables_it_cannot_read(self):
        self.node("idle").stop()
        with contextlib.closing(sqlite3.connect(self.file)) as db:
            db.execute("ALTER TABLE job_workers RENAME COLUMN node TO other")
        node = Program(WEFT, "run", MODULE, "--name", "b", "--store", self.url, "--stored", "room.>", "--", "idle",
                       env=self.env)
        self.addCleanup(node.kill)
        node.log("malformed data: its tables are damaged, or cannot be read: 'weft store check' says more")
        node.end(1)
        self.assertIn("the table of workers is damaged", self.weft("store", "check", "--store", self.url, code=1)[0])

    def test_an_import_says_that_its_input_cannot_be_read(self):
        folder = os.open(self.cluster.folder.name, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        done = subprocess.run([WEFT, "store", "import", "--store", self.url], stdin=folder, capture_output=True,
                              text=True, timeout=PATIENCE, env=patient(self.env))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("cannot be read", done.stderr)

    def test_an_imported_copy_is_equal_to_its_export(self):
        node = self.node("idle", options=("--stored", "few.*:count=2"))
        bodies = ["one", "t\u00e4e \"\\\n\ttwo \U0001f375", "", "\x01"]
        for text in bodies:
            self.weft("publish", "room.tea", "--text", text, "--tag", "7", "--stored", "--node", "a")
        self.weft("publish", "room.tea", "[1, null]", "--stored", "--node", "a")
        for text in "abc":
            self.weft("publish", "few.x", "--text", text, "--stored", "--node", "a")
        all_of_it = self.export(self.url)
        rows = [json.loads(line) for line in all_of_it.splitlines()]
        self.assertEqual([row.get("text") for row in rows], ["b", "c", *bodies[:3], None, None])
        self.assertEqual([base64.b64decode(row["base64"]) for row in rows[-2:]], [b"\x01", b"\x92\x01\xc0"])
        self.assertEqual([row["offset"] for row in rows], [2, 3, 1, 2, 3, 4, 5])
        self.assertEqual(self.export(self.url, "few.x").splitlines(), all_of_it.splitlines()[:2])
        self.assertIn("no topic", self.weft("store", "export", "room.x", "--store", self.url, code=1)[1])
        self.assertIn("open", self.read_in(self.url, all_of_it, code=1))  # A node has the store open.
        copy = self.url + ".copy"
        whole = self.weft("store", "export", "--store", self.url)[0]
        self.assertEqual(self.read_in(copy, whole), f"{copy}: 7 records\n")
        self.assertEqual(self.weft("store", "export", "--store", copy)[0], whole)
        self.assertEqual(self.export(copy), all_of_it)
        self.assertIn("no fault", self.weft("store", "check", "--store", copy)[0])
        node.stop()
        # The reader continues behind the imported records: it gets nothing twice, no other record, and no hole.
        node = Program(WEFT, "run", MODULE, "--name", "b", "--store", copy, "--stored", "room.>", "--", "idle", env=self.env)
        self.addCleanup(node.kill)
        node.line()
        out = self.weft("publish", "room.tea", "--text", "next", "--stored", "--node", "b")[0]
        self.assertEqual(out, f"room.tea: stored as {rows[-1]['epoch']}:6\n")
        node.stop()
        before = self.export(copy)
        row = rows[-1]
        for change, what in (({}, "line 1: record 5 of room.tea does not follow its last one, 6"),
                             ({"offset": 8}, "does not follow"),
                             ({"offset": 7, "epoch": "00000000000000ab"}, "has the epoch"),
                             ({"epoch": "7"}, "16 hexadecimal digits"), ({"topic": "a.*"}, "not a topic"),
                             ({"topic": 7}, "not a topic"), ({"base64": "abc"}, "no base64"), ({"base64": 7}, "to be texts"),
                             ({"tag": 1 << 32}, '"tag" has to be'), ({"tag": (1 << 32) - 1}, '"tag" has to be'),
                             ({"offset": -1}, '"offset" has to be'), ({"offset": 1 << 40}, '"offset" has to be'),
                             ({"time": "now"}, '"time" has to be'), ({"time": 1 << 63}, "too big")):
            self.assertIn(what, self.read_in(copy, json.dumps(row | change) + "\n", code=1))
        for field in row:
            part = {key: value for key, value in row.items() if key != field}
            self.assertIn("it needs topic,", self.read_in(copy, json.dumps(part) + "\n", code=1))
        self.assertIn("line 2: this is no JSON: column", self.read_in(copy, "\n{\n", code=1))
        self.assertEqual(self.export(copy), before)
        good = json.dumps(row | {"offset": 7, "time": -5})
        self.assertIn("line 2", self.read_in(copy, good + "\n" + good + "\n", code=1))
        self.assertEqual(json.loads(self.export(copy).splitlines()[-1]), row | {"offset": 7, "time": -5})

    def test_an_import_stores_the_lines_before_a_wrong_one_and_none_behind_it(self):
        def line(offset, topic="a"):
            return json.dumps({"topic": topic, "epoch": "6fe2a1b09c4d3e58", "offset": offset, "time": 0, "tag": 7, "text": "x"})
        for number, (lines, stored) in enumerate((([line(1), line(2)[:-9]], [1]),
                                                  ([line(1), line(2), "{}", line(3)], [1, 2]),
                                                  ([line(1), "\0" + line(2), line(3)], [1]), ([line(1), "\0"], [1]),
                                                  ([line(1), line(2) + "\0"], [1]),
                                                  ([line(1), line(1), line(2)], [1]),
                                                  ([line(4), line(6), line(5)], [4]),
                                                  ([line(1), line(2), line(1), line(3)], [1, 2]))):
            url = f"{self.url}.{number}"
            self.assertIn(f"are imported: {len(stored)}\n", self.read_in(url, "\n".join(lines), code=1))
            self.assertEqual([json.loads(row)["offset"] for row in self.export(url).splitlines()], stored)
        again = self.read_in(url, f"{line(1)}\n{line(2)}\n{line(3)}\n", code=1)
        self.assertEqual(again, "weft store import: line 1: record 1 of a does not follow its last one, 2: leave out the lines"
                                " whose records are in the store already\n")
        self.assertIn("1 records", self.read_in(url, line(3)))
        mixed = [line(1), line(7, "b"), line(2), line(8, "b"), line(1, "c"), line(10, "b"), line(9, "b"), line(3)]
        self.assertIn("line 6: record 10 of b does not follow its last one, 8", self.read_in(self.url, "\n".join(mixed), code=1))
        self.assertEqual([(json.loads(row)["topic"], json.loads(row)["offset"]) for row in self.export(self.url).splitlines()],
                         [("a", 1), ("a", 2), ("b", 7), ("b", 8), ("c", 1)])

    def test_what_is_no_store_is_refused_with_a_reason(self):
        folder = self.cluster.folder.name
        self.read_in(self.url, json.dumps({"topic": "a", "epoch": "6fe2a1b09c4d3e58", "offset": 1, "time": 0, "tag": 7,
                                           "text": "x"}))
        def bytes_of(file):
            with open(file, "rb") as opened:
                return opened.read()
        def path(name, content=None):
            if content is not None:
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content)
            return os.path.join(folder, name)
        newer, other = path("newer.db"), path("other.db")
        for file, sql in ((newer, "PRAGMA user_version = 99"), (other, "CREATE TABLE mine(a)")):
            if file == newer:
                path("newer.db", bytes_of(self.file))
            with sqlite3.connect(file) as db:
                db.execute(sql)
            db.close()
        long = "l" * 240 + ".db"
        pipes = [path("pipe")] if hasattr(os, "mkfifo") else []
        for pipe in pipes:
            os.mkfifo(pipe)
        cases = [(folder, "is a folder"), *((pipe, "is a named pipe: a store has to be a file") for pipe in pipes), (path("missing.db"), "No such file"), (path("no/x.db"), "No such file"),
                 (path("text.db", b"some notes of mine, which are long enough to be a page\n" * 99), "no store of weft"),
                 (path("empty.db", b""), "no store of weft"), (other, "no store of weft"),
                 (newer, "use a newer weft"), (path(long), long[-30:] + ": cannot be opened"),
                 (path("cut.db", bytes_of(self.file)[:5000]), "damaged")]
        for verb in ("topics", "check", "export", "cursors", "queues", "reminders", "states", "read a", "dead a"):
            for where, what in cases:
                err = self.weft("store", *verb.split(), "--store", f"sqlite:{where}", code=1)[1]
                self.assertIn(what, err)
                self.assertEqual(err.count("\n"), 1, err)
            self.assertIn("sqlite:FILE", self.weft("store", *verb.split(), "--store", "rooms.db", code=2)[1])
            self.assertIn("needs a file", self.weft("store", *verb.split(), "--store", "sqlite:", code=2)[1])
        before = {file: bytes_of(file) for file in (newer, other, path("text.db"))}
        for file in before:
            self.read_in(f"sqlite:{file}", "", code=1)
        self.assertEqual(before, {file: bytes_of(file) for file in before})
        for verb in ("read", "export"):
            self.assertIn("is a pattern", self.weft("store", verb, "room.*", "--store", self.url, code=2)[1])
            self.assertIn("is not a topic", self.weft("store", verb, "a b", "--store", self.url, code=2)[1])

    @unittest.skipIf(os.name == "nt", "Windows has no such users")
    def test_a_folder_in_which_nothing_can_be_written(self):
        other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        self.read_in(self.url, json.dumps({"topic": "a", "epoch": "6fe2a1b09c4d3e58", "offset": 1, "time": 0, "tag": 7,
                                           "text": "x"}))
        for left in ("-wal", "-shm"):
            self.assertFalse(os.path.exists(self.file + left))
        try:
            subprocess.run([WEFT, "version"], capture_output=True, check=True, timeout=PATIENCE, **other)
        except PermissionError:
            self.skipTest("other users may not run what is in this folder")
        os.chmod(self.cluster.folder.name, 0o555)
        self.addCleanup(os.chmod, self.cluster.folder.name, 0o700)
        def run(verb):
            done = subprocess.run([WEFT, "store", verb, "--store", self.url], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=PATIENCE, env=patient(self.env), **other)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            return done.stderr
        self.assertIn("Copy it to another folder, and read the copy", run("topics"))
        self.assertRegex(run("import"), "read-only|-owner: cannot be opened")

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_an_output_that_cannot_be_written_is_an_error(self):
        self.read_in(self.url, json.dumps({"topic": "a", "epoch": "6fe2a1b09c4d3e58", "offset": 1, "time": 0, "tag": 7,
                                           "text": "x"}))
        for verb in ("topics", "read a", "export", "check"):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([WEFT, "store", *verb.split(), "--store", self.url], stdin=subprocess.DEVNULL, stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=PATIENCE, env=patient(self.env))
            self.assertEqual((done.returncode, done.stderr), (1, f"weft store {verb.split()[0]}: cannot write the output\n"))

    def test_a_cursor_continues_where_it_was(self):
        node = self.node("idle", options=("--stored", "few.*:count=2"))
        def publish(topic, *texts):
            for text in texts:
                self.weft("publish", topic, "--text", text, "--stored", "--node", "a")
        def follow(*words, code=0):
            out = self.weft("subscribe", *words, "--cursor", "c", "--node", "a", code=code)[0]
            return sorted((line.split()[0], line.split(":")[1].split()[0], line.split()[-1]) for line in out.splitlines())
        publish("room.tea", "one", "two")
        publish("few.x", "xa")
        self.assertEqual(follow("room.tea", "--count", "1"), [("room.tea", "1", "one")])
        self.assertEqual(follow(">", "--count", "2"), [("few.x", "1", "xa"), ("room.tea", "2", "two")])
        self.assertEqual(follow(">", "--timeout", "0.3", code=4), [])
        publish("few.x", "xb", "xc", "xd", "xe")
        out, err = self.weft("subscribe", "few.*", "--cursor", "c", "--json", "--count", "1", "--node", "a")
        self.assertEqual((json.loads(out)["text"], json.loads(out)["offset"]), ("xd", 4))
        self.assertIn("2 records before 4 are not stored any more", err)
        # The reader is killed: printed and acknowledged records do not come again, and none is left out.
        reader = Program(WEFT, "subscribe", ">", "--cursor", "c", "--node", "a", env=self.env)
        self.addCleanup(reader.kill)
        self.assertIn(" xe", reader.line())
        publish("room.tea", "three")
        self.assertIn(" three", reader.line())
        while [json.loads(line)["behind"] for line in
               self.weft("store", "cursors", "--store", self.url, "--json")[0].splitlines()] != [0, 0]:
            pass
        reader.process.kill()
        reader.process.wait()
        publish("room.tea", "four")
        self.assertEqual(follow("room.tea", "--count", "1"), [("room.tea", "4", "four")])
        for words in (("--cursor", "c d"), ("--cursor", "c", "--from", "now")):
            self.weft("subscribe", "room.tea", *words, "--node", "a", code=2)
        node.stop()
        self.weft("subscribe", "room.tea", "--cursor", "c", "--node", "a", code=3)

    def test_bad_arguments_are_refused_with_a_hint(self):
        for words, what in ((("run", MODULE, "--store", self.url), "--stored"),
                            (("run", MODULE, "--stored", "a"), "--store"),
                            (("run", MODULE, "--store", self.url, "--stored", "a:size=3"), "count="),
                            (("store", "read", "a", "--store", self.url, "--from", "x"), "start"),
                            (("store", "topics"), "--store")):
            self.assertIn(what, self.weft(*words, code=2)[1])
        for options, what in ((("--store", "mysql:x", "--stored", "a"), "sqlite:FILE"),
                              (("--store", "rooms.db", "--stored", "a"), "sqlite:FILE"),
                              (("--store", self.url, "--stored", "a b"), "--stored: 'a b': it is not a pattern"),
                              (("--store", self.url, "--queues", "a.>.b:lease=3"), "--queues: 'a.>.b': it is not a pattern"),
                              (("--store", self.url, "--states", "a..b"), "--states: 'a..b': it is not a pattern")):
            err = self.weft("run", MODULE, *options, code=2)[1]
            self.assertEqual((err.count("\n"), what in err.splitlines()[0]), (2, True), err)
        self.assertIn("folder", self.weft("run", MODULE, "--store", "sqlite:/no/such/folder/x", "--stored", "a",
                                          code=1)[1])

    def test_a_second_process_is_refused_as_owner_of_the_store(self):
        self.node("idle")
        err = self.weft("run", MODULE, "--name", "b", "--store", self.url, "--stored", "a", "--", "idle", code=1)[1]
        self.assertIn("open", err)

    def test_store_check_finds_damage_and_newer_files(self):
        node = self.node("publish", "room.a", "1")
        for _ in range(5):
            node.line()
        node.stop()
        with sqlite3.connect(self.file) as db:
            db.execute("UPDATE records SET body = x'00' WHERE id = (1 << 40) + 3")
        db.close()
        self.assertIn("room.a 3: ", self.weft("store", "check", "--store", self.url, code=1)[0])
        out, err = self.weft("store", "read", "room.a", "--store", self.url, code=1)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("--from 4", err)
        with sqlite3.connect(self.file) as db:
            db.execute("PRAGMA user_version = 9")
        db.close()
        self.assertIn("newer", self.weft("store", "check", "--store", self.url, code=1)[1])

    # ---- Killed while they publish --------------------------------------------------------------------------------

    def test_killed_stores_lose_nothing(self):
        self.kill_stores(power=False)

    def test_killed_stores_lose_nothing_without_what_was_not_synced(self):
        self.kill_stores(power=True)

    def kill_stores(self, power):
        kills = Kills(self.cluster.folder.name, 1, power)
        kills.run(800, 8)
        kills.compare()
        self.assertEqual((kills.faults, kills.kills), ([], 8))
        self.assertGreaterEqual(len(kills.acknowledged), 800)

    def test_killed_readers_and_stores_lose_no_cursor(self):
        """A killed reader continues: the records that it had not acknowledged come again, and none is left out."""
        store_url = self.cluster.url("store")
        link = ("--heartbeat", "0.2", "--resume-window", "1")
        store = self.node("publish", "room.a", "4", options=("--listen", store_url, *link))
        done = handled = 0  # The last record that was acknowledged, and the last one that was ever delivered.
        for turn in range(KILLS):
            reader = self.node("follow", "room.a", "c", options=("--join", store_url, *link), name=f"r{turn}",
                               store=False)
            self.assertEqual(reader.line(), "subscribed")
            for _ in range(60 + 23 * turn):
                reader.line()
            if turn % 2 == 1:
                store.process.kill()
                store.process.wait()
                store = self.node("publish", "room.a", "4", options=("--listen", store_url, *link))
                for _ in range(40):  # The reader goes on with the new process of the store.
                    reader.line()
            reader.process.kill()
            reader.process.wait()
            reader.out.rest()
            lines = [line.split() for line in reader.out.seen[:-1]]
            got = [int(words[1]) for words in lines if words[0] == "got"]
            self.assertTrue(done < got[0] <= handled + 1, (done, got[0], handled))
            # The advance whose answer was not read may be on disk, and no later one is.
            self.assertLessEqual(got[0], done + 2)
            self.assertEqual(got, list(range(got[0], got[0] + len(got))))
            done = max(int(words[1]) for words in lines if words[0] == "did")
            handled = got[-1] + 1  # The last line may be cut.
            row = json.loads(self.weft("store", "cursors", "--store", self.url, "--json")[0])
            self.assertEqual((row["cursor"], row["topic"]), ("c", "room.a"))
            self.assertIn(row["offset"], (done, done + 1))
            self.assertRegex(self.weft("store", "cursors", "--store", self.url)[0],
                             rf"^c +room.a +{row['epoch']}:[0-9]+ +[0-9]+ behind\n$")
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])

    def test_others_go_on_when_the_store_is_back(self):
        store_url = self.cluster.url("store")
        def start():
            return self.node("idle", options=("--listen", store_url, "--heartbeat", "0.2", "--resume-window", "1"))
        store = start()
        join = ("--join", store_url, "--heartbeat", "0.2", "--resume-window", "1")
        reader = self.node("read", "room.a", options=join, name="r", store=False)
        self.assertEqual(reader.line(), "subscribed")
        publisher = self.node("publish", "room.a", "4", options=join, name="p", store=False)
        acknowledged = []
        for _ in range(2):
            acknowledged += [publisher.line() for _ in range(40)]
            store.process.kill()
            store.process.wait()
            store = start()
        acknowledged += [publisher.line() for _ in range(400)]
        wanted, expected = set(acknowledged), 1
        while wanted:
            line = reader.line()
            # The reader sees no gap, no double, and no notification.
            self.assertEqual(line.split(" ")[1], str(expected), line)
            expected += 1
            wanted.discard(line)


if __name__ == "__main__":
    unittest.main()
