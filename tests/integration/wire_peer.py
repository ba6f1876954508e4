#!/usr/bin/env python3
"""A node of a weft cluster in Python, for tests: docs/wire.md in code, with nothing but the standard library.

It was written from that page alone, and must stay so: if it needs something that the page does not say, the page is
wrong. It has no threads. It reads while a test waits, and handles the frames of the link itself (START, ACK, PING,
CHUNK). Its heartbeat is a minute by default, so that nodes do not mind when it is not reading."""
import base64
import collections
import hashlib
import secrets
import socket
import ssl
import struct
import time
import urllib.parse

HELLO, WELCOME, REFUSED, BYE, PING, PONG, PEERS, INTEREST, ACK, START, CHUNK = range(1, 12)
SEND, CALL, REPLY, FAILED, STOP = range(16, 21)
SEND_NAME, CALL_NAME, PUBLISH = 24, 25, 32
WATCH, UNWATCH, DOWN, LINK, UNLINK, EXIT, KILL, PROBE = 40, 41, 42, 43, 44, 45, 46, 48
SWIM_PING, SWIM_ACK, SWIM_ASK, SWIM_SYNC, TABLE, GROUP_SEND, PUBLISH_TO, RETAINED, MISSED = range(50, 59)
CREDIT_REQUEST, CREDIT, SPAWN, SPAWNED, CREDIT_REQUEST_NAME = range(60, 65)
RESUME, CHUNKS, GOSSIP, TABLES, CREDITS, SPAWNS, TOPICS, PATTERNS = (1 << bit for bit in range(8))
TOOL = 1  # A bit of the flags of HELLO.
OVER, BROKEN, UP = range(3)  # The state of a link in WELCOME.
UNCOUNTED = {0, HELLO, WELCOME, REFUSED, PING, PONG, ACK, START, 12, 13, 14, 15}
NO_DEADLINE = 2 ** 64 - 1
BEGIN_MAX, BATCH_MAX = 4096, 256 * 1024 + 16 * 1024 * 1024 + 1024
SP = b"\0SP\0\0\x10\0\0"
SUBPROTOCOL = "pair.sp.nanomsg.org"
PATIENCE = 60.0


class Refused(Exception):
    """The node refuses this peer, or the peer refuses the node."""

    def __init__(self, code, reason):
        super().__init__(f"{code}: {reason}")
        self.code, self.reason = code, reason


class Closed(ConnectionError):
    """The connection is gone."""


# ---- msgpack

def pack(value):
    """Packs None, booleans, integers, texts, bytes, lists and tuples, and dictionaries."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        if -32 <= value < 128:
            return struct.pack(">b", value)
        signed = value < 0
        size = next(n for n in range(4) if -(1 << (8 << n) - 1) <= value < 1 << (8 << n))
        return bytes([(0xD0 if signed else 0xCC) + size]) + value.to_bytes(1 << size, "big", signed=signed)
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogateescape")
        return _head(len(data), 0xA0, 32, (0xD9, 0xDA, 0xDB)) + data
    if isinstance(value, (bytes, bytearray)):
        return _head(len(value), 0, 0, (0xC4, 0xC5, 0xC6)) + bytes(value)
    if isinstance(value, dict):
        return _head(len(value), 0x80, 16, (None, 0xDE, 0xDF)) + b"".join(pack(k) + pack(v) for k, v in value.items())
    return _head(len(value), 0x90, 16, (None, 0xDC, 0xDD)) + b"".join(map(pack, value))


def _head(size, short, shorts, kinds):
    if size < shorts:
        return bytes([short + size])
    width = next(n for n in range(3) if kinds[n] is not None and size < 1 << (8 << n))
    return bytes([kinds[width]]) + size.to_bytes(1 << width, "big")


def unpack(data, at=0):
    """Returns a value and the place where it ends."""
    kind = data[at]
    if kind < 0x80 or kind >= 0xE0:
        return (kind if kind < 0x80 else kind - 256), at + 1
    if kind < 0x90:
        return _unpack_map(data, at + 1, kind & 0x0F)
    if kind < 0xA0:
        return _unpack_array(data, at + 1, kind & 0x0F)
    if kind < 0xC0:
        return _text(data, at + 1, kind & 0x1F)
    if kind in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[kind], at + 1
    if 0xCC <= kind <= 0xD3:
        end = at + 1 + (1 << (kind & 3))
        return int.from_bytes(data[at + 1:end], "big", signed=kind >= 0xD0), end
    width = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}[kind]
    size, start = int.from_bytes(data[at + 1:at + 1 + width], "big"), at + 1 + width
    if kind <= 0xC6:
        return bytes(data[start:start + size]), start + size
    if kind <= 0xDB:
        return _text(data, start, size)
    return _unpack_array(data, start, size) if kind <= 0xDD else _unpack_map(data, start, size)


def _text(data, at, size):
    return bytes(data[at:at + size]).decode("utf-8", "surrogateescape"), at + size


def _unpack_array(data, at, count):
    values = []
    for _ in range(count):
        value, at = unpack(data, at)
        values.append(value)
    return values, at


def _unpack_map(data, at, count):
    values, at = _unpack_array(data, at, 2 * count)
    return dict(zip(values[::2], values[1::2])), at


# ---- Bytes

class WebSocket:
    """A stream in the binary messages of a WebSocket, which does what the standard asks for and no more."""

    def __init__(self, plain, masks):
        self.plain, self.masks, self.left = plain, masks, 0
        self.bytes = b""

    @classmethod
    def dial(cls, plain, host, path, *more):
        """`more` has further lines of the request."""
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Protocol: {SUBPROTOCOL}"]
        plain.sendall("".join(line + "\r\n" for line in (*lines, *more, "")).encode())
        self = cls(plain, True)
        head = self._head()
        assert head[0].split()[1] == "101", head[0]
        said = dict(line.lower().split(": ", 1) for line in head[1:])
        assert said["sec-websocket-protocol"] == SUBPROTOCOL, said
        assert said["sec-websocket-accept"] == cls.proof(key).lower(), said
        return self

    @classmethod
    def accept(cls, plain):
        self = cls(plain, False)
        head = self._head()
        self.request, said = head[0], {k.lower(): v for k, v in (line.split(": ", 1) for line in head[1:])}
        self.headers = said
        plain.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       f"Sec-WebSocket-Accept: {cls.proof(said['sec-websocket-key'])}\r\n"
                       f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n").encode())
        return self

    @staticmethod
    def proof(key):
        joined = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return base64.b64encode(hashlib.sha1(joined.encode()).digest()).decode()

    def _head(self):
        while b"\r\n\r\n" not in self.bytes:
            self._more()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        return head.decode().split("\r\n")

    def _more(self):
        more = self.plain.recv(65536)
        if not more:
            raise Closed("closed by the other side")
        self.bytes += more

    def _take(self, count):
        while len(self.bytes) < count:
            self._more()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def sendall(self, data, opcode=2, fin=True):
        size = len(data)
        mask = secrets.token_bytes(4) if self.masks else b""
        bit = 0x80 if self.masks else 0
        head = bytes([(0x80 if fin else 0) | opcode])
        head += bytes([bit | size]) if size < 126 else \
            struct.pack(">BH", bit | 126, size) if size < 65536 else struct.pack(">BQ", bit | 127, size)
        if mask:
            wide = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            data = (int.from_bytes(data, "big") ^ wide).to_bytes(size, "big")
        self.plain.sendall(head + mask + data)

    def recv(self, most):
        """Returns at most `most` bytes, like a socket; b"" means that the other side has closed."""
        while self.left == 0:
            try:
                first, second = self._take(2)
            except Closed:
                return b""
            size = second & 0x7F
            size = struct.unpack(">H", self._take(2))[0] if size == 126 else \
                struct.unpack(">Q", self._take(8))[0] if size == 127 else size
            self.mask = self._take(4) if second & 0x80 else b"\0\0\0\0"
            if first & 0x0F == 8:
                return b""
            if first & 0x0F == 9:
                self.sendall(self._unmasked(self._take(size)), 10)
            elif first & 0x0F == 10:
                self.pong = self._unmasked(self._take(size))
            else:
                self.left = size
        if not self.bytes:
            self._more()
        part = self._take(min(most, self.left, len(self.bytes)))
        self.left -= len(part)
        return self._unmasked(part)

    def _unmasked(self, data):
        plain = bytes(byte ^ self.mask[i & 3] for i, byte in enumerate(data)) if any(self.mask) else data
        self.mask = self.mask[len(data) & 3:] + self.mask[:len(data) & 3]
        return plain

    def settimeout(self, seconds):
        self.plain.settimeout(seconds)

    def close(self):
        self.plain.close()


def tls_context(certs, who, server=False):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(f"{certs}/ca.crt")
    context.load_cert_chain(f"{certs}/{who}.crt", f"{certs}/{who}.key")
    return context


def dial(url, tls=None):
    """Connects to the URL, and returns the stream and whether it is a Unix socket. `tls` is (folder with certificates,
    name of the certificate)."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme in ("ipc", "abstract"):
        plain = socket.socket(socket.AF_UNIX)
        plain.settimeout(PATIENCE)
        plain.connect(("\0" if parts.scheme == "abstract" else "") + url.split("://", 1)[1])
        return plain, True
    plain = socket.create_connection((parts.hostname, parts.port), PATIENCE)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if parts.scheme in ("tls+tcp", "wss"):
        plain = tls_context(*tls).wrap_socket(plain)
    if parts.scheme in ("ws", "wss"):
        plain = WebSocket.dial(plain, parts.netloc, parts.path or "/")
    return plain, False


class Connection:
    """One connection, which carries batches of frames in both directions."""

    def __init__(self, stream, local=False):
        self.stream, self.prefix = stream, b"\1" if local else b""
        self.bytes, self.budget, self.most = bytearray(), None, BEGIN_MAX
        stream.settimeout(PATIENCE)
        stream.sendall(SP)

    def _need(self, count):
        while len(self.bytes) < count:
            if self.budget == 0:
                raise Closed("cut here, as a test wants it")
            most = 65536 if self.budget is None else min(65536, self.budget)
            try:
                more = self.stream.recv(most)
            except TimeoutError:
                raise
            except OSError as why:
                raise Closed(str(why)) from None
            if not more:
                raise Closed("closed by the other side")
            self.bytes += more
            if self.budget is not None:
                self.budget -= len(more)

    def take(self, count):
        self._need(count)
        taken = bytes(self.bytes[:count])
        del self.bytes[:count]
        return taken

    def expect_header(self):
        header = self.take(8)
        if header != SP:
            raise Closed(f"no SP header of PAIR but {header}")

    def batch(self):
        """Returns the frames of the next batch. An incomplete batch counts as nothing."""
        head = len(self.prefix) + 8
        self._need(head)
        assert self.bytes[:len(self.prefix)] == self.prefix
        size = struct.unpack(">Q", self.bytes[len(self.prefix):head])[0]
        assert size <= BATCH_MAX, size
        self._need(head + size)
        data = self.take(head + size)
        at, frames = head, []
        while at < len(data):
            frame, at = unpack(data, at)
            frames.append(frame)
        return frames

    def wrapped(self, data):
        return self.prefix + struct.pack(">Q", len(data)) + data

    def send(self, data):
        """Sends one batch, which is packed already."""
        try:
            self.stream.sendall(self.wrapped(data))
        except TimeoutError:
            raise
        except OSError as why:
            raise Closed(str(why)) from None

    def close(self):
        self.stream.close()


# ---- Links

class LinkState:
    """The state that a link keeps from one connection to the next. A link with number 0 cannot be resumed."""

    def __init__(self, number):
        self.number, self.received, self.sent = number, 0, 0
        self.kept = collections.deque()  # Each is (number, packed frame), and not acknowledged yet.
        self.part = None  # A message that comes in chunks: [frame, how many bytes are missing, parts].

    def acknowledged(self, count):
        assert count <= self.sent, f"{count} acknowledged, {self.sent} sent"
        while self.kept and self.kept[0][0] <= count:
            self.kept.popleft()


class Peer:
    """A node, or a tool. `link()` makes the link; `resume()` goes on with it after a cut."""

    def __init__(self, url, name, incarnation=None, flags=0, capabilities=0, heartbeat=60000, urls=(), cluster="weft",
                 version=1, newest=2, tls=None):
        self.url, self.name, self.flags, self.capabilities = url, name, flags, capabilities
        self.incarnation = incarnation or secrets.randbits(64) or 1
        self.cluster, self.heartbeat, self.urls, self.tls = cluster, heartbeat, list(urls), tls
        self.version, self.newest = version, newest
        self.connection = self.hello = self.state = self.listener = None
        self.last_number = self.numbers = 0
        self.inbox = collections.deque()
        self.answers_pings = self.acknowledges = True
        self.members = Members(self) if capabilities & GOSSIP else None

    # ---- Connections

    def connect(self):
        stream, local = dial(self.url, self.tls)
        self.connection = Connection(stream, local)
        self.connection.expect_header()
        return self

    def listen(self, scheme="tcp"):
        """From now on the HELLOs of this peer say where it may be dialled. To be called before it is linked."""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE)
        self.urls = [f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}" + ("/peer" if scheme == "ws" else "")]
        return self

    def accept(self):
        """Replaces connect(): the node dials."""
        stream = self.listener.accept()[0]
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.urls[0].startswith("ws"):
            stream = WebSocket.accept(stream)
        self.connection = Connection(stream)
        self.connection.expect_header()
        return self

    def close(self):
        for what in (self.connection, self.listener):
            if what is not None:
                what.close()

    @property
    def socket(self):
        return self.connection.stream

    def cut(self):
        """Drops the connection, and the part of a batch that has arrived."""
        self.connection.close()
        self.connection = None

    # ---- The handshake

    def greet(self):
        """Exchanges HELLO."""
        hello = [self.version, self.capabilities, self.cluster, self.name, self.incarnation, self.flags,
                 self.heartbeat, self.urls]
        if self.newest is not None:
            hello.append([self.newest])
        self.connection.send(pack([HELLO, hello]))
        self.hello = self.during(HELLO)[1]
        return self

    def during(self, wanted):
        """Returns the next frame of the handshake; the frames behind it in its batch stay for later."""
        while True:
            while self.early:
                frame = self.early.popleft()
                if frame[0] == REFUSED:
                    raise Refused(frame[1], frame[2])
                if frame[0] == wanted:
                    return frame
                assert frame[0] not in (HELLO, WELCOME), f"{frame} instead of {wanted}"
            self.early.extend(self.connection.batch())

    @property
    def early(self):
        if not hasattr(self.connection, "early"):
            self.connection.early = collections.deque()
        return self.connection.early

    @property
    def node(self):
        """Returns the incarnation of the other side."""
        return self.hello[4]

    def can(self, capability):
        return bool(self.capabilities & self.hello[1] & capability)

    def can_resume(self):
        return self.can(RESUME) and not (self.flags | self.hello[5]) & TOOL

    def welcome(self, number, count, state):
        return pack([WELCOME, number, count, state] if self.can_resume() else [WELCOME])

    def link(self, *frames, resend=False):
        """Connects and greets if that was not done yet, and agrees on a link: the existing one, or a new one. `frames`
        go in the batch of the second WELCOME, or behind it. With `resend` all frames without an ACK are sent again,
        whatever WELCOME says."""
        if self.connection is None:
            self.connect()
        if not hasattr(self.connection, "early"):
            self.greet()
        resumes = self._decide() if self.incarnation < self.node else self._offer()
        self.connection.most = BATCH_MAX
        self._begin(resumes, resend, frames)
        self._take(list(self.early))
        return self

    resume = link

    def _offer(self):
        """Does the part of the side with the higher incarnation: it sends WELCOME. Returns the other side's count, or
        None for a new link."""
        s = self.state
        if s is None:
            self.connection.send(self.welcome(self.last_number, 0, OVER))
        else:
            self.connection.send(self.welcome(s.number, s.received, BROKEN))
        said = self.during(WELCOME) + [0, 0, 0]
        self.second = b""
        if s is not None and said[1] != 0 and said[1] == s.number:
            return said[2]
        if said[1] != 0 and said[1] == self.last_number:
            self.close()
            raise Refused(0, "this side has given up the link of that number")
        self._new(said[1])
        return None

    def _decide(self):
        """Does the part of the side with the lower incarnation, which has a link without a connection, or no link."""
        said, s = self.during(WELCOME) + [0, 0, 0], self.state
        number, count, state = said[1:4]
        goes_on = s is not None and s.number != 0 and self.can_resume() and (
            state != OVER if number == s.number else s.received == 0 and s.sent == len(s.kept))
        if goes_on:
            self.second = self.welcome(s.number, s.received, BROKEN)
            return count if number == s.number else 0
        self.numbers += 1
        self._new(self.numbers if self.can_resume() else 0)
        self.second = self.welcome(self.state.number, 0, OVER)
        return None

    def _new(self, number):
        self.state = LinkState(number)
        self.last_number = number

    def _begin(self, resumes, resend, frames):
        s, first = self.state, self.second
        if resumes is not None and not resend:
            s.acknowledged(resumes)
        if s.number != 0:
            first += pack([START, s.kept[0][0] - 1 if s.kept else s.sent])
            first += pack([ACK, s.received]) if s.received else b""
        first += b"".join(packed for _, packed in s.kept)
        first += b"".join(map(self._counted, frames))
        if first:
            self.connection.send(first)
        self.connection.placed = s.number == 0
        self.connection.at = 0

    def give_up(self):
        """Ends the link on this side; a new one may follow."""
        self.state = None

    # ---- Frames

    def _counted(self, frame):
        packed = pack(frame)
        s = self.state
        if s is not None and s.number != 0 and frame[0] not in UNCOUNTED:
            s.sent += 1
            s.kept.append((s.sent, packed))
        return packed

    def send(self, *frames):
        """Sends one batch."""
        self.connection.send(b"".join(map(self._counted, frames)))

    def send_part(self, part, *frames):
        """Works like send(), but cuts the connection after `size` bytes of the batch, if it is as long."""
        data = self.connection.wrapped(b"".join(map(self._counted, frames)))
        try:
            self.connection.stream.sendall(data[:part])
        except OSError:
            pass
        self.cut()

    def acknowledge(self):
        self.connection.send(pack([ACK, self.state.received]))

    def _take(self, frames):
        """Handles a batch: frames of the link are processed here, the others go to the inbox."""
        for frame in frames:
            kind = frame[0]
            if kind == START:
                assert not self.connection.placed and frame[1] <= self.state.received, frame
                self.connection.placed, self.connection.at = True, frame[1]
            elif kind == ACK:
                self.state.acknowledged(frame[1])
            elif self._is_new(kind):
                self._take_one(frame)

    def _is_new(self, kind):
        s = self.state
        if kind in UNCOUNTED or s.number == 0:
            return True
        assert self.connection.placed, f"{kind} before START"
        self.connection.at += 1
        if self.connection.at <= s.received:
            return False
        s.received = self.connection.at
        return True

    def _take_one(self, frame):
        kind = frame[0]
        if kind == PING and self.answers_pings:
            ack = pack([ACK, self.state.received]) if self.state.number and self.acknowledges else b""
            self.connection.send(ack + pack([PONG, frame[1]]))
        if kind == CHUNK:
            whole = self._take_chunk(frame)
            if whole is not None:
                self.inbox.append(whole)
        else:
            if self.members is not None and SWIM_PING <= kind <= SWIM_SYNC:
                self.members.take(frame)
            self.inbox.append(frame)

    def _take_chunk(self, frame):
        """Puts a message together, and returns it with the last of its chunks."""
        s = self.state
        if len(frame) > 2:
            assert s.part is None
            inner = frame[2]
            at = 4 if inner[0] in (PUBLISH, GROUP_SEND) else 5
            s.part = [inner, at, frame[1] - len(inner[at]), [inner[at]]]
        else:
            s.part[2] -= len(frame[1])
            s.part[3].append(frame[1])
        inner, at, left, parts = s.part
        assert left >= 0
        if left > 0:
            return None
        s.part = None
        inner[at] = b"".join(parts)
        return inner

    def pump(self):
        """Reads one batch."""
        self._take(self.connection.batch())

    def frame(self, *kinds, where=None):
        """Returns the next frame that has one of these kinds and is as wanted. All others stay for later."""
        until, at = time.monotonic() + PATIENCE, 0
        while True:
            for at in range(at, len(self.inbox)):
                found = self.inbox[at]
                if found[0] in kinds and (where is None or where(found)):
                    del self.inbox[at]
                    return found
            at = len(self.inbox)
            if time.monotonic() > until:
                raise TimeoutError(f"the node sent no expected frame of {kinds}; the last ones: "
                                   f"{list(self.inbox)[-9:]}")
            self.pump()

    def closed(self):
        """Reads until the other side has closed."""
        until = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < until:
                self.pump()
        except Closed:
            return True
        return False

    def fence(self):
        """Waits until the other side has read all frames that this side has sent on this connection."""
        number = secrets.randbits(60)
        self.connection.send(pack([PING, number]))
        self.frame(PONG, where=lambda frame: frame[1] == number)

    def forget(self):
        """Drops the frames that have arrived."""
        self.inbox.clear()

    # ---- Messages

    def call(self, to, tag, body=b"", sender=5, kinds=(REPLY, FAILED)):
        """Sends a request, and returns the frame that answers it; `to` is an actor or a name."""
        ref = secrets.randbits(60)
        self.send([CALL_NAME if isinstance(to, str) else CALL, to, sender, tag, ref, body])
        return self.frame(*kinds, where=lambda got: got[4] == ref)

    def ask(self, verb, body=b""):
        """Returns the answer of $node to a request: the value, or the text of an error."""
        if not isinstance(body, bytes):
            body = pack(body)
        got = self.call("$node", verb, body)
        assert got[0] == REPLY, got
        return got[5].decode() if got[3] == 0 else unpack(got[5])[0]

    def leave(self):
        """Sends BYE behind all earlier frames; the other side acknowledges, and closes."""
        if self.members is not None:
            self.members.say_left()
        self.send([BYE, "left"])
        try:
            self.closed()
        except TimeoutError:
            pass
        self.close()


# ---- Membership

ALIVE, SUSPECT, GONE, LEFT = range(4)


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & NO_DEADLINE
    x = (x ^ x >> 27) * 0x94D049BB133111EB & NO_DEADLINE
    return x ^ x >> 31


class Members:
    """The members that a small peer knows. It answers probes, refutes and says that it leaves; it probes no member."""

    def __init__(self, peer, metadata=None):
        self.peer, self.metadata, self.computes = peer, metadata or {}, True
        # Maps a node to its state, number, suspecting node and record.
        self.table = {peer.incarnation: [ALIVE, 1, 0, None]}

    def own(self):
        return [self.peer.name, self.peer.urls, self.metadata]

    def updates(self):
        self.table[self.peer.incarnation][3] = self.own()
        return [[node, state, number, by, *([record] if state <= SUSPECT else [])]
                for node, (state, number, by, record) in self.table.items() if state > SUSPECT or record]

    def digest(self):
        if not self.computes:
            return 0
        digest = 0
        for node, (state, number, _, _) in self.table.items():
            if state <= SUSPECT:
                digest ^= mix(mix(node) ^ (number * 2 + (state == SUSPECT) + 1) & NO_DEADLINE)
        return digest

    def learn(self, update):
        node, state, number, by, record = (update + [None])[:5]
        known = self.table.get(node)
        if node == self.peer.incarnation:
            if number >= known[1] and (state != ALIVE or number > known[1]):
                known[1] = number + 1
        elif known is None or (number, state) > (known[1], known[0]):
            if known is not None or record is not None:
                self.table[node] = [state, number, by, record or known[3]]

    def greet(self):
        self.peer.send([SWIM_PING, 1, self.digest(), 1, self.updates()[:1]])

    def take(self, frame):
        kind = frame[0]
        before = self.digest()
        for update in frame[-1]:
            self.learn(update)
        if kind == SWIM_PING:
            self.peer.send([SWIM_ACK, frame[1], self.digest(), 1, []])
            if frame[2] != before or not self.computes:
                self.peer.send([SWIM_SYNC, 0, self.updates()])
        elif kind == SWIM_ASK:
            mine = frame[2] == self.peer.incarnation
            self.peer.send([SWIM_ACK, frame[1], self.digest(), int(mine), []])
        elif kind == SWIM_SYNC and frame[1] & 1:
            self.peer.send([SWIM_SYNC, 0, self.updates()])

    def say_left(self):
        me = self.table[self.peer.incarnation]
        me[0] = LEFT
        self.peer.send([SWIM_SYNC, 0, [[self.peer.incarnation, LEFT, me[1], 0]]])
