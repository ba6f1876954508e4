#!/usr/bin/env python3
"""Prints which lines and branches a build with --coverage has run, by folder; and by file for code that reads foreign
bytes, for links and for mailboxes: ./dev coverage, see docs/testing.md.

Branches of a line with an assertion do not count, because an assertion must never fail.

usage: coverage.py BUILD_FOLDER [--missing FILE...]     --missing: the lines of these with branches never taken
"""
import json
import os
import subprocess
import sys

ASSERTIONS = r".*(WF_ASSERT|_Static_assert)\b.*"
FOLDERS = ["runtime/platform", "runtime", "actors", "transport", "cli"]
FILES = {
    "frames, framing": ["transport/wire/frame.c", "transport/wire/frame_chunks.c", "transport/wire/frame_read.h",
                        "transport/wire/frame_tables.c", "transport/wire/sp.c", "transport/wire/swim_wire.c"],
    "HELLO, identity": ["transport/cluster/handshake.c", "transport/security/identity.c",
                        "transport/security/roles.c"],
    "msgpack, typed messages": ["actors/data/pack.c", "actors/data/typed.c", "actors/data/typed_json.c"],
    "topics": ["actors/data/topic_trie.c", "actors/topics/topic_match.c"],
    "URLs, DNS, etcd": ["runtime/platform/address.c", "transport/carrier/url.c", "transport/discover/source.c",
                        "transport/discover/discover_dns.c", "transport/discover/etcd_json.c",
                        "transport/discover/etcd_spec.c"],
    "command line": ["cli/options/option_table.c", "cli/options/options.c", "cli/config/config.c", "cli/options/values.c",
                     "cli/client/json.c"],
    "HTTP, WebSocket": ["examples/webchat_http.h"],
    "link": ["transport/link/channel.c", "transport/cluster/links.c", "transport/link/send_queue.c",
             "transport/link/link_writer.c", "transport/link/receive.c", "transport/link/peer_link.c",
             "transport/link/table_sync.c"],
    "mailbox": ["actors/mailbox/mailbox.c", "actors/mailbox/deliver.c", "actors/mailbox/held.c", "actors/mailbox/message.c",
                "actors/mailbox/backpressure.c", "actors/core/msg.c", "actors/core/body.c", "runtime/sched/post.c"],
}


def measure(build):
    """{file: [(line, times run, [times each of its branches was taken])]}"""
    filters = [word for folder in ["runtime/", "actors/", "transport/", "cli/", "examples/webchat_http.h"]
               for word in ("-f", folder)]
    out = subprocess.run(["gcovr", "-r", ".", "--object-directory", build, *filters, "-j", str(os.cpu_count()),
                          "--exclude-directories", ".*litmus.*",  # post.c with other operations
                          "--exclude-branches-by-pattern", ASSERTIONS, "--json", "-", build],
                         check=True, stdout=subprocess.PIPE).stdout
    return {file["file"]: [(line["line_number"], line["count"], [branch["count"] for branch in line["branches"]])
                           for line in file["lines"] if not line.get("gcovr/noncode")]
            for file in json.loads(out)["files"]}


def folder_of(name):
    return next(folder for folder in [*FOLDERS, "examples"] if name.startswith(folder + "/"))


def share(counts):
    return f"{100 * sum(count > 0 for count in counts) / len(counts):.1f} %" if counts else "-"


def row(title, lines):
    branches = [count for _, _, taken in lines for count in taken]
    print(f"{title:32} {len(lines):6} {share([times for _, times, _ in lines]):>9} {len(branches):7} "
          f"{share(branches):>9}")


def main():
    covered = measure(sys.argv[1])
    if sys.argv[2:3] == ["--missing"]:
        for name in sys.argv[3:]:
            print(name, *[number for number, _, taken in covered[name] if 0 in taken])
        return
    print(f"{'':32} {'lines':>6} {'run':>9} {'branches':>7} {'taken':>8}")
    for folder in FOLDERS:
        row(folder, [line for name in covered if folder_of(name) == folder for line in covered[name]])
    for title, files in FILES.items():
        print(f"-- {title}")
        for name in files:
            row("  " + name, covered[name])


if __name__ == "__main__":
    main()
