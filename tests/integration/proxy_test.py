#!/usr/bin/env python3
"""examples/proxy.c between clients and real servers: both directions, their ends, back-pressure, idleness."""
import hashlib
import os
import select
import socket
import threading
import unittest

from harness import PATIENCE, Client, Program, built, eventually

SYN_SENT, LISTEN = "02", "0A"  # These are the numbers of the states in /proc/net/tcp.


class Server:
    """A server that only accepts; the test does the rest."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]

    def accept(self):
        connection = self.listener.accept()[0]
        connection.settimeout(PATIENCE)
        return connection


def receive(s, size):
    got = bytearray()
    while len(got) < size:
        more = s.recv(min(1 << 20, size - len(got)))
        assert more, f"the end after {len(got)} of {size} bytes"
        got += more
    return bytes(got)


def kernel_sockets():
    """Yields what Linux knows of TCP sockets: both ends, the state, and the bytes in the queues."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        return [line.split()[1:5] for line in file]


def hex_address(listener):
    return "0100007F:%04X" % listener.getsockname()[1]


def queued(listener):
    """Returns how many connections wait in the queue of a listener on 127.0.0.1 to be accepted."""
    found = [queues for local, _, state, queues in kernel_sockets()
             if (local, state) == (hex_address(listener), LISTEN)]
    return int(found[0].split(":")[1], 16)


def connecting(listener):
    """Returns how many sockets have asked it for a connection, and have no answer."""
    return sum((remote, state) == (hex_address(listener), SYN_SENT) for _, remote, state, _ in kernel_sockets())


class Proxy(unittest.TestCase):
    def proxy(self, to, *args):
        program = Program(built("examples", "proxy"), "--port", "0", "--to", to, *args)
        self.addCleanup(program.kill)
        self.address = program.line().removeprefix("proxy on ")
        return program

    def client(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        return client

    def pair(self, server):
        client = self.client()
        upstream = server.accept()
        self.addCleanup(upstream.close)
        return client.socket, upstream

    def server(self, *args):
        server = Server()
        self.addCleanup(server.listener.close)
        program = self.proxy(server.address, *args)
        return program, server

    def test_two_hundred_clients_talk_through_the_proxy(self):
        echo = Program(built("examples", "echo"), "--port", "0")
        self.addCleanup(echo.kill)
        proxy = self.proxy(echo.line().removeprefix("echo on "))
        clients = [self.client() for _ in range(200)]
        for i, client in enumerate(clients):
            client.send(f"{i}")
        for i, client in enumerate(clients):
            self.assertEqual(client.line(), f"{i}")
        sent, client = os.urandom(16 << 20), clients[0]
        sender = threading.Thread(target=client.socket.sendall, args=(sent,))
        sender.start()  # Both directions are full at the same time.
        got = receive(client.socket, len(sent))
        sender.join()
        self.assertEqual(hashlib.sha256(got).digest(), hashlib.sha256(sent).digest())
        proxy.stop()

    def test_the_end_of_one_direction_leaves_the_other_open(self):
        _, server = self.server()
        for first in range(2):
            ends = self.pair(server)
            one, other = ends[first], ends[1 - first]
            one.sendall(b"question")
            one.shutdown(socket.SHUT_WR)
            self.assertEqual(receive(other, 8), b"question")
            self.assertEqual(other.recv(1), b"")
            other.sendall(b"answer" * 10000)
            other.shutdown(socket.SHUT_WR)
            self.assertEqual(receive(one, 60000), b"answer" * 10000)
            self.assertEqual(one.recv(1), b"")

    def test_a_side_that_is_not_read_fills_no_memory_of_the_proxy(self):
        """A side whose peer does not read can send as much as the kernel's buffers hold and no more, and nothing is
        lost."""
        _, server = self.server()
        client, upstream = self.pair(server)
        client.setblocking(False)
        sent, block = 0, b"x" * 65536
        while select.select([], [client], [], 0.5)[1]:
            try:
                sent += client.send(block)
            except BlockingIOError:
                continue
            self.assertLess(sent, 64 << 20, "the proxy takes more bytes than its buffers hold")
        upstream.sendall(b"the other direction is free")
        client.settimeout(PATIENCE)
        self.assertEqual(receive(client, 27), b"the other direction is free")
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(receive(upstream, sent), b"x" * sent)
        self.assertEqual(upstream.recv(1), b"")

    def test_an_idle_connection_is_closed(self):
        _, server = self.server("--idle", str(int(PATIENCE / 10)))
        client, upstream = self.pair(server)
        client.sendall(b"x")
        self.assertEqual(receive(upstream, 1), b"x")
        self.assertEqual((client.recv(1), upstream.recv(1)), (b"", b""))

    def test_a_side_that_vanishes_ends_the_other_and_leaves_no_descriptor(self):
        proxy, server = self.server()
        descriptors = f"/proc/{proxy.pid}/fd"
        before = len(os.listdir(descriptors))
        for i in range(100):
            client = Client(self.address)
            upstream = server.accept()
            client.send("x" * 100000)
            linger = (socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            gone, left = (client.socket, upstream) if i % 2 else (upstream, client.socket)
            gone.setsockopt(*linger)
            gone.close()
            try:
                while left.recv(65536):
                    pass
            except ConnectionError:
                pass
            left.close()
        eventually("the proxy has closed the connections", lambda: len(os.listdir(descriptors)) <= before + 2)
        client, upstream = self.pair(server)
        client.sendall(b"still there")
        self.assertEqual(receive(upstream, 11), b"still there")
        proxy.stop()

    def test_a_reset_stays_a_reset(self):
        _, server = self.server()
        for first in range(2):
            ends = self.pair(server)
            gone, left = ends[first], ends[1 - first]
            gone.sendall(b"x")
            self.assertEqual(receive(left, 1), b"x")
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            gone.close()
            with self.assertRaises(ConnectionResetError):
                left.recv(1)

    def test_a_client_is_reset_if_no_server_listens(self):
        proxy, server = self.server()
        server.listener.close()
        with self.assertRaises(ConnectionResetError):
            self.client().socket.recv(1)
        proxy.log("no connection to .*: connection was refused")
        self.assertEqual(proxy.stop(), [])

    def silent_server(self):
        """Returns a listener whose queue is full: the kernel drops each SYN for it, until there is space."""
        # The queue is full when more than 0 connections wait.
        listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.addCleanup(listener.close)
        first = socket.create_connection(listener.getsockname(), PATIENCE)
        self.addCleanup(first.close)
        # A busy machine may still have to handle the ACK that puts it into the queue.
        eventually("the connection is in the queue of the listener", lambda: queued(listener) == 1)
        return listener

    def test_clients_that_leave_while_the_proxy_connects_leave_no_descriptor(self):
        listener = self.silent_server()
        proxy = self.proxy("127.0.0.1:%d" % listener.getsockname()[1])
        descriptors = f"/proc/{proxy.pid}/fd"
        before = len(os.listdir(descriptors))
        clients = [self.client() for _ in range(20)]
        eventually("the proxy connects for each client", lambda: connecting(listener) == len(clients))
        for i, client in enumerate(clients):
            if i % 2:  # A client that has sent bytes is known to have left only by its reset.
                client.send("x")
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
        eventually("the proxy has closed the connections", lambda: len(os.listdir(descriptors)) <= before)
        proxy.stop()

    def test_bytes_and_ends_that_come_while_the_proxy_connects_are_passed_on(self):
        """Neither the bytes nor the end of the stream are lost."""
        listener = self.silent_server()
        self.proxy("127.0.0.1:%d" % listener.getsockname()[1])
        said = os.urandom(100000)
        clients = [self.client().socket for _ in range(2)]
        clients[0].sendall(said)
        clients[1].sendall(b"all")
        for client in clients:
            client.shutdown(socket.SHUT_WR)
        eventually("the proxy connects for each client", lambda: connecting(listener) == len(clients))
        listener.settimeout(PATIENCE)
        listener.listen(16)  # There is space for both at once, whenever they try again.
        listener.accept()[0].close()
        got = []
        for _ in clients:
            upstream = listener.accept()[0]
            self.addCleanup(upstream.close)
            upstream.settimeout(PATIENCE)
            with upstream.makefile("rb") as file:
                got.append(file.read())
        self.assertEqual(sorted(got, key=len), [b"all", said])


if __name__ == "__main__":
    unittest.main()
