#!/usr/bin/env python3
"""The weft command, end to end: every verb with real nodes, and mistakes of new users."""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from harness import Cluster, PATIENCE, Program, built, eventually, has, patient

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")
SANITIZED = os.environ.get("WEFT_SANITIZED", "") == "1"


class Cli(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.env = dict(self.cluster.env, XDG_CACHE_HOME=self.cluster.folder.name + "/cache")
        self.addCleanup(self.cluster.__exit__)

    def weft(self, *words, code=0, env=None):
        """Runs a verb to its end, and returns its standard output and error."""
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(env or self.env))
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def node(self, name, *args, join=()):
        node = self.cluster.run(name, MODULE, *args, join=join)
        self.assertEqual(node.line(), "ready")
        return node


class Verbs(Cli):
    def test_nodes_ps_and_inspect_show_two_linked_nodes(self):
        self.node("a", "echo")
        b = self.node("b", "echo", join=["a"])
        b.log("linked with node a")
        nodes = [json.loads(line) for line in self.weft("nodes", "--node", "b", "--json")[0].splitlines()]
        self.assertEqual([(n["name"], n["state"]) for n in nodes], [("b", "self"), ("a", "up")])
        self.assertIn("up", self.weft("nodes", "--node", "a")[0])
        actors = [json.loads(line) for line in self.weft("ps", "--node", "a", "--json")[0].splitlines()]
        echo = next(a for a in actors if a["name"] == "echo")
        # On a slow machine it has waited for long enough to be parked.
        self.assertIn(echo["state"], ("waiting", "parked"))
        self.assertEqual(echo["waits_for"], "mailbox")
        self.assertIn("echo", self.weft("ps", "--node", "a")[0])
        lines = self.weft("inspect", "--record", "--node", "a", "--json")[0].splitlines()
        events = [json.loads(line) for line in lines]
        self.assertIn("receive", {event["event"] for event in events})
        actor = events[-1]["actor"]
        self.assertIn(actor.split("@")[0], self.weft("inspect", actor, "--record", "--node", "a")[0])
        json.loads(self.weft("inspect", "--trace", "--node", "a")[0])

    def test_call_and_send_reach_an_actor(self):
        a = self.node("a", "echo")
        for body in ['[1, "two", null, {"three": 3.5}]', "7", '"text"', "[]"]:
            self.assertEqual(json.loads(self.weft("call", "echo", body)[0]), json.loads(body))
        answer = json.loads(self.weft("call", "echo", "[1]", "--tag", "9", "--json")[0])
        self.assertEqual(answer, {"tag": 9, "body": [1]})
        self.assertEqual(self.weft("call", "echo@a", "--text", "as it is")[0], "as it is\n")
        told = json.loads(self.weft("send", "echo", "[1, 2]", "--tag", "12", "--json")[0])
        self.assertEqual(told, {"to": "echo@a", "tag": 12, "bytes": 3})
        self.assertEqual(self.weft("send", "echo", "7")[0], "")
        self.assertEqual((a.line(), a.line()), ("got tag 12, 3 bytes", "got tag 0, 1 bytes"))
        self.assertIn("no such actor", self.weft("call", "nobody", "[]", code=1)[1])
        self.assertIn("not JSON", self.weft("call", "echo", "{", code=2)[1])

    def test_spawn_starts_an_exported_actor(self):
        self.node("a", "echo")
        pid = self.weft("spawn", "test.greeter", '["bob", 3]')[0].strip()
        self.assertRegex(pid, r"^\d+\.\d+\.\d+@[0-9a-f]{16}$")
        self.assertIn("bob greets 3 times", self.weft("call", "bob", "[]")[0])
        self.assertIn("test.greeter", self.weft("ps")[0])
        answer = json.loads(self.weft("spawn", "test.greeter", '["ann"]', "--json")[0])
        self.assertIn("ann greets 0 times", self.weft("call", "ann", "[]")[0])
        self.assertNotEqual(answer["pid"], pid)
        wrong = self.weft("spawn", "test.greeter", '["ann", "many"]', code=1)[1]
        self.assertIn("greeter_args.times: expected uint, got str", wrong)
        self.assertIn("node a exports no actor test.nobody", self.weft("spawn", "test.nobody", "[]", code=1)[1])

    def test_publish_and_subscribe_over_nodes(self):
        self.node("a", "echo")
        self.node("b", "echo", join=["a"]).log("linked with node a")
        self.assertIn("no actor has subscribed", self.weft("publish", "news.one", "[1]", "--node", "b")[0])
        reader = Program(WEFT, "subscribe", "news.>", "--node", "a", "--count", "2", "--json", env=self.env)
        self.addCleanup(reader.kill)
        reader.log("on node a")
        # The interest is under way to b, so publish until b knows it. The numbers tell the publications apart.
        for number in range(1000):
            if json.loads(self.weft("publish", "news.one", f"[{number}]", "--node", "b", "--json")[0])["handed"] > 0:
                break
        self.weft("publish", "news.two", "--text", "caf\u00e9", "--tag", "5", "--node", "a")
        one, two = json.loads(reader.line()), json.loads(reader.line())
        self.assertEqual((one["topic"], one["tag"], one["body"]), ("news.one", 0, [number]))
        self.assertEqual((two["topic"], two["tag"], two["text"]), ("news.two", 5, "caf\u00e9"))
        reader.end()
        self.assertIn("'a..b': it is not a topic", self.weft("publish", "a..b", "[]", "--node", "a", code=2)[1])
        self.assertIn("'a.>.b': it is not a pattern", self.weft("subscribe", "a.>.b", "--node", "a", code=2)[1])
        self.weft("subscribe", "x", "--node", "a", "--timeout", "0.2", code=4)

    def listening(self, *options):
        """Starts a node on a port, and returns it with its URL."""
        node = Program(WEFT, "run", MODULE, "--name", "port", "--listen", "tcp://127.0.0.1:0", *options, "--", "echo",
                       env=self.env)
        self.addCleanup(node.kill)
        return node, node.log(r"listens on (tcp://127.0.0.1:\d+)").group(1)

    def test_a_client_of_a_port_may_talk_to_actors_only(self):
        """A client of the port may talk to actors, but neither look at the node nor control it."""
        node, url = self.listening()
        self.assertEqual(self.weft("call", "echo", "[1]", "--node", url)[0].strip(), "[1]")
        for verb in (["ps"], ["names"], ["groups"], ["nodes"], ["top", "--once"], ["inspect"], ["why-dropped"],
                     ["stop"], ["log", "transport=debug"], ["drain"], ["reload", MODULE],
                     *([["certs", "reload"]] if has("tls") else []), ["subscribe", "x"],
                     ["trace", "--count", "1"], ["spawn", "test.greeter", '["bob", 3]']):
            said = self.weft(*verb, "--node", url, code=1)[1]
            self.assertRegex(said, "not by this address|permission denied", verb)
        node.log("refused a .* of .*: it has no certificate, and this is not the node's own socket")
        self.assertIn("echo", self.weft("ps", "--node", "port")[0])  # This one comes over the node's own socket.
        node.stop()

    def test_a_client_of_a_port_may_control_with_loopback_control(self):
        node, url = self.listening("--loopback-control")
        self.assertIn("echo", self.weft("ps", "--node", url)[0])
        self.assertIn("port has ended", self.weft("stop", "--node", url)[0])
        node.end()

    @unittest.skipIf(sys.platform == "win32", "this system has no files of sockets")
    def test_the_mode_of_a_socket_decides_which_users_may_dial_it(self):
        folder = self.cluster.folder.name
        for mode, words in ((0o600, []), (0o660, ["--socket-mode", "660"])):
            path = f"{folder}/{mode}.sock"
            node = Program(WEFT, "run", MODULE, "--name", "s", "--listen", f"ipc://{path}", *words, "--", "echo",
                           env=self.env)
            self.addCleanup(node.kill)
            self.assertEqual(node.line(), "ready")
            self.assertEqual(os.stat(path).st_mode & 0o777, mode)
            self.weft("ps", "--node", f"ipc://{path}", code=0 if mode == 0o600 else 1)
            node.stop()
        said = self.weft("run", MODULE, "--socket-mode", "8", "--", "echo", code=2)[1]
        self.assertIn("an octal mode such as 600 or 660", said)
        said = self.weft("run", MODULE, "--listen", "abstract://weft-test", "--", "echo", code=1)[1]
        self.assertIn("any user may dial abstract://", said)

    def test_stop_ends_a_node(self):
        a = self.node("a", "echo")
        self.assertIn("a has ended", self.weft("stop", "--node", "a")[0])
        self.assertEqual(a.end(), ["asked to stop"])
        c = Program(WEFT, "run", MODULE, "--name", "c", "--json", "--listen", "tcp://127.0.0.1:0",
                    "--loopback-control", "--", "echo", env=self.env)
        self.addCleanup(c.kill)
        up = json.loads(c.line())
        self.assertEqual((up["node"], len(up["incarnation"]), up["metrics"]), ("c", 16, ""))
        self.assertRegex(up["urls"][0], r"^tcp://127\.0\.0\.1:[1-9]\d+$")
        self.assertEqual(c.line(), "ready")
        ended = self.weft("stop", "--node", up["urls"][0], "--json")[0]
        self.assertEqual(json.loads(ended), {"node": "c", "ended": True, "drained": True})
        c.end()
        self.node("b", "stubborn")
        left = self.weft("stop", "--node", "b", "--drain", "0.2", code=5)[1]
        self.assertIn("b: not all actors ended in time", left)
        self.cluster.nodes["b"].end(5)

    @unittest.skipUnless(sys.platform == "linux" and os.environ.get("WEFT_SANITIZED") != "1",
                         "the workloads read /proc of Linux, and figures under a sanitizer mean nothing")
    def test_bench_runs_a_workload(self):
        told = json.loads(self.weft("bench", "yield", "--json")[0])
        self.assertEqual((told["workload"], told["metric"], told["runs"]), ("yield", "ns_per_switch", 5))
        self.assertTrue(0 < told["min"] <= told["median"] <= told["max"])
        out = self.weft("bench", "--", "remote", "rtt", "16", "10")[0]
        self.assertRegex(out, r"^remote weft rtt,size=16,n=10 p50_us [\d.]+\nremote weft rtt,size=16,n=10 p99_us")
        self.assertIn("there is no workload 'yeild'", self.weft("bench", "yeild", code=2)[1])

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_output_that_cannot_be_written_is_an_error(self):
        self.node("a", "echo")
        for words in (["help"], ["version"], ["stop", "--help"], ["ps", "--node", "a"], ["ps", "--json", "--node", "a"],
                      ["names", "--node", "a"], ["top", "--json", "--node", "a"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=PATIENCE, env=patient(self.env))
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("cannot write the output", done.stderr, words)

    def test_a_verb_that_prints_for_as_long_as_it_runs_ends_when_its_reader_has_gone(self):
        self.node("a", "echo")
        for words in ["subscribe", "t"], ["trace"], ["top", "--json", "--interval", "0.1"]:
            reading, writing = os.pipe()
            verb = subprocess.Popen([WEFT, *words, "--node", "a"], stdin=subprocess.DEVNULL, stdout=writing,
                                    stderr=subprocess.DEVNULL, env=self.env)
            self.addCleanup(verb.wait)
            self.addCleanup(verb.kill)
            os.close(writing)
            os.close(reading)

            def has_ended():
                self.weft("publish", "t", "1", "--node", "a")
                self.weft("send", "echo", "1", "--node", "a")
                return verb.poll() is not None

            eventually(f"weft {words[0]} ends", has_ended)
            self.assertEqual(verb.returncode, 1, words)

    def test_help_and_version_are_printed(self):
        self.assertRegex(self.weft("version")[0], r"^weft \d+\.\d+\.\d+\nfeatures: \w+( \w+)*\n$")
        self.assertEqual(set(json.loads(self.weft("version", "--json")[0])), {"version", "features"})
        for verb in ["run", "ps", "nodes", "publish", "subscribe", "send", "call", "stop", "version"]:
            out, err = self.weft(verb, "--help")
            self.assertIn(f"usage: weft {verb}", out)
            self.assertEqual((out, err), self.weft("help", verb))
        self.assertIn("subscribe", self.weft("help")[0])


class Run(Cli):
    def test_a_node_ends_with_its_first_actor(self):
        self.assertIn("4 words", self.weft("run", MODULE, "--", "x", "y", "--z")[0])

    def test_weft_run_fails_if_its_first_actor_fails(self):
        self.assertIn("WEFT_EINUSE", self.weft("run", MODULE, "--", "fail", code=1)[1])

    @unittest.skipUnless(sys.platform == "linux" and not SANITIZED, "the limit is Linux's; a sanitizer needs far more")
    def test_weft_run_fails_if_there_is_no_address_space_for_its_first_actor(self):
        limit = 600 << 20  # One worker's stacks take 528 MiB.
        done = subprocess.run([WEFT, "run", MODULE, "--workers", "1", "--", "x"], env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, "no memory for the stack of actor main.*ulimit -v")

    @unittest.skipUnless(sys.platform == "linux" and not SANITIZED, "the limit is Linux's; a sanitizer needs far more")
    def test_a_node_with_little_address_space_answers_tools_or_ends(self):
        """Whatever the limit is: in between, the first actor has its stack, and weft's own actors have none."""
        outcomes = set()
        for limit in range(600, 1900, 100):
            node = subprocess.Popen([WEFT, "run", MODULE, "--name", "lean", "--listen", "none", "--workers", "1", "--", "echo"],
                                    env=self.env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE,
                                    preexec_fn=lambda n=limit << 20: resource.setrlimit(resource.RLIMIT_AS, (n, n)))
            self.addCleanup(node.kill)
            answers = False
            while node.poll() is None and not answers:
                answers = subprocess.run([WEFT, "ps", "--node", "lean"], env=self.env, stdin=subprocess.DEVNULL,
                                         capture_output=True, timeout=PATIENCE).returncode == 0
            node.terminate()
            said = node.communicate(timeout=PATIENCE)[1]
            outcomes.add(node.returncode)
            failed = "no memory" in said or "out of memory" in said
            self.assertEqual(node.returncode, 1 if failed else 0, (limit, said))
            self.assertTrue(answers or failed, (limit, said))  # One that fails may have answered before.
        self.assertEqual(outcomes, {0, 1})

    @unittest.skipUnless(sys.platform == "linux" and not SANITIZED, "a sanitizer needs descriptors, too")
    def test_weft_run_works_or_says_that_descriptors_are_missing(self):
        """Whatever the limit is: at each a different part of the node finds none left."""
        outcomes = set()
        for limit in [*range(8, 24), 64]:
            done = subprocess.run([WEFT, "run", MODULE, "--workers", "1", "--", "x"], env=self.env, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                                  preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
            outcomes.add(done.returncode)
            if done.returncode == 0:
                self.assertEqual(done.stdout, "2 words\n", (limit, done.stderr))
            else:
                self.assertEqual((done.returncode, done.stdout), (1, ""), (limit, done.stderr))
                self.assertIn("descriptors", done.stderr, limit)
        self.assertEqual(outcomes, {0, 1})

    def test_sigterm_drains_the_node(self):
        a = self.node("a", "echo")
        self.assertEqual(a.stop(), ["asked to stop"])

    def test_a_stubborn_actor_is_reported_as_not_drained(self):
        node = Program(WEFT, "run", MODULE, "--drain", "0.2", "--", "stubborn", env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "ready")
        node.stop(5)

    @unittest.skipIf(SANITIZED, "a sanitizer reports the overflow in its own words")
    def test_a_stack_overflow_names_its_actor(self):
        node = Program(WEFT, "run", MODULE, "--name", "deep", "--", "recurse", env=self.env)
        self.addCleanup(node.kill)
        node.log(r"actor main \(0\.\d+\.1@[0-9a-f]{16}\) of node deep overflowed its stack")
        self.assertNotEqual(node.process.wait(PATIENCE), 0)

    @unittest.skipIf(SANITIZED, "the system's compiler does not link against a sanitized library")
    def test_a_source_is_compiled_once(self):
        source = self.cluster.folder.name + "/mine.c"
        with open(source, "w") as f:
            f.write('#include <weft.h>\n#include <stdio.h>\nstatic void go(const void *a, size_t n) '
                    '{ (void)a, (void)n; puts("compiled"); }\nWEFT_MODULE(go)\n')
        self.assertEqual(self.weft("run", source)[0], "compiled\n")
        cache = os.listdir(self.env["XDG_CACHE_HOME"] + "/weft")
        made = os.stat(self.env["XDG_CACHE_HOME"] + "/weft/" + cache[0]).st_mtime_ns
        self.assertEqual(self.weft("run", source)[0], "compiled\n")
        self.assertEqual(os.listdir(self.env["XDG_CACHE_HOME"] + "/weft"), cache)
        self.assertEqual(os.stat(self.env["XDG_CACHE_HOME"] + "/weft/" + cache[0]).st_mtime_ns, made)
        with open(source, "a") as f:
            f.write("this is no C\n")
        self.assertIn("mine.c:5", self.weft("run", source, code=1)[1])

    def test_the_environment_sets_options_and_flags_override_it(self):
        env = dict(self.env, WEFT_LOG="json", WEFT_NAME="from-env")
        line = json.loads(self.weft("run", MODULE, env=env)[1].splitlines()[0])
        self.assertIn("from-env", line["msg"])
        line = json.loads(self.weft("run", MODULE, "--name", "flag", env=env)[1].splitlines()[0])
        self.assertIn("flag", line["msg"])


    def test_a_second_signal_ends_the_node_at_once(self):
        node = Program(WEFT, "run", MODULE, "--drain", "600", "--", "lingers", env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "ready")
        node.process.send_signal(signal.SIGTERM)
        node.log("asked to stop, draining")
        node.stop(130)

    @unittest.skipIf(SANITIZED, "the system's compiler does not link against a sanitized library")
    def test_a_changed_header_is_a_changed_source(self):
        folder = self.cluster.folder.name
        with open(folder + "/says.c", "w") as f:
            f.write('#include <weft.h>\n#include <stdio.h>\n#include "text.h"\n'
                    'static void go(const void *a, size_t n) { (void)a, (void)n; puts(TEXT); }\nWEFT_MODULE(go)\n')
        for text in ["one", "two", "one"]:
            with open(folder + "/text.h", "w") as f:
                f.write(f'#define TEXT "{text}"\n')
            self.assertEqual(self.weft("run", folder + "/says.c")[0], text + "\n")
        self.assertEqual(len(os.listdir(self.env["XDG_CACHE_HOME"] + "/weft")), 2)


class Mistakes(Cli):
    def says(self, code, text, *words):
        self.assertIn(text, self.weft(*words, code=code)[1])

    def test_wrong_command_lines_are_explained(self):
        self.says(2, "usage: weft VERB")
        self.says(2, "did you mean 'nodes'", "noeds")
        self.says(2, "did you mean '--name'", "run", "x.so", "--nam", "a")
        self.says(2, "needs a value", "run", "x.so", "--name")
        self.says(2, "too few arguments", "run")
        self.says(2, "unexpected argument", "ps", "a")
        self.says(2, "a number from 1 to 63", "run", "x.so", "--workers", "0")
        self.says(2, "seconds", "ps", "--timeout", "soon")

    def test_files_that_are_no_modules_are_refused(self):
        folder = self.cluster.folder.name
        self.says(1, "cannot read", "run", folder + "/none.so")
        self.says(1, "cannot read", "run", folder + "/none.c")
        with open(folder + "/text.so", "w") as f:
            f.write("no library" * 20)
        self.says(1, "not an ELF file", "run", folder + "/text.so")
        self.says(1, "no entry point weft_module_main", "run", built("tests", "test_no_entry.so"))
        self.says(2, "is not a URL, such as tcp://127.0.0.1:4001", "run", "x.so", "--listen", "127.0.0.1:4001")

    def test_a_node_without_standard_descriptors_works_and_writes_into_nothing_of_its_own(self):
        """What is closed would be the next pipe or socket: the module's words would be signals to the node."""
        words = [WEFT, "run", MODULE, "--name", "a", "--", "echo"]
        node = subprocess.Popen(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *words], env=self.env)
        self.addCleanup(node.wait)
        self.addCleanup(node.kill)
        eventually("the node answers", lambda: node.poll() is not None or subprocess.run(
            [WEFT, "call", "echo", "[1]", "--tag", "1", "--node", "a"], env=self.env, capture_output=True,
            check=False).returncode == 0)
        self.assertIsNone(node.poll())
        self.assertEqual([os.readlink(f"/proc/{node.pid}/fd/{fd}") for fd in range(3)], ["/dev/null"] * 3)
        self.weft("stop", "--node", "a")
        self.assertEqual(node.wait(PATIENCE), 0)

    def test_a_module_of_another_machine_or_kind_is_refused(self):
        folder = self.cluster.folder.name
        with open(MODULE, "rb") as f:
            module = bytearray(f.read())
        native = struct.unpack_from("<H", module, 18)[0]
        for offset, value, text in [(18, 183 if native == 62 else 62, "build it for this machine"),
                                    (16, 1, "is an object file or a program")]:
            changed = bytearray(module)
            struct.pack_into("<H", changed, offset, value)
            with open(folder + "/changed.so", "wb") as f:
                f.write(changed)
            self.says(1, text, "run", folder + "/changed.so")

    def test_a_missing_compiler_and_an_open_cache_are_refused(self):
        source = self.cluster.folder.name + "/empty.c"
        with open(source, "w") as f:
            f.write("typedef int nothing;\n")
        env = dict(self.env, CC="no-such-compiler -O0")
        self.assertIn("cannot run the compiler 'no-such-compiler'", self.weft("run", source, code=1, env=env)[1])
        os.makedirs(self.env["XDG_CACHE_HOME"] + "/weft", exist_ok=True)
        os.chmod(self.env["XDG_CACHE_HOME"] + "/weft", 0o777)
        self.assertIn("contains code that will run", self.weft("run", source, code=1)[1])

    def test_a_socket_folder_that_others_may_enter_is_refused(self):
        for kind in ["open", "link", "file"]:
            runtime = tempfile.mkdtemp(dir=self.cluster.folder.name)
            if kind == "open":
                os.mkdir(runtime + "/weft")
                os.chmod(runtime + "/weft", 0o755)
            elif kind == "link":
                os.symlink(self.cluster.folder.name, runtime + "/weft")
            else:
                open(runtime + "/weft", "w").close()
            env = dict(self.env, XDG_RUNTIME_DIR=runtime)
            self.assertIn("that no other user may enter", self.weft("ps", code=1, env=env)[1])
            self.assertIn("that no other user may enter", self.weft("run", MODULE, code=1, env=env)[1])
        env = dict(self.env, XDG_RUNTIME_DIR=tempfile.mkdtemp(dir=self.cluster.folder.name, prefix="x" * 100))
        self.assertIn("longer than", self.weft("run", MODULE, code=1, env=env)[1])
        self.says(2, "is not a node's name", "run", MODULE, "--name", "a/b")

    def test_addresses_that_cannot_be_used_are_refused(self):
        a = self.node("a", "echo")
        self.says(1, "address is in use", "run", MODULE, "--listen", self.cluster.url("a"))
        self.says(1, "runs here already", "run", MODULE, "--name", "a")
        self.says(2, "'frob://x': unknown scheme", "run", MODULE, "--listen", "frob://x")
        self.says(1, "loopback", "run", MODULE, "--listen", "tcp://0.0.0.0:0")
        precious = self.cluster.folder.name + "/precious"
        with open(precious, "w", encoding="utf-8") as f:
            f.write("kept")
        for path in (precious, self.cluster.folder.name):
            self.says(1, "something is there that is no socket", "run", MODULE, "--listen", "ipc://" + path)
        with open(precious, encoding="utf-8") as f:
            self.assertEqual(f.read(), "kept")
        self.says(2, "is not a URL", "run", MODULE, "--join", "127.0.0.1:80")
        a.stop()

    def test_an_unreachable_seed_is_a_warning(self):
        node = Program(WEFT, "run", MODULE, "--join", "ipc://" + self.cluster.folder.name + "/nobody", "--", "echo",
                       env=self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "ready")
        node.log("cannot connect to ipc://.*retrying")
        node.stop()

    def test_a_second_node_of_one_name_is_refused(self):
        self.node("a", "echo")
        # This stands for another machine: with another folder the nodes of this one are not seen.
        env = dict(self.env, XDG_RUNTIME_DIR=tempfile.mkdtemp(dir=self.cluster.folder.name))
        twin = Program(WEFT, "run", MODULE, "--name", "a", "--join", self.cluster.url("a"), "--", "echo", env=env)
        self.addCleanup(twin.kill)
        twin.log("cannot join.*another node named a")
        twin.end(1)

    def test_a_verb_that_finds_no_node_says_so(self):
        self.says(3, "there is no node to ask", "ps")
        self.says(3, "does not run here", "ps", "--node", "zz")
        self.says(3, "cannot connect to", "ps", "--node", "tcp://127.0.0.1:1")
        self.node("a", "echo")
        self.node("b", "echo")
        self.says(2, "choose one with --node", "ps")

    @unittest.skipUnless(hasattr(signal, "SIGSTOP"), "this system cannot stop a process for a while")
    def test_a_verb_waits_for_a_stopped_node_as_long_as_it_may(self):
        node = self.node("a", "echo")
        node.process.send_signal(signal.SIGSTOP)
        try:
            patient_one = Program(WEFT, "ps", "--node", "a", "--timeout", "600", env=self.env)
            self.addCleanup(patient_one.kill)
            for verb in ("ps", "top --once", "publish x 1", "subscribe x"):
                self.says(4, "has not answered in time", *verb.split(), "--node", "a", "--timeout", "0.1")
            self.assertIsNone(patient_one.process.poll())
        finally:
            node.process.send_signal(signal.SIGCONT)
        patient_one.end(0)

    def test_the_socket_of_a_killed_node_is_no_obstacle(self):
        a = self.node("a", "echo")
        a.kill()
        self.says(3, "cannot connect to", "ps")
        self.node("b", "echo")
        self.assertIn("echo", self.weft("ps")[0])  # One of the two sockets has no node behind it.
        self.node("a", "echo").stop()


if __name__ == "__main__":
    unittest.main()
