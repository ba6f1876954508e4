#!/usr/bin/env python3
"""Shows in which actors a node spent its time, from samples of perf.

    perf record -F 499 --call-graph fp -p PID -- sleep 10
    perf script -F comm,tid,ip,sym | perf_actors.py

A sample belongs to the function that an actor was started with: the one that weft calls. Code that was compiled
without frame pointers cannot be followed: then it is the innermost function of the program that perf has seen."""
import collections
import sys

ENTRY = ("wf_handler_turn", "wf_actor_main", "trampoline")  # of handlers; of bodies; where wf_actor_main is not seen
LOOP = ("wf_worker_turn", "worker_thread")


def samples(lines):
    """Each sample as its functions, innermost first."""
    stack = []
    for line in lines:
        words = line.split()
        if not words:
            if stack:
                yield stack
            stack = []
        elif line[:1].isspace() and len(words) >= 2:
            stack.append(words[1].split("+")[0])
        elif line[:1].isspace():
            stack.append("[unknown]")
    if stack:
        yield stack


def whose(stack):
    for entry in ENTRY:
        if entry in stack:
            at = stack.index(entry)
            inner = [name for name in stack[:at] if name != "[unknown]"]
            if not inner:
                return "weft: between actors"
            outermost = inner[-1].split("@")[0]
            if outermost.startswith("weft_"):  # the actor's own frame is not there: no frame pointer, or a tail call
                return f"? in {outermost}"
            return "weft: between actors" if outermost.startswith(("wf_", "pf_")) else outermost
    if any(name in LOOP for name in stack):
        return "weft: the loop"
    return "other threads"


def main():
    counts = collections.Counter(whose(stack) for stack in samples(sys.stdin))
    whole = sum(counts.values())
    if whole == 0:
        sys.exit("there are no samples; use perf record --call-graph fp, and perf script -F comm,tid,ip,sym")
    for name, count in counts.most_common():
        print(f"{100 * count / whole:6.1f} %  {count:7}  {name}")


if __name__ == "__main__":
    main()
