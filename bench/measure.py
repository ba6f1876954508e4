"""Runs one program and reads its results; the settings in which it may run; what machine this is."""
import contextlib
import os
import platform
import re
import shutil
import statistics
import subprocess

from workloads import less_is_better

SLOW = 1.5  # A run is slow if it is this many times worse than the best run of the same command.
PACKAGES = ("erlang-base", "golang-go", "libboost-dev", "libboost-fiber-dev", "libcaf-dev", "libnng-dev", "libuv1-dev",
            "redis-server", "nats-server", "libnats-dev", "libzmq3-dev")
failed = []


def own_command(folder, workload, size):
    return [os.path.join(folder, "bench", workload.program)] + workload.arguments + workload.sizes[size]


def on_first_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def results_of(command, limit, environment=None, setting=""):
    """Returns {(workload, params, metric): value} of one run."""
    pin = on_first_core if setting == "pinned" else None
    if setting == "apart": # it says so itself
        environment, setting = {**(environment or os.environ), "WEFT_APART": "1"}, ""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit, env=environment, check=False,
                              preexec_fn=pin)
    except (OSError, subprocess.TimeoutExpired) as why:
        failed.append(f"{' '.join(command)}: {why}")
        return {}
    if done.returncode:
        failed.append(f"{' '.join(command)}: exit code {done.returncode}")
        return {}
    found = {}
    for line in done.stdout.splitlines():
        fields = line.split()
        if len(fields) == 5:
            found[fields[0], f"{setting},{fields[2]}".strip(","), fields[3]] = float(fields[4])
    if not found:
        failed.append(f"{' '.join(command)}: no result")
    return found


@contextlib.contextmanager
def set_up(setting):
    """For the setting "awake": runs a loop on each core, which gets only time that no other program wants."""
    def lowest(core):
        def prepare():
            os.sched_setaffinity(0, {core})
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        return prepare
    cores = os.sched_getaffinity(0) if setting == "awake" else ()
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=lowest(core)) for core in cores]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def gather(into, name, results, like=None):
    """`like` is that of Workload, for results of other runtimes."""
    for (workload, params, metric), value in results.items():
        if like is not None:
            params = params.replace(like[1], like[2])
        into.setdefault((workload, params, metric), {}).setdefault(name, []).append(value)


def summary(values, metric):
    """Returns the median, the extremes and the number of slow runs. Two workers, or two processes, find each other
    awake or asleep, so such figures have two humps, and the median alone would hide half of it."""
    less = less_is_better(metric)
    slow = sum(v > SLOW * min(values) if less else v * SLOW < max(values) for v in values)
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "runs": len(values),
            "slow": slow}


# ---- the machine ---------------------------------------------------------------------------------------------------

def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def first(pattern, path, otherwise):
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.MULTILINE)
    except OSError:
        return otherwise
    return found[1] if found else otherwise


def machine(build):
    """Returns {fact: text}; `build` says how weft was built."""
    here = os.path.dirname(os.path.abspath(__file__))
    cpu = first(r"^model name\s*: (.*)", "/proc/cpuinfo", platform.processor() or platform.machine())
    virtual = first(r"^flags.*\b(hypervisor)\b", "/proc/cpuinfo", "")
    memory = int(first(r"^MemTotal:\s*(\d+)", "/proc/meminfo", "0")) / 1048576
    system = first(r'^PRETTY_NAME="(.*)"', "/etc/os-release", platform.system())
    facts = {"processor": f"{cpu}, {len(os.sched_getaffinity(0))} cores{', virtual' if virtual else ''}",
             "memory": f"{memory:.0f} GiB", "system": f"{system}, Linux {platform.release()}", "built with": build,
             "commit": output_of("git", "-C", here, "describe", "--always", "--dirty") or "unknown",
             "load": " ".join(f"{n:.1f}" for n in os.getloadavg())}
    if shutil.which("dpkg-query"):
        versions = output_of("dpkg-query", "-W", "-f", "${Package} ${Version}, ", *PACKAGES).strip(", ")
        facts["others"] = re.sub(r"(?<= )\d+:", "", versions) or "none"
    return facts
