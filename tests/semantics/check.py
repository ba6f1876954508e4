#!/usr/bin/env python3
"""Compares docs/semantics.md with what weft and Erlang/OTP do. usage: check.py table | weft PROGRAM | erlang

table: every row has its tests, every test a row, and a row says "same" if both results are the same. weft and erlang:
the result of each row is the one in the table; erlang is skipped (exit code 77) if erl and erlc are not installed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "semantics.md"
SKIPPED = 77
# This node of Erlang/OTP listens on 127.0.0.1 only: see rows_epmd.erl.
NODE = ["-noshell", "-noinput", "-start_epmd", "false", "-epmd_module", "rows_epmd", "-setcookie", "rows",
        "-kernel", "inet_dist_use_interface", "{127,0,0,1}", "-name", "rows@127.0.0.1"]
# After this many ms without a message a row has none. The longer time is for rows that a slow machine may have cut.
SILENCES = 1000, 6000


def cells(line):
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def table():
    """Returns {row: (weft, erlang or None, remark)}, and the faults in the form of the page."""
    rows, faults = {}, []
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        row = cells(line) if line.startswith("|") else []
        if len(row) != 5 or not re.fullmatch(r"`[a-z_0-9]+`", row[0]):
            continue
        name, asked, weft, erlang, remark = row
        name = name.strip("`")
        if name in rows:
            faults.append(f"line {number}: {name} is there twice")
        if not asked:
            faults.append(f"line {number}: {name} asks nothing")
        for outcome in (weft, erlang):
            if not re.fullmatch(r"`[^`]+`", outcome) and not (outcome == "-" and outcome is erlang):
                faults.append(f"line {number}: {name}: {outcome} is no `outcome`")
        if erlang != "-" and (remark == "same") != (weft == erlang):
            faults.append(f"line {number}: {name}: {weft} and {erlang} are not: {remark}")
        if remark != "same" and erlang != "-" and not re.fullmatch(r"differs: .+", remark):
            faults.append(f"line {number}: {name}: neither \"same\" nor \"differs: why\"")
        rows[name] = weft.strip("`"), None if erlang == "-" else erlang.strip("`"), remark
    return rows, faults


def tests(pattern, row):
    """Returns the names of the tests in these files."""
    found = set()
    for file in HERE.glob(pattern):
        prefix = file.stem.removeprefix("rows_") + "_"
        names = re.findall(row, file.read_text(encoding="utf-8"), re.M)
        found.update(name for name in names if name.startswith(prefix))
    return found


def difference(kind, wanted, found):
    return [f"{name}: a row without a test in {kind}" for name in sorted(wanted - found)] + \
        [f"{name}: a test in {kind} without a row" for name in sorted(found - wanted)]


def check_table():
    rows, faults = table()
    if len(rows) < 50:
        faults.append(f"{len(rows)} rows are too few: the page is not read as it should be")
    faults += difference("C", set(rows), tests("rows_*.c", r"^(?:NODES_)?ROW\((\w+)\)"))
    erlang = {name for name, row in rows.items() if row[1] is not None}
    return rows, faults + difference("Erlang", erlang, tests("rows_*.erl", r"^(\w+)\(\) ->"))


def outcomes(output):
    return dict(line.split("\t", 1) for line in output.splitlines() if "\t" in line)


def compare(wanted, got):
    return [f"{name}: the page says `{wanted[name]}`, the test `{got.get(name, '')}`"
            for name in wanted if got.get(name) != wanted[name]]


def check_weft(rows, program):
    done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
    faults = [] if done.returncode == 0 else [f"{program} ends with {done.returncode}"]
    return faults + compare({name: row[0] for name, row in rows.items()}, outcomes(done.stdout))


def check_erlang(rows):
    if not shutil.which("erl") or not shutil.which("erlc"):
        print("Erlang/OTP is not installed: skipped")
        sys.exit(SKIPPED)
    wanted = {name: row[1] for name, row in rows.items() if row[1] is not None}
    with tempfile.TemporaryDirectory() as folder:
        sources = sorted(HERE.glob("*.erl"))
        subprocess.run(["erlc", "-Werror", "-o", folder, *map(str, sources)], check=True)
        modules = ",".join(f.stem for f in sources if f.stem.startswith("rows_") and f.stem != "rows_epmd")
        again, faults = [], []
        for silence in SILENCES:
            run = f"rows:main({silence},[{modules}],[{','.join(again)}]),halt()."
            done = subprocess.run(["erl", *NODE, "-pa", folder, "-eval", run], stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, ERL_CRASH_DUMP_BYTES="0", HOME=folder, ROWS_FOLDER=folder),
                                  check=False)
            got = outcomes(done.stdout)
            asked = {name: wanted[name] for name in again or wanted}
            faults = compare(asked, got)
            again = [name for name in asked if got.get(name) != asked[name]]
            if not again:
                break
    return faults


def main():
    what = sys.argv[1]
    rows, faults = check_table()
    if what == "weft":
        faults = check_weft(rows, sys.argv[2])
    elif what == "erlang":
        faults = check_erlang(rows)
    for fault in faults:
        print(fault)
    print(f"{len(rows)} rows, {sum(row[1] is not None for row in rows.values())} of them in Erlang; "
          f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
