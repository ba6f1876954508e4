#!/usr/bin/env python3
"""Unwanted clients of a node's listeners: pages of a browser, clients that take all places, clients that send
nothing."""
import base64
import hashlib
import os
import re
import socket
import subprocess
import time
import unittest

from harness import PATIENCE, Client, Cluster, Program, built

WEFT, MODULE = built("cli", "weft"), built("tests", "test_modules.so")
SP, KEY = "pair.sp.nanomsg.org", "dGhlIHNhbXBsZSBub25jZQ=="
GREETING = bytes([0, ord("S"), ord("P"), 0, 0, 0x10, 0, 0])


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), PATIENCE)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def rest(s):
    """Returns all bytes until the other side closes."""
    data = b""
    try:
        while more := s.recv(65536):
            data += more
    except ConnectionResetError:
        pass
    return data


def request(path, *lines, method="GET"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


class Node(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())

    def run_node(self, *options, env=None, prefix=()):
        node = Program(*prefix, WEFT, "run", MODULE, "--name", "a", *options, "--", "echo",
                       env=dict(self.cluster.env, **(env or {})))
        self.cluster.nodes["a"] = node
        self.assertEqual(node.line(), "ready")
        return node

    def weft(self, *words, code=0):
        done = subprocess.run([WEFT, *words], env=self.cluster.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr


class WebSocket(Node):
    """A node that listens on ws://."""

    def listen(self, *options, host="127.0.0.1", **more):
        node = self.run_node("--listen", f"ws://{host}:0/weft", *options, **more)
        self.port = int(node.log(r"listens on ws://[^ ]*:(\d+)/weft")[1])
        return node

    def shake(self, host=None, origin=None, protocol=SP, path="/weft", more=(), method="GET"):
        """Returns the first line of the answer, and the socket."""
        lines = ["Upgrade: websocket", "Connection: keep-alive, Upgrade", "Sec-WebSocket-Version: 13",
                 f"Sec-WebSocket-Key: {KEY}", *more]
        lines += [f"Host: {host or f'127.0.0.1:{self.port}'}"] if host != "" else []
        lines += [f"Origin: {origin}"] if origin is not None else []
        lines += [f"Sec-WebSocket-Protocol: {protocol}"] if protocol is not None else []
        s = connect(self.port)
        s.sendall(request(path, *lines, method=method))
        head = b""
        while b"\r\n\r\n" not in head and (byte := s.recv(1)):
            head += byte
        return head.decode(), s

    def refused(self, status, **how):
        head, s = self.shake(**how)
        with s:
            self.assertTrue(head.startswith(f"HTTP/1.1 {status} "), f"{how}: {head}")
            self.assertNotIn(GREETING, rest(s))

    def let_in(self, **how):
        head, s = self.shake(**how)
        with s:
            self.assertTrue(head.startswith("HTTP/1.1 101 "), f"{how}: {head}")
            proof = base64.b64encode(hashlib.sha1((KEY + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
            self.assertIn(f"Sec-WebSocket-Accept: {proof.decode()}\r\n", head)
            self.assertIn(f"Sec-WebSocket-Protocol: {SP}\r\n", head)
            self.assertEqual(s.recv(10, socket.MSG_WAITALL), b"\x82\x08" + GREETING)

    def test_web_sockets_of_other_pages_are_refused(self):
        node = self.listen()
        self.let_in()
        for origin in ("http://evil.example", "null", f"http://127.0.0.1:{self.port}", "http://localhost", "",
                       "file://", "chrome-extension://abc"):
            self.refused(403, origin=origin)
        node.log(r"127\.0\.0\.1:\d+.*a page of http://evil\.example.*--ws-origin")

    def test_web_sockets_of_allowed_pages_are_accepted(self):
        self.listen("--ws-origin", "https://board.example", "--ws-origin", "http://127.0.0.1:8000")
        self.let_in(origin="https://board.example")
        self.let_in(origin="https://BOARD.example")
        self.let_in(origin="http://127.0.0.1:8000")
        for origin in ("https://board.example.evil", "http://board.example", "https://board.example:8443",
                       "http://127.0.0.1:80", "https://board.example, http://127.0.0.1:8000",
                       "http://127.0.0.1:80001"):
            self.refused(403, origin=origin)
        self.refused(400, origin="https://board.example", more=["Origin: http://evil.example"])

    def test_a_request_with_the_host_name_of_another_site_is_refused(self):
        """In DNS rebinding the page's own host name leads to this node."""
        for listen in "127.0.0.1", "0.0.0.0":
            node = self.listen("--insecure", host=listen)
            for host in ("127.0.0.1", f"localhost:{self.port}", "LOCALHOST", f"[::1]:{self.port}", "10.1.2.3:80"):
                self.let_in(host=host)
            for host in (f"evil.example:{self.port}", "localhost.evil.example", "127.0.0.1.evil.example", "1.2.3",
                         "127.0.0.1:x", "[::1", "[::1].evil.example", "::1.example"):
                self.refused(421, host=host)
            self.refused(400, host="")
            self.refused(400, more=["Host: evil.example"])
            self.refused(421, host=f"evil.example:{self.port}", origin=f"http://evil.example:{self.port}")
            node.stop()

    def test_a_web_socket_without_the_subprotocol_is_refused(self):
        self.listen()
        self.let_in(protocol=f"chat, {SP}")
        for protocol in None, "chat", "pair1.sp.nanomsg.org", SP + ".example", "":
            self.refused(400, protocol=protocol)

    def test_requests_for_no_web_socket_are_refused(self):
        self.listen()
        self.refused(404, path="/")
        self.refused(404, path="/weft2")
        self.refused(405, method="POST")
        self.let_in(path="/weft?x=1")
        for text, status in ((b"GET /weft HTTP/1.0\r\nHost: localhost\r\n\r\n", b"400"), (b"hello\r\n\r\n", b"400"),
                             (request("/weft", "Host: localhost"), b"426"), (b"x" * 100000, b"431"),
                             (request("/weft", "Host: localhost", " folded: yes"), b"400"),
                             (request("/weft", "Host: local\0host"), b"400")):
            with connect(self.port) as s:
                try:
                    s.sendall(text)
                except ConnectionError:
                    continue  # The node answered before it had the rest.
                answer = rest(s)
                gone = answer == b"" and len(text) > 8192
                self.assertTrue(gone or answer.startswith(b"HTTP/1.1 " + status), answer)

    def test_a_web_socket_request_may_come_byte_by_byte(self):
        self.listen()
        with connect(self.port) as s:
            for byte in request("/weft", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade",
                                "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}",
                                f"Sec-WebSocket-Protocol: {SP}"):
                s.sendall(bytes([byte]))
            head = b""
            while b"\r\n\r\n" not in head:
                head += s.recv(1)
            self.assertTrue(head.startswith(b"HTTP/1.1 101 "), head)
            self.assertEqual(s.recv(10, socket.MSG_WAITALL), b"\x82\x08" + GREETING)
            # A ping is answered before the next frame, which here is the end, because the greeting is wrong.
            s.sendall(b"\x82\x84\0\0\0\0oops")
            self.assertEqual(rest(s), b"")

    def test_tools_look_and_talk_but_do_not_control(self):
        node = self.listen("--loopback-control")  # This option does not allow control over ws://.
        url = f"ws://127.0.0.1:{self.port}/weft"
        self.assertIn("echo", self.weft("ps", "--node", url))
        self.assertIn("7", self.weft("call", "echo", "[7]", "--node", url))
        for words in ("stop",), ("drain",), ("reload", MODULE), ("log", "debug"):
            self.assertIn("ws://", self.weft(*words, "--node", url, code=1))
        node.log(r"refused a CALL_NAME of .*: .*ws://")
        self.assertIn("a has ended", self.weft("stop", "--node", "a"))


class Metrics(Node):
    """The HTTP server of --metrics."""

    def serve(self, where="0"):
        self.node = self.run_node("--metrics", where)
        self.port = int(self.node.log(r"metrics on http://.*:(\d+)/metrics")[1])

    def ask(self, *lines, path="/metrics", method="GET", source="127.0.0.1"):
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE, (source, 0)) as s:
            s.sendall(request(path, *lines, method=method))
            head, _, body = rest(s).partition(b"\r\n\r\n")
            return head.decode(), body

    def status(self, *lines, **how):
        return int(self.ask(*lines, **how)[0].split()[1])

    def test_metrics_are_served_under_the_own_host_names_only(self):
        self.serve()
        for host in (f"127.0.0.1:{self.port}", "localhost", f"LocalHost:{self.port}", "[::1]:1", "10.9.8.7"):
            for path in "/", "/metrics", "/nodes.json", "/healthz", "/readyz":
                self.assertEqual(self.status(f"Host: {host}", path=path), 200, (host, path))
        for host in ("evil.example", f"evil.example:{self.port}", "localhost.evil.example", "127.0.0.1.evil.example",
                     "127.0.0.1:x", ""):
            head, body = self.ask(f"Host: {host}")
            self.assertTrue(head.startswith("HTTP/1.1 421 "), (host, head))
            self.assertNotIn(b"weft_", body)
        self.assertEqual(self.status("Host: localhost", "Host: evil.example"), 400)
        self.assertEqual(self.status(), 400)

    def test_metrics_are_served_under_the_name_of_the_option(self):
        name = socket.gethostname()
        try:
            socket.getaddrinfo(name, None, socket.AF_INET)
        except OSError:
            self.skipTest("this machine's name has no address")
        node = self.run_node("--metrics", f"{name}:0")
        host, port = node.log(r"metrics on http://(.*):(\d+)/metrics").groups()
        with socket.create_connection((host.strip("[]"), int(port)), PATIENCE) as s:
            s.sendall(request("/readyz", f"Host: {name.upper()}:{port}"))
            self.assertIn(b"200 OK", rest(s))

    def test_requests_for_no_metrics_are_refused(self):
        self.serve()
        here = "Host: localhost"
        self.assertEqual(self.status(here, path="/other"), 404)
        self.assertEqual(self.status(here, method="POST"), 405)
        self.assertEqual(self.status(here, "X: " + "x" * 5000), 431)
        head, body = self.ask(here, method="HEAD", path="/readyz")
        self.assertIn("Content-Length: 6", head)
        self.assertEqual(body, b"")
        self.assertIn(b"weft_", self.ask(here, path="/metrics?x=1")[1])

    def test_a_client_that_sends_no_request_gets_its_share_and_its_time(self):
        self.serve()
        idle = [socket.create_connection(("127.0.0.1", self.port), PATIENCE, ("127.0.0.2", 0)) for _ in range(200)]
        for s in idle:
            self.addCleanup(s.close)
        for _ in range(5):
            self.assertEqual(self.status("Host: localhost", path="/readyz"), 200)
        idle[0].sendall(b"GET / HTT")  # This request has begun, but never becomes complete.
        for s in idle:
            self.assertEqual(rest(s), b"")  # The node closes it: at once, or when its time is over.
        self.assertEqual(self.status("Host: localhost", path="/readyz", source="127.0.0.2"), 200)


class Lines(unittest.TestCase):
    """Ports of examples that read lines."""

    def start(self, *command):
        program = Program(*command)
        self.addCleanup(program.kill)
        return program.line().rsplit(" ", 1)[1]

    def client(self, address):
        client = Client(address)
        self.addCleanup(client.close)
        return client

    def test_the_chat_does_not_read_http_requests_as_lines(self):
        address = self.start(built("examples", "chat"), "--port", "0")
        ann = self.client(address)
        self.assertIn("welcome", ann.line())
        for method in "POST", "GET", "PUT", "OPTIONS":
            with connect(int(address.rsplit(":", 1)[1])) as s:
                s.sendall(request("/", "Host: x", method=method) + b"hello from a page\r\n/join hall\r\n")
                self.assertNotIn(b"hello", rest(s))
        bob = self.client(address)
        bob.send("GET is a word, HTTP/1.1 too", "GET / HTTP/1.1")
        for line in "GET is a word, HTTP/1.1 too", "GET / HTTP/1.1":
            self.assertRegex(ann.line(), rf"^\[lobby\] guest\d+: {line}$")

    def test_the_chats_of_the_tutorial_do_not_read_http_requests_as_lines(self):
        for n in "2", "3":
            address = self.start(built("examples", f"tutorial_chat{n}"), "0")
            with connect(int(address.rsplit(":", 1)[1])) as s:
                s.sendall(request("/", "Host: x", method="POST") + b"hello from a page\r\n")
                self.assertNotIn(b"POST", rest(s))

    def test_clients_of_the_chat_have_a_share_of_places_and_a_time_for_a_line(self):
        address = self.start(built("examples", "chat"), "--port", "0", "--places", "40", "--patience", "1")
        port = int(address.rsplit(":", 1)[1])
        greedy = [socket.create_connection(("127.0.0.1", port), PATIENCE, ("127.0.0.2", 0)) for _ in range(400)]
        for s in greedy:
            self.addCleanup(s.close)
        ann = self.client(address)
        self.assertIn("welcome", ann.line())
        open_ones = [s for s in greedy if s.recv(1) == b"*"]
        self.assertEqual(len(open_ones), 10)
        open_ones[0].sendall(b"half a li")  # The end of the line does not come.
        self.assertIn(b"line", rest(open_ones[0]))
        self.assertEqual(ann.ask("still here")[-10:], "still here")

    @unittest.skipUnless(os.path.exists(built("examples", "webchat")), "this build has no libwslay-dev")
    def test_webchat_is_served_under_its_own_host_names_only(self):
        address = self.start(built("examples", "webchat"), "--port", "0", "--site", "chat.example")
        port = int(re.search(r":(\d+)/$", address)[1])
        for host, status in ((f"127.0.0.1:{port}", b"200"), ("localhost", b"200"), ("[::1]:80", b"200"),
                             ("CHAT.example", b"200"), ("evil.example", b"421"), (f"evil.example:{port}", b"421"),
                             ("127.0.0.1.evil.example", b"421"), ("chat.example.evil", b"421")):
            for path in "/", "/chat?room=lobby&nick=eve":
                upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                           f"Sec-WebSocket-Key: {KEY}", f"Origin: http://{host}"] if path != "/" else []
                with connect(port) as s:
                    s.sendall(request(path, f"Host: {host}", *upgrade))
                    wanted = b"101" if upgrade and status == b"200" else status
                    self.assertEqual(s.recv(12, socket.MSG_WAITALL), b"HTTP/1.1 " + wanted, (host, path))


def processor_time(pid):
    with open(f"/proc/{pid}/stat") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Places(Node):
    """Clients that take all places."""

    def crowd(self, port, addresses, each):
        """Opens connections that send nothing, from other addresses of this machine."""
        for i in range(each * len(addresses)):
            s = socket.socket()
            self.addCleanup(s.close)
            s.bind((addresses[i % len(addresses)], 0))
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))

    def test_an_address_with_many_connections_leaves_places_to_others(self):
        for scheme, options in ("tcp", ()), ("tcp", ("--carrier", "nng")), ("ws", ()):
            with self.subTest(scheme=scheme, options=options):
                node = self.run_node("--listen", f"{scheme}://127.0.0.1:0", *options)
                url, port = node.log(rf"listens on ({scheme}://127\.0\.0\.1:(\d+))").groups()
                self.crowd(int(port), ["127.0.0.2"], 400)
                for _ in range(5):
                    self.assertIn("7", self.weft("call", "echo", "[7]", "--node", url))
                node.stop()

    def test_an_operator_gets_in_while_all_places_are_taken(self):
        node = self.run_node("--listen", "tcp://127.0.0.1:0")
        port = int(node.log(r"listens on tcp://127\.0\.0\.1:(\d+)")[1])
        self.crowd(port, [f"127.0.1.{i}" for i in range(1, 10)], 60)
        for _ in range(5):
            self.assertIn("echo", self.weft("ps", "--node", "a"))

    def test_an_operator_gets_in_while_descriptors_are_used_up(self):
        """No node spins, because a connection that is not accepted costs nothing."""
        for options in (["--listen", "tcp://127.0.0.1:0"], ["--listen", "tcp://127.0.0.1:0", "--carrier", "nng"],
                        ["--listen", "ws://127.0.0.1:0"], ["--metrics", "0"]):
            with self.subTest(options=options):
                node = self.run_node(*options, prefix=("sh", "-c", 'ulimit -n 64 && exec "$@"', "sh"))
                port = int(node.log(r"//127\.0\.0\.1:(\d+)")[1])
                self.crowd(port, [f"127.0.1.{i}" for i in range(1, 10)], 20)
                # Five tools come one after the other; meanwhile the node does little else than answer them.
                used, began = processor_time(node.pid), time.monotonic()
                for _ in range(5):
                    self.assertIn("echo", self.weft("ps", "--node", "a"))
                used, took = processor_time(node.pid) - used, time.monotonic() - began
                self.assertLess(used, took / 2, f"the node used {used:.2f} s of processor time in {took:.2f} s")
                node.stop()


if __name__ == "__main__":
    unittest.main()
