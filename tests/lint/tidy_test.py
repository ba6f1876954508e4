#!/usr/bin/env python3
"""Each rule of tools/tidy.py finds violations, and accepts good code."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import tidy  # noqa: E402


def rules_broken(check, *args):
    tidy.findings.clear()
    check(*args)
    return [key.split()[0] for key, _ in tidy.findings]


class Rules(unittest.TestCase):
    def test_long_lines_and_files_are_found(self):
        self.assertEqual(rules_broken(tidy.check_lengths, "a.c", ["x" * 118] * tidy.FILE_LINES), [])
        self.assertEqual(rules_broken(tidy.check_lengths, "a.c", ["x" * 119]), ["width"])
        self.assertEqual(rules_broken(tidy.check_lengths, "a.c", ["x"] * (tidy.FILE_LINES + 1)), ["file-length"])
        self.assertEqual(rules_broken(tidy.check_lengths, "a.c", ["x "]), ["blank"])

    def test_pipes_that_stop_early_are_found(self):
        def broken(line):
            return rules_broken(tidy.check_pipes, "a.sh", [line])
        self.assertEqual(broken("ldd a | grep -q b || exit 1"), ["pipe"])
        self.assertEqual(broken("ldd a | grep -F -q b"), ["pipe"])
        self.assertEqual(broken("ldd a | grep -m1 b"), ["pipe"])
        self.assertEqual(broken("ldd a | head -1"), ["pipe"])
        self.assertEqual(broken("ldd a | grep b >/dev/null"), [])
        self.assertEqual(broken("grep -q b a"), [])

    def test_functions(self):
        def function(body):
            return ["/* Why. */", "static int f(int a,", "             int b)", "{"] + ["    a += b;"] * body + ["}"]
        longest = function(tidy.FUNCTION_LINES - 4)
        too_long = function(tidy.FUNCTION_LINES - 3)
        self.assertEqual(rules_broken(tidy.check_functions, "a.c", longest + [""] + longest), [])
        self.assertEqual(rules_broken(tidy.check_functions, "a.c", too_long), ["function-length"])

    def test_lengths_are_hints(self):
        self.assertLess({"width", "file-length", "function-length"}, set(tidy.HINTS))

    def test_a_wrong_first_line_is_found(self):
        def broken(path, line):
            return rules_broken(tidy.check_head, path, [line])
        self.assertEqual(broken("actors/core/a.c", "/* actors/core/a.c -- an actor. */"), [])
        self.assertEqual(broken("actors/core/a.c", "/* actors/a.c -- an actor. */"), ["head"])
        self.assertEqual(broken("actors/core/a.c", '#include "a.h"'), ["head"])
        self.assertEqual(broken("include/weft/a.h", "/* weft/a.h -- actors. */"), [])
        self.assertEqual(broken("tests/unit/a.c", '#include "a.h"'), [])
        self.assertEqual(broken("cli/new/project/main.c", "/* main.c -- what `weft run` starts. */"), [])

    def test_includes(self):
        headers = {"worker.h": ["runtime/sched/worker.h"], "node.h": ["actors/core/node.h", "include/weft/node.h"]}
        def broken(path, line):
            return rules_broken(tidy.check_includes, path, [line], headers)
        self.assertEqual(broken("actors/a.c", '#include "worker.h"'), [])
        self.assertEqual(broken("runtime/a.c", '#include "node.h"'), ["upward"])
        self.assertEqual(broken("runtime/platform/posix/a.c", '#include "worker.h"'), ["upward"])
        self.assertEqual(broken("transport/link.c", "#include <nng/nng.h>"), ["nng"])
        self.assertEqual(broken("transport/carrier/carrier_nng.c", "#include <nng/nng.h>"), [])
        self.assertEqual(broken("actors/a.c", "#include <sys/epoll.h>"), ["system"])
        self.assertEqual(broken("actors/a.c", "#include <unistd.h>"), ["system"])
        self.assertEqual(broken("runtime/platform/linux/a.c", "#include <sys/epoll.h>"), [])
        self.assertEqual(broken("runtime/a.c", "#include <string.h>"), [])

    def test_forbidden_words_are_found(self):
        def broken(path, text):
            return rules_broken(tidy.check_words, path, text, tidy.without_comments(text))
        self.assertEqual(broken("actors/a.c", "/* TO" + "DO */"), ["unfinished"])
        self.assertEqual(broken("actors/a.c", "/* The asker waits. */"), ["word"])
        self.assertEqual(broken("actors/a.c", "/* The masker waits. */"), [])
        self.assertEqual(broken("tests/unit/a.c", "/* The asker waits. */"), [])
        self.assertEqual(broken("tests/unit/a.c", "    usleep(10);"), ["sleep"])
        self.assertEqual(broken("tests/unit/a.c", "    weft_sleep(1); /* not sleep(1) */"), [])
        self.assertEqual(broken("runtime/platform/a.c", "    sem_timedwait(&s, &t);"), ["wall-clock"])
        self.assertEqual(broken("runtime/platform/a.c", "    clock_gettime(CLOCK_REALTIME, &t);"), ["wall-clock"])
        self.assertEqual(broken("runtime/platform/posix/clock.c", "    clock_gettime(CLOCK_REALTIME, &t);"), [])
        self.assertEqual(broken("runtime/platform/a.c", "    pthread_cond_timedwait(c, m, &t);"), [])
        self.assertEqual(broken("runtime/a.c", "#ifdef __linux__"), ["ifdef"])
        self.assertEqual(broken("runtime/platform/a.h", "#ifdef __linux__"), [])
        self.assertEqual(broken("runtime/a.c", "#ifdef WF_ASAN"), [])

    def test_layers(self):
        self.assertEqual([tidy.layer(p) for p in ("include/weft.h", "runtime/platform/linux/a.c", "runtime/a.c",
                                                  "actors/a.c", "transport/a.c", "cli/a.c", "tests/a.c")],
                         [0, 1, 2, 3, 4, 5, None])


if __name__ == "__main__":
    unittest.main()
