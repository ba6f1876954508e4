"""The workloads of ./dev bench, with their parameters for each size of run.

A full run gives figures to compare; quick runs of all workloads take about two minutes; a tiny run only shows that a
workload works, for the test suite.
"""
import collections

# Other runtimes that have a program for a workload; those of FLOOR do less than weft does (bare TCP, bare timers, no sync
# before an acknowledgement), so they are shown and not counted in the ratio.
LOCAL = ("erlang", "go", "boost-fiber", "caf")
NO_FIBER = ("erlang", "go", "caf")
REMOTE = ("erlang", "nng", "nats", "zmq", "go", "libuv", "epoll", "weft-tcp")
ONEWAY = ("erlang", "nng", "zmq", "go", "epoll", "weft-tcp")
STORED = ("redis", "nats", "nats-unsynced")
FLOOR = {"remote": ("epoll", "go", "libuv", "weft-tcp"), "timers": ("libuv",), "lateness": ("libuv",),
         "stored": ("nats-unsynced",)}

# The peer weft-tcp is weft with `--carrier tcp`; by default NNG is the carrier.
# `setting` says how the machine is used: "" as it is; "pinned": all processes run on one core; "awake": a thread of the
# lowest class keeps each core from being halted, because waking a halted core of a virtual machine takes tens of
# microseconds.
# `targets` is {metric: (description, target)} for the full size; `carried` is the same, as a multiple of the figure of
# weft-tcp in the same run.
# `like` is (their argument, the word in their results, the word in ours) if the others have no workload of that name.
Workload = collections.namedtuple("Workload", "program arguments sizes peers targets setting like carried",
                                  defaults=({}, "", None, {}))


def numbers(full, quick, tiny):
    return {"full": full.split(), "quick": quick.split(), "tiny": tiny.split()}


def local(arguments, full, quick, tiny, peers=LOCAL, targets=None, like=None):
    return Workload("bench_local", arguments.split(), numbers(full, quick, tiny), peers, targets or {}, "", like)


def apart(arguments, full, quick, tiny, peers=LOCAL):
    """Puts each side on a worker of its own. The programs of other runtimes run as always, where their schedulers put
    them."""
    like = (arguments.split("-")[0], "threads=", "apart,threads=")
    return local(arguments, full, quick, tiny, peers, like=like)


def remote(arguments, full, quick, tiny, peers, targets=None, setting="", carried=None):
    return Workload("bench_remote", arguments.split(), numbers(full, quick, tiny), peers, targets or {}, setting,
                    carried=carried or {})


def stored(where, what, full, quick, tiny, peers=STORED):
    """The others' servers are always in a process of their own."""
    like = (what.split()[0], "apart,", "embedded,") if where == "embedded" else None
    return Workload("bench_stored", [where, *what.split()], numbers(full, quick, tiny), peers, like=like)


def per_message(what, ns):
    return {"ns_per_msg": (what, ns)}


def rate(what, per_second, metric="msgs_per_s"):
    return {metric: (what, per_second)}


WORKLOADS = [
    Workload("bench_swim", [], numbers("1000 10 30", "100 30 30", "10 2 2"), ()),
    local("yield", "5000000", "2000000", "1000", ("erlang", "go", "boost-fiber"),
          {"ns_per_switch": ("yield through the scheduler", 5)}),
    local("either 1", "2000000", "500000", "1000", ("erlang", "go"),
          {"ns_per_wake": ("a wait of two sources, woken by either, 1 worker", 100)}),
    local("pingpong 1", "3000000", "1000000", "1000", LOCAL, per_message("ping-pong, a message, 1 worker", 22)),
    local("pingpong 2", "1000000", "200000", "500", LOCAL, per_message("ping-pong, a message, 2 workers", 35)),
    apart("pingpong-apart 2", "1000000", "200000", "500"),
    local("ring 1", "503 5000000", "503 1000000", "50 1000", LOCAL,
          {"ns_per_hop": ("ring of 503, a hop, 1 worker", 30)}),
    local("ring 2", "503 1000000", "503 300000", "50 1000", LOCAL,
          {"ns_per_hop": ("ring of 503, a hop, 2 workers", 45)}),
    local("ring 1", "100000 2000000", "20000 200000", "200 1000", LOCAL,
          {"ns_per_hop": ("ring of 100,000 coroutines, a hop, 1 worker", 220)}),
    local("ring-handlers 1", "100000 2000000", "20000 200000", "200 1000", LOCAL,
          {"ns_per_hop": ("ring of 100,000 handlers, a hop, 1 worker", 90)},
          ("ring", "threads=", "handlers,threads=")),
    local("counting 1", "1 10000000", "1 3000000", "1 5000", LOCAL, rate("counting 1 to 1, 1 worker", 100e6)),
    local("counting 2", "1 5000000", "1 2000000", "1 5000", LOCAL, rate("counting 1 to 1, 2 workers", 50e6)),
    local("counting 2", "100 5000000", "100 2000000", "10 5000", LOCAL, rate("counting 100 to 1, 2 workers", 50e6)),
    apart("counting-apart 2", "1 5000000", "1 2000000", "1 5000"),
    apart("counting-apart 2", "100 5000000", "100 2000000", "10 5000"),
    local("big 1", "120 20000", "120 5000", "20 50", LOCAL, rate("big, 120 actors, 1 worker", 40e6)),
    local("big 2", "120 10000", "120 2000", "20 50", LOCAL, rate("big, 120 actors, 2 workers", 30e6)),
    local("create 1", "1000000", "300000", "1000", LOCAL,
          rate("spawn, a message, exit, 1 worker", 6e6, "spawns_per_s")),
    local("create 2", "1000000", "200000", "1000", LOCAL,
          rate("spawn, a message, exit, 2 workers", 8e6, "spawns_per_s")),
    local("tree 1", "1000000", "10000", "100", NO_FIBER,
          {"wall_ms": ("tree of 1,000,000 actors, 1 worker", 250), "peak_rss_mib": ("its peak memory", 5)}),
    local("tree 2", "1000000", "10000", "100", NO_FIBER,
          {"wall_ms": ("tree of 1,000,000 actors, 2 workers", 180), "peak_rss_mib": ("its peak memory", 5.5)}),
    local("fanout 1", "1000 5000", "1000 1000", "20 20", LOCAL,
          rate("fan-out to 1,000, 1 worker", 70e6, "deliveries_per_s")),
    local("fanout 2", "1000 5000", "1000 500", "20 20", LOCAL,
          rate("fan-out to 1,000, 2 workers", 60e6, "deliveries_per_s")),
    # CAF takes three minutes for this one.
    local("fanout 2", "100000 20", "10000 20", "100 5", ("erlang", "go", "boost-fiber"),
          rate("fan-out to 100,000, 2 workers", 20e6, "deliveries_per_s")),
    local("idle", "100000", "50000", "500"),
    local("idle", "1000000", "100000", "1000"),
    local("parked", "1000000", "100000", "1000", LOCAL,
          {"bytes_per_actor": ("idle coroutine actor, of a million", 800)}, ("idle", "plain,", "parked,")),
    local("idle-handlers", "1000000", "100000", "1000", ("erlang", "caf"),
          {"bytes_per_actor": ("idle handler, of a million", 256)}, ("idle", "plain,", "handlers,")),
    local("timers 2", "1000000 0", "10000 0", "20 0", (*NO_FIBER, "libuv")),
    local("timers 2", "1000000 8000", "10000 1000", "10 1", (*NO_FIBER, "libuv"),
          {"cpu_ms": ("1,000,000 sleepers at once, processor time", 2000),
           "late_p50_us": ("their lateness, p50", 100), "late_p99_us": ("their lateness, p99", 1000)}),
    local("timers-handlers 2", "1000000 8000", "10000 1000", "10 1", (*NO_FIBER, "libuv"),
          {"cpu_ms": ("1,000,000 sleeping handlers at once, processor time", 2000),
           "late_p50_us": ("their lateness, p50", 100), "late_p99_us": ("their lateness, p99", 1000)},
          ("timers", "base_ms=", "handlers,base_ms=")),
    local("call 1", "1000000", "300000", "100", NO_FIBER),
    local("call 2", "300000", "100000", "100", NO_FIBER),
    apart("call-apart 2", "300000", "100000", "100", ()),
    local("call-pool 1", "1000000", "300000", "100", ()),
    local("call-pool 2", "300000", "100000", "100", ()),
    local("offload", "100000", "30000", "100", ()),
    remote("rtt", "16 30000", "16 5000", "16 50", REMOTE,
           {"p50_us": ("remote round trip 16 B, p50, on one core", 9)}, "pinned",
           {"p50_us": ("remote round trip, on one core, NNG to tcp", 1.15)}),
    remote("rtt", "16 30000", "16 5000", "16 50", REMOTE,
           {"p50_us": ("remote round trip 16 B, p50, cores kept awake", 10)}, "awake"),
    remote("rtt", "16 30000", "16 5000", "16 50", REMOTE,
           {"p50_us": ("remote round trip 16 B, p50, quiet machine", 60)}),
    remote("oneway", "16 1000000", "16 300000", "16 1000", ONEWAY,
           rate("remote one way, 16 B", 10e6), carried=rate("remote one way, 16 B, NNG to tcp", 0.95)),
    remote("oneway", "1024 300000", "1024 100000", "1024 500", ONEWAY,
           rate("remote one way, 1 KiB", 1.8e6), carried=rate("remote one way, 1 KiB, NNG to tcp", 0.95)),
    remote("oneway", "16 1000000", "16 300000", "16 1000", ("weft-tcp",), setting="apart",
           carried=rate("remote one way, 16 B, actors and link on two workers, NNG to tcp", 0.9)),
    # All servers get the same clients and one thread each. The figure is requests for each second of processor time.
    Workload("bench_echo", [], numbers("1000 64 1000000", "1000 64 200000", "10 64 200"), ("libuv", "asio")),
    Workload("bench_echo", [], numbers("1000 64 1000000 embedded", "1000 64 200000 embedded", "10 64 200 embedded"),
             ("libuv", "asio")),
    Workload("bench_lateness", [], numbers("1000 100 50", "1000 100 10", "10 2 3"), ("libuv",)),
    remote("publish", "1 500000", "1 200000", "1 500", ("redis", "nats", "weft-tcp"),
           rate("cluster publish, 1 remote subscriber", 10e6, "deliveries_per_s"),
           carried=rate("cluster publish, 1 remote subscriber, NNG to tcp", 0.95, "deliveries_per_s")),
    remote("publish", "50 100000", "50 20000", "5 200", ("redis", "nats"),
           rate("cluster publish, 50 remote subscribers", 40e6, "deliveries_per_s")),
]
# On a disk, with a sync before each acknowledgement. 100 B and 1 KiB; milliseconds, or records.
for where in ("apart", "embedded"):
    for size in ("100", "1024"):
        for publishers in ("1", "64", "512"):
            WORKLOADS.append(stored(where, f"append {publishers} {size}", "2000", "1000", "20"))
        # All records are in the stream before its time begins, so it does not matter how they came there.
        WORKLOADS.append(stored(where, f"replay {size}", "200000", "50000", "1000", ("redis", "nats-unsynced")))

SAVINA = {  # Each row has a name and the parameters of full, quick and tiny.
    "pingpong": ("1000000", "300000", "200"),
    "ring": ("100 2000000", "100 500000", "10 205"),
    "counting": ("5000000", "1000000", "500"),
    "big": ("120 10000", "120 2000", "10 20"),
    "forkjoin": ("60 100000", "60 10000", "10 20"),
    "create": ("1000000", "200000", "300"),
    "chameneos": ("100 1000000", "100 200000", "11 100"),
    "philosophers": ("20 50000", "20 10000", "5 20"),
    "barber": ("5000 1000", "2000 1000", "50 10"),
    "smokers": ("200 200000", "200 50000", "10 100"),
    "dictionary": ("20 50000 10", "20 10000 10", "5 50 20"),
    "sortedlist": ("10 8000 10", "10 2000 10", "5 50 20"),
    "buffer": ("50 40 20000", "50 40 3000", "10 4 20"),
    "bank": ("1000 500000", "1000 100000", "10 1000"),
    "logistic": ("20 100000", "20 20000", "4 50"),
    "sieve": ("100000 1000", "50000 500", "500 10"),
    "radixsort": ("50000", "20000", "100"),
    "filterbank": ("8 64 50000", "8 64 20000", "2 8 100"),
    "quicksort": ("1000000 2048", "200000 2048", "500 32"),
    "queens": ("13 4", "12 4", "6 2"),
    "matrix": ("1024 64", "256 32", "16 4"),
    "tree": ("200000", "50000", "300"),
    "paths": ("500 50", "200 20", "20 6"),
    "astar": ("500 20", "200 20", "12 4"),
}
for name, sizes in SAVINA.items():
    for workers in "12":
        WORKLOADS.append(Workload("bench_savina", [name, workers], numbers(*sizes), ()))

# For counting instructions: the difference of two runs, so that starting and ending a node do not count. What a unit
# is: a message, a hop, an actor, a delivery. Of two processes: what it is to the one that starts the other, and to
# the other.
INSTRUCTIONS = [  # program, arguments, units, arguments of the larger run, units
    ("bench_local", "yield 10000", 20000, "yield 30000", 60000, "switch"),
    ("bench_local", "pingpong 1 5000", 10000, "pingpong 1 15000", 30000, "msg"),
    ("bench_local", "either 1 5000", 10000, "either 1 15000", 30000, "wake"),
    ("bench_local", "ring 1 503 10000", 10000, "ring 1 503 30000", 30000, "hop"),
    ("bench_local", "ring-handlers 1 503 10000", 10000, "ring-handlers 1 503 30000", 30000, "hop"),
    ("bench_local", "counting 1 1 10000", 10000, "counting 1 1 30000", 30000, "msg"),
    ("bench_local", "counting 1 100 100000", 100000, "counting 1 100 200000", 200000, "msg"),
    ("bench_local", "big 1 120 50", 12000, "big 1 120 150", 36000, "msg"),
    ("bench_local", "create 1 5000", 5000, "create 1 15000", 15000, "spawn"),
    ("bench_local", "tree 1 1000", 1111, "tree 1 10000", 11111, "actor"),
    ("bench_local", "call 1 2000", 2000, "call 1 6000", 6000, "call"),
    ("bench_local", "call-pool 1 2000", 2000, "call-pool 1 6000", 6000, "call"),
    ("bench_local", "fanout 1 1000 10", 10000, "fanout 1 1000 30", 30000, "delivery"),
    ("bench_savina", "chameneos 1 100 2000", 8000, "chameneos 1 100 6000", 24000, "msg"),
    ("bench_savina", "dictionary 1 20 500 10", 20000, "dictionary 1 20 1500 10", 60000, "msg"),
    ("bench_savina", "bank 1 100 2000", 8000, "bank 1 100 6000", 24000, "msg"),
    ("bench_remote", "oneway 16 20000", 20000, "oneway 16 60000", 60000, ("sent", "received")),
    ("bench_remote", "publish 1 20000", 20000, "publish 1 60000", 60000, ("sent", "received")),
    ("bench_echo", "100 64 5000 embedded", 5000, "100 64 20000 embedded", 20000, "echo"),
]


def less_is_better(metric):
    return not metric.endswith("_per_s")
