#!/usr/bin/env python3
"""Checks the style. Every rule is a function below; findings are printed as `file:line: text`.

Faults are includes that point upward, unfinished marks, tests that sleep, and files that do not say what they are.
Lengths are hints, which `tools/tidy.py --list` shows: a file is split where an idea ends, not at a limit.

tools/tidy-allowed.txt is the ratchet: findings in it are allowed, and a line that is no longer needed is an error, so
that the list can only get shorter. `tools/tidy.py --shrink` removes such lines."""
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "tools" / "tidy-allowed.txt"
PINNED = ROOT / "tests" / "lint" / "error_codes.txt"
FILE_LINES, FUNCTION_LINES, LINE_WIDTH = 800, 80, 118

# From the bottom up: a file may include headers of its own layer and of those before it.
LAYERS = ["include", "runtime/platform", "runtime", "actors", "transport", "cli"]
SYSTEM_CALLS = re.compile(
    r"^(sys/.*|linux/.*|netinet/.*|arpa/.*|netdb|unistd|poll|fcntl|pthread|sched|signal|dirent|dlfcn|errno|time"
    r"|windows|winsock2|execinfo)\.h$")
SYSTEM_ALLOWED = ("runtime/platform/", "cli/", "tests/", "examples/", "bench/", "tools/",
                  # libweft-store has nothing of libweft's platform
                  "transport/store/postgres/postgres_relay.c", "transport/store/postgres/host_lookup.c",
                  "transport/store/sqlite/sqlite_name_posix.c", "transport/store/sqlite/sqlite_name_windows.c")
SYSTEMS = re.compile(r"^\s*#\s*(?:el)?if\w*\b.*\b(__linux__|_WIN\d\d|__APPLE__|__\w*BSD__|__unix__|__MACH__)\b")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
FOR_WINDOWS = "x86_64-w64-mingw32-gcc"
# Words that were coined here, or are not plain: {word: what to write}. They may not come back into the product.
REPLACED = {"asker": "caller, or requester", "askers": "callers", "anew": "again", "for ever": "without a limit",
            "whoever": "a noun", "bunch": "published block", "crowded": "has waiters", "choked": "congested",
            "good-bye": "leave notice"}
WORDS_REPLACED = re.compile(r"\b(" + "|".join(REPLACED) + r")\b", re.I)
STOPS_EARLY = re.compile(r"\|\s*(?:[ef]?grep\s+(?:-\w+\s+)*-(?:\w*[qm]|-quiet)|head\b)")
WAITS_ON_WALL_CLOCK = re.compile(
    r"\bCLOCK_REALTIME\b|(?<![\w.>])(sem_timedwait|pthread_(mutex|rwlock)_timed\w+|cnd_timedwait|mtx_timedlock|mq_timed\w+)\s*\(")
SLEEPS = re.compile(r"(?<![\w.>])(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep)\s*\(")

LIBPQ = subprocess.run(["pkg-config", "--cflags-only-I", "libpq"], capture_output=True, text=True, check=False).stdout.split()
HINTS = ["unused", "file-length", "function-length", "width"]
ROOMS = {}
findings = []  # (key, text); the key is what the ratchet knows a finding by, without line numbers


def find(rule, path, line, text, detail=""):
    findings.append((f"{rule} {path}{' ' + detail if detail else ''}", f"{path}:{line}: {text}"))


def tracked():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(p for p in out.split("\0") if p and (ROOT / p).is_file())


def layer(path):
    """Returns the index of a file's layer; None for tests, examples and benchmarks."""
    for index in (2, 1, 0, 3, 4, 5) if not path.startswith("runtime/platform/") else (1,):
        if path.startswith(LAYERS[index] + "/"):
            return index
    return None


def without_comments(text):
    """Comments and string contents become blanks; lines stay where they are."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def check_lengths(path, lines):
    if len(lines) > FILE_LINES:
        find("file-length", path, 1, f"{len(lines)} lines, at most {FILE_LINES}")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_WIDTH:
            find("width", path, number, f"{len(line)} columns, at most {LINE_WIDTH}", line.strip()[:40])
        if line != line.rstrip():
            find("blank", path, number, "blanks at the end of the line", line.strip()[:40])
        if line.startswith("/* ----") and not line.endswith("- */"):
            find("heading", path, number, "the heading of a section is one line", line.strip()[:40])


def check_pipes(path, lines):
    """A shell script ends a pipe with a program that reads all of it. `grep -q` and `head` stop early: then the program
    before them may die of SIGPIPE, and with `pipefail` the pipe fails now and then."""
    for number, line in enumerate(lines, 1):
        if STOPS_EARLY.search(line):
            find("pipe", path, number, "a pipe ends with a program that stops reading early: write `grep ... >/dev/null`, or sed",
                 line.strip())


def check_functions(path, lines):
    """A function starts after the empty line or `}` before a `{` in the first column, and ends with a `}` there."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{") and start is None:
            start = number
            while start > 1 and lines[start - 2].strip() and not lines[start - 2].startswith(("}", " *", "/*", "#")):
                start -= 1
        elif line.startswith("}"):
            if start is not None and number - start + 1 > FUNCTION_LINES:
                name = re.search(r"(\w+)\s*\(", " ".join(lines[start - 1:number]))
                name = name[1] if name else "function"
                length = number - start + 1
                find("function-length", path, start, f"{name} has {length} lines, at most {FUNCTION_LINES}", name)
            start = None


def check_head(path, lines):
    """The first comment of a product file has its path and says what it is; files of a new project belong to the
    user."""
    if path.startswith("cli/new/project/") or layer(path) is None:
        return
    name = path.removeprefix("include/")  # as users write it
    if not lines or not lines[0].startswith(f"/* {name} -- "):
        find("head", path, 1, f"the first line is `/* {name} -- ` and what the file is")


def check_includes(path, lines, headers):
    mine = layer(path)
    for number, line in enumerate(lines, 1):
        quoted = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        system = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
        if quoted and mine is not None:
            targets = headers.get(os.path.basename(quoted[1]), [])
            beside = (ROOT / path).parent.joinpath(quoted[1]).is_file()
            if not beside and not any(0 < (layer(target) or 0) <= mine for target in targets):
                for target in (x for x in targets if (layer(x) or 0) > mine):
                    find("upward", path, number, f"{LAYERS[mine]} must not include {target}", quoted[1])
        if system:
            free = path.startswith(("transport/carrier/carrier_nng", "tests/", "bench/peers/"))
            if system[1].startswith("nng/") and not free:
                find("nng", path, number, "only transport/carrier/carrier_nng* include NNG's headers")
            if SYSTEM_CALLS.match(system[1]) and not path.startswith(SYSTEM_ALLOWED):
                find("system", path, number, f"<{system[1]}> belongs to runtime/platform", system[1])


def check_words(path, text, code):
    for number, line in enumerate(text.splitlines(), 1):
        if path != "tools/tidy.py" and UNFINISHED.search(line):
            find("unfinished", path, number, "unfinished: do it, or write an issue")
        replaced = WORDS_REPLACED.search(line) if path.startswith(tuple(LAYERS)) else None
        if replaced:
            find("word", path, number, f"'{replaced[0]}': write {REPLACED[replaced[0].lower()]}", replaced[0])
    for number, line in enumerate(code.splitlines(), 1):
        # An actor that sleeps is what stuck_test.c is about.
        if path.startswith("tests/") and path != "tests/unit/actors/run/stuck_test.c" and SLEEPS.search(line):
            find("sleep", path, number, "a test waits for what it needs, it does not sleep")
        if layer(path) is not None and path != "runtime/platform/posix/clock.c" and WAITS_ON_WALL_CLOCK.search(line):
            find("wall-clock", path, number, "this waits for a time of the wall clock, which may be set: use the monotonic clock")
        if not path.startswith(("runtime/platform/", "tests/")) and SYSTEMS.match(line):
            find("ifdef", path, number, "the build picks the platform, not the preprocessor")


def check_error_codes():
    text = (ROOT / "include/weft/error.h").read_text(encoding="utf-8")
    codes = {name: int(value) for name, value in re.findall(r"\bX\((E\w+),\s*(-\d+),", text)}
    pinned = {}
    for line in PINNED.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, value = line.split()
            pinned[name] = int(value)
    header = "include/weft/error.h"
    for name, value in pinned.items():
        if codes.get(name) != value:
            now = codes.get(name, "gone")
            find("error-code", header, 1, f"{name} was {value} and is {now}: never renumber", name)
    for name in codes.keys() - pinned.keys():
        entry = f"{name} {codes[name]}"
        find("error-code", header, 1, f"new code: append `{entry}` to {PINNED.relative_to(ROOT)}", name)
    for value, times in collections.Counter(codes.values()).items():
        if times > 1:
            find("error-code", header, 1, f"{value} is used {times} times", str(value))


def check_public(files):
    """Every public function has a comment (its own, or one over its group) and is used in a test or an example."""
    users = "\n".join((ROOT / p).read_text(encoding="utf-8", errors="replace")
                      for p in files if p.startswith(("tests/", "examples/")) and p.endswith((".c", ".h")))
    used = set(re.findall(r"\bweft_\w+", users))
    for path in (p for p in files if p.startswith("include/weft/") and p.endswith(".h")):
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        commented = False
        for number, line in enumerate(lines, 1):
            if not line.strip():
                commented = False
            if "/*" in line or line.rstrip().endswith("*/"):
                commented = True
            name = re.match(r"(?:WEFT_API|static inline) [^(]*?\b(weft_\w+)\(", line)
            if not name:
                continue
            if not commented:
                find("comment", path, number, f"{name[1]} has no comment", name[1])
            if name[1] not in used:
                find("unused", path, number, f"{name[1]} is used in no test and no example", name[1])


def compile_header(header, language):
    """Compiles a file that includes only this header, twice."""
    public = header.startswith("include/")
    windows = header.startswith("runtime/platform/windows/")
    compiler = FOR_WINDOWS if windows else "gcc"
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only", "-Iinclude"]
    if not public:
        flags += ["-D_GNU_SOURCE", "-Itests", "-Iruntime/platform/" + ("windows" if windows else "posix")]
        flags += ["-I" + folder for folder in ROOMS[layer(header)]] + LIBPQ
    command = {"c": [compiler, "-xc", "-std=c11"], "c++": ["g++", "-xc++", "-std=c++17"]}[language]
    if not public:
        command[2] = "-std=gnu11"
    name = header[len("include/"):] if public else str(ROOT / header)
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(f'#include "{name}"\n' * 2)
        source.flush()
        done = subprocess.run(command + flags + [source.name], cwd=ROOT, capture_output=True, text=True, check=False)
    return header, language, done


def rooms_of(files):
    """Returns, for each layer, the folders whose headers it may include: its own and those of the layers below."""
    rooms = collections.defaultdict(list)
    folders = {os.path.dirname(p) for p in files if p.endswith(".h") and layer(p) is not None}
    for mine in range(len(LAYERS)):
        rooms[mine] = [LAYERS[1]] + sorted(f for f in folders if 2 <= layer(f + "/") <= mine)
    return rooms


def check_headers(files):
    ROOMS.update(rooms_of(files))
    headers = [p for p in files if p.endswith(".h") and layer(p) is not None]
    if shutil.which(FOR_WINDOWS) is None:
        headers = [p for p in headers if not p.startswith("runtime/platform/windows/")]
    if not LIBPQ:
        headers = [p for p in headers if not p.startswith("transport/store/postgres/")]
    jobs = [(h, "c") for h in headers] + [(h, "c++") for h in headers if h.startswith("include/")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, language, done in pool.map(lambda job: compile_header(*job), jobs):
            if done.returncode != 0:
                first = next((l for l in done.stderr.splitlines() if "error" in l), done.stderr[:200])
                find("header", header, 1, f"does not compile alone as {language.upper()}: {first}", language)


def settle(shrink):
    """Removes the allowed findings, prints the rest, and returns the number of faults."""
    kept, allowed = [], collections.Counter()
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            allowed[line] += 1
    faults, hints = 0, 0
    left = collections.Counter(allowed)
    for key, text in findings:
        if left[key] > 0:
            left[key] -= 1
        elif key.split()[0] in HINTS:
            hints += 1
        else:
            print(text)
            faults += 1
    stale = +left
    if hints:
        print(f"{hints} hints ({', '.join(HINTS)}); tools/tidy.py --list shows them")
    if shrink:
        for line in reversed(lines):
            if stale[line] > 0:
                stale[line] -= 1
            else:
                kept.append(line)
        ALLOWED.write_text("\n".join(reversed(kept)) + "\n", encoding="utf-8")
    elif stale:
        print(f"{sum(stale.values())} lines of tidy-allowed.txt are no longer needed; fix: tools/tidy.py --shrink")
        faults += 1
    return faults


def main():
    files = tracked()
    headers = collections.defaultdict(list)
    for path in files:
        if path.endswith(".h"):
            headers[os.path.basename(path)].append(path)
    for path in files:
        if not path.endswith((".c", ".h", ".S", ".py", ".sh")) and path != "dev":
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        check_lengths(path, text.splitlines())
        if path.endswith(".sh") or path == "dev":
            check_pipes(path, text.splitlines())
        if path.endswith((".c", ".h")):
            check_functions(path, text.splitlines())
            check_head(path, text.splitlines())
            check_includes(path, text.splitlines(), headers)
            check_words(path, text, without_comments(text))
    check_error_codes()
    check_public(files)
    check_headers(files)
    if "--list" in sys.argv:
        print("\n".join(key for key, _ in findings))
        return 0
    faults = settle("--shrink" in sys.argv)
    print(f"tidy: {len(files)} files, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
