"""Counts the instructions of workloads with callgrind, and compares them with stored counts.

A count is the difference of two runs of different length, divided by what the longer one does more, so that starting
and ending a node do not count. It hardly changes from run to run, but it belongs to a compiler, a C library and a
processor: the file of stored counts has a section for each, and without one for this build nothing is compared.
"""
import concurrent.futures
import json
import os
import platform
import re
import subprocess

from workloads import INSTRUCTIONS

STORED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.txt")
STORE = "./dev bench --check --store"
MAY_DIFFER = 0.05
HEAD = f"""\
# Instructions that one unit (a message, a hop, ...) of each workload takes: INSTRUCTIONS in workloads.py. Those of
# "remote", which is two nodes, are of the sending and of the receiving process.
# ./dev bench --check compares and fails above +{MAY_DIFFER:.0%}; {STORE} writes this file.
# A section holds for its compiler, C library and processor only.
"""


def run_counted(command):
    """Returns the instructions of each process of one run, the first process first. Raises OSError if the run fails."""
    tool = ["valgrind", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(tool + command, capture_output=True, text=True, timeout=300, check=False)
    begun = re.findall(r"==(\d+)== Callgrind", done.stderr)
    counted = dict(re.findall(r"==(\d+)== Collected : (\d+)", done.stderr))
    if done.returncode or not begun or any(process not in counted for process in begun):
        raise OSError(f"{' '.join(command)} under callgrind: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return [int(counted[process]) for process in begun]


def count(folder, words, failed):
    """Returns [(workload, params, unit, instructions a unit)]."""
    chosen = [i for i in INSTRUCTIONS if not words or any(w in f"{i[0]} {i[1]}" for w in words)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [[pool.submit(run_counted, [os.path.join(folder, "bench", program)] + arguments.split())
                 for arguments in (small, large)] for program, small, _, large, _, _ in chosen]
        found = []
        for (program, _, few, large, many, units), (first, second) in zip(chosen, runs):
            units = (units,) if isinstance(units, str) else units
            try:
                counts = list(zip(units, first.result(), second.result(), strict=True))
            except (OSError, ValueError, subprocess.TimeoutExpired) as why:
                failed.append(str(why))
                continue
            found += [(program.replace("bench_", ""), large.replace(" ", ","), unit, (more - less) / (many - few))
                      for unit, less, more in counts]
    return found


# ---- what the counts belong to -------------------------------------------------------------------------------------

def options_of(folder):
    with open(os.path.join(folder, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as options:
        return {o["name"]: o["value"] for o in json.load(options)}


def built_for(folder):
    """Returns text like 'gcc 12.2.0, glibc 2.36, x86_64'. Raises ValueError if the counts of this build mean
    nothing."""
    options = options_of(folder)
    if options.get("b_sanitize", "none") != "none":
        raise ValueError("this build has a sanitizer")
    if options["optimization"] in ("0", "g"):
        raise ValueError("this build is not optimised")
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as commands:
        words = json.load(commands)[0]["command"].split()
    compiler = words[1] if words[0] == "ccache" else words[0]
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"\d+\.\d+\.\d+", said.splitlines()[0].rpartition(")")[2] or said)
    name = "clang" if "clang" in said else "gcc" if "Free Software" in said else os.path.basename(compiler)
    library = " ".join(platform.libc_ver()).strip() or "unknown C library"
    return f"{name} {version[0] if version else 'unknown'}, {library}, {platform.machine()}"


# ---- the file: sections of lines `workload params unit count` ------------------------------------------------------

def load(path):
    sections = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.strip()
            if line.startswith("["):
                section = sections.setdefault(line.strip("[]"), {})
            elif line and not line.startswith("#"):
                workload, params, unit, instructions = line.split()
                section[workload, params, unit] = float(instructions)
    return sections


def store(path, build, counted, all_of_them):
    sections = load(path) if os.path.exists(path) else {}
    kept = {} if all_of_them else sections.get(build, {})
    sections[build] = {**kept, **{(w, p, u): n for w, p, u, n in counted}}
    with open(path, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for name, section in sorted(sections.items()):
            out.write(f"\n[{name}]\n")
            out.writelines(f"{w} {p} {u} {n:.1f}\n" for (w, p, u), n in section.items())


def compare(stored, counted):
    """Returns the lines to print, and how many workloads are worse or have no stored count."""
    lines, bad = [], 0
    for workload, params, unit, new in counted:
        old = stored.get((workload, params, unit))
        change = None if old is None else new / old - 1
        verdict = ("NOT STORED" if change is None else "WORSE" if change > MAY_DIFFER
                   else "better" if change < -MAY_DIFFER else "same")
        bad += verdict in ("WORSE", "NOT STORED")
        told = f"{new:.1f}" if change is None else f"{old:.1f} -> {new:.1f} ({change:+.1%})"
        lines.append(f"{verdict:10} {workload} {params}: {told} instructions a {unit}")
    return lines, bad


def check(options, failed):
    """Does the work of ./dev bench --check."""
    try:
        build = built_for(options.folder)
    except ValueError as why:
        print(f"No figures were compared: {why}.")
        return
    counted = count(options.folder, options.words, failed)
    if options.store:
        if not failed:
            store(options.figures, build, counted, not options.words)
            print(f"{options.figures}: {len(counted)} counts stored for {build}")
        return
    sections = load(options.figures)
    if build not in sections:
        print(f"No figures were compared: this build is {build}; counts are stored for {'; '.join(sorted(sections))}.")
        return
    lines, bad = compare(sections[build], counted)
    print(f"Instructions, stored -> now ({build}):", *lines, sep="\n")
    if any(line.startswith("better") for line in lines):
        print(f"Some are better by more than {MAY_DIFFER:.0%}: keep it so with {STORE}")
    if bad:
        failed.append(f"{bad} of {len(counted)} workloads take over {MAY_DIFFER:.0%} more instructions than stored, "
                      f"or have no stored count. If that is meant: {STORE}")
