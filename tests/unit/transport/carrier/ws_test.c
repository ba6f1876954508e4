/* The listening end of a WebSocket: which clients are accepted, frames in pieces of any size, both ends of a link. */
#include "carrier.h"
#include "http.h"
#include "task.h"
#include "ws.h"
#include "seen.h"
#include "../../../suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>
#include <weft/time.h>

#define ASK                                                                      \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define SP "Sec-WebSocket-Protocol: pair.sp.nanomsg.org\r\n"

static const char *const origins[] = {"https://board.example", "http://127.0.0.1:8000"};
static const struct wf_ws_door door = {"ws://0.0.0.0:4001/weft", false, origins, 2};

static bool asked(const struct wf_ws_door *d, const char *head, char out[WF_WS_ANSWER_MAX])
{
    char why[WF_REASON_TEXT] = "";
    ck_assert_uint_eq(wf_http_head((const uint8_t *)head, strlen(head)), strlen(head));
    bool in = wf_ws_answer(d, (const uint8_t *)head, strlen(head), out, why);
    ck_assert(in || why[0] != '\0');
    return in;
}

START_TEST(the_answer_is_that_of_the_standard)
{
    char out[WF_WS_ANSWER_MAX];
    ck_assert(asked(&door, "GET /weft HTTP/1.1\r\nHost: localhost\r\n" ASK SP "\r\n", out));
    ck_assert_ptr_nonnull(strstr(out, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    ck_assert_ptr_nonnull(strstr(out, "\r\n\r\n"));
}
END_TEST

static const struct {
    int status;
    const char *head;
} requests[] = {
    {101, "GET /weft HTTP/1.1\r\nhOST: board.example:99\r\n" ASK SP "\r\n"},
    {101, "GET /weft HTTP/1.1\r\nHost: [::1]:4001\r\nOrigin: https://BOARD.example\r\n" ASK SP "\r\n"},
    {101,
     "GET /weft?a HTTP/1.1\r\nHost:10.0.0.1\r\n" ASK "Sec-WebSocket-Protocol: x,\tPAIR.sp.nanomsg.org , y\r\n\r\n"},
    {403, "GET /weft HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n" ASK SP "\r\n"},
    {403, "GET /weft HTTP/1.1\r\nHost: localhost\r\nOrigin:\r\n" ASK SP "\r\n"},
    {403, "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n"},
    {403,
     "GET /weft HTTP/1.1\r\nHost: localhost\r\nOrigin: https://board.example https://evil.example\r\n" ASK SP "\r\n"},
    {421, "GET /weft HTTP/1.1\r\nHost: evil.example\r\n" ASK SP "\r\n"},
    {421, "GET /weft HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n" ASK SP "\r\n"},
    {421, "GET /weft HTTP/1.1\r\nHost: 127.0.0.256\r\n" ASK SP "\r\n"},
    {421, "GET /weft HTTP/1.1\r\nHost: 127.0.0.1:\r\n" ASK SP "\r\n"},
    {421, "GET /weft HTTP/1.1\r\nHost: 127.0.0.1:123456\r\n" ASK SP "\r\n"},
    {421, "GET /weft HTTP/1.1\r\nHost:\r\n" ASK SP "\r\n"},
    {421, "GET /weft HTTP/1.1\r\nHost: []\r\n" ASK SP "\r\n"},
    {400, "GET /weft HTTP/1.1\r\n" ASK SP "\r\n"},
    {400, "GET /weft HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n" ASK SP "\r\n"},
    {400, "GET /weft HTTP/1.1\r\nHost: localhost\r\nOrigin: https://board.example\r\nORIGIN: x\r\n" ASK SP "\r\n"},
    {400, "GET /weft HTTP/1.1\r\nHost : localhost\r\n" ASK SP "\r\n"},
    {400, "GET /weft HTTP/1.1\r\nHost: localhost\r\nX: y\n" ASK SP "\r\n"},
    {400, "GET /weft HTTP/1.1\r\nHost: localhost\r\nno header\r\n" ASK SP "\r\n"},
    {400, "GET /weft HTTP/1.1 x\r\nHost: localhost\r\n" ASK SP "\r\n"},
    {400, "GET /weft\r\nHost: localhost\r\n" ASK SP "\r\n"},
    {400, "GET  /weft HTTP/1.1\r\nHost: localhost\r\n" ASK SP "\r\n"},
    {400, "\r\n\r\n"},
    {400, "GET /weft HTTP/2.0\r\nHost: localhost\r\n" ASK SP "\r\n"},
    {404, "GET /wefts HTTP/1.1\r\nHost: localhost\r\n" ASK SP "\r\n"},
    {405, "POST /weft HTTP/1.1\r\nHost: localhost\r\n" ASK SP "\r\n"},
    {426, "GET /weft HTTP/1.1\r\nHost: localhost\r\n\r\n"},
    {426, "GET /weft HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n"},
    {400, "GET /weft HTTP/1.1\r\nHost: localhost\r\n" ASK "\r\n"},
    {400, "GET /weft HTTP/1.1\r\nHost: localhost\r\n" ASK "Sec-WebSocket-Protocol: pair1.sp.nanomsg.org\r\n\r\n"},
    {400, "GET /weft HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n" SP "\r\n"},
};

START_TEST(requests_for_a_websocket_are_answered_as_in_the_table)
{
    char out[WF_WS_ANSWER_MAX];
    bool in = asked(&door, requests[_i].head, out);
    ck_assert_msg(atoi(out + strlen("HTTP/1.1 ")) == requests[_i].status, "%s\nis answered by\n%s", requests[_i].head,
                  out);
    ck_assert_int_eq(in, requests[_i].status == 101);
}
END_TEST

START_TEST(a_listener_accepts_its_own_host_name_and_any_under_tls)
{
    char out[WF_WS_ANSWER_MAX];
    static const char head[] = "GET / HTTP/1.1\r\nHost: Node.example:1\r\n" ASK SP "\r\n";
    ck_assert(asked(&(struct wf_ws_door){.url = "ws://node.example:4001"}, head, out));
    ck_assert(!asked(&(struct wf_ws_door){.url = "ws://other.example"}, head, out));
    ck_assert(asked(&(struct wf_ws_door){.url = "wss://0.0.0.0:1", .any_host = true}, head, out));
}
END_TEST

START_TEST(an_origin_is_a_scheme_a_host_and_a_port)
{
    static const char *const good[] = {"https://a.example", "http://127.0.0.1:8000", "http://[::1]:1",
                                       "app://x",           "https://a:65535",       "https://a:00080"};
    static const char *const bad[] = {"",
                                      "null",
                                      "a.example",
                                      "https://",
                                      "https://a/",
                                      "https://a/b",
                                      "https://a:x",
                                      "https://a:65536",
                                      "https://[::1]:99999",
                                      "https://a b",
                                      "https://u@a",
                                      "https://a,https://b",
                                      "*",
                                      "https://a?",
                                      "://a"};
    for (size_t i = 0; i < WF_COUNT(good); i++) ck_assert_msg(wf_ws_is_origin(good[i]), "%s", good[i]);
    for (size_t i = 0; i < WF_COUNT(bad); i++) ck_assert_msg(!wf_ws_is_origin(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(a_head_is_over_at_the_empty_line)
{
    static const char text[] = "GET / HTTP/1.1\r\nA: b\r\n\r\nmore";
    for (size_t n = 0; n < sizeof text - 1; n++)
        ck_assert_uint_eq(wf_http_head((const uint8_t *)text, n), n < sizeof text - 5 ? 0 : sizeof text - 5);
}
END_TEST

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

/* A client's frame; bytes count on from `value`. Its length. */
static size_t frame(uint8_t *out, uint8_t first, size_t size, uint8_t value)
{
    static const uint8_t mask[4] = {0x12, 0xFE, 0x00, 0x7B};
    size_t n = wf_ws_header(out, size);
    out[0] = first;
    out[1] |= 0x80;
    memcpy(out + n, mask, 4);
    for (size_t i = 0; i < size; i++) out[n + 4 + i] = (uint8_t)(value + i) ^ mask[i & 3];
    return n + 4 + size;
}

START_TEST(frames_in_pieces)
{
    static const size_t sizes[] = {0, 1, 3, 125, 126, 127, 4000, 65535, 65536, 150000};
    enum { MOST = 500000 };
    uint8_t *stream = malloc(MOST), *piece = malloc(MOST), *got = malloc(MOST);
    size_t size = 0, total = 0;
    for (size_t i = 0; i < WF_COUNT(sizes); i++) {
        size += frame(stream + size, i % 3 == 0 ? 0x82 : 0x02, sizes[i], (uint8_t)total);
        total += sizes[i];
        size += frame(stream + size, 0x89, i * 12, (uint8_t)i);
        size += frame(stream + size, 0x8A, 5, 0);
        if (i % 3 == 0) continue;
        size += frame(stream + size, 0x80, 10, (uint8_t)total);
        total += 10;
    }
    static const size_t pieces[] = {1, 2, 3, 5, 7, 13, 4096, MOST};
    for (size_t k = 0; k < WF_COUNT(pieces); k++) {
        if (under_tools() && pieces[k] > 1 && pieces[k] < 13) continue; /* single bytes end at each place */
        struct wf_ws w = {.left = 0};
        size_t have = 0, pings = 0;
        for (size_t at = 0; at < size; at += pieces[k]) {
            size_t n = WF_MIN(pieces[k], size - at);
            const char *over;
            memcpy(piece, stream + at, n);
            size_t payload = wf_ws_take(&w, piece, n, &over);
            ck_assert_ptr_null(over);
            memcpy(got + have, piece, payload);
            have += payload;
            pings += w.pinged;
            w.pinged = false;
        }
        ck_assert_uint_eq(have, total);
        size_t wrong_bytes = 0;
        for (size_t i = 0; i < total; i++) wrong_bytes += got[i] != (uint8_t)i;
        ck_assert_uint_eq(wrong_bytes, 0);
        ck_assert(pings == WF_COUNT(sizes) || pieces[k] > 100);
        ck_assert_uint_eq(w.ping_size, 9 * 12);
        ck_assert_uint_eq(w.ping[1], 10);
    }
    free(stream), free(piece), free(got);
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    const char *why;
} broken[] = {
    {"\x82\x01x", 3, "a WebSocket frame that is not masked"},
    {"\xC2\x80\0\0\0\0", 6, "a WebSocket frame with reserved bits set"},
    {"\x81\x80\0\0\0\0", 6, "a WebSocket frame that is not binary"},
    {"\x80\x80\0\0\0\0", 6, "a WebSocket frame that is not binary"},
    {"\x02\x80\0\0\0\0\x82\x80\0\0\0\0", 12, "a WebSocket frame that is not binary"},
    {"\x82\xff\xff\0\0\0\0\0\0\0\0\0\0\0", 14, "a WebSocket frame with an invalid length"},
    {"\x09\x80\0\0\0\0", 6, "a bad control frame of WebSocket"},
    {"\x89\xfe\0\x7e\0\0\0\0", 8, "a bad control frame of WebSocket"},
    {"\x8B\x80\0\0\0\0", 6, "a bad control frame of WebSocket"},
    {"\x88\x80\0\0\0\0\x82\x80\0\0\0\0", 12, "closed by the other side"},
};

START_TEST(faults_that_end_a_websocket)
{
    uint8_t bytes[16];
    const char *over = NULL;
    for (size_t piece = 1; piece <= 16; piece += 15) {
        struct wf_ws w = {.left = 0};
        size_t at = 0;
        for (over = NULL; at < broken[_i].size && over == NULL; at += piece) {
            memcpy(bytes, broken[_i].bytes + at, WF_MIN(piece, broken[_i].size - at));
            ck_assert_uint_eq(wf_ws_take(&w, bytes, WF_MIN(piece, broken[_i].size - at), &over), 0);
        }
        ck_assert_ptr_nonnull(over);
        ck_assert_str_eq(over, broken[_i].why);
    }
}
END_TEST

/* ---- Both ends ------------------------------------------------------------------------------------------------- */

enum { BIG = 3000000, SLICES = WF_CARRIER_SLICES };

static struct wf_conn *ends[2]; /* accepted, dialled; under lock, like the next ones */
static int sent, downs;
static size_t messages[2], wrong;
static char reason[WF_REASON_TEXT];

static void on_up(void *owner, struct wf_conn *c)
{
    (void)owner;
    wf_conn_trust(c, BIG);
    SEEN(ends[c->dial_tag != NULL] = c);
}

static enum wf_receive on_message(void *owner, struct wf_conn *c, const uint8_t *data, size_t size, size_t *left)
{
    (void)owner, (void)left;
    size_t bad = size != BIG;
    for (size_t i = 0; i < size; i++) bad += data[i] != (uint8_t)i;
    SEEN((messages[c->dial_tag != NULL]++, wrong += bad));
    return WF_RECEIVE_ON;
}

static enum wf_receive on_chunk(void *owner, struct wf_conn *c)
{
    (void)owner, (void)c;
    return WF_RECEIVE_ON;
}

static void on_sent(void *owner, struct wf_conn *c, bool ok)
{
    (void)owner, (void)c;
    SEEN((sent += ok, wrong += !ok));
}

static void on_down(void *owner, struct wf_conn *c, const char *why)
{
    (void)owner, (void)c;
    SEEN((downs++, snprintf(reason, sizeof reason, "%s", why)));
}

static void on_dial_failed(void *owner, void *tag, const char *why)
{
    (void)tag;
    on_down(owner, NULL, why);
}

START_TEST(large_messages_of_many_slices_go_both_ways)
{
    static const struct wf_carrier_user user = {on_up, on_message, on_chunk, on_sent, on_down, on_dial_failed};
    struct wf_carrier_options o = {.env = pf_env_native(), .user = &user};
    char url[WF_URL_TEXT], why[WF_REASON_TEXT];
    uint8_t *bytes = malloc(BIG);
    struct pf_slice slices[SLICES];
    ck_assert(pf_mutex_create(&lock) == WEFT_OK && pf_cond_create(&more) == WEFT_OK);
    for (size_t i = 0; i < BIG; i++) bytes[i] = (uint8_t)i;
    for (size_t i = 0, at = 0; i < SLICES; i++) { /* the first ones small, the last one most of it */
        size_t n = i + 1 == SLICES ? BIG - at : i * 100000;
        slices[i] = (struct pf_slice){bytes + at, n};
        at += n;
    }
    struct wf_carrier *k = wf_carrier_nng(&o);
    ck_assert_int_eq(k->ops->listen(k, "ws://127.0.0.1:0/x", 0, url, why), 0);
    ck_assert_ptr_nonnull(strstr(url, "/x"));
    k->ops->accept(k);
    ck_assert_int_eq(k->ops->dial(k, url, &o, why), 0);
    AWAIT(ends[0] != NULL && ends[1] != NULL);
    ck_assert(ends[0]->plain_ws && ends[1]->plain_ws);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 2; i++) {
            enum wf_send r = wf_conn_send(ends[i], slices, SLICES);
            ck_assert_int_ne(r, WF_SEND_FAILED);
            if (r == WF_SEND_DONE) SEEN(sent++); /* nothing else will say so */
        }
        AWAIT(sent == 2 * round && messages[0] == (size_t)round && messages[1] == (size_t)round);
    }
    wf_conn_close(ends[1], "enough");
    AWAIT(downs == 2);
    ck_assert_uint_eq(wrong, 0);
    for (int i = 0; i < 2; i++) wf_conn_release(ends[i]);
    k->ops->destroy(k);
    free(bytes);
    pf_cond_destroy(more);
    pf_mutex_destroy(lock);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ws");
    TCase *t = tcase_create("ws");
    tcase_add_test(t, the_answer_is_that_of_the_standard);
    tcase_add_loop_test(t, requests_for_a_websocket_are_answered_as_in_the_table, 0, WF_COUNT(requests));
    tcase_add_test(t, a_listener_accepts_its_own_host_name_and_any_under_tls);
    tcase_add_test(t, an_origin_is_a_scheme_a_host_and_a_port);
    tcase_add_test(t, a_head_is_over_at_the_empty_line);
    tcase_add_test(t, frames_in_pieces);
    tcase_add_loop_test(t, faults_that_end_a_websocket, 0, WF_COUNT(broken));
    tcase_add_test(t, large_messages_of_many_slices_go_both_ways);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
