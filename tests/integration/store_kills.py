#!/usr/bin/env python3
"""Publications to a stored topic while the process of the store is killed again and again: ./dev kills.

usage: store_kills.py [--power] [--seed N] [PUBLICATIONS [KILLS]]

It publishes until so many publications are acknowledged (default: 1,000,000), and kills the process with SIGKILL so
many times meanwhile (default: 100), at random moments, also while it opens the store. In the end every acknowledged
publication has to be stored once, at its offset, with its content, and those of each publisher in their order. One that
was not acknowledged may be there, once.

--power    what was not synced is lost at each kill, but for a random part of it (tests/faults/dropping_vfs.c), as when
           the machine loses power
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import PATIENCE, built  # noqa: E402

TOPIC, PUBLISHERS = "room.a", 256


class Kills:
    def __init__(self, folder, seed, power):
        self.random, self.power = random.Random(seed), power
        self.url = "sqlite:" + os.path.join(folder, "store.db")
        self.acknowledged = {}  # offset: (epoch, text)
        self.faults, self.kills, self.opening, self.unacknowledged = [], 0, 0, 0
        self.log = os.path.join(folder, "node.log")
        self.env = {**os.environ, "XDG_RUNTIME_DIR": folder, "WEFT_CONFIG": "none"}

    def start(self):
        env = {**self.env, "STORE_DROPS": str(self.random.getrandbits(60))} if self.power else self.env
        with open(self.log, "w", encoding="utf-8") as log:
            return subprocess.Popen([built("cli", "weft"), "run", built("tests", "test_storing.so"), "--name", "a",
                                     "--listen", "none", "--store", self.url, "--stored", "room.>", "--", "publish",
                                     TOPIC, str(PUBLISHERS)], stdout=subprocess.PIPE, stderr=log, env=env)

    def take(self, line):
        words = line.decode().split()
        if not line.endswith(b"\n") or len(words) != 3:
            return False  # "ready", or the line was cut
        at = int(words[1])
        if at in self.acknowledged:
            self.faults.append(f"offset {at} was acknowledged twice: {self.acknowledged[at]}, {words}")
        self.acknowledged[at] = (words[0], words[2])
        return True

    def run_once(self, publications):
        """Kills it after so many acknowledgements; 0: at some moment while it starts and opens the store. False: it has
        ended by itself."""
        process, count = self.start(), 0
        if publications == 0:
            self.opening += 1
            time.sleep(self.random.random() * .1)  # the moment; nothing is waited for
        else:
            for line in process.stdout:
                count += self.take(line)
                if count >= publications:
                    break
        process.kill()
        for line in process.stdout:
            self.take(line)
        ended = process.wait() != -signal.SIGKILL
        process.stdout.close()
        self.kills += not ended
        if ended:
            with open(self.log, encoding="utf-8") as log:
                self.faults.append(f"the node has ended by itself with {process.returncode}: {log.read()[-500:]}")
        return not ended

    def run(self, publications, kills, progress=lambda text: None):
        for turn in range(kills):
            left = max(publications - len(self.acknowledged), 0)
            last = turn == kills - 1
            fair = left / (kills - turn)
            if not self.run_once(left if last else 0 if turn % 10 == 5 else 1 + int(self.random.random() * 2 * fair)):
                return
            if turn % 10 == 9:
                progress(f"{turn + 1} kills, {len(self.acknowledged)} acknowledged")

    def weft(self, *words):
        return subprocess.Popen([built("cli", "weft"), *words, "--store", self.url], stdout=subprocess.PIPE, env=self.env)

    def compare(self):
        """Adds to the faults what is not as it was acknowledged."""
        offset, seen, last = 0, set(), {}
        missing = dict(self.acknowledged)
        export = self.weft("store", "export", TOPIC)
        for line in export.stdout:
            row = json.loads(line)
            offset += 1
            text, at = row["text"], row["offset"]
            if at != offset:
                self.faults.append(f"offset {at} follows {offset - 1}")
                offset = at
            if text in seen:
                self.faults.append(f"{text} is stored twice, the second time at {at}")
            seen.add(text)
            node, actor, number = text.split("-")
            if int(number) <= last.get((node, actor), 0):
                self.faults.append(f"{text}, at {at}, is stored behind a later one of its publisher")
            last[node, actor] = int(number)
            acknowledged = missing.pop(at, None)
            if acknowledged is None:
                self.unacknowledged += 1
            elif acknowledged != (row["epoch"], text):
                self.faults.append(f"offset {at} has {row['epoch']} {text}, acknowledged: {acknowledged}")
        self.faults += [f"offset {at} is lost, acknowledged: {what}" for at, what in missing.items()]
        check = self.weft("store", "check")
        found = check.communicate(timeout=10 * PATIENCE)[0].decode()
        if export.wait() != 0 or check.returncode != 0 or "no fault" not in found:
            self.faults.append(f"weft store check: {found}")

    def summary(self):
        return (f"{len(self.acknowledged)} acknowledged, {self.kills} kills, {self.opening} of them while it started"
                f"{', un-synced pages dropped' if self.power else ''}: {len(self.faults)} faults; "
                f"{self.unacknowledged} stored that were not acknowledged")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1], add_help=False)
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("publications", nargs="?", type=int, default=1000000)
    parser.add_argument("kills", nargs="?", type=int, default=100)
    options = parser.parse_args()
    start, folder = time.monotonic(), tempfile.mkdtemp(prefix="kills-", dir=built())
    print(f"seed {options.seed}", flush=True)
    kills = Kills(folder, options.seed, options.power)
    kills.run(options.publications, options.kills,
              lambda text: print(f"{time.monotonic() - start:.0f} s: {text}", flush=True))
    kills.compare()
    print(f"{kills.summary()}; {time.monotonic() - start:.0f} s")
    for fault in kills.faults[:20]:
        print("FAULT", fault)
    if kills.faults:
        print(f"The store is kept: {folder}")
        sys.exit(1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
