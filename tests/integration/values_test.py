#!/usr/bin/env python3
"""Wrong values of options: every option refuses some, `weft config check` says of a file what the verb says, and a
message shows no more than the begin of a long argument."""
import json
import os
import re
import subprocess
import unittest

from harness import PATIENCE, Cluster, built, has

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
LONG = "a" * 300

# The values that each option refuses, for whatever verb has it. None of them needs a look at files or at the network.
BAD = {
    "actor": [""],
    "as": ["", "a b", LONG],
    "carrier": ["", "udp"],
    "cluster": ["", "a b", LONG],
    "config": [""],
    "count": ["", "0", "x", "99999999999999999999"],
    "cursor": ["", "a b", LONG],
    "days": ["", "0", "36501"],
    "dial-only": ["", "10.0.0.0/33", "a b", "300.1.1.1", LONG],
    "dir": [""],
    "discover": ["", "foo:bar", "dns:host", "dns:host:99999", "dns-srv:a b", "dns:host:1?what=x",
                 "etcd:ftp://127.0.0.1:1", "etcd:http://127.0.0.1:2379/weft?ttl=1",
                 "etcd:http://127.0.0.1:2379/weft?user=x", "tcp://127.0.0.1:99999", LONG * 3],
    "drain": ["", "-1", "86401", "x"],
    "faults": ["", "rain"],
    "first": ["", "0", "x"],
    "from": ["", "x", "1:2:3"],
    "heap": ["", "0", "1048577"],
    "heartbeat": ["", "-1", "3601", "x"],
    "heartbeats-lost": ["", "0", "1001"],
    "hunt": ["", "0", "10081"],
    "interval": ["", "-1", "3601", "0", "0.09"],
    "jobs": ["", "0", "65"],
    "join": ["", "127.0.0.1:4001", "foo://127.0.0.1:1", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:0",
             "tcp://127.0.0.1:99999", "tcp://127.0.0.1:x", "tcp://[::1]:99999", "ws://127.0.0.1:99999/weft",
             "inherited://weft", "ipc://", "ipc:///" + "x" * 120, "tcp://" + LONG + ":1"],
    "limit": ["", "0", "x"],
    "listen": ["", "127.0.0.1:4001", "foo://127.0.0.1:1", "tcp://127.0.0.1", "tcp://127.0.0.1:99999",
               "tcp://127.0.0.1:-1", "tls+tcp://[::1]:99999", "ws://127.0.0.1:99999/weft", "tcp://a@127.0.0.1:1",
               "inherited://", "ipc://", "ipc:///" + "x" * 120, "tcp://" + LONG + ":1"],
    "log": ["", "loud", "transport=loud"],
    "log-file": [""],
    "max-patterns": ["", "0", "4294967295"],
    "max-subscriptions": ["", "0", "4294967295"],
    "meta": ["", "zone", "=eu", "k" * 33 + "=v", "k=" + "v" * 129],
    "metrics": ["", "99999", "127.0.0.1:x", "a b:1"],
    "minority": ["", "fight"],
    "name": ["", ".a", "a b", LONG],
    "node": ["", "a b", "foo://127.0.0.1:1", "tcp://127.0.0.1:99999"],
    "nodes": ["", "0", "17"],
    "partition": ["", "0", "4097", "most"],
    "peer-limit": ["", "frames=x", "frames=1;bytes=2", "teapots=1"],
    "probe": ["", "-1", "3601"],
    "queues": ["", "a..b", "a.>.b:lease=3", "a:lease=x", "a:jobs=1000001", "a b", LONG],
    "replay": ["", "x"],
    "resume-window": ["", "-1", "86401"],
    "role": ["", "king"],
    "san": ["", "a b"],
    "seeds": ["", "0", "x"],
    "settle": ["", "0", "86401"],
    "shared": ["", "a b", "a..b", LONG],
    "socket-mode": ["", "9", "0", "1000"],
    "sort": ["", "size"],
    "states": ["", "a..b", "a b", "a.>.b", LONG],
    "store": ["", "rooms.db", "mysql:x", "sqlite:", "sqlite::memory:", "postgres:nothing at all",
              "postgres:postgresql://u:p@w@h/d"],
    "stored": ["", "a..b", "a.>.b", "a:count=x", "a b:count=1", LONG],
    "stuck-after": ["", "-1", "86401"],
    "suspicion": ["", "0", "1001"],
    "tag": ["", "-1", "4294967040"],
    "time": ["", "0", "86401"],
    "timeout": ["", "-1", "86401"],
    "tls": [""],
    "topic": ["", "a b", "a..b"],
    "wire": ["", "0", "3"],
    "workers": ["", "0", "64"],
    "ws-origin": ["", "null", "board.example", "https://", "https://a.example/path", "https://a,https://b"],
}
# The values at the limits of each option that a file may have: what `weft config check` takes, the verb takes, and what it
# refuses, the verb refuses with the same words. The first ones are right, those after None are wrong.
AT_LIMITS = {
    "carrier": ["nng", "tcp", None, "NNG", " tcp", "tcp "],
    "cluster": ["a", "a" * 64, ".a", "-a", None, "a" * 65, "a b", "\u00e4"],
    "dial-only": ["0.0.0.0/0", "10.0.0.0/32", "::/0", "::1/128", ".example", None, "::/129", "10.0.0.0/-1", "\u00e4"],
    "dir": ["x", "a b", "\u00e4", None],
    "discover": ["dns:a:1", "dns:a:65535", None, "dns:a:0", "dns:a:65536", "dns:\u00e4:1"],
    "drain": ["0", "0.5", "86400", None, "86400.1", "-0.1", " 1", "1 "],
    "heartbeat": ["0", "3600", None, "3600.1", "-0.1"],
    "heartbeats-lost": ["1", "1000", None, "0", "1001", "-1", "1.5"],
    "interval": ["0.1", "3600", None, "0.0999", "3600.1", "0"],
    "join": ["tcp://127.0.0.1:1", "tcp://127.0.0.1:65535", "ipc:///tmp/" + "x" * 80, None, "tcp://127.0.0.1:0",
             "tcp://127.0.0.1:65536", "ipc:///tmp/" + "x" * 120],
    "listen": ["none", "tcp://127.0.0.1:0", "ipc:///tmp/" + "x" * 80, None, "tcp://127.0.0.1:65536",
               "ipc:///tmp/" + "x" * 120],
    "log": ["silent", "error,app=debug", None, "Error", "error,", "error app=debug"],
    "log-file": ["x.log", "a b.log", "\u00e4.log", None],
    "max-patterns": ["1", "4294967294", None, "0", "4294967295", "-1", "1e3"],
    "max-subscriptions": ["1", "4294967294", None, "0", "4294967295", "-1"],
    "meta": ["k=", "k" * 32 + "=v", "k=" + "v" * 128, "k=\u00e4", "\u00e4=v", None, "k" * 33 + "=v",
             "k=" + "v" * 129],
    "metrics": ["0", "127.0.0.1:0", None, "65536", "127.0.0.1:65536", "-1"],
    "minority": ["refuse", "end", None, "End"],
    "name": ["a", "a" * 64, "-a", None, "a" * 65, ".a", "\u00e4"],
    "partition": ["none", "majority", "1", "4096", None, "0", "4097", "-1"],
    "peer-limit": ["frames=1", "frames=0", "bytes=999999999999", None, "bytes=1000000000000", "frames=-1"],
    "probe": ["0", "3600", None, "3600.1", "-0.1"],
    "queues": ["q", "q:attempts=4294967295", "q:jobs=1000000", "q:lease=9223372036", None, "q:attempts=4294967296",
               "q:jobs=1000001", "q:lease=9223372037", "\u00e4"],
    "resume-window": ["0", "86400", None, "86400.1"],
    "socket-mode": ["1", "777", "0600", None, "1000", "0", "800"],
    "sort": ["name", None, "Name"],
    "states": [".".join("abcdefghijklmnop"), "a" * 255, None, ".".join("abcdefghijklmnopq"), "a" * 256, "\u00e4"],
    "stored": ["a", "a:age=9223372036", "a:count=999999999999", None, "a:age=9223372037", "a:count=1000000000000",
               "a:count=-1"],
    "stuck-after": ["0", "86400", None, "86400.1", "-0.1"],
    "suspicion": ["1", "1000", None, "0", "1001"],
    "timeout": ["0", "86400", None, "86400.1", "-0.1"],
    "wire": ["1", "2", None, "0", "3"],
    "workers": ["1", "63", None, "0", "64", "1.0"],
    "ws-origin": ["https://a.example", "http://a:1", None, "https://\u00e4", "https://a:x"],
}
# Options of a file without values at limits, and why.
NO_LIMITS = {
    "as": "its rule is that of name",
    "node": "its rules are those of name and join",
    "store": "what is right depends on the engine and its server",
    "tls": "it is the name of any folder",
}
LISTS = ["dial-only", "discover", "join", "listen", "meta", "queues", "states", "stored", "ws-origin"]
# Options that refuse no value, and why.
ANY = {
    "filter": "it is a text to look for, and one that occurs nowhere is found nowhere",
    "kind": "it is compared with the names of kinds, which the node knows",
    "prefix": "it is compared with names, which the node knows",
    "text": "it is the bytes of a body",
}
# The words behind the verb, without which it would complain about these first.
WORDS = {"run": ["x.so"], "certs issue": ["a"], "subscribe": ["a"], "publish": ["a"], "send": ["a"], "call": ["a"],
         "spawn": ["a"], "sim": ["x.so"], "store read": ["a"], "store dead": ["a"], "store drop": ["a"],
         "store retry": ["a"], "certs show": ["a"], "reload": ["x.so"], "new": ["x"]}


@unittest.skipUnless(all(map(has, ["tls", "dns", "etcd", "store", "postgres"])),
                     "the tables are those of a build with all features")
class Values(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster())
        cls.folder = cls.cluster.folder.name
        kept = {name: value for name, value in cls.cluster.env.items() if not name.startswith("WEFT_")}
        cls.env = dict(kept, HOME=cls.folder, XDG_CONFIG_HOME=cls.folder)
        verbs = cls.weft("help").stdout.split("usage: weft VERB [OPTIONS]\n\n")[1].splitlines()
        cls.options = {}  # of each verb: name, whether it takes a value, whether a file may have it
        for verb in (re.match(r"  ((?:(?:store|certs|config) )?\S+)", line).group(1) for line in verbs):
            if verb == "help":
                continue
            shown = cls.weft(*verb.split(), "--help").stdout
            found = re.findall(r"^  (?:-\w, |    )--([\w-]+)( \S+)?", shown, re.M)
            settings = set()
            for line in cls.weft("config", "show", "--json", *verb.split()).stdout.splitlines():
                settings.add(json.loads(line)["key"])
            cls.options[verb] = [(name, value != "", name in settings) for name, value in found]

    @classmethod
    def weft(cls, *words):
        return subprocess.run([WEFT, *words], capture_output=True, text=True, timeout=PATIENCE, env=cls.env,
                              cwd=cls.folder)

    def valued(self):
        return {name for options in self.options.values() for name, has_value, _ in options if has_value}

    def test_each_option_has_a_wrong_value_or_a_reason(self):
        self.assertGreater(len(self.valued()), 50)
        self.assertEqual(self.valued(), set(BAD) | set(ANY))

    def says_of_flag(self, verb, name, value):
        done = self.weft(*verb.split(), *WORDS.get(verb, []), f"--{name}={value}")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        said = done.stderr.splitlines()[0]
        self.assertTrue(said.startswith(f"weft {verb}: --{name}: "), said)
        return said.removeprefix(f"weft {verb}: --{name}: ")

    def says_of_file(self, verb, name, value):
        path = os.path.join(self.folder, "checked.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"\n[{verb}]\n{name} = \"{value}\"\n")
        done = self.weft("config", "check", path)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        said = done.stderr.splitlines()
        self.assertEqual(len(said), 1, said)
        self.assertTrue(said[0].startswith(f"{path}:3: {name}: "), said[0])
        return said[0].removeprefix(f"{path}:3: {name}: ")

    def refused_by_both(self, verb, name, in_file, values):
        for value in values:
            with self.subTest(verb=verb, option=name, value=value):
                said = self.says_of_flag(verb, name, value)
                self.assertLess(len(said), 300)
                # In a file, blanks and commas separate the items of a list, and a list may be empty.
                if in_file and not (name in LISTS and (value == "" or set(value) & set(" ,"))):
                    self.assertEqual(self.says_of_file(verb, name, value), said)

    def test_a_verb_and_config_check_refuse_the_same_with_the_same_words(self):
        seen = set()
        for verb, options in self.options.items():  # The first one is run.
            for name, has_value, in_file in options:
                if has_value and name in BAD:  # All values at the first verb: the table is the same for the others.
                    self.refused_by_both(verb, name, in_file, BAD[name][:1] if name in seen else BAD[name])
                    seen.add(name)

    def tried(self, verb, name, value):
        """What `weft config check` and the verb say of a file with this value: each a code and a text."""
        path = os.path.join(self.folder, "limits.conf")
        rest = "partition = majority\n" if name == "minority" else ""
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"[{verb}]\n{name} = \"{value}\"\n{rest}")
        checked = self.weft("config", "check", path)
        more = {"run": [MODULE, "--", "done"], "top": ["--once"],
                "certs init": ["--force"]}.get(verb, WORDS.get(verb, []))
        if verb == "certs init" and name != "dir":
            more = more + ["--dir", "certs"]
        done = self.weft(*verb.split(), "--config", path, *more)
        return checked, done

    def test_config_check_and_the_verb_agree_at_the_limits_of_each_value(self):
        settings = {}  # {option: the verbs that can be tried without a node}
        for verb, options in self.options.items():
            for name, has_value, in_file in options:
                if has_value and in_file:
                    settings.setdefault(name, [])
                    if verb in ("run", "top", "ps", "certs init"):
                        settings[name].append(verb)
        self.assertEqual(set(settings), set(AT_LIMITS) | set(NO_LIMITS))
        for name, values in AT_LIMITS.items():
            for verb in settings[name]:
                for value in values:
                    if value is None:
                        continue
                    right = values.index(value) < values.index(None)
                    if name in LISTS and not right and set(value) & set(" ,"):
                        continue
                    with self.subTest(verb=verb, option=name, value=value):
                        checked, done = self.tried(verb, name, value)
                        self.assertEqual(checked.returncode, 0 if right else 1, checked.stderr)
                        if right and name in ("queues", "states", "stored"):
                            self.assertIn("need --store", done.stderr)  # With a store the node would not end.
                        elif right:
                            self.assertNotEqual(done.returncode, 2, done.stderr)
                        else:
                            self.assertEqual((done.returncode, done.stderr.splitlines()[0]),
                                             (2, f"weft {verb}: {checked.stderr.splitlines()[0]}"))

    def test_an_option_is_given_once(self):
        twice = self.weft("ps", "--node", "a", "-N", "b")
        self.assertEqual((twice.returncode, twice.stderr),
                         (2, "weft ps: --node is given twice; leave one of them out\n"))
        path = os.path.join(self.folder, "once.conf")  # The command line overrules a file and the environment.
        with open(path, "w", encoding="utf-8") as f:
            f.write("node = a\n")
        self.assertIn("node b", self.weft("ps", "--config", path, "--node", "b").stderr.replace("'", ""))

    def test_the_items_of_a_list_are_counted_in_a_file_too(self):
        for name, item, most in (("listen", "tcp://127.0.0.1:0", 8), ("join", "tcp://127.0.0.1:1", 16)):
            lines = [f"{name} = {item}, {item}"] * (most // 2)
            path = os.path.join(self.folder, "counted.conf")
            for more, code in (([], 0), ([f"{name} = {item}"], 1)):
                with open(path, "w", encoding="utf-8") as f:
                    f.write("\n".join(["[run]"] + lines + more) + "\n")
                done = self.weft("config", "check", path)
                self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr,
                             f"{path}:{most // 2 + 2}: {name}: more than {most} of them; leave some out\n")

    def test_a_message_shows_no_more_than_the_begin_of_a_long_argument(self):
        long = "\x1b[31m" + "x" * 8192
        for words in (("run", "x.so", "--name", long), ("run", "x.so", long), ("run", "x.so", "-" + long), (long,),
                      ("certs", long), ("help", long), ("manual", long), ("config", "show", long), ("completion", long),
                      ("publish", long, "1"), ("subscribe", long), ("send", long, "1"), ("call", long, "1"),
                      ("store", "dead", long), ("store", "read", long), ("store", "drop", "q", long), ("log", long),
                      ("inspect", long), ("new", long), ("bench", long), ("certs", "issue", long),
                      ("certs", "issue", "a", "--role", long), ("certs", "issue", "a", "--san", long),
                      ("publish", "a", long, "--text", "b"), ("ps", "--kind", long), ("names", "--prefix", long),
                      ("sim", "x.so", "--faults", long), ("sim", "x.so", "--replay", long), ("spawn", long, "1")):
            with self.subTest(" ".join(words)[:40]):
                done = self.weft(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr[:200])
                self.assertLess(max(map(len, done.stderr.splitlines())), 400)
                self.assertRegex(done.stderr, r"'-?\\x1B\[31mxxxx.*x\.\.\.' \(\d+ bytes\)")

    def test_a_message_about_a_file_shows_no_more_than_the_begin_of_a_long_name(self):
        self.weft("certs", "init")
        for size in (300, 3000, 8192):
            long = "/" + "x" * size
            for words in (("run", long), ("run", long + ".c"), ("sim", long), ("config", "check", long),
                          ("ps", "--config", long), ("certs", "show", long), ("certs", "init", "--dir", long),
                          ("certs", "issue", "b", "--dir", long), ("new", long + "/tea"),
                          ("run", MODULE, "--log-file", long, "--", "done"),
                          ("run", MODULE, "--name", "a", "--tls", long, "--", "done"),
                          ("store", "topics", "--store", "sqlite:" + long), ("reload", long)):
                with self.subTest(" ".join(words)[:40], size=size):
                    done = self.weft(*words)
                    self.assertIn(done.returncode, (1, 2, 3), done.stderr[:300])
                    self.assertNotEqual(done.stderr, "")
                    self.assertLess(max(map(len, done.stderr.splitlines())), 700)


if __name__ == "__main__":
    unittest.main()
