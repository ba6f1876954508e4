#!/usr/bin/env python3
"""Each function of the C library that the platform's objects call, and of NNG that the carrier's objects call, either
fails in tests/calls or is listed here, with the reason why it does not. So each new call needs a decision.

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
        sigismember strerror_r
        snprintf strchr strcmp strcspn strftime strlen strncmp strrchr strspn strtol gmtime_r inet_ntop inet_pton
        stdout ftrylockfile funlockfile abort __stack_chk_fail __popcountdi2 raise signal freeaddrinfo free _exit
        memchr memcmp getenv malloc_trim strtoull strtoul dladdr getauxval gettid __libc_current_sigrtmax
        """,
    "fails only where it is given what does not exist": """
        clock_gettime closedir kill pthread_cond_broadcast pthread_cond_destroy pthread_cond_timedwait
        pthread_cond_wait
        pthread_condattr_destroy pthread_condattr_init pthread_condattr_setclock pthread_detach pthread_join
        pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_setname_np
        pthread_sigmask
        getrusage sigaction sigaltstack sigpending sigtimedwait sysconf timerfd_settime
        posix_spawn_file_actions_destroy posix_spawn_file_actions_init posix_spawnattr_destroy posix_spawnattr_init
        posix_spawnattr_setflags posix_spawnattr_setsigdefault posix_spawnattr_setsigmask
        """,
    "a sanitizer's, if the program has one: they have no result": """
        __asan_init __tsan_acquire __tsan_init __tsan_release
        """,
    "a thread that cannot be glimpsed at has no functions in the log: unit/actors/run/stuck has it in both ways": """
        pthread_kill
        """,
    "a crash is under way, and what they do not find is not printed": "_Unwind_Backtrace _Unwind_GetIPInfo",
    "nobody looks at its result, or there is nothing to do about it": "fflush getrlimit64 setrlimit64 prctl",
    "without an answer a file counts as one of this machine": "fstatfs fstatfs64",
    "without randomness the process ends, by an assertion": "getentropy",
    "a library or function that is missing is tested by unit/runtime/platform/native": "dlerror dlopen dlsym",
    "a name that there is not is tested by unit/platform/datagram": "if_indextoname if_nametoindex",
    "NNG: it gives back, ends, or says how something went": """
        nng_aio_abort nng_aio_cancel nng_aio_count nng_aio_free nng_aio_get_output nng_aio_reap nng_aio_result nng_aio_set_timeout
        nng_aio_wait
        nng_stream_close nng_stream_dialer_free nng_stream_free nng_stream_listener_close nng_stream_listener_free
        nng_strerror nng_tls_config_free nng_tls_engine_name
        """,
    "NNG: without an answer a listener counts as one that has no file": "nng_stream_listener_get_addr",
    "NNG: fails only with more slices than there are": "nng_aio_set_iov",
    "NNG: sleeps until it is cancelled": "nng_sleep_aio",
    "NNG: to its TLS engine, which is told of every end of the stream below it": """
        nng_tls_engine_recv nng_tls_engine_send
        """,
}


def called():
    """Returns the names that objects of the platform take from other objects."""
    objects = glob.glob(os.path.join(BUILD, "runtime", "platform", "*.a.p", "*.o"))
    if not objects:
        raise AssertionError("no objects of the platform in " + BUILD)
    carrier = glob.glob(os.path.join(BUILD, "transport", "*.a.p", "*carrier_nng*.o"))
    if not carrier:
        raise AssertionError("no objects of the carrier in " + BUILD)
    return {name for name in undefined(objects) if not re.match(r"pf_|wf_|weft_", name)} | {
        name for name in undefined(carrier) if name.startswith("nng_")}


def undefined(objects):
    out = subprocess.run(["nm", "-u", *objects], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r" [Uw] (\w+)", out))


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
