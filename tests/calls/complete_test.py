#!/usr/bin/env python3
"""What the platform's objects call of the C library either fails in tests/calls or is here, with the reason why it
does not: a call that somebody adds is one that somebody has thought about.

usage: complete_test.py BUILD_FOLDER SOURCE_FOLDER
"""
import glob
import os
import re
import subprocess
import sys
import unittest

BUILD, SOURCE = sys.argv[1:3]

CANNOT_FAIL = {
    "only memory or what the process knows of itself": """
        __errno_location __tls_get_addr _GLOBAL_OFFSET_TABLE_ __sched_cpualloc __sched_cpucount __sched_cpufree
        environ
        getpid memcpy memset memmove pthread_self sched_yield sigaddset sigdelset sigemptyset sigfillset
        sigismember
        snprintf strchr strcmp strcspn strftime strlen strncmp strrchr strspn strtol gmtime_r inet_ntop inet_pton stdout
        ftrylockfile funlockfile abort __stack_chk_fail __popcountdi2 raise signal freeaddrinfo free _exit
        memchr memcmp getenv strtoull dladdr
        """,
    "fails only where it is given what does not exist": """
        clock_gettime closedir kill pthread_cond_broadcast pthread_cond_destroy pthread_cond_timedwait
        pthread_cond_wait
        pthread_condattr_destroy pthread_condattr_init pthread_condattr_setclock pthread_detach pthread_join
        pthread_mutex_destroy pthread_mutex_lock pthread_mutex_unlock pthread_setname_np pthread_sigmask
        getrusage sigaction sigaltstack sigpending sigtimedwait sysconf timerfd_settime
        posix_spawn_file_actions_destroy posix_spawn_file_actions_init posix_spawnattr_destroy posix_spawnattr_init
        posix_spawnattr_setflags posix_spawnattr_setsigdefault posix_spawnattr_setsigmask
        """,
    "nobody looks at its result, or there is nothing to do about it": "fflush getrlimit64 setrlimit64 prctl",
    "without randomness the process ends, by an assertion": "getentropy",
    "a name that there is not is tested by unit/platform/datagram": "if_indextoname if_nametoindex",
}


def called():
    """Names that objects of the platform leave to others."""
    objects = glob.glob(os.path.join(BUILD, "runtime", "platform", "*.a.p", "*.o"))
    if not objects:
        raise AssertionError("no objects of the platform in " + BUILD)
    out = subprocess.run(["nm", "-u", *objects], check=True, capture_output=True, text=True).stdout
    return {name for name in re.findall(r" [Uw] (\w+)", out) if not re.match(r"pf_|wf_|weft_", name)}


def failing():
    with open(os.path.join(SOURCE, "tests", "calls", "calls.h"), encoding="utf-8") as file:
        return set(re.findall(r"X\((\w+)\)", file.read())) - {"name"}


class Complete(unittest.TestCase):
    def test_every_call_fails_or_cannot(self):
        known = failing() | {name for names in CANNOT_FAIL.values() for name in names.split()}
        self.assertEqual(sorted(called() - known), [])

    def test_a_name_is_in_one_list(self):
        names = [name for names in CANNOT_FAIL.values() for name in names.split()]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(sorted(failing() & set(names)), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
