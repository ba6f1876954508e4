/* Frames: a written frame can be read; a frame that is cut, has flipped bits, or claims huge counts is refused
 * without reading past the end. */
#include "frame_chunks.h"
#include "frame_tables.h"
#include "frames.h"
#include "trace.h"

static struct wf_frame read_one(const weft_writer *w)
{
    struct wf_frame f;
    weft_reader r = weft_reader_on(buffer, w->size);
    ck_assert_int_eq(w->error, 0);
    ck_assert_int_eq(wf_frame_next(&r, &f), 1);
    ck_assert_int_eq(wf_frame_next(&r, &f), 0);
    return f;
}

/* A frame whose body is written apart from it. */
static void put_apart(weft_writer *w, const struct wf_frame *f, const char *part)
{
    wf_put_before_body(w, f, strlen(part));
    memcpy(w->at, part, strlen(part));
    w->at += strlen(part);
    w->size += strlen(part);
    wf_put_behind_body(w, f);
}

static const struct wf_frame call = {
    .kind = WF_FRAME_TO_ACTOR + WF_MSG_CALL, .to = UINT64_C(1) << 40, .from = 5, .tag = 6, .ref = 7, .number = 1500};

/* Writes one frame of each kind, one behind the other. */
static weft_writer all_kinds(void)
{
    weft_writer w = writer();
    weft_text url = weft_cstr("tcp://127.0.0.1:4001");
    struct wf_hello h = {.version = 1,
                         .newest = 2,
                         .cluster = weft_cstr("weft"),
                         .name = weft_cstr("a"),
                         .incarnation = UINT64_MAX,
                         .heartbeat_ms = 1000,
                         .url = {url},
                         .url_count = 1};
    wf_put_hello(&w, &h);
    wf_put_welcome(&w);
    wf_put_refused(&w, WF_REFUSED_CLUSTER, "no");
    wf_put_bye(&w, "left");
    wf_put_number(&w, WF_FRAME_PING, 1);
    wf_put_number(&w, WF_FRAME_PONG, 2);
    wf_put_number(&w, WF_FRAME_ACK, 3);
    wf_put_number(&w, WF_FRAME_START, 4);
    wf_put_welcome_link(&w, 9, UINT64_C(1) << 50, WF_LINK_UP);
    wf_put_peers(&w, 2);
    wf_put_peer(&w, weft_cstr("b"), 7, &url, 1);
    wf_put_peer(&w, weft_cstr("c"), 8, NULL, 0);
    wf_put_interest(&w, WF_INTEREST_ADD, 2);
    weft_put_str(&w, weft_cstr("room.*"));
    weft_put_str(&w, weft_cstr(">"));
    for (unsigned kind = WF_MSG_SEND; kind <= WF_MSG_STOP; kind++)
        wf_put_to_actor(&w, kind, UINT64_C(1) << 40, 5, 6, 7, "body", 4, 1500);
    wf_put_to_actor(&w, WF_MSG_PROBE, UINT64_C(1) << 40, 5, 6, 7, "body", 4, 0);
    wf_put_to_name(&w, false, weft_cstr("echo"), 1, 2, 0, "x", 1, 1500);
    wf_put_to_name(&w, true, weft_cstr("echo"), 1, 2, 3, NULL, 0, WF_FRAME_NO_DEADLINE);
    wf_put_to_name(&w, true, weft_cstr("echo"), 1, 2, 3, NULL, 0, 0);
    wf_put_to_all(&w, WF_FRAME_PUBLISH, weft_cstr("room.lobby"), 4, 5, "hello", 5);
    wf_put_first_chunk(&w, 9);
    put_apart(&w, &call, "body");
    wf_put_next_chunk(&w, 5);
    memcpy(w.at, "parts", 5);
    w.at += 5;
    w.size += 5;
    ck_assert_int_eq(w.error, 0);
    return w;
}

START_TEST(frames_are_read_as_they_were_written)
{
    static const uint32_t kinds[] = {1,  2,  3,  4,  5,  6,  9,  10, 2,  7,  8, 16,
                                     17, 18, 19, 20, 48, 24, 25, 25, 32, 11, 11};
    weft_writer w = all_kinds();
    weft_reader r = weft_reader_on(buffer, w.size);
    struct wf_frame f;
    bool timed = false; /* the second CALL_NAME says how long its caller waits */
    for (size_t i = 0; i < WF_COUNT(kinds); i++) {
        ck_assert_int_eq(wf_frame_next(&r, &f), 1);
        ck_assert_uint_eq(f.kind, kinds[i]);
        ck_assert_str_ne(wf_frame_name(f.kind), "unknown");
        ck_assert(f.counted == (f.kind == 4 || f.kind == 7 || f.kind == 8 || f.kind == 11 || f.kind >= 16));
        if (f.kind == WF_FRAME_HELLO) {
            ck_assert(text_is(f.hello.name, "a") && text_is(f.hello.cluster, "weft"));
            ck_assert(f.hello.incarnation == UINT64_MAX && f.hello.url_count == 1);
            ck_assert(text_is(f.hello.url[0], "tcp://127.0.0.1:4001"));
            ck_assert(f.hello.version == 1 && f.hello.newest == 2);
        } else if (f.kind == WF_FRAME_WELCOME) {
            ck_assert(i == 1 ? f.number == 0 && f.ref == 0 && f.tag == WF_LINK_OVER
                             : f.number == 9 && f.ref == UINT64_C(1) << 50 && f.tag == WF_LINK_UP);
        } else if (f.kind == WF_FRAME_ACK || f.kind == WF_FRAME_START) {
            ck_assert_uint_eq(f.number, f.kind == WF_FRAME_ACK ? 3 : 4);
        } else if (f.kind == WF_FRAME_PEERS) {
            struct wf_frame_peer p;
            ck_assert_uint_eq(f.count, 2);
            wf_frame_next_peer(&f, &p);
            ck_assert(text_is(p.name, "b") && p.incarnation == 7 && p.url_count == 1);
            wf_frame_next_peer(&f, &p);
            ck_assert(text_is(p.name, "c") && p.incarnation == 8 && p.url_count == 0);
        } else if (f.kind == WF_FRAME_INTEREST) {
            ck_assert(f.number == WF_INTEREST_ADD && f.count == 2);
            ck_assert(text_is(weft_get_str(&f.items), "room.*"));
            ck_assert(text_is(weft_get_str(&f.items), ">"));
        } else if ((f.kind >= 16 && f.kind <= 20) || f.kind == 48) {
            ck_assert(f.to == UINT64_C(1) << 40 && f.from == 5 && f.tag == 6 && f.ref == 7 &&
                      text_is(f.body, "body"));
            ck_assert(f.number == (f.kind == 17 ? 1500 : WF_FRAME_NO_DEADLINE));
        } else if (f.kind == WF_FRAME_PUBLISH) {
            ck_assert(text_is(f.name, "room.lobby") && f.from == 4 && f.tag == 5 && text_is(f.body, "hello"));
        } else if (f.kind == WF_FRAME_CALL_NAME) {
            ck_assert(text_is(f.name, "echo") && f.to == 0 && f.ref == 3 && f.body.size == 0);
            ck_assert(f.number == (timed ? 0 : WF_FRAME_NO_DEADLINE));
            timed = true;
        } else if (f.kind == WF_FRAME_CHUNK && f.number > 0) {
            struct wf_frame within;
            ck_assert(f.number == 9 && wf_frame_next(&f.items, &within) == 1);
            ck_assert(wf_frame_has_body(within.kind) && wf_frame_next(&f.items, &within) == 0);
            ck_assert(within.kind == call.kind && within.number == 1500 && text_is(within.body, "body"));
        } else if (f.kind == WF_FRAME_CHUNK) {
            ck_assert(text_is(f.body, "parts"));
        }
    }
    ck_assert_int_eq(wf_frame_next(&r, &f), 0);
}
END_TEST

/* Written apart from its frame a body is read like any other. */
START_TEST(a_body_may_be_written_apart)
{
    static const uint32_t kinds[] = {WF_FRAME_TO_ACTOR + WF_MSG_SEND,
                                     WF_FRAME_TO_ACTOR + WF_MSG_CALL,
                                     WF_FRAME_SEND_NAME,
                                     WF_FRAME_CALL_NAME,
                                     WF_FRAME_PUBLISH,
                                     WF_FRAME_GROUP_SEND,
                                     WF_FRAME_CREDIT_REQUEST_NAME};
    for (size_t i = 0; i < 2 * WF_COUNT(kinds); i++) {
        struct wf_frame f = call;
        f.kind = kinds[i / 2];
        f.name = weft_cstr("lobby");
        if (i % 2 == 1) f.number = WF_FRAME_NO_DEADLINE;
        weft_writer w = writer();
        put_apart(&w, &f, "hello");
        struct wf_frame got = read_one(&w);
        bool all = f.kind == WF_FRAME_PUBLISH || f.kind == WF_FRAME_GROUP_SEND;
        bool timed = f.kind == WF_FRAME_CALL_NAME || f.kind == WF_FRAME_TO_ACTOR + WF_MSG_CALL;
        ck_assert(got.kind == f.kind && got.from == 5 && got.tag == 6 && text_is(got.body, "hello"));
        if (f.kind < WF_FRAME_SEND_NAME) ck_assert(got.to == f.to);
        else ck_assert(text_is(got.name, "lobby"));
        if (!all) ck_assert(got.ref == 7 && got.number == (timed ? f.number : WF_FRAME_NO_DEADLINE));
    }
    ck_assert(!wf_frame_has_body(WF_FRAME_PING) && !wf_frame_has_body(WF_FRAME_CHUNK));
    ck_assert(!wf_frame_has_body(WF_FRAME_TABLE) && !wf_frame_has_body(WF_FRAME_HELLO));
}
END_TEST

/* Its head has no space at any place, or its body is larger than one may be. */
START_TEST(a_body_apart_needs_space_for_its_head)
{
    weft_writer whole = writer();
    wf_put_before_body(&whole, &call, 5);
    ck_assert_int_eq(whole.error, 0);
    for (size_t space = 0; space < whole.size; space++) {
        uint8_t *exact = malloc(space + 1);
        weft_writer w = weft_writer_on(exact, space);
        wf_put_before_body(&w, &call, 5);
        ck_assert_int_eq(w.error, WEFT_ETOOBIG);
        free(exact);
    }
    weft_writer w = writer();
    wf_put_before_body(&w, &call, (size_t)UINT32_MAX + 1);
    ck_assert_int_eq(w.error, WEFT_ETOOBIG);
}
END_TEST

START_TEST(a_body_is_as_large_as_a_message_may_be)
{
    const size_t space = WEFT_MESSAGE_MAX + 100;
    uint8_t *large = calloc(1, space);
    char *body = calloc(1, WEFT_MESSAGE_MAX + 1);
    ck_assert(large != NULL && body != NULL);
    for (size_t more = 0; more < 2; more++) {
        weft_writer w = weft_writer_on(large, space);
        struct wf_frame f;
        wf_put_to_actor(&w, WF_MSG_SEND, 1, 2, 3, 0, body, WEFT_MESSAGE_MAX + more, 0);
        ck_assert_int_eq(w.error, 0);
        weft_reader r = weft_reader_on(large, w.size);
        ck_assert_int_eq(wf_frame_next(&r, &f), more == 0 ? 1 : WEFT_EFORMAT);
    }
    free(large);
    free(body);
}
END_TEST

START_TEST(a_cut_batch_ends_in_an_error)
{
    cut_everywhere(all_kinds().size);
}
END_TEST

START_TEST(flipped_bits_are_survived)
{
    ck_assert_uint_gt(flip_each_bit(all_kinds().size), 100);
}
END_TEST

static int read_bytes(const void *data, size_t size, char *fault)
{
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    int got;
    while ((got = wf_frame_next(&r, &f)) == 1) {}
    if (got < 0) wf_frame_fault(&r, &f, fault, 100);
    return got;
}

START_TEST(bombs_are_refused)
{
    static uint8_t nested[100000];
    char fault[100];
    memset(nested, 0x91, sizeof nested);
    ck_assert_int_eq(read_bytes(nested, sizeof nested, fault), WEFT_EFORMAT);
    ck_assert_int_eq(read_bytes("\xdd\xff\xff\xff\xff", 5, fault), WEFT_EFORMAT);         /* 4 G values */
    ck_assert_int_eq(read_bytes("\x92\x07\xdd\xff\xff\xff\xff", 7, fault), WEFT_EFORMAT); /* 4 G peers */
    ck_assert_str_eq(fault, "malformed PEERS frame at offset 2");
    ck_assert_int_eq(read_bytes("\x96\x10\x01\x01\x01\x00\xc6\xff\xff\xff\xff", 11, fault), WEFT_EFORMAT);
    ck_assert_int_eq(read_bytes("\x90", 1, fault), WEFT_EFORMAT);     /* no kind */
    ck_assert_int_eq(read_bytes("\x80", 1, fault), WEFT_EFORMAT);     /* no array */
    ck_assert_int_eq(read_bytes("\x91\x01", 2, fault), WEFT_EFORMAT); /* HELLO of nothing */
    ck_assert_int_eq(read_bytes("", 0, fault), 0);
}
END_TEST

START_TEST(reserved_tags_and_bad_names_are_refused)
{
    weft_writer w = writer();
    struct wf_frame f;
    wf_put_to_actor(&w, WF_MSG_SEND, 1, 2, WEFT_TAG_NODE_UP, 0, NULL, 0, 0);
    weft_reader r = weft_reader_on(buffer, w.size);
    ck_assert_int_eq(wf_frame_next(&r, &f), WEFT_EFORMAT);
    w = writer();
    wf_put_to_name(&w, false, weft_cstr("a b"), 1, 2, 0, NULL, 0, 0);
    r = weft_reader_on(buffer, w.size);
    ck_assert_int_eq(wf_frame_next(&r, &f), WEFT_EFORMAT);
    w = writer();
    wf_put_to_all(&w, WF_FRAME_PUBLISH, weft_cstr("room.*"), 1, 2, NULL, 0);
    r = weft_reader_on(buffer, w.size);
    ck_assert_int_eq(wf_frame_next(&r, &f), WEFT_EFORMAT);
}
END_TEST

static const struct {
    const char *topics[4];
    int good; /* how many frames are read before the first fault */
} batches[] = {
    {{"room.a", "room.a", "room.a", "room.a"}, 4}, {{"room.a", "room.b", "room.a", "room.ab"}, 4},
    {{"room.a", "room.*", "room.a", "room.a"}, 1}, {{"room.a", "", "room.a", "room.a"}, 1},
    {{"room.a", "room.a", "room", "room."}, 3},    {{"room..", "room..", "room.a", "room.a"}, 0},
};

START_TEST(a_topic_that_comes_again_in_a_batch_is_checked_once)
{
    weft_writer w = writer();
    struct wf_frame f;
    int good = 0, got = 1;
    for (int i = 0; i < 4; i++) wf_put_to_all(&w, WF_FRAME_PUBLISH, weft_cstr(batches[_i].topics[i]), 4, 5, "x", 1);
    weft_reader r = weft_reader_on(buffer, w.size);
    f.checked = weft_str("", 0);
    for (; (got = wf_frame_next_of_batch(&r, &f)) == 1; good++)
        ck_assert(weft_text_equal(f.name, batches[_i].topics[good]));
    ck_assert_int_eq(good, batches[_i].good);
    ck_assert_int_eq(got, good == 4 ? 0 : WEFT_EFORMAT);
    r = weft_reader_on(buffer, w.size); /* each frame on its own */
    for (good = 0; wf_frame_next(&r, &f) == 1; good++) continue;
    ck_assert_int_eq(good, batches[_i].good);
}
END_TEST

START_TEST(later_versions_are_understood)
{
    weft_writer w = writer();
    weft_put_array(&w, 3); /* a kind of the future */
    weft_put_uint(&w, 77);
    weft_put_map(&w, 1);
    weft_put_uint(&w, 1);
    weft_put_array(&w, 0);
    weft_put_nil(&w);
    struct wf_frame f = read_one(&w);
    ck_assert_uint_eq(f.kind, WF_FRAME_UNKNOWN);
    w = writer();
    weft_put_array(&w, 4); /* a PING with two more fields */
    weft_put_uint(&w, WF_FRAME_PING);
    weft_put_uint(&w, 9);
    weft_put_str(&w, weft_cstr("more"));
    weft_put_array(&w, 1);
    weft_put_nil(&w);
    f = read_one(&w);
    ck_assert(f.kind == WF_FRAME_PING && f.number == 9);
}
END_TEST

static const struct wf_trace some_trace = {{UINT64_C(0x0123456789abcdef), 0xFF}, WF_TRACE_BY_TOOL};

static void want_traced(const struct wf_frame *f, const char *body)
{
    struct wf_trace t;
    ck_assert(wf_frame_trace(f, &t));
    ck_assert(t.id.high == some_trace.id.high && t.id.low == 0xFF && t.flags == WF_TRACE_BY_TOOL);
    ck_assert(text_is(f->body, body));
}

START_TEST(a_trace_id_stands_behind_all_else)
{
    static const uint32_t kinds[] = {WF_FRAME_TO_ACTOR + WF_MSG_SEND,
                                     WF_FRAME_TO_ACTOR + WF_MSG_CALL,
                                     WF_FRAME_TO_ACTOR + WF_MSG_REPLY,
                                     WF_FRAME_SEND_NAME,
                                     WF_FRAME_CALL_NAME,
                                     WF_FRAME_PUBLISH,
                                     WF_FRAME_GROUP_SEND};
    uint8_t bytes[WF_FRAME_TRACE];
    struct wf_body *b = wf_trace_body_new(NULL, NULL, 0, "body", 4, &some_trace);
    for (size_t i = 0; i < WF_COUNT(kinds); i++) {
        struct wf_frame f = call, got;
        f.kind = kinds[i];
        f.name = weft_cstr("echo");
        f.number = WF_FRAME_NO_DEADLINE;
        f.trace = wf_frame_trace_of(b, bytes);
        weft_writer w = writer();
        put_apart(&w, &f, "body");
        ck_assert_uint_le(w.size, WF_FRAME_SPARE + 4 + 4);
        got = read_one(&w);
        ck_assert_uint_eq(got.kind, f.kind);
        bool asks = f.kind == WF_FRAME_CALL_NAME || f.kind == WF_FRAME_TO_ACTOR + WF_MSG_CALL;
        if (asks) ck_assert_uint_eq(got.number, WF_FRAME_NO_DEADLINE);
        want_traced(&got, "body");
    }
    wf_body_drop(NULL, b);
}
END_TEST

START_TEST(a_publication_for_queue_groups_has_its_trace_id)
{
    uint8_t bytes[WF_FRAME_TRACE];
    struct wf_body *b = wf_trace_body_new(NULL, "room.one", 8, "body", 4, &some_trace);
    struct wf_chosen chosen = {NULL, 9, weft_cstr("room.*"), weft_cstr("queue")};
    struct wf_publish_to to = {.topic = weft_cstr("room.one"),
                               .chosen = &chosen,
                               .node = 9,
                               .body = wf_body_bytes(b),
                               .size = 4,
                               .trace = wf_frame_trace_of(b, bytes)};
    weft_writer w = writer();
    size_t space = wf_publish_to_size(&to);
    wf_put_publish_to(&w, &to);
    ck_assert_uint_le(w.size, space);
    struct wf_frame f = read_one(&w);
    want_traced(&f, "body");
    wf_body_drop(NULL, b);
}
END_TEST

/* A value that is no trace id comes from a newer version. */
START_TEST(other_values_behind_a_message_are_skipped)
{
    struct wf_trace t;
    for (int what = 0; what < 4; what++) {
        static const uint8_t none[WF_FRAME_TRACE];
        weft_writer w = writer();
        weft_put_array(&w, 8);
        for (uint64_t value = 0; value < 5; value++)
            weft_put_uint(&w, value == 0 ? (uint64_t)WF_FRAME_TO_ACTOR + WF_MSG_SEND : value);
        weft_put_bin(&w, "body", 4);
        if (what == 0) weft_put_str(&w, weft_cstr("0123456789abcdefg"));
        else
            weft_put_bin(&w, what == 1 ? (const void *)none : "0123456789abcdefghij",
                         what == 1   ? 17
                         : what == 2 ? 16
                                     : 20);
        weft_put_nil(&w);
        struct wf_frame f = read_one(&w);
        ck_assert(text_is(f.body, "body"));
        ck_assert_int_eq(wf_frame_trace(&f, &t), what == 3); /* a longer one says more */
    }
}
END_TEST

static weft_writer small_frame(uint32_t kind, size_t size, bool traced)
{
    static const char bytes[WF_FRAME_SPAWN_MAX + 1];
    weft_writer w = writer();
    bool named = kind == WF_FRAME_CREDIT_REQUEST_NAME || kind == WF_FRAME_SEND_NAME || kind == WF_FRAME_CALL_NAME;
    weft_put_array(&w, traced ? 7 : 6);
    weft_put_uint(&w, kind);
    if (named) weft_put_str(&w, weft_cstr("echo"));
    else weft_put_uint(&w, 1);
    for (uint64_t value = 0; value < 3; value++) weft_put_uint(&w, value);
    weft_put_bin(&w, bytes, size);
    if (traced) weft_put_bin(&w, "0123456789abcdefg", WF_FRAME_TRACE);
    return w;
}

/* The list of docs/wire.md. A CALL has its time in between, see above. */
START_TEST(only_what_a_program_says_has_a_trace_id)
{
    for (uint32_t kind = WF_FRAME_TO_ACTOR; kind <= WF_FRAME_CREDIT_REQUEST_NAME; kind++) {
        bool named = kind == WF_FRAME_CREDIT_REQUEST_NAME || kind == WF_FRAME_SEND_NAME;
        bool timed = kind == wf_frame_of(WF_MSG_CALL);
        if ((wf_frame_message(kind) < 0 && !named) || timed) continue;
        weft_writer w = small_frame(kind, 4, true);
        struct wf_frame f = read_one(&w);
        bool may = kind == wf_frame_of(WF_MSG_SEND) || kind == wf_frame_of(WF_MSG_REPLY) ||
                   kind == WF_FRAME_SEND_NAME;
        ck_assert_msg((f.trace.size > 0) == may, "%s", wf_frame_name(kind));
    }
}
END_TEST

/* Frames that the receiver may keep as long as an actor lives, and frames without a text of the program, are
 * small. */
START_TEST(frames_without_text_of_a_program_are_small)
{
    static const struct {
        uint32_t kind;
        size_t most;
    } all[] = {{19, 131}, {20, 131}, {40, 131}, {41, 131},  {42, 131},   {43, 131}, {44, 131}, {45, 131},
               {46, 131}, {60, 131}, {61, 131}, {48, 8192}, {62, 65536}, {63, 512}, {64, 131}};
    struct wf_frame f;
    for (size_t i = 0; i < WF_COUNT(all); i++) {
        for (size_t beyond = 0; beyond < 2; beyond++) {
            weft_writer w = small_frame(all[i].kind, all[i].most + beyond, false);
            ck_assert_int_eq(w.error, 0);
            weft_reader r = weft_reader_on(buffer, w.size);
            ck_assert_msg(wf_frame_next(&r, &f) == (beyond ? WEFT_EFORMAT : 1), "kind %u", all[i].kind);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("frame");
    TCase *t = tcase_create("frames");
    tcase_add_test(t, frames_are_read_as_they_were_written);
    tcase_add_test(t, a_body_may_be_written_apart);
    tcase_add_test(t, a_body_apart_needs_space_for_its_head);
    tcase_add_test(t, a_body_is_as_large_as_a_message_may_be);
    tcase_add_test(t, a_cut_batch_ends_in_an_error);
    tcase_add_test(t, flipped_bits_are_survived);
    tcase_add_test(t, bombs_are_refused);
    tcase_add_test(t, reserved_tags_and_bad_names_are_refused);
    tcase_add_loop_test(t, a_topic_that_comes_again_in_a_batch_is_checked_once, 0, (int)WF_COUNT(batches));
    tcase_add_test(t, later_versions_are_understood);
    tcase_add_test(t, a_trace_id_stands_behind_all_else);
    tcase_add_test(t, a_publication_for_queue_groups_has_its_trace_id);
    tcase_add_test(t, only_what_a_program_says_has_a_trace_id);
    tcase_add_test(t, frames_without_text_of_a_program_are_small);
    tcase_add_test(t, other_values_behind_a_message_are_skipped);
    suite_add_tcase(s, t);
    return run_suite(s);
}
