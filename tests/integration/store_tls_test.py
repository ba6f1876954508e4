#!/usr/bin/env python3
"""A store in a PostgreSQL server that is reached over TLS: its name is looked up and checked."""
import json
import os
import subprocess
import unittest

from harness import PATIENCE, built, free_port
from store_nodes import PostgresCase


class StoreOverTls(PostgresCase):
    module = built("tests", "test_storing.so")

    def setUp(self):
        super().setUp()
        self.folder = self.cluster.folder.name
        os.chmod(self.folder, 0o755)
        self.certificate("server", "localhost")
        self.certificate("other", "localhost")
        key, port = self.path("server.key"), free_port()
        # A server that runs as somebody else reads a key of root's if its group may.
        os.chmod(key, 0o640)
        if os.geteuid() == 0:
            os.chown(key, 0, 65534)
        server = self.serve(address="127.0.0.1", port=port, settings=(
            "ssl=on", "ssl_cert_file=" + self.path("server.crt"), "ssl_key_file=" + key))
        self.server = server
        self.url = self.url_with(port, "server.crt")

    def path(self, name):
        return os.path.join(self.folder, name)

    def url_with(self, port, authority, host="localhost"):
        return f"postgres:host={host} port={port} user=weft dbname=postgres sslmode=verify-full sslrootcert=" + \
            self.path(authority)

    def certificate(self, name, host):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.path(name + ".key"),
                        "-out", self.path(name + ".crt"), "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"],
                       check=True, capture_output=True, timeout=PATIENCE)

    def test_messages_of_all_sizes_are_stored_and_read(self):
        """Some are longer than a record of TLS."""
        node = self.start("idle", name="a", options=("--store", self.url, "--stored", "room.>"))
        self.assertEqual(self.server.sql("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                                         "WHERE application_name = 'weft'"), "t")
        texts = ["x" * size for size in (10, 1000, 16 * 1024, 100_000) for _ in range(8)]
        for text in texts:
            self.weft("publish", "room.a", "--text", text, "--stored", "--node", "a")
        out = self.weft("store", "read", "room.a", "--store", self.url, "--json")[0]
        self.assertEqual([json.loads(line)["text"] for line in out.splitlines()], texts)
        self.assertIn("no fault", self.weft("store", "check", "--store", self.url)[0])
        node.stop()

    def test_a_server_with_another_certificate_or_name_is_refused(self):
        port = self.server.port
        for url, why in ((self.url_with(port, "other.crt"), "certificate verify failed"),
                         (self.url_with(port, "server.crt", host="127.0.0.1"), "does not match host name")):
            self.assertIn(why, self.weft("store", "topics", "--store", url, code=1)[1])


if __name__ == "__main__":
    unittest.main()
