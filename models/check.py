#!/usr/bin/env python3
"""Checks the models of this folder with spin. Each model must have no fault in any order of its steps. With -DBUG=1,
2, ... one essential step is missing: then spin must find a fault, or the model proves nothing.

usage: check.py [MODEL...]          for example: check.py sleep
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {  # model: the sizes in which it is checked without a bug
    "sleep": ([], ["-DPRODUCERS=3"]),
    "space": ([], ["-DMAX=2", "-DTELL=2"]),
    "event": ([], ["-DLEAVES=1", "-DSETS=1"], ["-DKIND=SEMAPHORE", "-DLEAVES=1", "-DSETS=1"],
              ["-DKIND=MANUAL", "-DSETS=1"], ["-DKIND=SEMAPHORE", "-DSETS=1"], ["-DKIND=LATCH", "-DSETS=1"],
              *(["-DSHOWN=1", "-DWAITERS=1", "-DSETTERS=1", f"-DKIND={kind}"]
                for kind in ("AUTO", "MANUAL", "SEMAPHORE"))),
    "credit": ([], ["-DMAX=1"], ["-DFIRST=6"]),
    "link": ([], ["-DFRAMES=3", "-DSPACE=3"]),
    "ticket": ([], ["-DBARGES=1"], ["-DPOSTS=4", "-DWAITS=3"]),
}


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                          check=True).stdout


def search(path, defines, faulty):
    """Returns (faults, states); raises RuntimeError if the search is not complete. A search that ends at a fault is
    short: without optimisation it takes half of the time, with its compilation."""
    with tempfile.TemporaryDirectory(prefix="weft-model-") as folder:
        try:
            run("spin", "-a", *defines, path, cwd=folder)
            run("gcc", "-O0" if faulty else "-O1", "-DSAFETY", "-o", "pan", "pan.c", cwd=folder)
            said = run("./pan", "-m1000000", cwd=folder)
        except subprocess.CalledProcessError as why:
            raise RuntimeError(why.output) from why
        errors = re.search(r"errors: (\d+)", said)
        states = re.search(r"([\d.e+]+) states, stored", said)
        if not errors or "too small" in said or (errors[1] == "0" and "not completed" in said):
            raise RuntimeError(said)
        return int(errors[1]), int(float(states[1]))


def cases(path):
    """Returns a list of (defines, whether spin must find a fault)."""
    name = os.path.basename(path).removesuffix(".pml")
    with open(path, encoding="utf-8") as file:
        bugs = sorted(set(re.findall(r"-DBUG=(\d)", file.read())))
    return [(size, False) for size in SIZES.get(name, ([],))] + [([f"-DBUG={bug}"], True) for bug in bugs]


def check(path, defines, faulty):
    """Returns (whether the result is the expected one, the line to print)."""
    title = " ".join([os.path.basename(path), *defines])
    try:
        errors, states = search(path, defines, faulty)
    except RuntimeError as why:
        return False, f"FAILED {title}: no whole search\n{why}"
    if bool(errors) == faulty:
        return True, f"ok     {title}: {'the fault is found' if faulty else 'no fault'}, {states:,} states"
    return False, f"FAILED {title}: {'the fault is not found' if faulty else 'a fault'}, {states:,} states"


def main():
    paths = [os.path.join(HERE, name if name.endswith(".pml") else name + ".pml") for name in sys.argv[1:]] or \
        sorted(os.path.join(HERE, name) for name in os.listdir(HERE) if name.endswith(".pml"))
    faults = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for right, line in pool.map(lambda case: check(*case), [(p, *case) for p in paths for case in cases(p)]):
            print(line, flush=True)
            if not right:
                faults.append(line)
    if faults:  # again, because some logs keep only the last lines
        print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
