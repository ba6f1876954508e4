/* tests/fuzz/seeds.c -- writes the seeds that consist of real frames, with the encoder: seeds FOLDER. With --check it
 * compares them with the files that exist. */
#include <stdio.h>
#include <sys/stat.h>

#include "frame_chunks.h"
#include "frame_tables.h"
#include "link_world.h"
#include "requests.h"
#include "answer.h"
#include "sp.h"
#include "swim_wire.h"

static const char *folder;
static bool checks;
static int different;
static uint8_t bytes[4096], script[8192];
static size_t script_size;

static weft_writer start(void)
{
    return weft_writer_on(bytes, sizeof bytes);
}

static void seed(const char *target, const char *name, const void *data, size_t size)
{
    char path[512];
    static uint8_t there[sizeof script + 1];
    snprintf(path, sizeof path, "%s/%s", folder, target);
    if (!checks) (void)mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", folder, target, name);
    FILE *f = fopen(path, checks ? "rb" : "wb");
    if (checks) {
        bool same = f != NULL && fread(there, 1, sizeof there, f) == size && memcmp(there, data, size) == 0;
        if (!same)
            fprintf(stderr, "%s/%s is not what the encoder writes: tools/fuzz.sh --seeds build-fuzz\n", target, name);
        different += !same;
    } else {
        MUST(f != NULL && fwrite(data, 1, size, f) == size);
    }
    if (f != NULL) fclose(f);
}

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

static void put_greetings(weft_writer *w)
{
    struct wf_hello h = {.version = 1,
                         .newest = 2,
                         .capabilities = WF_CAPABILITIES,
                         .cluster = weft_cstr("weft"),
                         .name = weft_cstr("peer"),
                         .incarnation = 9,
                         .heartbeat_ms = 1000,
                         .url = {weft_cstr("tcp://127.0.0.1:4001")},
                         .url_count = 1};
    wf_put_hello(w, &h);
    wf_put_welcome_link(w, 7, 0, WF_LINK_OVER);
    wf_put_welcome(w);
    wf_put_refused(w, WF_REFUSED_NAME_TAKEN, "no");
    wf_put_bye(w, "left");
}

static void put_control(weft_writer *w)
{
    weft_text url = weft_cstr("tcp://127.0.0.1:4001");
    wf_put_number(w, WF_FRAME_PING, 1);
    wf_put_number(w, WF_FRAME_PONG, 2);
    wf_put_number(w, WF_FRAME_ACK, 1);
    wf_put_peers(w, 2);
    wf_put_peer(w, weft_cstr("b"), 7, &url, 1);
    wf_put_peer(w, weft_cstr("c"), 8, NULL, 0);
    wf_put_interest(w, WF_INTEREST_ADD, 2);
    weft_put_str(w, weft_cstr("room.*"));
    weft_put_str(w, weft_cstr(">"));
    wf_put_interest(w, WF_INTEREST_REMOVE, 1);
    weft_put_str(w, weft_cstr(">"));
}

/* Every kind of a message to that actor, but those that would end it. */
static void put_messages(weft_writer *w, uint64_t to)
{
    for (unsigned kind = 0; kind <= WF_MSG_SPAWNED; kind++) {
        uint32_t frame = wf_frame_of((enum wf_msg_kind)kind);
        bool ends = kind == WF_MSG_STOP || kind == WF_MSG_KILL;
        if (!ends && wf_frame_message(frame) == (int)kind) wf_put_to_actor(w, kind, to, 5, 1, 7, "fuzz", 4, 1500);
    }
}

static void put_whole(weft_writer *w, const struct wf_frame *f, const void *body, size_t size)
{
    wf_put_before_body(w, f, size);
    memcpy(w->at, body, size);
    w->at += size;
    w->size += size;
    wf_put_behind_body(w, f);
}

/* Every kind of a message with a trace id behind it, also those that have none. */
static void put_traced(weft_writer *w, uint64_t to)
{
    static const char id[WF_FRAME_TRACE] = "0123456789abcdef";
    struct wf_frame f = {.to = to, .from = 5, .tag = 1, .ref = 7, .number = 1500, .trace = {id, sizeof id}};
    for (f.kind = WF_FRAME_TO_ACTOR; f.kind <= WF_FRAME_CREDIT_REQUEST_NAME; f.kind++) {
        bool ends = f.kind == wf_frame_of(WF_MSG_STOP) || f.kind == wf_frame_of(WF_MSG_KILL);
        bool to_name = f.kind == WF_FRAME_CREDIT_REQUEST_NAME;
        f.name = weft_cstr(f.kind == WF_FRAME_PUBLISH ? "room.a" : f.kind == WF_FRAME_GROUP_SEND ? "group" : "echo");
        if (!ends && (to_name || wf_frame_has_body(f.kind))) put_whole(w, &f, "fuzz", 4);
    }
}

static void put_names(weft_writer *w)
{
    weft_text echo = weft_cstr("echo");
    wf_put_to_name(w, false, echo, 1, 2, 0, "x", 1, 0);
    wf_put_to_name(w, true, echo, 1, 2, 3, "y", 1, WF_FRAME_NO_DEADLINE);
    wf_put_to_name(w, true, echo, 1, 2, 4, NULL, 0, 1500);
    wf_put_credit_request_name(w, echo, 1, 256, 5);
    wf_put_to_all(w, WF_FRAME_PUBLISH, weft_cstr("room.a"), 4, 5, "hello", 5);
    wf_put_to_all(w, WF_FRAME_GROUP_SEND, weft_cstr("group"), 4, 5, "hello", 5);
}

static void put_tables(weft_writer *w)
{
    struct wf_entry name = {.table = WF_TABLE_NAMES, .key = weft_cstr("there"), .actor = 9, .stamp = 3};
    struct wf_entry taken = {.table = WF_TABLE_NAMES, .key = weft_cstr("there"), .actor = 9, .stamp = 3, .node = 7};
    struct wf_entry member = {.table = WF_TABLE_GROUPS, .key = weft_cstr("group"), .actor = 9};
    struct wf_entry queue = {.table = WF_TABLE_QUEUES, .key = weft_cstr("room.>"), .queue = weft_cstr("q")};
    struct wf_chosen chosen = {.node = 1, .pattern = queue.key, .queue = queue.queue};
    struct wf_publish_to to = {
        .topic = weft_cstr("room.a"), .from = {9, 5}, .node = 1, .chosen = &chosen, .body = "q", .size = 1, .ref = 6};
    struct wf_body *body = wf_body_new(NULL, "room.b", 6, "kept", 4);
    MUST(body != NULL);
    wf_put_table_begin(w);
    wf_put_entry(w, WF_TABLE_SET, &name);
    wf_put_entry(w, WF_TABLE_SET, &member);
    wf_put_entry(w, WF_TABLE_SET, &queue);
    (void)wf_publish_to_size(&to);
    wf_put_publish_to(w, &to);
    body->from = (weft_pid){9, 5};
    body->tag = 2;
    wf_put_retained(w, body, 4, true, 0);
    wf_body_drop(NULL, body);
    member.ended = true;
    wf_put_entry(w, WF_TABLE_UNSET, &name);
    wf_put_entry(w, WF_TABLE_UNSET, &member);
    wf_put_entry(w, WF_TABLE_UNSET, &queue);
    wf_put_entry(w, WF_TABLE_TAKEN, &taken);
    wf_put_missed(w, weft_cstr("room.>"), 3);
}

/* A message in three chunks. */
static void put_chunks(weft_writer *w, uint64_t to)
{
    const struct wf_frame f = {.kind = WF_FRAME_TO_ACTOR, .to = to, .from = 5, .tag = 1};
    wf_put_first_chunk(w, 12);
    wf_put_before_body(w, &f, 4);
    memcpy(w->at, "four", 4);
    w->at += 4;
    w->size += 4;
    wf_put_behind_body(w, &f);
    for (int i = 0; i < 2; i++) {
        wf_put_next_chunk(w, 4);
        memcpy(w->at, "more", 4);
        w->at += 4;
        w->size += 4;
    }
}

/* In two chunks and with trace ids: a message, and what may be kept as long as an actor lives. */
static void put_traced_chunks(weft_writer *w, uint64_t to)
{
    static const char id[WF_FRAME_TRACE] = "0123456789abcdef";
    static const enum wf_msg_kind kinds[] = {WF_MSG_SEND, WF_MSG_CALL, WF_MSG_WATCH, WF_MSG_LINK, WF_MSG_SPAWN};
    for (size_t i = 0; i < WF_COUNT(kinds); i++) {
        const struct wf_frame f = {
            .kind = wf_frame_of(kinds[i]), .to = to, .from = 5, .tag = 1, .number = 1500, .trace = {id, sizeof id}};
        wf_put_first_chunk(w, 8);
        put_whole(w, &f, "four", 4);
        wf_put_next_chunk(w, 4);
        memcpy(w->at, "more", 4);
        w->at += 4;
        w->size += 4;
    }
}

/* What ends an actor, with a trace id. */
static void put_ends(weft_writer *w, uint64_t to)
{
    static const char id[WF_FRAME_TRACE] = "0123456789abcdef";
    struct wf_frame f = {.kind = wf_frame_of(WF_MSG_WATCH), .to = to, .from = 5, .ref = 3, .trace = {id, sizeof id}};
    put_whole(w, &f, "", 0);
    f.kind = wf_frame_of(WF_MSG_STOP);
    put_whole(w, &f, "fuzz", 4);
    f.kind = wf_frame_of(WF_MSG_KILL);
    put_whole(w, &f, "fuzz", 4);
}

static void put_swim(weft_writer *w, uint32_t kind, enum wf_swim_state state)
{
    static uint8_t space[128];
    struct wf_swim_record r = {.name = weft_cstr("m"),
                               .url = {weft_cstr("tcp://127.0.0.1:2")},
                               .url_count = 1,
                               .key = {weft_cstr("k")},
                               .value = {weft_cstr("v")},
                               .meta_count = 1};
    weft_writer record = weft_writer_on(space, sizeof space);
    wf_put_swim_record(&record, &r);
    struct wf_swim_update u = {.node = 11, .state = state, .number = 1, .by = 3};
    if (state <= WF_SWIM_SUSPECT) u.record = (weft_text){(const char *)space, record.size};
    struct wf_swim_message m = {.kind = kind, .sequence = 4, .digest = 5, .node = 3, .flags = 1, .count = 1};
    wf_put_swim(w, &m);
    wf_put_swim_update(w, &u);
}

static void frame_seeds(void)
{
    static const uint32_t kinds[] = {WF_SWIM_PING, WF_SWIM_ACK, WF_SWIM_ASK, WF_SWIM_SYNC};
    weft_writer w = start();
    put_greetings(&w);
    seed("frame", "greetings", bytes, w.size);
    w = start();
    put_control(&w);
    seed("frame", "control", bytes, w.size);
    w = start();
    put_messages(&w, UINT64_C(1) << 40);
    seed("frame", "messages", bytes, w.size);
    w = start();
    put_traced(&w, 8);
    seed("frame", "traced", bytes, w.size);
    w = start();
    put_names(&w);
    seed("frame", "names", bytes, w.size);
    w = start();
    put_tables(&w);
    seed("frame", "tables", bytes, w.size);
    w = start();
    put_chunks(&w, 8);
    for (size_t i = 0; i < 4; i++) put_swim(&w, kinds[i], WF_SWIM_ALIVE);
    MUST(w.error == 0);
    seed("frame", "chunks_gossip", bytes, w.size);
}

/* ---- Scripts --------------------------------------------------------------------------------------------------- */

static void script_byte(unsigned b)
{
    MUST(script_size < sizeof script);
    script[script_size++] = (uint8_t)b;
}

static void script_number(unsigned n)
{
    script_byte(n >> 8);
    script_byte(n & 255);
}

static void script_message(const weft_writer *w)
{
    MUST(w->error == 0);
    script_number((unsigned)w->size);
    for (size_t i = 0; i < w->size; i++) script_byte(bytes[i]);
}

static void link_seed(const char *name, unsigned mode, void (*put)(weft_writer *w, uint64_t to), uint64_t to)
{
    script_size = 0;
    script_byte(mode);
    weft_writer w = start();
    put(&w, to);
    script_message(&w);
    if (mode == (LINK_GREETS | LINK_LOWER)) {
        script_number(LINK_AGAIN);
        script_number(LINK_WAIT);
        script_message(&w);
    }
    seed("link", name, script, script_size);
}

static void link_greetings(weft_writer *w, uint64_t to)
{
    (void)to;
    put_greetings(w);
}
static void link_control(weft_writer *w, uint64_t to)
{
    (void)to;
    put_control(w);
}
static void link_names(weft_writer *w, uint64_t to)
{
    (void)to;
    put_names(w);
}
static void link_tables(weft_writer *w, uint64_t to)
{
    (void)to;
    put_tables(w);
}
static void link_gossip(weft_writer *w, uint64_t to)
{
    (void)to;
    put_swim(w, WF_SWIM_SYNC, WF_SWIM_ALIVE);
    put_swim(w, WF_SWIM_PING, WF_SWIM_SUSPECT);
    put_swim(w, WF_SWIM_ACK, WF_SWIM_DOWN);
}

static void link_seeds(void)
{
    static struct link_world world;
    link_world_init(&world, LINK_GREETS);
    uint64_t to = world.echo.actor;
    link_world_finish(&world);
    link_seed("handshake", 0, link_greetings, to);
    link_seed("control", LINK_GREETS, link_control, to);
    link_seed("messages", LINK_GREETS | LINK_LOWER, put_messages, to);
    link_seed("names", LINK_GREETS | LINK_LOWER, link_names, to);
    link_seed("tables", LINK_GREETS, link_tables, to);
    link_seed("chunks", LINK_GREETS | LINK_LOWER, put_chunks, to);
    link_seed("gossip", LINK_GREETS, link_gossip, to);
    link_seed("tool", LINK_GREETS | LINK_CLIENT, link_names, to);
    link_seed("traced", LINK_GREETS | LINK_LOWER, put_traced, to);
    link_seed("traced_gone", LINK_GREETS, put_traced, to + (UINT64_C(1) << 32));
    link_seed("traced_chunks", LINK_GREETS | LINK_LOWER, put_traced_chunks, to);
    link_seed("traced_chunks_gone", LINK_GREETS, put_traced_chunks, to + (UINT64_C(1) << 32));
    link_seed("ends", LINK_GREETS, put_ends, to);
    link_seed("gone", LINK_GREETS, put_messages, to + (UINT64_C(1) << 32));
    link_seed("old", LINK_GREETS | LINK_OLD, put_messages, to);
}

/* ---- Requests to $node ----------------------------------------------------------------------------------------- */

static void control_request(uint32_t verb, const weft_writer *w)
{
    script_byte(verb);
    script_message(w);
}

static void control_plain(void)
{
    static const uint32_t verbs[] = {WF_CONTROL_PS,    WF_CONTROL_NODES,  WF_CONTROL_INFO,
                                     WF_CONTROL_NAMES, WF_CONTROL_GROUPS, WF_CONTROL_WAITS,
                                     WF_CONTROL_DROPS, WF_CONTROL_STUCK,  WF_CONTROL_RECORD};
    weft_writer w = start();
    script_size = 0;
    for (size_t i = 0; i < WF_COUNT(verbs); i++) control_request(verbs[i], &w);
    seed("control", "plain", script, script_size);
}

static void control_pages(void)
{
    static const uint32_t lists[] = {WF_CONTROL_PS, WF_CONTROL_NAMES, WF_CONTROL_GROUPS};
    script_size = 0;
    for (size_t i = 0; i < WF_COUNT(lists); i++) {
        weft_writer w = start();
        weft_put_array(&w, 5);
        weft_put_uint(&w, lists[i]);
        weft_put_bin(&w, "", 0);
        weft_put_uint(&w, i == 0 ? 1 : 100);
        weft_put_str(&w, weft_cstr(""));
        weft_put_str(&w, weft_cstr(i == 1 ? "e" : ""));
        control_request(WF_CONTROL_PAGE, &w);
    }
    weft_writer w = start();
    wf_put_text(&w, "echo");
    control_request(WF_CONTROL_INSPECT, &w);
    w = start();
    weft_put_array(&w, 5);
    wf_put_text(&w, "mailbox");
    weft_put_uint(&w, 10);
    wf_put_text(&w, "");
    weft_put_bool(&w, true);
    weft_put_bool(&w, true);
    control_request(WF_CONTROL_TOP, &w);
    w = start();
    weft_put_array(&w, 2);
    weft_put_bool(&w, true);
    weft_put_array(&w, 3);
    wf_put_text(&w, "echo");
    wf_put_text(&w, "echo@node");
    wf_put_text(&w, "0.1.1@0000000000000001");
    control_request(WF_CONTROL_WHO, &w);
    script_byte(254);
    seed("control", "pages", script, script_size);
}

static void control_watching(void)
{
    script_size = 0;
    weft_writer w = start();
    wf_put_text(&w, "room.>");
    control_request(WF_CONTROL_SUBSCRIBE, &w);
    w = start();
    weft_put_array(&w, 3);
    wf_put_text(&w, "room.a");
    weft_put_uint(&w, 3);
    weft_put_bin(&w, "x", 1);
    control_request(WF_CONTROL_PUBLISH, &w);
    w = start();
    weft_put_array(&w, 4);
    wf_put_text(&w, "room.a");
    weft_put_uint(&w, 3);
    weft_put_bin(&w, "x", 1);
    weft_put_uint(&w, 100);
    control_request(WF_CONTROL_PUBLISH, &w);
    script_byte(255);
    for (uint32_t verb = WF_CONTROL_TRACE; verb <= WF_CONTROL_TRACE_BODIES; verb += 4) {
        w = start();
        weft_put_array(&w, 4);
        weft_put_nil(&w);
        wf_put_text(&w, verb == WF_CONTROL_TRACE ? "echo" : "");
        wf_put_text(&w, verb == WF_CONTROL_TRACE ? "" : "room.*");
        weft_put_bool(&w, true);
        control_request(verb, &w);
        script_byte(254);
        script_byte(255);
    }
    seed("control", "watching", script, script_size);
}

static void control_settings(void)
{
    script_size = 0;
    weft_writer w = start();
    wf_put_text(&w, "info,transport=debug");
    control_request(WF_CONTROL_LOG, &w);
    w = start();
    weft_put_bool(&w, true);
    control_request(WF_CONTROL_DRAIN, &w);
    w = start();
    weft_put_uint(&w, 100);
    control_request(WF_CONTROL_STOP, &w);
    w = start();
    wf_put_text(&w, "/nowhere/module.so");
    control_request(WF_CONTROL_RELOAD, &w);
    seed("control", "settings", script, script_size);
}

static void swim_seeds(void)
{
    static const uint32_t kinds[] = {WF_SWIM_SYNC, WF_SWIM_PING, WF_SWIM_ACK, WF_SWIM_ASK};
    script_size = 0;
    for (unsigned i = 0; i < 4; i++) {
        weft_writer w = start();
        put_swim(&w, kinds[i], (enum wf_swim_state)i);
        script_byte(0);
        script_byte(i + 1);
        script_message(&w);
        script_byte(128 + i);
        script_byte(100);
    }
    seed("swim", "told", script, script_size);
    static const uint8_t passing[] = {150, 255, 150, 255, 165, 2, 180, 3, 200, 2, 150, 255, 215, 0, 255, 0, 150, 255};
    seed("swim", "passing", passing, sizeof passing);
}

static void framing_seeds(void)
{
    for (unsigned local = 0; local < 2; local++) {
        uint8_t prefix[WF_SP_PREFIX_MAX];
        script_size = 0;
        script_byte(local);
        script_byte(5);
        for (size_t i = 0; i < WF_SP_HEADER; i++) script_byte(wf_sp_header[i]);
        for (unsigned size = 0; size < 30; size += 11) {
            size_t n = wf_sp_prefix(prefix, local != 0, size);
            for (size_t i = 0; i < n; i++) script_byte(prefix[i]);
            for (unsigned i = 0; i < size; i++) script_byte('a' + i);
        }
        seed("framing", local ? "local" : "net", script, script_size);
    }
}

int main(int argc, char **argv)
{
    checks = argc == 3 && strcmp(argv[1], "--check") == 0;
    MUST(argc == 2 + checks);
    folder = argv[argc - 1];
    frame_seeds();
    link_seeds();
    control_plain();
    control_pages();
    control_watching();
    control_settings();
    swim_seeds();
    framing_seeds();
    return different == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
