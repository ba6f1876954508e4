#!/usr/bin/env python3
"""Runs the benchmark programs of a build folder and prints, for each result, the median of the runs:

    workload weft params metric value runs=3 min=... max=...

usage: run.py FOLDER [--quick | --tiny] [--runs N] [--peers [--targets] | --instructions | --check [--store]]
              [--json FILE] [--svg FILE] [WORD...]

WORD...          only the workloads whose command contains one of the words
--quick          smaller numbers, one run each
--peers          beside the programs of other runtimes, run in turns: a table with the ratio to the best of them, and
                 one in Markdown with what was to be reached; --targets: only the workloads of the latter
--instructions   counts instructions with callgrind, also of messages between nodes, instead of measuring time
--check          compares these counts with the stored ones, fails where one is over 5 % higher; --store stores
--json FILE      the results as JSON, one object a line; with --peers the first is the machine
--svg FILE       with --peers: the ratios as a chart

A figure of one run says little on a busy machine: compare medians, and programs only within one call of this one.
"""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import beside  # noqa: E402
import chart  # noqa: E402
import counts  # noqa: E402
from measure import failed, gather, machine, own_command, results_of, set_up, summary  # noqa: E402
from workloads import WORKLOADS  # noqa: E402


def own_rows(found):
    """Prints our results, and returns them as rows."""
    rows = []
    for (name, params, metric), values in found.items():
        s = summary(values["weft"], metric)
        print(f"{name} weft {params} {metric} {s['median']:.1f} runs={s['runs']} min={s['min']:.1f} "
              f"max={s['max']:.1f}", flush=True)
        rows.append({"workload": name, "params": params, "metric": metric, "weft": s})
    return rows


def run_alone(options, chosen):
    rows = []
    for workload in chosen:
        command, found = own_command(options.folder, workload, options.size), {}
        with set_up(workload.setting):
            for _ in range(options.runs):
                gather(found, "weft", results_of(command, options.limit, None, workload.setting))
        rows += own_rows(found)
    return rows


def run_chat(options):
    """Measures the chat example with many clients; this workload has sizes of its own."""
    found = {}
    for _ in range(options.runs if options.size == "full" else 0):
        gather(found, "weft", results_of([os.path.join(options.folder, "bench", "bench_chat")], options.limit))
    return own_rows(found)


def run_beside(options, chosen):
    try:
        build = counts.built_for(options.folder)
    except ValueError as why:
        build = str(why)
    facts = machine(build)
    for fact, text in facts.items():
        print(f"{fact}: {text}")
    chosen = [w for w in chosen if (w.targets or w.carried if options.targets else w.peers or w.targets)]
    rows = beside.run_beside(options, chosen)
    if not options.targets:
        beside.print_table(rows)
    if options.size == "full":
        beside.print_targets(rows, options.folder)
    if options.svg:
        bars = [(beside.label(row), row["ratio"], row["best"]) for row in rows if row["ratio"]]
        with open(options.svg, "w", encoding="utf-8") as out:
            out.write(chart.ratio_chart(bars, "How many times better than the best other runtime (right of 1)",
                                        f"{facts['processor']}, {facts['system']}, commit {facts['commit']}"))
    return [{"machine": facts}] + rows


def run_counted(options):
    rows = []
    for name, params, unit, each in counts.count(options.folder, options.words, failed):
        print(f"{name} weft {params} instructions_per_{unit} {each:.1f}", flush=True)
        rows.append({"workload": name, "params": params, "metric": f"instructions_per_{unit}", "value": each})
    return rows


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].replace("%", "%%"), add_help=False)
    parser.add_argument("folder")
    parser.add_argument("words", nargs="*")
    for flag in ("quick", "tiny", "peers", "targets", "instructions", "check", "store"):
        parser.add_argument("--" + flag, action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--svg")
    parser.add_argument("--figures", default=counts.STORED)
    parser.add_argument("--runs", type=int)
    options = parser.parse_intermixed_args()
    options.size = "tiny" if options.tiny else "quick" if options.quick else "full"
    # Scripts may set RUNS= and LIMIT= (seconds each) instead, and BENCH_DISK=, the folder for stored messages, which
    # is FOLDER otherwise.
    options.runs = options.runs or int(os.environ.get("RUNS", "3" if options.size == "full" else "1"))
    options.limit = int(os.environ.get("LIMIT", "120"))
    return options


def main():
    options = parse()
    os.environ.setdefault("BENCH_DISK", os.path.abspath(options.folder))
    chosen = [w for w in WORKLOADS
              if os.path.exists(own_command(options.folder, w, options.size)[0]) or w.program != "bench_stored"
              if not options.words or any(word in " ".join([w.program] + w.arguments) for word in options.words)]
    rows = []
    if options.check or options.store:
        counts.check(options, failed)
    elif options.instructions:
        rows = run_counted(options)
    elif options.peers or options.targets:
        rows = run_beside(options, chosen)
    else:
        rows = run_alone(options, chosen)
        if not options.tiny and (not options.words or "chat" in options.words):
            rows += run_chat(options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    for line in failed:
        print("FAILED", line, file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
