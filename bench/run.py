#!/usr/bin/env python3
"""Runs the benchmark programs of a build folder and prints, for each result, the median of the runs:

    workload weft params metric value runs=3 min=... max=...

usage: run.py FOLDER [--quick | --tiny] [--runs N] [--peers | --instructions | --check [--store]] [--json FILE]
              [--svg FILE] [WORD...]

WORD...          only the workloads whose command contains one of the words
--quick          smaller numbers, one run each: about two minutes
--peers          beside the programs of other runtimes, run in turns; a table with the ratio to the best of them
--instructions   counts instructions of the local workloads with callgrind instead of measuring time
--check          compares these counts with the stored ones, fails where one is over 5 % higher; --store stores
--json FILE      the results as JSON, one object a line
--svg FILE       with --peers: the ratios as a chart

A figure of one run says little on a busy machine: compare medians, and programs only within one call of this one.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import chart  # noqa: E402
import counts  # noqa: E402
from peers import Peers  # noqa: E402
from workloads import FLOOR, WORKLOADS, less_is_better  # noqa: E402

failed = []


def results_of(command, limit, environment=None):
    """{(workload, params, metric): value} of one run."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit, env=environment, check=False)
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
            found[fields[0], fields[2], fields[3]] = float(fields[4])
    if not found:
        failed.append(f"{' '.join(command)}: no result")
    return found


def gather(into, name, results):
    for key, value in results.items():
        into.setdefault(key, {}).setdefault(name, []).append(value)


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "runs": len(values)}


def own_command(folder, workload, size):
    return [os.path.join(folder, "bench", workload.program)] + workload.arguments + workload.sizes[size]


def own_rows(found):
    """Prints our results, and gives them as rows."""
    rows = []
    for (name, params, metric), values in found.items():
        s = summary(values["weft"])
        print(f"{name} weft {params} {metric} {s['median']:.1f} runs={s['runs']} min={s['min']:.1f} "
              f"max={s['max']:.1f}", flush=True)
        rows.append({"workload": name, "params": params, "metric": metric, "weft": s})
    return rows


def run_alone(options, chosen):
    rows = []
    for workload in chosen:
        command, found = own_command(options.folder, workload, options.size), {}
        for _ in range(options.runs):
            gather(found, "weft", results_of(command, options.limit))
        rows += own_rows(found)
    return rows


# ---- beside others -------------------------------------------------------------------------------------------------

def compared(key, values, command):
    """One row of the table: who is best, and how many times better weft is (above 1) or worse (below)."""
    workload, params, metric = key
    results = {name: summary(v) for name, v in values.items()}
    floor = FLOOR.get(workload, ())
    rivals = {name: s["median"] for name, s in results.items() if name != "weft" and name not in floor}
    row = {"workload": workload, "params": params, "metric": metric, "command": command, "results": results,
           "floor": [name for name in floor if name in results], "best": None, "ratio": None}
    if "weft" in results and rivals:
        less = less_is_better(metric)
        row["best"] = (min if less else max)(rivals, key=rivals.get)
        ours, theirs = results["weft"]["median"], rivals[row["best"]]
        above, below = (theirs, ours) if less else (ours, theirs)
        row["ratio"] = above / below if above > 0 and below > 0 else None
    return row


def short(value):
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor * 10 or (unit != "k" and abs(value) >= factor):
            return f"{value / factor:.3g}{unit}"
    return f"{value:.4g}"


def cell(s):
    if s is None:
        return "-"
    spread = 100 * (s["max"] - s["min"]) / (2 * s["median"]) if s["median"] else 0
    return f"{short(s['median'])} ±{spread:.0f}%"


def label(row):
    return f"{row['workload']} {row['params']} {row['metric']}"


def print_table(rows):
    names = [n for n in ("weft", "erlang", "go", "boost-fiber", "redis", "epoll")
             if any(n in row["results"] for row in rows)]
    lines = [["workload params metric", *names, "best other", "ratio"]]
    for row in rows:
        cells = [cell(row["results"].get(n)) + ("*" if n in row["floor"] else "") for n in names]
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append([label(row), *cells, row["best"] or "-", ratio])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))))
    print("Medians; ± half the range of the runs. Ratio: above 1 weft is better than the best other.")
    if any(row["floor"] for row in rows):
        print("* bare TCP without actors: the floor, not counted in the ratio.")


def run_beside(options, chosen):
    rows = []
    with Peers() as peers:
        for workload in chosen:
            if not workload.peers:
                continue
            own, found = own_command(options.folder, workload, options.size), {}
            commands = {n: c for n in workload.peers if (c := peers.command(n, workload, options.size))}
            print("running:", workload.program, *own[1:], "|", *commands, file=sys.stderr, flush=True)
            for _ in range(options.runs):
                gather(found, "weft", results_of(own, options.limit))
                for name, command in commands.items():
                    gather(found, name, results_of(command, options.limit, peers.environment))
            rows += [compared(key, values, " ".join([workload.program] + own[1:])) for key, values in found.items()]
    print_table(rows)
    return rows


def run_counted(options):
    rows = []
    for name, params, unit, each in counts.count(options.folder, options.words, failed):
        print(f"{name} weft {params} instructions_per_{unit} {each:.1f}", flush=True)
        rows.append({"workload": name, "params": params, "metric": f"instructions_per_{unit}", "value": each})
    return rows


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1], add_help=False)
    parser.add_argument("folder")
    parser.add_argument("words", nargs="*")
    for flag in ("quick", "tiny", "peers", "instructions", "check", "store"):
        parser.add_argument("--" + flag, action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--svg")
    parser.add_argument("--figures", default=counts.STORED)
    parser.add_argument("--runs", type=int)
    options = parser.parse_intermixed_args()
    options.size = "tiny" if options.tiny else "quick" if options.quick else "full"
    # RUNS=, LIMIT= (seconds each) as well, for scripts.
    options.runs = options.runs or int(os.environ.get("RUNS", "3" if options.size == "full" else "1"))
    options.limit = int(os.environ.get("LIMIT", "120"))
    return options


def main():
    options = parse()
    chosen = [w for w in WORKLOADS
              if not options.words or any(word in " ".join([w.program] + w.arguments) for word in options.words)]
    rows = []
    if options.check or options.store:
        counts.check(options, failed)
    elif options.instructions:
        rows = run_counted(options)
    elif options.peers:
        rows = run_beside(options, chosen)
    else:
        rows = run_alone(options, chosen)
        if not options.tiny and (not options.words or "chat" in options.words):
            rows += run_chat(options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    if options.svg and options.peers:
        bars = [(label(row), row["ratio"], row["best"]) for row in rows if row["ratio"]]
        with open(options.svg, "w", encoding="utf-8") as out:
            out.write(chart.ratio_chart(bars, "How many times better than the best other runtime (right of 1)"))
    for line in failed:
        print("FAILED", line, file=sys.stderr)
    sys.exit(1 if failed else 0)


def run_chat(options):
    """Many clients of the chat example; has one size of its own."""
    found = {}
    for _ in range(options.runs if options.size == "full" else 0):
        gather(found, "weft", results_of([os.path.join(options.folder, "bench", "bench_chat")], options.limit))
    return own_rows(found)


if __name__ == "__main__":
    main()
