"""weft beside the other runtimes: runs in turns, a table, and what was to be reached."""
import sys
import time

from measure import failed, gather, own_command, results_of, set_up, summary
from peers import NAMES, Peers
from workloads import FLOOR, less_is_better


LONG = 60  # seconds of a workload, in which three runs of all programs are enough


def compared(key, values, command):
    """Returns one row of the table: which runtime is best, and how many times better (above 1) or worse (below) weft
    is."""
    workload, params, metric = key
    results = {name: summary(v, metric) for name, v in values.items()}
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


def add_targets(rows, targets):
    """Attaches each target to the first row of its metric."""
    for metric, (what, limit) in targets.items():
        row = next((r for r in rows if r["metric"] == metric and "weft" in r["results"]), None)
        if row is None:
            failed.append(f"no result for: {what}")
            continue
        ours = row["results"]["weft"]["median"]
        row["target"] = {"what": what, "limit": limit,
                         "met": ours <= limit if less_is_better(metric) else ours >= limit}


def add_carried(rows, carried):
    """Returns the rows for targets that compare weft-tcp with the other carrier."""
    for metric, (what, factor) in carried.items():
        row = next((r for r in rows if r["metric"] == metric and {"weft", "weft-tcp"} <= r["results"].keys()), None)
        if row is None:
            failed.append(f"no result for: {what}")
            continue
        again = {**row, "carried": True}
        add_targets([again], {metric: (what, factor * row["results"]["weft-tcp"]["median"])})
        rows.append(again)


def run_beside(options, chosen, print_row=lambda row: None):
    """Returns one row for each workload, params and metric; our program and those of the others take turns."""
    rows = []
    with Peers() as peers:
        for workload in chosen:
            own, found = own_command(options.folder, workload, options.size), {}
            commands = {"weft-tcp": ["env", "WEFT_CARRIER=tcp", *own]} if "weft-tcp" in workload.peers else {}
            commands |= {n: c for n in workload.peers if (c := peers.command(n, workload, options.size))}
            print("running:", *own, workload.setting, "|", *commands, file=sys.stderr, flush=True)
            with set_up(workload.setting):
                start = time.monotonic()
                for turn in range(options.runs):
                    if turn >= 3 and time.monotonic() - start > LONG:
                        break
                    gather(found, "weft", results_of(own, options.limit, None, workload.setting))
                    for name, command in commands.items():
                        theirs = results_of(command, options.limit, peers.environment, workload.setting)
                        gather(found, name, theirs, workload.like)
            shown = " ".join([workload.program] + own[1:])
            new = [compared(key, values, shown) for key, values in found.items()]
            if options.size == "full":
                add_targets(new, workload.targets)
                add_carried(new, workload.carried)
            for row in new:
                print_row(row)
            rows += new
    return rows


# ---- the table -----------------------------------------------------------------------------------------------------

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


def own_cells(s):
    return ["-"] * 4 if s is None else [short(s["median"]), short(s["min"]), short(s["max"]),
                                        f"{s['slow']}/{s['runs']}"]


def print_table(rows):
    rows = [row for row in rows if "carried" not in row]
    names = [n for n in (*NAMES, "nats-unsynced", "weft-tcp") if any(n in row["results"] for row in rows)]
    lines = [["workload params metric", "weft", "min", "max", "slow", *names, "best other", "ratio"]]
    for row in rows:
        cells = [cell(row["results"].get(n)) + ("*" if n in row["floor"] else "") for n in names]
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append([label(row), *own_cells(row["results"].get("weft")), *cells, row["best"] or "-", ratio])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))))
    print("Medians; ± half the range of the runs; slow: runs 1.5 times worse than the best. Ratio: above 1 weft is "
          "better than the best other.")
    if any(row["floor"] for row in rows):
        print("* no actors, or no sync: the floor, not counted in the ratio.")


# ---- what was to be reached ----------------------------------------------------------------------------------------

def with_unit(value, metric):
    if metric.endswith("_per_s"):
        return f"{value / 1e6:.3g} M/s"
    unit = ("MiB" if metric.endswith("_mib") else "B" if metric.startswith("bytes_") else
            "ns" if metric.startswith("ns_") else metric.rsplit("_", 1)[1])
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def print_targets(rows, folder):
    """Returns the table in Markdown, for docs/performance.md."""
    print("\n| work | target | weft | its runs | | best other | ratio | floor | command |\n" + "|---" * 9 + "|")
    met = 0
    with_target = [row for row in rows if "target" in row]
    for row in with_target:
        metric, target, ours = row["metric"], row["target"], row["results"]["weft"]
        runs = f"{with_unit(ours['min'], metric)} to {with_unit(ours['max'], metric)}"
        if ours["slow"]:
            runs += f", {ours['slow']} of {ours['runs']} slow"
        best = "-" if row["best"] is None else \
            f"{row['best']} {with_unit(row['results'][row['best']]['median'], metric)}"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        floor = ", ".join(f"{n} {with_unit(row['results'][n]['median'], metric)}" for n in row["floor"]) or "-"
        met += target["met"]
        sign = "<=" if less_is_better(metric) else ">="
        cells = [target["what"], f"{sign} {with_unit(target['limit'], metric)}", with_unit(ours["median"], metric),
                 runs, "met" if target["met"] else "MISSED", best, ratio, floor, f"`{folder}/bench/{row['command']}`"]
        print("| " + " | ".join(cells) + " |")
    runs = max((row["results"]["weft"]["runs"] for row in with_target), default=0)
    print(f"\n{met} of {len(with_target)} met. Medians of {runs} runs; slow: 1.5 times worse than the best run; "
          "ratio: above 1 weft is better than the best other runtime; the floor has no actors, or is "
          "weft with sockets of its own.")
