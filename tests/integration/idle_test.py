#!/usr/bin/env python3
"""A node without work uses no processor time, and an idle link costs only its heartbeats.

A thread that was never scheduled in a while has made no system call in it. The kernel counts that for each thread, so
nothing has to be traced; only the observation takes a fixed time."""
import os
import select
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import postgres_test
import webchat_test
from harness import Client, Cluster, Program, built, free_port

OBSERVE_SECONDS = float(os.environ.get("WEFT_IDLE_SECONDS", "3"))


def runs(pid):
    """Returns how often each thread fell asleep, and so was woken; interruptions by other threads do not count."""
    counts = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as f:
            fields = dict(line.split(":", 1) for line in f)
        counts[thread, fields["Name"].strip()] = int(fields["voluntary_ctxt_switches"])
    return counts


def changed(before, after):
    return {name: n - before.get(name, 0) for name, n in after.items() if n != before.get(name, 0)}


def observe(pid):
    """Returns how often each thread ran during the observation; threads that did not run are left out."""
    before = runs(pid)
    select.select([], [], [], OBSERVE_SECONDS)
    return changed(before, runs(pid))


def settle(pid):
    """Start-up is over once an observation sees nothing, which the test then has to see twice."""
    for _ in range(5):
        if not (ran := observe(pid)):
            return
    raise AssertionError(f"these threads never became quiet: {ran}")


@unittest.skipIf(os.environ.get("WEFT_SANITIZED", "") == "1", "a sanitizer has threads of its own, which wake up")
class Idle(unittest.TestCase):
    def test_a_node_without_peers_makes_no_system_call(self):
        with Cluster() as cluster:
            node = cluster.run("a", built("examples", "echo.so"), "--port", "0")
            node.line()
            settle(node.pid)
            self.assertEqual(observe(node.pid), {})
            node.stop()

    def start(self, name, *args, clients=0):
        """Starts an example that serves, with `clients` connected that have been answered."""
        program = Program(built("examples", name), *args)
        self.addCleanup(program.kill)
        address = program.line().rsplit(" ", 1)[1]
        for i in range(clients):
            client = Client(address)
            self.addCleanup(client.close)
            client.ask(f"/nick c{i}")
        return program

    def start_postgres(self):
        server = postgres_test.Postgres()
        self.addCleanup(server.close)
        return self.start("postgres", f"host={server.folder} user=weft dbname=postgres", "orders")

    def start_webchat(self):
        program = Program(webchat_test.PROGRAM, "--port", "0", "--ping", "3600")
        self.addCleanup(program.kill)
        url = program.line().rsplit(" ", 1)[1]
        for i in range(20):
            self.addCleanup(webchat_test.Browser(url, f"b{i}").close)
        return program

    def test_servers_with_connections_open_make_no_system_call(self):
        """The clients of each example that serves are connected and send nothing, so the example does nothing."""
        behind = Program(built("examples", "echo"), "--port", "0")
        self.addCleanup(behind.kill)
        to = behind.line().removeprefix("echo on ")
        servers = {"echo": self.start("echo", "--port", "0", clients=200),
                   "proxy": self.start("proxy", "--port", "0", "--to", to, clients=50),
                   "chat": self.start("chat", "--port", "0", clients=100)}
        if not postgres_test.missing():
            servers["postgres"] = self.start_postgres()
        if os.path.exists(webchat_test.PROGRAM):
            servers["webchat"] = self.start_webchat()
        for _ in range(6):  # The servers start up, and later put stacks aside.
            before = {name: runs(server.pid) for name, server in servers.items()}
            select.select([], [], [], OBSERVE_SECONDS)
            loud = {name: changed(before[name], runs(server.pid)) for name, server in servers.items()}
            if not any(loud.values()):
                break
        self.assertEqual(loud, dict.fromkeys(servers, {}))
        for server in servers.values():
            server.stop()

    def test_blocking_threads_and_pools_sleep(self):
        with Cluster() as cluster:
            node = cluster.run("a", built("tests", "test_modules.so"), "idle")
            node.line()
            settle(node.pid)
            self.assertEqual(observe(node.pid), {})
            self.assertIn("weft-blocking", [name for _, name in runs(node.pid)])
            node.stop()

    def test_a_node_with_metrics_sleeps_until_it_is_asked(self):
        with Cluster() as cluster:
            node = cluster.run("a", built("examples", "echo.so"), "--port", "0",
                               options=["--metrics", str(free_port())])
            node.line()
            settle(node.pid)
            self.assertEqual(observe(node.pid), {})
            node.stop()

    def link(self, cluster, listen, join):
        """Starts two nodes that are linked and have told each other everything."""
        a = cluster.run("a", built("examples", "echo.so"), "--port", "0", options=listen)
        a.line()
        b = cluster.run("b", built("examples", "echo.so"), "--port", "0", options=join)
        b.line()
        b.log("linked with node a")
        observe(a.pid)
        return a, b

    def assert_costs(self, most, *nodes):
        """The threads of each of these nodes wake up at most this often in a heartbeat, which is a second."""
        before = [(time.monotonic(), runs(node.pid)) for node in nodes]
        select.select([], [], [], 3 * OBSERVE_SECONDS)
        for node, (begin, was) in zip(nodes, before):
            ran = changed(was, runs(node.pid))
            seconds = time.monotonic() - begin  # on a busy machine more than were asked for
            self.assertLessEqual(sum(ran.values()), most * (seconds + 1), ran)

    def test_a_link_costs_its_heartbeats_and_nothing_else(self):
        """One side sends PING, and wakes for the time and for the answer. The other side wakes for the PING, and to see
        that it need not send one itself. Every fifth time it is also the other way round."""
        with Cluster() as cluster:
            url = f"tcp://127.0.0.1:{free_port()}"
            self.assert_costs(3, *self.link(cluster, ["--listen", url], ["--join", url]))

    def test_a_link_of_nng_costs_its_threads_too(self):
        """NNG's poller wakes for each message that arrives, it wakes a thread of NNG, and that thread the worker. Each
        message that is sent wakes one thread more."""
        with Cluster() as cluster:
            self.assert_costs(8, *self.link(cluster, [], ["--join", cluster.url("a")]))

    def test_a_traced_node_is_idle_while_no_message_passes(self):
        with Cluster() as cluster:
            node = cluster.run("a", built("examples", "echo.so"), "--port", "0")
            node.line()
            tool = Program(built("cli", "weft"), "trace", "--node", "a", env=cluster.env)
            self.addCleanup(tool.kill)
            tool.log("weft trace: .* on node a")
            observe(node.pid)
            self.assert_costs(8, node)


def all_at_once():
    """Runs the tests at the same time. Each one only observes processes of its own, so one after the other they would
    take a minute and a half. Returns whether all passed."""
    tests = list(unittest.defaultTestLoader.loadTestsFromTestCase(Idle))
    with ThreadPoolExecutor(len(tests)) as pool:
        results = list(pool.map(lambda test: test.run(), tests))
    for test, why in [wrong for result in results for wrong in result.failures + result.errors]:
        print(f"FAILED {test}\n{why}", file=sys.stderr)
    print(f"{len(tests)} tests")
    return all(result.wasSuccessful() for result in results)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        unittest.main()
    sys.exit(0 if all_at_once() else 1)
