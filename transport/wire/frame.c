/* transport/wire/frame.c -- writes and reads frames: frame.h describes them. */
#include "frame.h"

#include "frame_read.h"
#include "frame_tables.h"
#include "swim_wire.h"

#include <stdio.h>

/* Kinds that belong to one connection: they have no number on the link and are never sent again. */
enum {
    UNCOUNTED = 1 << 0 | 1 << WF_FRAME_HELLO | 1 << WF_FRAME_WELCOME | 1 << WF_FRAME_REFUSED | 1 << WF_FRAME_PING |
                1 << WF_FRAME_PONG | 1 << WF_FRAME_ACK | 1 << WF_FRAME_START | 15 << 12
};

/* ---- Decoding -------------------------------------------------------------------------------------------------- */

static weft_text get_text(weft_reader *r, size_t max)
{
    weft_text t = weft_get_str(r);
    if (t.size > max) wf_read_fault(r);
    return t;
}

/* Later dials parse the URLs; here only their length is checked, and that they are plain text. */
static uint32_t get_urls(weft_reader *r, weft_text *out)
{
    uint32_t count = weft_get_array(r), kept = 0;
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        weft_text t = get_text(r, WF_FRAME_URL_MAX);
        for (size_t k = 0; k < t.size; k++)
            if (t.data[k] <= ' ' || t.data[k] == 127) wf_read_fault(r);
        if (kept < WF_FRAME_URLS) out[kept++] = t;
    }
    return r->error == 0 ? kept : 0;
}

static void get_hello(weft_reader *r, struct wf_hello *h)
{
    uint32_t more = wf_read_array(r, 8) - 8;
    h->version = weft_get_uint(r);
    h->capabilities = weft_get_uint(r);
    h->cluster = wf_read_name(r);
    h->name = wf_read_name(r);
    h->incarnation = weft_get_uint(r);
    h->flags = weft_get_uint(r);
    h->heartbeat_ms = weft_get_uint(r);
    h->url_count = get_urls(r, h->url);
    h->newest = h->version;
    h->clock = 0;
    if (more > 0) {
        uint32_t values = weft_get_nil(r) ? 0 : weft_get_array(r);
        if (values > 0) h->newest = weft_get_uint(r);
        bool tells_time = values > 1 && wf_read_is_number(r); /* another version may say something else */
        if (tells_time) h->clock = weft_get_uint(r);
        if (values > 1U + tells_time) wf_read_skip(r, values - 1 - tells_time);
        more--;
    }
    if (h->incarnation == 0 || h->newest < h->version) wf_read_fault(r);
    wf_read_skip(r, more);
}

static void get_peer(weft_reader *r, struct wf_frame_peer *p)
{
    uint32_t count = wf_read_array(r, 3);
    p->name = wf_read_name(r);
    p->incarnation = weft_get_uint(r);
    p->url_count = get_urls(r, p->url);
    if (p->incarnation == 0) wf_read_fault(r);
    if (r->error == 0) wf_read_skip(r, count - 3);
}

static void get_items(weft_reader *r, struct wf_frame *f)
{
    f->count = weft_get_array(r);
    if (f->count > WF_FRAME_PEERS_MAX) wf_read_fault(r);
    f->items = *r;
    for (uint32_t i = 0; i < f->count && r->error == 0; i++) {
        struct wf_frame_peer p;
        if (f->kind == WF_FRAME_PEERS) {
            get_peer(r, &p);
        } else {
            (void)wf_read_pattern(r);
        }
    }
}

size_t wf_frame_body_max(uint32_t kind)
{
    switch (kind) {
    case WF_FRAME_TO_ACTOR + WF_MSG_FAILED:
    case WF_FRAME_TO_ACTOR + WF_MSG_STOP:
    case WF_FRAME_TIES + WF_MSG_WATCH - WF_MSG_WATCH:
    case WF_FRAME_TIES + WF_MSG_UNWATCH - WF_MSG_WATCH:
    case WF_FRAME_TIES + WF_MSG_DOWN - WF_MSG_WATCH:
    case WF_FRAME_TIES + WF_MSG_LINK - WF_MSG_WATCH:
    case WF_FRAME_TIES + WF_MSG_UNLINK - WF_MSG_WATCH:
    case WF_FRAME_TIES + WF_MSG_EXIT - WF_MSG_WATCH:
    case WF_FRAME_TIES + WF_MSG_KILL - WF_MSG_WATCH:
    case WF_FRAME_REMOTE + WF_MSG_CREDIT_REQUEST - WF_MSG_CREDIT_REQUEST:
    case WF_FRAME_REMOTE + WF_MSG_CREDIT - WF_MSG_CREDIT_REQUEST:
    case WF_FRAME_CREDIT_REQUEST_NAME: return WF_FRAME_REASON_MAX;
    case WF_FRAME_TIES + WF_MSG_PROBE - WF_MSG_WATCH: return WF_FRAME_PROBE_MAX;
    case WF_FRAME_REMOTE + WF_MSG_SPAWN - WF_MSG_CREDIT_REQUEST: return WF_FRAME_SPAWN_MAX;
    case WF_FRAME_REMOTE + WF_MSG_SPAWNED - WF_MSG_CREDIT_REQUEST: return WF_FRAME_SPAWNED_MAX;
    default: return WEFT_MESSAGE_MAX;
    }
}

bool wf_frame_may_trace(uint32_t kind)
{
    switch (kind) {
    case WF_FRAME_TO_ACTOR + WF_MSG_SEND:
    case WF_FRAME_TO_ACTOR + WF_MSG_CALL:
    case WF_FRAME_TO_ACTOR + WF_MSG_REPLY:
    case WF_FRAME_SEND_NAME:
    case WF_FRAME_CALL_NAME:
    case WF_FRAME_PUBLISH:
    case WF_FRAME_GROUP_SEND:
    case WF_FRAME_PUBLISH_TO: return true;
    default: return false;
    }
}

/* to or name, from, tag, ref, body: five values. */
static void get_message(weft_reader *r, struct wf_frame *f, bool by_name)
{
    if (by_name) f->name = wf_read_name(r);
    f->to = by_name ? 0 : weft_get_uint(r);
    f->from = weft_get_uint(r);
    f->tag = wf_read_tag(r);
    f->ref = weft_get_uint(r);
    f->body = wf_read_body(r);
    if (WF_UNLIKELY(f->body.size > WF_FRAME_REASON_MAX) && f->body.size > wf_frame_body_max(f->kind))
        wf_read_fault(r);
}

/* Behind these a request may have the time that its caller still waits. Returns how many values were read. */
static uint32_t get_left(weft_reader *r, struct wf_frame *f, uint32_t count)
{
    bool call = f->kind == WF_FRAME_CALL_NAME || f->kind == WF_FRAME_TO_ACTOR + WF_MSG_CALL;
    f->number = WF_FRAME_NO_DEADLINE;
    if (!call || count < 6) return 5;
    f->number = weft_get_uint(r);
    return 6;
}

/* Behind all others some kinds may have a trace id; anything else comes from a later version, and is skipped. Returns
 * how many values were read. */
static uint32_t get_trace(weft_reader *r, struct wf_frame *f, uint32_t left)
{
    if (WF_LIKELY(left == 0) || !wf_frame_may_trace(f->kind) || weft_peek_type(r) != WEFT_BIN) return 0;
    f->trace = weft_get_bin(r);
    return 1;
}

/* from, tag, body: three values, behind a topic or a group. */
static void get_to_all(weft_reader *r, struct wf_frame *f)
{
    f->from = weft_get_uint(r);
    f->tag = wf_read_tag(r);
    f->ref = 0;
    f->body = wf_read_body(r);
}

/* A WELCOME of version 1 has no values. */
static uint32_t get_welcome(weft_reader *r, struct wf_frame *f, uint32_t count)
{
    f->number = f->ref = f->tag = 0;
    if (count < 3) return 0;
    f->number = weft_get_uint(r);
    f->ref = weft_get_uint(r);
    uint64_t state = weft_get_uint(r);
    if (state > WF_LINK_UP) wf_read_fault(r);
    f->tag = (uint32_t)state;
    return 3;
}

/* The first chunk of a message contains a frame, which the receiver reads separately. */
static uint32_t get_chunk(weft_reader *r, struct wf_frame *f, uint32_t count)
{
    f->number = 0;
    if (count < 2) {
        f->body = wf_read_body(r);
        return 1;
    }
    f->number = weft_get_uint(r);
    if (f->number == 0 || f->number > WEFT_MESSAGE_MAX) wf_read_fault(r);
    f->items = *r;
    wf_read_skip(r, 1);
    f->items.end = r->at;
    return 2;
}

/* Returns how many of the `count` values behind the kind it has read. */
static uint32_t get_control(weft_reader *r, struct wf_frame *f, uint32_t count)
{
    if (f->kind >= WF_FRAME_TABLE && f->kind < WF_FRAME_TABLE + 6) return wf_get_tables_frame(r, count, f);
    switch (f->kind) {
    case WF_FRAME_HELLO: get_hello(r, &f->hello); return 1;
    case WF_FRAME_WELCOME: return get_welcome(r, f, count);
    case WF_FRAME_REFUSED:
        f->number = weft_get_uint(r);
        f->name = get_text(r, 256);
        return 2;
    case WF_FRAME_BYE: f->name = get_text(r, 256); return 1;
    case WF_FRAME_PING:
    case WF_FRAME_PONG:
    case WF_FRAME_ACK:
    case WF_FRAME_START: f->number = weft_get_uint(r); return 1;
    case WF_FRAME_CHUNK: return get_chunk(r, f, count);
    case WF_FRAME_PEERS: get_items(r, f); return 1;
    case WF_FRAME_INTEREST:
        f->number = weft_get_uint(r);
        if (f->number != WF_INTEREST_ADD && f->number != WF_INTEREST_REMOVE) wf_read_fault(r);
        get_items(r, f);
        return 2;
    case WF_SWIM_PING:
    case WF_SWIM_ACK:
    case WF_SWIM_ASK:
    case WF_SWIM_SYNC: {
        struct wf_swim_message m;
        return wf_swim_read(r, f->kind, &m); /* checks it; the receiver of the frame reads it again */
    }
    default: f->kind = WF_FRAME_UNKNOWN; return 0;
    }
}

/* Peers publish to the same topic again and again. */
static weft_text read_topic(weft_reader *r, weft_text checked)
{
    weft_text t = weft_get_str(r);
    bool again = t.size > 0 && t.size == checked.size && memcmp(t.data, checked.data, t.size) == 0;
    if (!again && r->error == 0 && wf_topic_check(t) < 0) wf_read_fault(r);
    return t;
}

int wf_frame_next(weft_reader *r, struct wf_frame *f)
{
    f->checked = weft_str("", 0);
    return wf_frame_next_of_batch(r, f);
}

int wf_frame_next_of_batch(weft_reader *r, struct wf_frame *f)
{
    if (r->at == r->end) return r->error;
    f->kind = WF_FRAME_UNKNOWN;
    uint32_t count = wf_read_array(r, 1);
    uint64_t kind = weft_get_uint(r);
    if (r->error < 0) return r->error;
    f->kind = kind <= UINT32_MAX ? (uint32_t)kind : WF_FRAME_UNKNOWN;
    f->counted = kind > 15 || (UNCOUNTED >> kind & 1) == 0;
    f->trace.size = 0;
    uint32_t read;
    if (wf_frame_message(kind) >= 0) {
        get_message(r, f, false);
        read = get_left(r, f, count - 1);
    } else if (kind == WF_FRAME_SEND_NAME || kind == WF_FRAME_CALL_NAME || kind == WF_FRAME_CREDIT_REQUEST_NAME) {
        get_message(r, f, true);
        read = get_left(r, f, count - 1);
    } else if (kind == WF_FRAME_PUBLISH) {
        f->name = f->checked = read_topic(r, f->checked);
        get_to_all(r, f);
        read = 4;
    } else if (kind == WF_FRAME_GROUP_SEND) {
        f->name = wf_read_name(r);
        get_to_all(r, f);
        read = 4;
    } else {
        read = get_control(r, f, count - 1);
    }
    if (count - 1 < read) wf_read_fault(r);
    else read += get_trace(r, f, count - 1 - read);
    if (WF_UNLIKELY(count - 1 > read)) wf_read_skip(r, count - 1 - read);
    return r->error < 0 ? r->error : 1;
}

void wf_frame_next_peer(struct wf_frame *f, struct wf_frame_peer *out)
{
    get_peer(&f->items, out);
    WF_ASSERT(f->items.error == 0);
}

const char *wf_frame_name(uint32_t kind)
{
    static const struct {
        uint32_t kind;
        const char *name;
    } names[] = {
        {WF_FRAME_HELLO, "HELLO"},
        {WF_FRAME_WELCOME, "WELCOME"},
        {WF_FRAME_REFUSED, "REFUSED"},
        {WF_FRAME_BYE, "BYE"},
        {WF_FRAME_PING, "PING"},
        {WF_FRAME_PONG, "PONG"},
        {WF_FRAME_PEERS, "PEERS"},
        {WF_FRAME_INTEREST, "INTEREST"},
        {WF_FRAME_ACK, "ACK"},
        {WF_FRAME_START, "START"},
        {WF_SWIM_PING, "SWIM PING"},
        {WF_SWIM_ACK, "SWIM ACK"},
        {WF_SWIM_ASK, "SWIM ASK"},
        {WF_SWIM_SYNC, "SWIM SYNC"},
        {WF_FRAME_CHUNK, "CHUNK"},
        {WF_FRAME_SEND_NAME, "SEND_NAME"},
        {WF_FRAME_CALL_NAME, "CALL_NAME"},
        {WF_FRAME_PUBLISH, "PUBLISH"},
        {WF_FRAME_TABLE, "TABLE"},
        {WF_FRAME_MISSED, "MISSED"},
        {WF_FRAME_GROUP_SEND, "GROUP_SEND"},
        {WF_FRAME_PUBLISH_TO, "PUBLISH_TO"},
        {WF_FRAME_RETAINED, "RETAINED"},
        {WF_FRAME_TO_ACTOR + WF_MSG_SEND, "SEND"},
        {WF_FRAME_TO_ACTOR + WF_MSG_CALL, "CALL"},
        {WF_FRAME_TO_ACTOR + WF_MSG_REPLY, "REPLY"},
        {WF_FRAME_TO_ACTOR + WF_MSG_FAILED, "FAILED"},
        {WF_FRAME_TO_ACTOR + WF_MSG_STOP, "STOP"},
        {WF_FRAME_TIES + WF_MSG_WATCH - WF_MSG_WATCH, "WATCH"},
        {WF_FRAME_TIES + WF_MSG_UNWATCH - WF_MSG_WATCH, "UNWATCH"},
        {WF_FRAME_TIES + WF_MSG_DOWN - WF_MSG_WATCH, "DOWN"},
        {WF_FRAME_TIES + WF_MSG_LINK - WF_MSG_WATCH, "LINK"},
        {WF_FRAME_TIES + WF_MSG_UNLINK - WF_MSG_WATCH, "UNLINK"},
        {WF_FRAME_TIES + WF_MSG_EXIT - WF_MSG_WATCH, "EXIT"},
        {WF_FRAME_TIES + WF_MSG_KILL - WF_MSG_WATCH, "KILL"},
        {WF_FRAME_TIES + WF_MSG_PROBE - WF_MSG_WATCH, "PROBE"},
        {WF_FRAME_REMOTE, "CREDIT_REQUEST"},
        {WF_FRAME_REMOTE + WF_MSG_CREDIT - WF_MSG_CREDIT_REQUEST, "CREDIT"},
        {WF_FRAME_REMOTE + WF_MSG_SPAWN - WF_MSG_CREDIT_REQUEST, "SPAWN"},
        {WF_FRAME_REMOTE + WF_MSG_SPAWNED - WF_MSG_CREDIT_REQUEST, "SPAWNED"},
        {WF_FRAME_CREDIT_REQUEST_NAME, "CREDIT_REQUEST_NAME"},
    };
    for (size_t i = 0; i < WF_COUNT(names); i++)
        if (names[i].kind == kind) return names[i].name;
    return "unknown";
}

void wf_frame_fault(const weft_reader *r, const struct wf_frame *f, char *out, size_t size)
{
    snprintf(out, size, "malformed %s frame at offset %zu", wf_frame_name(f->kind), (size_t)(r->at - r->start));
}

/* ---- Encoding -------------------------------------------------------------------------------------------------- */

static void put_kind(weft_writer *w, uint32_t values, uint32_t kind)
{
    weft_put_array(w, values + 1);
    weft_put_uint(w, kind);
}

static void put_urls(weft_writer *w, const weft_text *urls, uint32_t count)
{
    weft_put_array(w, count);
    for (uint32_t i = 0; i < count; i++) weft_put_str(w, urls[i]);
}

void wf_put_hello(weft_writer *w, const struct wf_hello *h)
{
    put_kind(w, 1, WF_FRAME_HELLO);
    weft_put_array(w, h->newest > h->version ? 9 : 8);
    weft_put_uint(w, h->version);
    weft_put_uint(w, h->capabilities);
    weft_put_str(w, h->cluster);
    weft_put_str(w, h->name);
    weft_put_uint(w, h->incarnation);
    weft_put_uint(w, h->flags);
    weft_put_uint(w, h->heartbeat_ms);
    put_urls(w, h->url, h->url_count);
    if (h->newest <= h->version) return;
    weft_put_array(w, h->clock == 0 ? 1 : 2);
    weft_put_uint(w, h->newest);
    if (h->clock != 0) weft_put_uint(w, h->clock);
}

void wf_put_welcome(weft_writer *w)
{
    put_kind(w, 0, WF_FRAME_WELCOME);
}

void wf_put_welcome_link(weft_writer *w, uint64_t number, uint64_t received, enum wf_welcome_state state)
{
    put_kind(w, 3, WF_FRAME_WELCOME);
    weft_put_uint(w, number);
    weft_put_uint(w, received);
    weft_put_uint(w, state);
}

void wf_put_refused(weft_writer *w, enum wf_refusal code, const char *reason)
{
    put_kind(w, 2, WF_FRAME_REFUSED);
    weft_put_uint(w, code);
    weft_put_str(w, weft_cstr(reason));
}

void wf_put_bye(weft_writer *w, const char *reason)
{
    put_kind(w, 1, WF_FRAME_BYE);
    weft_put_str(w, weft_cstr(reason));
}

void wf_put_number(weft_writer *w, uint32_t kind, uint64_t number)
{
    put_kind(w, 1, kind);
    weft_put_uint(w, number);
}

void wf_put_peers(weft_writer *w, uint32_t count)
{
    put_kind(w, 1, WF_FRAME_PEERS);
    weft_put_array(w, count);
}

void wf_put_peer(weft_writer *w, weft_text name, uint64_t incarnation, const weft_text *urls, uint32_t url_count)
{
    weft_put_array(w, 3);
    weft_put_str(w, name);
    weft_put_uint(w, incarnation);
    put_urls(w, urls, url_count);
}

void wf_put_interest(weft_writer *w, enum wf_interest_op op, uint32_t count)
{
    put_kind(w, 2, WF_FRAME_INTEREST);
    weft_put_uint(w, op);
    weft_put_array(w, count);
}

void wf_put_to_actor(weft_writer *w, unsigned kind, uint64_t to, uint64_t from, uint32_t tag, uint64_t ref,
                     const void *body, size_t size, uint64_t left)
{
    bool timed = kind == WF_MSG_CALL && left != WF_FRAME_NO_DEADLINE;
    put_kind(w, timed ? 6 : 5, wf_frame_of((enum wf_msg_kind)kind));
    weft_put_uint(w, to);
    weft_put_uint(w, from);
    weft_put_uint(w, tag);
    weft_put_uint(w, ref);
    weft_put_bin(w, body, size);
    if (timed) weft_put_uint(w, left);
}

void wf_put_to_name(weft_writer *w, bool call, weft_text name, uint64_t from, uint32_t tag, uint64_t ref,
                    const void *body, size_t size, uint64_t left)
{
    bool timed = call && left != WF_FRAME_NO_DEADLINE;
    put_kind(w, timed ? 6 : 5, call ? WF_FRAME_CALL_NAME : WF_FRAME_SEND_NAME);
    weft_put_str(w, name);
    weft_put_uint(w, from);
    weft_put_uint(w, tag);
    weft_put_uint(w, ref);
    weft_put_bin(w, body, size);
    if (timed) weft_put_uint(w, left);
}

void wf_put_credit_request_name(weft_writer *w, weft_text name, uint64_t from, uint32_t number, uint64_t key)
{
    static const uint8_t none[4];
    put_kind(w, 5, WF_FRAME_CREDIT_REQUEST_NAME);
    weft_put_str(w, name);
    weft_put_uint(w, from);
    weft_put_uint(w, number);
    weft_put_uint(w, key);
    weft_put_bin(w, none, sizeof none);
}

void wf_put_to_all(weft_writer *w, enum wf_frame_kind kind, weft_text name, uint64_t from, uint32_t tag,
                   const void *body, size_t size)
{
    put_kind(w, 4, kind);
    weft_put_str(w, name);
    weft_put_uint(w, from);
    weft_put_uint(w, tag);
    weft_put_bin(w, body, size);
}
