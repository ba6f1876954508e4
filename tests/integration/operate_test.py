#!/usr/bin/env python3
"""The interfaces for operators: logs, notifications of a service manager, metrics and health over HTTP."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

from harness import Cluster, PATIENCE, Program, built, eventually, free_port, patient

WEFT = built("cli", "weft")
MODULE = built("tests", "test_modules.so")


class Operate(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.env = self.cluster.env
        self.addCleanup(self.cluster.__exit__)

    def path(self, name):
        return os.path.join(self.cluster.folder.name, name)

    def weft(self, *words, code=0):
        """Runs a verb to its end, and returns its standard output and error."""
        done = subprocess.run([WEFT, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=patient(self.env))
        self.assertEqual(done.returncode, code, f"weft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def run_module(self, what, *options, env=None):
        node = Program(WEFT, "run", MODULE, "--name", "a", *options, "--", what, env=env or self.env)
        self.addCleanup(node.kill)
        self.assertEqual(node.line(), "ready")
        return node

    def say(self, text, times=1):
        self.weft("send", "says", "--text", text, "--tag", str(times))


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class NobodyReads(Operate):
    """Standard error is a pipe that is full, as with a pager that was stopped: the node works, and ends."""

    LINES = 90

    def setUp(self):
        super().setUp()
        self.reading, writing = os.pipe()
        self.node = subprocess.Popen([WEFT, "run", MODULE, "--name", "a", "--log", "info", "--", "says"], env=self.env,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writing)
        os.close(writing)
        self.addCleanup(os.close, self.reading)
        self.addCleanup(self.node.stdout.close)
        self.addCleanup(self.node.wait)
        self.addCleanup(self.node.kill)
        self.assertEqual(self.node.stdout.readline(), b"ready\n")
        # More than a pipe takes. The actor that logs still takes its messages.
        for at in range(self.LINES):
            self.say(f"{at} " + "x" * 1200)

    def read_log(self):
        text = b""
        while part := os.read(self.reading, 1 << 16):
            text += part
        return text.decode().splitlines()

    def test_a_node_works_and_stops(self):
        self.assertIn("says", self.weft("ps", "--node", "a")[0])
        self.weft("stop", "--node", "a")
        self.assertEqual(self.node.wait(PATIENCE), 0)

    def test_a_signal_stops_it(self):
        self.node.terminate()
        self.assertEqual(self.node.wait(PATIENCE), 0)

    def test_a_crash_ends_it(self):
        self.node.send_signal(signal.SIGABRT)
        self.assertEqual(self.node.wait(PATIENCE), -signal.SIGABRT)

    def test_what_was_logged_comes_when_somebody_reads(self):
        self.node.terminate()
        lines = self.read_log()
        self.assertEqual(self.node.wait(PATIENCE), 0)
        said = [re.search('msg="([0-9]+) x', line) for line in lines]
        self.assertEqual([int(found[1]) for found in said if found], list(range(self.LINES)))
        self.assertFalse([line for line in lines if "missing" in line])
        self.assertTrue(any("asked to stop, draining" in line for line in lines))


class Logs(Operate):
    def test_a_module_has_its_own_log_level(self):
        node = self.run_module("says", "--log", "silent,words=info")
        self.say("one")
        self.assertEqual(node.log("one")[0], "one")
        node.stop()
        self.assertEqual(len(node.err.seen), 1)
        self.assertRegex(node.err.seen[0], r' level=info module=words node=a actor=0\.\d+\.\d+ msg="one"$')

    def test_levels_change_while_it_runs(self):
        node = self.run_module("says", "--log", "info,words=silent")
        self.say("one")
        self.assertEqual(self.weft("log"), ("info,words=silent\n", ""))
        self.assertEqual(self.weft("log", "words=debug")[0], "info,words=debug\n")
        self.say("two")
        node.log("two")
        self.assertEqual(json.loads(self.weft("log", "json:warn", "--json")[0]),
                         {"node": "a", "log": "json:warn,words=debug"})
        self.say("three")
        self.assertEqual(json.loads(node.log('.*three.*').string)["msg"], "three")
        self.assertNotIn("one", "".join(node.err.seen))
        self.assertIn("'words=loud' is not LEVEL", self.weft("log", "words=loud", code=2)[1])

    def test_json_names_node_module_and_actor(self):
        node = self.run_module("says", "--log", "json:warn,words=debug")
        self.say('two "words"')
        line = json.loads(node.log("two").string)
        self.assertEqual((line["module"], line["node"], line["msg"]), ("words", "a", 'two "words"'))
        self.assertRegex(line["actor"], r"^0\.\d+\.\d+$")

    def test_repeats_are_counted(self):
        node = self.run_module("says", env=dict(self.env, WEFT_LOG="json"))
        self.say("again and again", 1000)
        self.say("the last")
        node.log("the last")
        node.stop()
        lines = [json.loads(line) for line in node.err.seen]
        again = [line for line in lines if line["msg"] == "again and again"]
        # If the machine stands still for the period, a new period begins.
        self.assertLess(len(again), 500)
        self.assertEqual(sum(line.get("repeated", 1) for line in again), 1000)

    def test_hangup_opens_the_file_anew(self):
        log, old = self.path("log"), self.path("log.1")
        node = self.run_module("says", "--log-file", log)
        self.say("before")
        eventually("the line is in the file", lambda: self.weft("ps") and "before" in content(log))
        os.rename(log, old)
        node.process.send_signal(signal.SIGHUP)
        eventually("there is a new file", lambda: self.weft("ps") and os.path.exists(log))
        # The new file exists before the log is written to it.
        eventually("new lines are in the new file",
                   lambda: self.say("after") or self.weft("ps") and "after" in content(log))
        self.assertNotIn("before", content(log))
        self.assertEqual(os.stat(log).st_mode & 0o137, 0)
        node.stop()
        self.assertIn("draining", content(log))
        self.assertEqual(node.err.seen, [])

    def test_hangup_does_not_end_a_node(self):
        # A test under nohup would ignore it.
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))
        node = self.run_module("says")
        for _ in range(3):
            node.process.send_signal(signal.SIGHUP)
        self.say("still there")
        node.log("still there")
        node.stop()

    def test_mistakes(self):
        self.assertIn("'warn,loud' is not LEVEL", self.weft("run", MODULE, "--log", "warn,loud", code=2)[1])
        self.assertIn("--log-file /nowhere/log: ", self.weft("run", MODULE, "--log-file", "/nowhere/log", code=1)[1])

    def test_the_journal_gets_priorities(self):
        """Standard error is a stream, and a variable names it, as under systemd."""
        reading, writing = os.pipe()
        stat = os.fstat(writing)
        env = dict(self.env, JOURNAL_STREAM=f"{stat.st_dev}:{stat.st_ino}")
        with os.fdopen(reading, "rb") as lines:
            done = subprocess.run([WEFT, "run", MODULE, "--", "fail"], env=env, stderr=writing, timeout=PATIENCE)
            os.close(writing)
            text = lines.read().decode()
        self.assertEqual(done.returncode, 1)
        self.assertTrue(re.search(r"^<6>level=info ", text, re.M), text)
        self.assertTrue(re.search(r"^<3>level=error .*WEFT_EINUSE", text, re.M), text)


class Manager(Operate):
    """Takes the part of systemd: hears its notifications, and sets its variables."""

    def setUp(self):
        super().setUp()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(self.path("notify"))
        self.socket.settimeout(PATIENCE)
        self.env = dict(self.env, NOTIFY_SOCKET=self.path("notify"))

    def heard(self):
        return self.socket.recv(4096).decode()

    def test_systemd_is_told_of_the_start_and_the_end_of_a_node(self):
        node = self.run_module("echo", "--drain", "2.5")
        self.assertRegex(self.heard(), r"^READY=1\nSTATUS=node a is up$")
        node.stop()
        self.assertEqual(self.heard(), "STOPPING=1\nSTATUS=node a ends, its actors have 2.5 s\n"
                                       "EXTEND_TIMEOUT_USEC=12500000")

    def test_systemd_is_told_over_an_abstract_socket(self):
        name = "weft-test-" + str(os.getpid())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.bind("\0" + name)
            other.settimeout(PATIENCE)
            node = self.run_module("echo", env=dict(self.env, NOTIFY_SOCKET="@" + name))
            self.assertIn("READY=1", other.recv(4096).decode())
            node.stop()

    def test_a_node_runs_without_a_service_manager_at_its_socket(self):
        self.run_module("echo", env=dict(self.env, NOTIFY_SOCKET=self.path("nobody"))).stop()

    def watched(self, what, period):
        node = self.run_module(what, "--workers", "2", env=dict(self.env, WATCHDOG_USEC=str(period)))
        self.assertIn("READY=1", self.heard())
        return node

    def test_the_watchdog_of_systemd_is_fed(self):
        node = self.watched("echo", 150_000)
        self.assertEqual([self.heard() for _ in range(3)], ["WATCHDOG=1"] * 3)
        node.stop()

    def test_the_watchdog_of_another_process_is_not_fed(self):
        node = self.run_module("echo", env=dict(self.env, WATCHDOG_USEC="1000", WATCHDOG_PID="1"))
        self.assertIn("READY=1", self.heard())
        node.stop()
        self.assertIn("STOPPING=1", self.heard())

    def test_a_stuck_worker_starves_the_watchdog(self):
        self.watched("spins", 100_000)
        self.socket.settimeout(1)

        def silent():
            try:
                return self.heard() != "WATCHDOG=1"
            except TimeoutError:
                return True

        eventually("a second passes without a sign of life", silent)

    def test_a_node_that_is_not_drained_ends_with_status_5(self):
        node = self.run_module("stubborn", "--drain", "0.2")
        node.stop(5)
        self.assertIn("READY=1", self.heard())
        self.assertIn("STOPPING=1", self.heard())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed (Debian: systemd)")
    def test_systemd_accepts_the_unit(self):
        """The unit is the installed one, but for the path of the program."""
        unit = self.path("weft@.service")
        with open(unit, "w", encoding="utf-8") as file:
            text = content(built("packaging", "weft@.service"))
            file.write(re.sub(r"^ExecStart=\S+", "ExecStart=" + WEFT, text, flags=re.M))
        self.assertIn(f"ExecStart={WEFT} run ${{WEFT_MODULE}} --name %i", content(unit))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit],
                              capture_output=True, text=True, timeout=PATIENCE)
        said = [line for line in done.stderr.splitlines() if "weft@" in line]
        self.assertEqual((done.returncode, said), (0, []), done.stderr)
        # The scale of systemd goes from 0, which means that nothing is exposed, to 10.
        done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=20", unit],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Metrics(Operate):
    def serve(self, what="echo", *options):
        node = self.run_module(what, "--metrics", "0", *options)
        self.base = node.log(r"metrics on (http://127\.0\.0\.1:\d+)/metrics")[1]
        return node

    def get(self, path, timeout=PATIENCE, **more):
        """Returns status and text."""
        try:
            with urllib.request.urlopen(urllib.request.Request(self.base + path, **more), timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def value(self, name):
        found = re.search("^" + re.escape(name) + r" (\S+)$", self.get("/metrics")[1], re.M)
        self.assertIsNotNone(found, name)
        return float(found[1])

    def test_metrics_count_messages_actors_and_memory(self):
        self.serve()
        for _ in range(3):
            self.weft("call", "echo", "[]", "--node", "a")
        eventually("messages are counted", lambda: self.value("weft_messages_received_total") >= 3)
        self.assertEqual(self.value('weft_actors{kind="main"}'), 1)
        for figure in "stack_bytes", "heap_bytes":
            self.assertGreater(self.value(f'weft_actors_{figure}{{kind="main"}}'), 0)
        self.assertEqual(self.value('weft_actors_held_messages{kind="main"}'), 0)
        self.assertEqual(self.value('weft_mailbox_messages{kind="main"}'), 0)
        self.assertGreater(self.value("process_cpu_seconds_total"), 0)
        self.assertGreater(self.value("process_resident_memory_bytes"), 1 << 20)
        self.assertGreater(self.value('weft_worker_response_seconds_bucket{le="+Inf"}'), 1)
        self.assertGreater(self.value('weft_mailbox_seconds_count{kind="main"}'), 0)  # An estimate: of a sample.
        self.assertGreater(self.value('weft_mailbox_seconds_sum{kind="main"}'), 0)
        text = self.get("/metrics")[1]
        buckets = re.findall(r'^weft_mailbox_seconds_bucket{kind="main",le="(\S+)"} (\d+)$', text, re.M)
        self.assertEqual(buckets, sorted(buckets, key=lambda b: float(b[0])))
        self.assertEqual([int(n) for _, n in buckets], sorted(int(n) for _, n in buckets))
        self.assertEqual(buckets[-1], ("+Inf", re.search(r'_seconds_count{kind="main"} (\d+)', text)[1]))
        reasons = re.findall(r'^weft_messages_dropped_total{reason="([a-z-]+)"} \d+$', self.get("/metrics")[1], re.M)
        self.assertEqual(len(set(reasons)), len(reasons))
        self.assertLessEqual({"no-actor", "mailbox-full", "slow-reader", "send-queue-full", "link-lost"}, set(reasons))

    def test_metrics_count_links(self):
        node = self.serve("echo", "--listen", "tcp://127.0.0.1:0")
        self.assertEqual(self.value('weft_peers{state="up"}'), 0)
        url = json.loads(self.weft("nodes", "--json")[0].splitlines()[0])["urls"][0]
        other = Program(WEFT, "run", MODULE, "--name", 'b', "--join", url, "--", "echo", env=self.env)
        self.addCleanup(other.kill)
        node.log("linked with node b")
        eventually("the link is counted", lambda: self.value('weft_peers{state="up"}') == 1 and
                   self.value('weft_link_received_frames_total{peer="b"}') > 0)
        self.assertGreater(self.value('weft_link_sent_bytes_total{peer="b"}'), 0)

    def test_a_running_node_is_healthy_and_ready(self):
        self.serve()
        self.assertEqual(self.get("/healthz"), (200, "ok\n"))
        self.assertEqual(self.get("/readyz"), (200, "ready\n"))

    def test_a_node_with_a_stuck_worker_is_not_healthy(self):
        node = self.run_module("spins", "--metrics", "0", "--workers", "2")
        self.base = node.log(r"metrics on (http://\S+)/metrics")[1]
        status, text = self.get("/healthz", timeout=10)
        self.assertEqual((status, re.sub(r"\d", "N", text)), (503, "worker N is blocked\n"))

    def test_a_draining_node_is_not_ready(self):
        node = self.serve("lingers", "--drain", "600")
        node.process.send_signal(signal.SIGTERM)
        node.log("draining")
        eventually("the node reports that it drains", lambda: self.get("/readyz") == (503, "draining\n"))
        self.assertEqual(self.get("/healthz")[0], 200)

    def test_a_drain_can_be_undone(self):
        self.serve("echo")
        self.assertEqual(json.loads(self.weft("drain", "--json")[0]),
                         {"node": "a", "draining": True, "global_names": 0, "names": []})
        self.assertEqual(self.get("/readyz"), (503, "draining\n"))
        self.assertEqual(self.get("/healthz")[0], 200)
        self.assertEqual(json.loads(self.weft("top", "--once", "--json")[0])["state"], "draining")
        self.assertIn("weft.draining=true", self.weft("nodes")[0])
        self.assertEqual(self.weft("call", "echo", "[7]")[0], "[7]\n")  # The node goes on with its actors.
        self.assertIn("node a drains", self.weft("spawn", "test.greeter", '["bob", 3]', code=1)[1])
        self.assertEqual(self.weft("drain")[0], "a takes no new work\n")  # A second drain changes nothing.
        self.assertEqual(self.weft("drain", "--undo")[0], "a takes new work\n")
        self.assertEqual(self.get("/readyz"), (200, "ready\n"))
        self.assertNotIn("weft.draining", self.weft("nodes")[0])

    def test_a_draining_node_still_answers_its_tools(self):
        node = self.serve("lingers", "--drain", "600")
        node.process.send_signal(signal.SIGTERM)
        eventually("the node drains", lambda: self.get("/readyz") == (503, "draining\n"))
        top = json.loads(self.weft("top", "--node", "a", "--once", "--json")[0])
        self.assertEqual(top["state"], "draining")
        main = [actor for actor in top["actors"] if actor["kind"] == "main"]
        self.assertEqual(len(main), 1)
        self.assertRegex(self.weft("top", "--node", "a", "--once", "--all", "--interval", "0.1")[0],
                         r"(?m)^a +draining ")
        self.assertIn(main[0]["pid"].split("@")[0], self.weft("ps")[0])
        self.assertEqual(json.loads(self.weft("inspect", main[0]["pid"], "--json")[0])["kind"], "main")
        self.assertEqual(self.weft("inspect")[0], "no actor waits for an answer\n")
        self.assertRegex(self.weft("nodes")[0], r"(?m)^a +[0-9a-f]{16} self ")
        self.assertEqual(self.weft("why-dropped")[0], "a has dropped nothing\n")
        self.assertEqual([n["state"] for n in json.loads(self.get("/nodes.json")[1])], ["draining"])
        tracer = Program(WEFT, "trace", env=self.env)
        self.addCleanup(tracer.kill)
        tracer.log("weft trace: all actors on node a")

    def test_a_tracer_does_not_delay_the_end_of_its_node(self):
        node = self.run_module("echo", "--drain", "600")
        tracer = Program(WEFT, "trace", env=self.env)
        self.addCleanup(tracer.kill)
        tracer.log("weft trace: all actors on node a")
        node.stop()

    def test_malformed_http_requests_do_no_harm(self):
        node = self.serve()
        self.assertEqual(self.get("/nothing")[0], 404)
        self.assertEqual(self.get("/metrics/more")[0], 404)
        self.assertEqual(self.get("/metrics", method="POST", data=b"x")[0], 405)
        host, port = self.base.removeprefix("http://").rsplit(":", 1)
        long = b"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"
        for words in [b"\0" * 100, b"GET\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n", b"GET /metrics HT",
                      b"A" * 100000, long]:
            with socket.create_connection((host, int(port)), PATIENCE) as s:
                try:
                    s.sendall(words)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(65536):
                        pass
                except OSError:
                    pass  # The connection was closed with a reset.
        self.assertEqual(self.get("/healthz"), (200, "ok\n"))
        node.stop()

    def test_mistakes(self):
        for wrong in ["x", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:65536", "a/b:80", "127.0.0.1:80x"]:
            self.assertIn(f"'{wrong}' is not PORT", self.weft("run", MODULE, "--metrics", wrong, code=2)[1])
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            self.assertIn("cannot serve metrics on 127.0.0.1:" + port + ": address is in use",
                          self.weft("run", MODULE, "--metrics", port, "--", "echo", code=1)[1])

    def test_dashboard_and_manual_name_existing_figures(self):
        self.serve()
        there = set(re.findall(r"^# TYPE (\S+)", self.get("/metrics")[1], re.M))
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        # queue_processes reads the figures of a store, from a node that has one.
        stores = content(os.path.join(root, "transport", "store", "readers", "store_metrics.c"))
        there |= {"weft_store_" + name for name in re.findall(r'"([a-z_]+)"', stores)}
        dashboard = json.loads(content(os.path.join(root, "tools", "grafana.json")))
        asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        page = content(os.path.join(root, "docs", "operations.md")).split("## Metrics and health")[1]
        manual = re.findall(r"`(weft_\w+|process_\w+)", page)
        named = set(re.findall(r"\b(?:weft|process)_\w+", " ".join(asked))) | set(manual)
        self.assertGreater(len(named), 15)
        self.assertEqual({name.removesuffix("_bucket") for name in named} - there, set())

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian: prometheus)")
    def test_promtool(self):
        self.serve()
        self.weft("call", "echo", "[]", "--node", "a")
        self.assertIn('weft_mailbox_seconds_bucket{kind="main"', self.get("/metrics")[1])
        done = subprocess.run(["promtool", "check", "metrics"], input=self.get("/metrics")[1], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed (Debian: prometheus)")
    def test_prometheus_scrapes(self):
        self.serve()
        port, config = free_port(), self.path("prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: weft, static_configs: "
                       f"[{{targets: ['{self.base.removeprefix('http://')}']}}]}}]\n")
        server = Program("prometheus", "--config.file", config, "--storage.tsdb.path", self.path("data"),
                         "--web.listen-address", f"127.0.0.1:{port}")
        self.addCleanup(server.kill)
        server.log("Server is ready")

        def asked(query):
            url = f"http://127.0.0.1:{port}/api/v1/query?query={query}"
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return [one["value"][1] for one in json.load(answer)["data"]["result"]]

        # Each question takes a while; Prometheus asks the node once a second.
        eventually("the node is up", lambda: asked("up") == ["1"])
        eventually("Prometheus has the figures of the node", lambda: asked("sum(weft_actors)") not in ([], ["0"]))
        self.assertEqual(asked("weft_node_info").__len__(), 1)


if __name__ == "__main__":
    unittest.main()
