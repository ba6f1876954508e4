#!/usr/bin/env python3
"""The configuration file: which file is read, what overrides it, and the messages about its mistakes."""
import json
import os
import subprocess
import unittest

from harness import PATIENCE, Cluster, Program, built

WEFT = built("cli", "weft")


class Config(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())
        self.folder = self.cluster.folder.name
        kept = {name: value for name, value in self.cluster.env.items() if not name.startswith("WEFT_")}
        self.env = dict(kept, HOME=self.folder, XDG_CONFIG_HOME=self.folder + "/config")

    def write(self, text, path="config/weft/weft.conf"):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def weft(self, *words, code=0, **variables):
        done = subprocess.run([WEFT, *words], capture_output=True, text=True, timeout=PATIENCE,
                              env=dict(self.env, **variables))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def values(self, *words, **variables):
        lines = self.weft("config", "show", "--json", *words, **variables).stdout.splitlines()
        return {value["key"]: value for value in map(json.loads, lines)}

    def test_config_show_names_the_origin_of_each_value(self):
        path = self.write("cluster = tea\njoin = tcp://a:1\n"
                          "[run]\nworkers = 3\njoin = tcp://b:1, tcp://c:1\nwire = 1\n")
        shown = self.values("run", "--", "--heartbeat", "2.5", "x.so", WEFT_WORKERS="4", WEFT_INSECURE="1")
        self.assertEqual(shown["heartbeat"], {"key": "heartbeat", "value": 2.5, "origin": "flag"})
        self.assertEqual(shown["workers"],
                         {"key": "workers", "value": 4, "origin": "environment", "variable": "WEFT_WORKERS"})
        self.assertEqual(shown["insecure"]["value"], True)
        self.assertEqual(shown["join"], {"key": "join", "value": ["tcp://b:1", "tcp://c:1"], "origin": "file",
                                         "file": path, "line": 5})
        self.assertEqual(shown["drain"], {"key": "drain", "value": None, "default": "10", "origin": "default"})
        self.assertEqual(self.values("ps")["cluster"]["value"], "tea")
        text = self.weft("config", "show").stdout
        self.assertIn(f"workers = 3    # {path}:4: workers\n", text)
        self.assertIn("# drain = 10    # default\n", text)

    def test_the_output_of_config_show_is_a_configuration_file(self):
        self.write("log-file = \"tea # room\"\njoin = tcp://a:1 tcp://b:1\ninsecure = yes\n[run]\nworkers = 3\n")
        again = self.write(self.weft("config", "show").stdout, "again.conf")
        self.assertIn("4 values", self.weft("config", "check", again).stdout)
        before, after = self.values(), self.values("--config", again)
        self.assertEqual({key: value["value"] for key, value in before.items()},
                         {key: value["value"] for key, value in after.items()})

    def test_flag_environment_and_home_name_the_file_in_this_order(self):
        def cluster(*words, **variables):
            return self.values(*words, **variables)["cluster"]["value"]
        self.write("cluster = configured\n")
        self.write("cluster = home\n", ".config/weft/weft.conf")
        named = self.write("cluster = named\n", "named")
        self.assertEqual(cluster(), "configured")
        self.assertEqual(cluster(XDG_CONFIG_HOME=""), "home")
        self.assertEqual(cluster(WEFT_CONFIG=named), "named")
        self.assertEqual(cluster("--config", named, WEFT_CONFIG="none"), "named")
        self.assertEqual(cluster("run", "--", "--config", named), "named")
        self.assertEqual(cluster("--config", "none"), None)

    def test_a_node_and_its_tools_read_the_configuration(self):
        self.write("[run]\nname = anna\nlisten = tcp://127.0.0.1:0\n[ps]\nnode = anna\njson = yes\n")
        node = Program(WEFT, "run", built("tests", "test_modules.so"), "--", "echo", env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "ready")
        actors = [json.loads(line) for line in self.weft("ps").stdout.splitlines()]
        self.assertTrue(any(actor["kind"] == "main" for actor in actors))
        self.assertIn("'other' does not run here", self.weft("ps", code=3, WEFT_NODE="other").stderr)
        node.stop()

    def test_mistakes(self):
        path = self.write("listne = x\n[run]\nworkers = 99\n")
        done = self.weft("config", "check", code=1)
        self.assertEqual(done.stderr.splitlines(),
                         [f"{path}:1: listne: there is no such key; did you mean 'listen'?",
                          f"{path}:3: workers: '99' is not a number from 1 to 63"])
        found = [json.loads(line) for line in self.weft("config", "check", "--json", code=1).stdout.splitlines()]
        self.assertEqual([(e["line"], e["key"]) for e in found], [(1, "listne"), (3, "workers")])
        refused = self.weft("ps", code=2)
        self.assertIn(f"weft ps: {path}:1: listne: there is no such key", refused.stderr)
        self.weft("version"), self.weft("completion", "bash"), self.weft("names", "--help")
        self.weft("ps", "--config", "none", code=3)
        self.write("[run]\nworkers = 99\n")
        self.assertIn(f"weft run: {path}:2: workers: '99' is not", self.weft("run", "x.so", code=2).stderr)

    def test_a_value_that_no_node_takes_is_a_mistake(self):
        lines = ["name = a b", "name = .a", "node = a b", "cluster = a b", "meta = zone", "meta = =eu",
                 "listen = here", "stored = a.>:count=x", "socket-mode = 9"]
        for line in lines:
            with self.subTest(line):
                self.write(line + "\n")
                self.assertRegex(self.weft("config", "check", code=1).stderr, r":1: [a-z-]+: '.*' is not ")
        self.write("name = .a\n")
        self.assertIn("1: name: '.a' is not a node's name", self.weft("run", "x.so", code=2).stderr)

    def test_a_file_that_cannot_be_read_is_reported(self):
        self.assertIn("there is no such file", self.weft("config", "check", XDG_CONFIG_HOME="/nowhere").stdout)
        self.assertIn("cannot read /nowhere: No such file", self.weft("config", "check", "/nowhere", code=1).stderr)
        self.assertIn("cannot read /nowhere", self.weft("ps", "--config", "/nowhere", code=2).stderr)
        self.assertIn("Is a directory", self.weft("config", "check", self.folder, code=1).stderr)
        large = self.write("#" * 65537, "large")
        self.assertIn("is longer than 65536 bytes", self.weft("config", "check", large, code=1).stderr)
        self.assertIn("there is no verb 'nothing'", self.weft("config", "show", "nothing", code=2).stderr)

    def test_variables_that_no_option_reads_are_reported(self):
        done = self.weft("config", "check", WEFT_WORKER="4", WEFT_OF_MY_OWN_PROGRAM="1", WEFT_NODE="a",
                         code=1)
        self.assertEqual(done.stderr, "WEFT_WORKER: no option reads this variable; did you mean WEFT_WORKERS?\n")
        self.weft("config", "check", WEFT_OF_MY_OWN_PROGRAM="1", WEFT_NODE="a", WEFT_POISON="1")
        done = self.weft("config", "check", WEFT_POISONS="1", code=1)
        self.assertEqual(done.stderr, "WEFT_POISONS: no option reads this variable; did you mean WEFT_POISON?\n")


if __name__ == "__main__":
    unittest.main()
