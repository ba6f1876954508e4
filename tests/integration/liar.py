#!/usr/bin/python3
"""A peer that says what it is told to: each line of its standard input is a frame, as a Python literal.

usage: liar.py URL NAME CAPABILITIES
"""
import ast
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python"))
import peer  # noqa: E402  pylint: disable=wrong-import-position


class Liar(peer.Peer):
    CAPABILITIES = int(sys.argv[3])


def main():
    host, port = sys.argv[1].removeprefix("tcp://").rsplit(":", 1)
    liar = Liar(host, int(port), sys.argv[2], {})
    print("linked", flush=True)
    for line in sys.stdin:
        liar._send(ast.literal_eval(line))  # pylint: disable=protected-access
    liar.leave()


if __name__ == "__main__":
    main()
