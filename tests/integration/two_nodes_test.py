#!/usr/bin/env python3
"""Two processes of two_nodes talk with each other over TCP. usage: two_nodes_test.py PROGRAM [RUNNER]"""
import subprocess
import sys

PATIENCE = 90  # Seconds.


def start(*words):
    return subprocess.Popen([*sys.argv[2:], sys.argv[1], *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


first = start("ann")
url = first.stdout.readline().strip()
assert url.startswith("tcp://127.0.0.1:"), url
second = start("ben", url)
faults = 0
for name, other, process in (("ann", "ben", first), ("ben", "ann", second)):
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    wanted = f"{name} hears {other}\n{name} is done\n"
    if process.returncode != 0 or not out.endswith(wanted):
        faults += 1
        print(f"{name}: ended with {process.returncode}\n{out}{err}")
sys.exit(1 if faults else 0)
