#!/usr/bin/env python3
"""TLS under users' streams: the example secure.c against openssl's client and server."""
import os
import re
import socket
import subprocess
import tempfile
import unittest

from harness import PATIENCE, Program, built, free_port

SECURE = built("examples", "secure")


class Secure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weft-")
        cls.make("good", "localhost")
        cls.make("other", "elsewhere.example")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def make(cls, name, host):
        key, crt = cls.file(name + ".key"), cls.file(name + ".crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", crt,
                        "-subj", f"/CN={host}", "-days", "2"], check=True, capture_output=True, timeout=PATIENCE)

    @classmethod
    def file(cls, name):
        return os.path.join(cls.folder.name, name)

    def serve(self, name="good"):
        program = Program(SECURE, "serve", self.file(name + ".crt"), self.file(name + ".key"), "0")
        self.addCleanup(program.kill)
        return program, re.fullmatch(r"serving on (\S+)", program.line()).group(1)

    def s_client(self, address, *options, send=b"hello\nworld\n"):
        return subprocess.run(["openssl", "s_client", "-connect", address, "-servername", "localhost",
                               "-CAfile", self.file("good.crt"), "-verify_return_error", *options],
                              input=send, capture_output=True, timeout=PATIENCE)

    def s_server(self, name, *options):
        """openssl's server, which answers each line with the line backwards."""
        port = free_port()
        server = Program("openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-rev", "-cert",
                         self.file(name + ".crt"), "-key", self.file(name + ".key"), *options)
        self.addCleanup(server.kill)
        while server.line() != "ACCEPT":
            pass
        return f"localhost:{port}"

    def ask(self, address, *lines, authority="good.crt"):
        return subprocess.run([SECURE, "ask", address, self.file(authority), *lines], capture_output=True, text=True,
                              timeout=PATIENCE)

    def test_an_openssl_client_is_served(self):
        program, address = self.serve()
        done = self.s_client(address, "-quiet", "-no_ign_eof")
        self.assertIn(b"HELLO\nWORLD\n", self.talk(address))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(program.line(), "a client has said goodbye")

    def talk(self, address):
        """Both lines and their answers, whenever they come; then the client leaves."""
        client = subprocess.Popen(["openssl", "s_client", "-connect", address, "-CAfile", self.file("good.crt"),
                                   "-verify_return_error", "-quiet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        client.stdin.write(b"hello\nworld\n")
        client.stdin.flush()
        got = client.stdout.readline() + client.stdout.readline()
        client.kill()
        client.communicate()
        return got

    def test_a_client_with_another_version_is_refused(self):
        program, address = self.serve()
        done = self.s_client(address, "-tls1_3")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(program.line(), "refused: .*(version|cipher)")

    def test_a_client_that_does_not_trust_the_certificate_is_reported(self):
        program, address = self.serve("other")
        done = self.s_client(address)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(program.line(),
                         "refused: it refuses this side's certificate: signed by no authority that it trusts")

    def test_a_killed_client_is_a_broken_connection(self):
        program, address = self.serve()
        self.talk(address)
        self.assertEqual(program.line(), "connection was broken by the other side")

    def test_a_client_that_does_not_speak_tls_is_refused(self):
        program, address = self.serve()
        host, port = address.split(":")
        with socket.create_connection((host, int(port)), PATIENCE) as s:
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            self.assertEqual(program.line(), "refused: the other side does not speak TLS")

    def test_an_openssl_server_answers(self):
        done = self.ask(self.s_server("good"), "abc", "hello")
        self.assertEqual((done.stdout.splitlines(), done.returncode), (["TLSv1.2, CN=localhost", "cba", "olleh"], 0))

    def test_a_server_of_another_name_is_refused(self):
        done = self.ask(self.s_server("other"), "abc", authority="other.crt")
        self.assertRegex(done.stderr, "its certificate is that of another name")
        done = self.ask(self.s_server("other"), "abc")
        self.assertRegex(done.stderr, "signed by no authority that is trusted here")

    def test_a_server_with_other_ciphers_is_refused(self):
        done = self.ask(self.s_server("good", "-tls1_2", "-cipher", "AES256-SHA"), "abc")
        self.assertRegex(done.stderr, "it finds no version, cipher or certificate that both sides have")

    def test_an_authority_that_is_no_file_is_reported(self):
        done = self.ask("localhost:1", "abc", authority="nothing.crt")
        self.assertRegex(done.stderr, "nothing.crt: cannot be opened")


if __name__ == "__main__":
    unittest.main()
