#!/usr/bin/env python3
"""Runs 24 nodes as processes, each in a network namespace of its own, and measures how soon each knows all others,
and their costs."""
import argparse
import json
import os
import struct
import sys
import tempfile
import time

from net import Net, Program, built, ip, why_not
from harness import PATIENCE, mapped

KINDS = ("all nodes linked", "all global names", "all members of a group", "all subscribers")
PORT = 4000


def traffic(net):
    """Returns the bytes and packets that all nodes have sent."""
    total = [0, 0]
    for name in net.names:
        sent = json.loads(ip("-s", "-j", "link", "show", "weft0", namespace=name))[0]["stats64"]["tx"]
        total[0] += sent["bytes"]
        total[1] += sent["packets"]
    return total


def memory(pid):
    """Returns RSS and PSS in KiB."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file if line.startswith(("Rss", "Pss:")))
    return [int(lines[key].split()[0]) for key in ("Rss", "Pss")]


def start(net, folder, i, count):
    path = os.path.join(folder, str(i))
    times = mapped(path, 4096)
    words = [built("cli", "weft"), "run", built("tests", "faults_converge.so"), "--name", f"n{i}", "--insecure",
             "--listen", f"tcp://{net.address(i)}:{PORT}"]
    for seed in (0, 1):
        words += ["--join", f"tcp://{net.address(seed)}:{PORT}"] if seed != i else []
    program = Program(*net.inside(i, *words, "--", path, str(count), str(i)),
                      env=dict(os.environ, XDG_RUNTIME_DIR=folder))
    return program, times


def measure(count, idle):
    with tempfile.TemporaryDirectory(prefix="weft-") as folder, Net(count) as net:
        nodes, begin = [], time.monotonic()
        try:
            for i in range(count):
                nodes.append(start(net, folder, i, count))
            started = time.monotonic() - begin
            while min(min(struct.unpack_from("4q", times)) for _, times in nodes) == 0:
                assert time.monotonic() < begin + 4 * PATIENCE, "they do not find each other"
                time.sleep(0.05)
            print(f"{count} nodes, the last one started after {started:.2f} s")
            for k, kind in enumerate(KINDS):
                last = max(struct.unpack_from("4q", times)[k] for _, times in nodes) / 1e9 - begin
                print(f"{kind}: after {last:.2f} s")
            time.sleep(5)
            before, at = traffic(net), time.monotonic()
            time.sleep(idle)
            spent, after = time.monotonic() - at, traffic(net)
            each = [(b - a) / spent / count for a, b in zip(before, after)]
            rss, pss = (sum(column) / count / 1024 for column in zip(*[memory(p.pid) for p, _ in nodes]))
            print(f"memory of a node: RSS {rss:.1f} MiB, PSS {pss:.1f} MiB")
            print(f"idle, a node sends: {each[0]:.0f} bytes/s in {each[1]:.1f} packets/s, with the headers of TCP/IP")
        finally:
            for program, _ in nodes:
                program.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=24, help="at most 32")
    parser.add_argument("--idle", type=float, default=20, help="seconds")
    settings = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    measure(settings.nodes, settings.idle)
    return 0


if __name__ == "__main__":
    sys.exit(main())
