"""Builds the other runtimes' programs and gives the command of each for one of our workloads."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from measure import on_first_core

HERE = os.path.dirname(os.path.abspath(__file__))
C = ["-O2", "-std=gnu11", "-D_GNU_SOURCE"]
CPP = ["-O2", "-std=c++17"]
BUILDS = {  # This is the order of the table's columns.
    "erlang": (["erlc", "-o", ".", "bench_peer.erl"], {}),
    "go": (["go", "build", "-o", "{out}/peer_go", "peer.go"], {"GO111MODULE": "off", "GOCACHE": "{out}/gocache"}),
    "boost-fiber": (["g++", *CPP, "-o", "{out}/peer_fiber", "fiber.cpp", "-lboost_fiber", "-lboost_context",
                     "-lpthread"], {}),
    "caf": (["g++", *CPP, "-o", "{out}/peer_caf", "caf.cpp", "-lcaf_core", "-lpthread"], {}),
    "nng": (["gcc", *C, "-o", "{out}/peer_nng", "nng.c", "-lnng"], {}),
    "redis": (["gcc", *C, "-o", "{out}/peer_redis", "redis.c"], {}),
    "nats": (["gcc", *C, "-o", "{out}/peer_nats", "nats.c", "-lnats"], {}),
    "zmq": (["gcc", *C, "-o", "{out}/peer_zmq", "zmq.c", "-lzmq"], {}),
    "libuv": (["gcc", *C, "-o", "{out}/peer_uv", "uv.c", "-luv"], {}),
    "asio": (["g++", *CPP, "-o", "{out}/peer_asio", "asio.cpp", "-lpthread"], {}),
    "epoll": (["gcc", *C, "-o", "{out}/peer_epoll", "epoll.c"], {}),
}
STORED = {  # beside "redis" and "nats", which have other programs for messages that are not stored
    "redis": ["gcc", *C, "-o", "{out}/stored_redis", "stored_redis.c"],
    "nats": ["gcc", *C, "-o", "{out}/stored_nats", "stored_nats.c", "-lnats"],
}
NAMES = tuple(BUILDS)
SERVERS = {"redis": "redis-server", "nats": "nats-server"}
PATH = os.environ.get("PATH", os.defpath) + ":/usr/sbin"  # Debian installs nats-server in this folder.
NATS = 'max_pending: 1GB\nwrite_deadline: "60s"\n'  # With this limit a subscriber that falls behind is not cut off.
JETSTREAM = 'jetstream {{ store_dir: "{0}", max_file: 100GB }}\n'
PROGRAMS = {"go": "peer_go", "boost-fiber": "peer_fiber", "caf": "peer_caf"}


class Peers:
    """A context manager: the built programs live in a temporary folder, and Erlang's name server and NATS's servers
    listen on ports of their own."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weft-peers-")
        self.names, self.servers, self.nats, self.disk = [], [], {}, []
        for name, (command, extra) in BUILDS.items():
            fill = {"out": self.folder.name}
            command = [self.folder.name if c == "." else c.format(**fill) for c in command]
            needed = [command[0]] + ([SERVERS[name]] if name in SERVERS else [])
            missing = [n for n in needed if shutil.which(n, path=PATH) is None]
            if missing:
                print(f"{name} is left out: {missing[0]} is missing", file=sys.stderr)
                continue
            environment = {**os.environ, **{k: v.format(**fill) for k, v in extra.items()}}
            done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=False)
            if done.returncode == 0 and name in STORED:
                command = [c.format(**fill) for c in STORED[name]]
                done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name} is left out: it does not build\n{done.stdout}{done.stderr}", file=sys.stderr)
            else:
                self.names.append(name)
        self.environment = {**os.environ, "ERL_EPMD_ADDRESS": "127.0.0.1",
                            "ERL_EPMD_PORT": str(20000 + os.getpid() % 10000), "ERL_CRASH_DUMP": "/dev/null"}
        if "erlang" in self.names and shutil.which("epmd"):
            self.servers.append(subprocess.Popen(["epmd"], env=self.environment))
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.terminate()
            server.wait()
        for folder in self.disk:
            folder.cleanup()
        self.folder.cleanup()

    def nats_url(self, kind):
        """Returns the URL of a server that is started when it is first needed. Kinds: "pinned", on the first core;
        "synced" and "unsynced", with streams on disk; "", for all other workloads."""
        if kind not in self.nats:
            folder = tempfile.mkdtemp(dir=self.folder.name)
            config = os.path.join(folder, "nats.conf")
            with open(config, "w", encoding="utf-8") as file:
                file.write(NATS + (JETSTREAM.format(self.disk_folder(kind == "synced")) if "sync" in kind else ""))
            server = subprocess.Popen(
                [shutil.which("nats-server", path=PATH), "--config", config, "--addr", "127.0.0.1", "--port", "-1",
                 "--ports_file_dir", folder], stderr=subprocess.DEVNULL,
                preexec_fn=on_first_core if kind == "pinned" else None)
            self.servers.append(server)
            self.nats[kind] = self.url_in(os.path.join(folder, f"nats-server_{server.pid}.ports"))
        return self.nats[kind]

    def disk_folder(self, synced):
        """For a server's files, in BENCH_DISK. NATS 2.9 acknowledges a message when it has written it, and syncs every
        two minutes; later versions can sync each message. `synced`: the file system does that, by the attribute S: each
        write to a file in the folder waits until it is on disk."""
        folder = tempfile.TemporaryDirectory(prefix="nats-", dir=os.environ.get("BENCH_DISK", "."))
        self.disk.append(folder)
        if synced:
            subprocess.run(["chattr", "+S", folder.name], check=True)
        return folder.name

    @staticmethod
    def url_in(path):
        """Returns the URL in the file that the server writes when it listens, or "" if there is none, so that the
        program fails."""
        for _ in range(500):
            try:
                with open(path, encoding="utf-8") as file:
                    return json.load(file)["nats"][0]
            except (OSError, ValueError):
                time.sleep(.01)
        return ""

    def command(self, name, workload, size):
        """Returns the command for a workload of ours, or None."""
        if name.split("-un")[0] not in self.names or name not in workload.peers:
            return None
        what, *rest = (workload.arguments or [workload.program.removeprefix("bench_")]) + workload.sizes[size]
        parked = what == "parked"
        what = workload.like[0] if workload.like else what
        far = workload.program == "bench_remote"
        if workload.program == "bench_stored":
            return self.stored_command(name, rest)
        if name == "redis":
            return [os.path.join(self.folder.name, "peer_redis"), *rest]
        if name == "nats":
            url = self.nats_url("pinned" if workload.setting == "pinned" else "")
            return [os.path.join(self.folder.name, "peer_nats"), url, what, *rest]
        if name in ("epoll", "nng", "libuv", "asio", "zmq"):
            return [os.path.join(self.folder.name, "peer_uv" if name == "libuv" else "peer_" + name), what, *rest]
        # Some have no number of workers on our side.
        threads = "2" if far else "1" if what in ("idle", "yield") else rest.pop(0)
        if name == "erlang":
            node = ["-name", f"bench{os.getpid()}@127.0.0.1", "-setcookie", "weft_bench", "-kernel",
                    "inet_dist_use_interface", "{127,0,0,1}"] if far else []
            what = "hibernate" if parked else what
            return ["erl", "-noinput", "+P", "4194304", "+S", f"{threads}:{threads}", *node, "-pa", self.folder.name,
                    "-run", "bench_peer", "main", what, *rest]
        return [os.path.join(self.folder.name, PROGRAMS[name]), what, threads, *rest]

    def stored_command(self, name, rest):
        if name == "redis":
            return [os.path.join(self.folder.name, "stored_redis"), *rest]
        url = self.nats_url("unsynced" if name == "nats-unsynced" else "synced")
        return [os.path.join(self.folder.name, "stored_nats"), url, *rest]
