#!/usr/bin/env python3
"""examples/postgres.c against a PostgreSQL of the test's own, on a Unix socket in a temporary folder."""
import json
import os
import subprocess
import unittest

from harness import PATIENCE, Cluster, built
from postgres_server import Postgres, missing

MODULE = built("examples", "postgres.so")
WEFT = built("cli", "weft")
WHY = missing() or (None if os.path.exists(MODULE) else "built without libpq (Debian: libpq-dev)")


@unittest.skipIf(WHY, WHY)
class ForeignDescriptor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Postgres()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.__exit__)
        self.name = self._testMethodName  # This is the name of its connection, on the server.
        self.where = f"host={self.server.folder} user=weft dbname=postgres application_name={self.name}"
        self.node = self.cluster.run("a", MODULE, self.where, "orders", 'odd "name"')
        self.assertRegex(self.node.line(), r"^connected to PostgreSQL \d")

    def call(self, text, *values, timeout="20"):
        done = subprocess.run([WEFT, "call", "db", json.dumps([text, values]), "--tag", "1", "--timeout", timeout,
                               "--node", "a"], env=self.cluster.env, text=True, capture_output=True, check=False,
                              timeout=PATIENCE)
        return (done.returncode, json.loads(done.stdout) if done.stdout else done.stderr)

    def rows(self, text, *values):
        code, answer = self.call(text, *values)
        self.assertEqual((code, answer[0]), (0, ""), answer)
        return [row[0] for row in answer[1]]

    def listening(self):
        """Waits until the actor listens: LISTEN comes after "connected", and an answered query after both."""
        self.assertEqual(self.rows("SELECT 1"), [["1"]])

    def test_queries_return_rows_and_errors(self):
        self.assertEqual(self.rows("SELECT $1::int + 1, $2", "41", "a'b"), [["42", "a'b"]])
        self.assertEqual(self.rows("CREATE TABLE orders(what text, count int)"), [])
        self.assertEqual(self.rows("INSERT INTO orders VALUES($1, 7), ('', NULL) RETURNING *", "tea"),
                         [["tea", "7"], ["", ""]])
        self.assertEqual(self.call("SELECT nonsense")[1], ['ERROR:  column "nonsense" does not exist', []])
        self.assertEqual(self.call("")[1], ["not a query", []])
        self.assertEqual(self.call("SELECT 1", *["x"] * 17)[1], ["not a query", []])
        large = self.rows("SELECT repeat('x', 1000) FROM generate_series(1, 1000)")
        self.assertEqual(large, [["x" * 1000]] * 1000)  # The rows are more than the socket holds.
        self.assertEqual(self.call("SELECT generate_series(1, 70000)")[1], ["too many rows", []])
        self.assertEqual(self.rows("SELECT count(*) FROM orders"), [["2"]])

    def test_notifications_of_postgresql_are_received(self):
        """Notifications come from others and from the actor's own queries, while it waits and between queries."""
        self.listening()
        self.server.sql("NOTIFY orders, 'of another'")
        self.assertEqual(self.node.line(), "orders: of another")
        self.rows("SELECT pg_notify('orders', $1)", "its own")
        self.assertEqual(self.node.line(), "orders: its own")
        for i in range(5):
            self.server.sql(f"NOTIFY orders, '{i}'")
            self.assertEqual(self.rows("SELECT $1", str(i)), [[str(i)]])
            self.assertEqual(self.node.line(), f"orders: {i}")

    def test_a_query_ends_with_its_caller(self):
        self.listening()
        code, answer = self.call("SELECT pg_sleep(600)", timeout=str(PATIENCE / 15))
        # Both may happen at the same time.
        self.assertTrue(code == 4 or answer[0] == "the query took too long", answer)
        self.server.program.log(f"{self.name}: ERROR:  canceling statement due to user request")
        self.assertEqual(self.rows("SELECT current_setting('application_name')"), [[self.name]])
        self.assertEqual(self.node.out.seen[1:], [])  # It is still the same connection.

    def test_a_broken_connection_to_postgresql_is_made_again(self):
        self.listening()
        self.server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        f"WHERE application_name = '{self.name}'")
        self.assertRegex(self.node.line(), r"^connected to PostgreSQL \d")
        self.listening()
        self.server.sql("NOTIFY orders, 'again'")
        self.assertEqual(self.node.line(), "orders: again")
        self.server.program.kill()
        self.node.log("no connection: ")
        self.server.start()
        self.assertRegex(self.node.line(), r"^connected to PostgreSQL \d")
        self.listening()
        self.node.stop()

    def test_the_session_ends_with_its_actor(self):
        """The clean-up of the actor ends the session. Without it the server finds out by itself."""
        self.listening()
        self.node.stop()
        lost = f"{self.name}: DEBUG:  unexpected EOF on client connection"
        self.server.program.log(f"{self.name}: LOG:  disconnection: ")
        self.assertFalse([line for line in self.server.program.err.seen if lost in line])
        again = self.cluster.run("a", MODULE, self.where)
        again.line()
        again.kill()
        self.server.program.log(lost)


if __name__ == "__main__":
    unittest.main()
