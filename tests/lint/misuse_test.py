#!/usr/bin/env python3
"""Every function of include/weft that takes a point in time stands in the table of
tests/unit/actors/core/misuse_time_test.c, or here with the reason why not."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "weft_node_stop": "outside of actors, like weft_node_wait, which is tested",
    "weft_exclusive_acquire": "is a weft_call",
    "weft_connect_start": "calls weft_connect in an actor of its own",
    "weft_stream_secure": "waits as weft_read and weft_write do",
    "weft_udp_send": "waits as weft_udp_receive does",
    "weft_publish_reach": "waits for answers, as weft_gather does",
    "weft_publish_stored": "is a weft_call, as are the other calls of store.h",
    "weft_store_open": "is a weft_call",
    "weft_cursor_advance": "is a weft_call",
    "weft_cursor_remove": "is a weft_call",
    "weft_cursors": "is a weft_call",
    "weft_stored_logs": "is a weft_call",
    "weft_subscribe_cursor": "is a weft_call",
    "weft_subscribe_from": "is a weft_call",
    "weft_subscribe_shared": "is a weft_call",
    "weft_shared_done": "is a weft_call",
    "weft_shared_done_upto": "is a weft_call",
    "weft_shared_return": "is a weft_call",
    "weft_shared_extend": "is a weft_call",
    "weft_persist_open": "is a weft_call, as are the other calls of persist.h",
    "weft_persist_append": "is a weft_call",
    "weft_persist_append_typed": "is a weft_call",
    "weft_persist_save": "is a weft_call",
    "weft_persist_save_typed": "is a weft_call",
    "weft_persist_remove": "is a weft_call",
    "weft_persist_states": "is a weft_call",
    "weft_queue_put": "is a weft_call, as are the other calls of queue.h",
    "weft_queue_take": "is a weft_call",
    "weft_queue_done": "is a weft_call",
    "weft_queue_return": "is a weft_call",
    "weft_queue_extend": "is a weft_call",
    "weft_queue_counts": "is a weft_call",
    "weft_queue_retry": "is a weft_call",
    "weft_queue_drop": "is a weft_call",
    "weft_queue_subscribe": "is a weft_call",
    "weft_reminder_set": "is a weft_call",
    "weft_reminder_cancel": "is a weft_call",
    "weft_reminders": "is a weft_call",
}


def main():
    source = (ROOT / "tests/unit/actors/core/misuse_time_test.c").read_text()
    tested = set(re.findall(r"^ROW\((\w+)", source, re.M)) | set(re.findall(r"\b(weft_node_\w+)\(", source))
    points = {}
    for header in sorted((ROOT / "include/weft").glob("*.h")):
        for name, arguments in re.findall(r"^WEFT_API [\w ]+?\*?(\w+)\(([^;]*)\)", header.read_text(), re.M):
            if re.search(r"int64_t (deadline|first|when)\b", arguments):
                points[name] = header.name
    missing = sorted(set(points) - tested - set(ELSEWHERE))
    stale = sorted(set(ELSEWHERE) - set(points))
    for name in missing:
        print(f"{points[name]}: {name} is not in the table of misuse_time_test.c")
    for name in stale:
        print(f"{name}: takes no point in time")
    return 1 if missing or stale or len(points) < 50 else 0


sys.exit(main())
