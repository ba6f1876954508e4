/* tests/fuzz/link_world.h -- a node in a simulated world, and a peer that sends the bytes of an input. */
#ifndef WF_LINK_WORLD_H
#define WF_LINK_WORLD_H

#include "carrier_memory.h"
#include "fuzz.h"
#include "sim_world.h"
#include "transport.h"

#include <weft.h>

enum { NODE, PEER };
/* The first byte of an input. */
enum {
    LINK_GREETS = 1,    /* HELLO, WELCOME and START have been said properly when the input begins */
    LINK_LOWER = 2,     /* the peer's incarnation is the lower one, else the higher */
    LINK_OLD = 4,       /* it has no capabilities */
    LINK_CLIENT = 8,    /* it is a tool */
    LINK_FOREIGN = 16,  /* nothing is tied to a link: it never acknowledges, and a broken one is a new one */
    LINK_OPERATOR = 32, /* a tool here may do what an operator may */
};
/* In the place of a message's size. */
enum { LINK_AGAIN = 0xFFFF /* the connection breaks, the next one goes on with the link */, LINK_WAIT = 0xFFFE };

struct link_world {
    struct wf_sim_world world;
    struct wf_carrier *carrier; /* the peer's */
    struct wf_conn *conn;
    bool sending, welcomed;
    uint64_t number;              /* of the link, as the node says */
    uint64_t awaited, replies;    /* REPLY frames of that request */
    uint64_t call_from, call_ref; /* of the last CALL; 0: there was none */
    uint64_t incarnation;
    const char *name;
    unsigned mode;
    weft_pid echo;
    void (*on_frame)(const struct wf_frame *f); /* each frame of the node; NULL: nobody looks */
    void (*step)(void);                         /* what else happens while time passes; NULL: nothing */
};

/* ---- The node's actors ----------------------------------------------------------------------------------------- */

static void link_spawned(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    (void)weft_sleep(weft_after(WEFT_MS(10)));
}
WEFT_EXPORT_PLAIN("fuzz", link_spawned)

/* Named, in a group, with subscriptions: frames of all kinds come to something. It answers, and it sends. */
static void link_echo(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg;
    (void)size;
    (void)weft_trap_exits(true);
    (void)weft_register_global("echo");
    (void)weft_group_join("group");
    (void)weft_group_watch("group");
    (void)weft_subscribe("room.*", NULL);
    (void)weft_watch_nodes();
    for (int rc; (rc = weft_recv(&m, weft_after(WEFT_SEC(3)))) == WEFT_OK || rc == WEFT_ETIMEDOUT;) {
        if (rc == WEFT_ETIMEDOUT) continue;
        weft_pid who = weft_from(m);
        bool own = weft_pid_equal(who, weft_self()); /* published by itself: it would answer without end */
        if (weft_wants_reply(m)) (void)weft_reply(m, 1, weft_data(m), weft_size(m));
        else if (weft_tag(m) == 2) (void)weft_monitor(who, NULL);
        else if (weft_tag(m) == 3) (void)weft_publish("room.a", 1, weft_data(m), weft_size(m));
        else if (weft_tag(m) < 8 && !own) (void)weft_try_send(who, weft_tag(m), weft_data(m), weft_size(m));
        weft_msg_free(m);
    }
}

/* ---- The peer -------------------------------------------------------------------------------------------------- */

static void peer_up(void *owner, struct wf_conn *c)
{
    ((struct link_world *)owner)->conn = c;
}

static enum wf_receive peer_message(void *owner, struct wf_conn *c, const uint8_t *data, size_t size, size_t *left)
{
    (void)left;
    struct link_world *w = owner;
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    int got;
    (void)c;
    while ((got = wf_frame_next(&r, &f)) == 1) {
        if (w->on_frame != NULL) w->on_frame(&f);
        if (f.kind == wf_frame_of(WF_MSG_REPLY) && f.ref == w->awaited) w->replies++;
        if (f.kind == wf_frame_of(WF_MSG_CALL)) {
            w->call_from = f.from;
            w->call_ref = f.ref;
        }
        if (f.kind != WF_FRAME_WELCOME) continue;
        w->welcomed = true;
        if (f.number != 0) w->number = f.number;
    }
    MUST(got == 0); /* the node itself says what is well-formed, whatever it hears */
    return WF_RECEIVE_ON;
}

static enum wf_receive peer_chunk(void *owner, struct wf_conn *c)
{
    (void)owner;
    (void)c;
    return WF_RECEIVE_ON;
}

static void peer_sent(void *owner, struct wf_conn *c, bool ok)
{
    (void)c;
    (void)ok;
    ((struct link_world *)owner)->sending = false;
}

static void peer_down(void *owner, struct wf_conn *c, const char *reason)
{
    struct link_world *w = owner;
    (void)reason;
    if (w->conn == NULL) return;
    w->conn = NULL;
    w->sending = false;
    wf_conn_release(c);
}

static void peer_dial_failed(void *owner, void *tag, const char *reason)
{
    (void)owner;
    (void)tag;
    (void)reason;
}

static const struct wf_carrier_user peer_user = {
    .on_up = peer_up,
    .on_message = peer_message,
    .on_chunk = peer_chunk,
    .on_sent = peer_sent,
    .on_down = peer_down,
    .on_dial_failed = peer_dial_failed,
};

static inline void link_pass(struct link_world *w, int64_t span)
{
    for (; w->step != NULL && span > WEFT_MS(5); span -= WEFT_MS(5)) {
        wf_sim_run(&w->world, WEFT_MS(5));
        w->step();
    }
    wf_sim_run(&w->world, span);
    if (w->step != NULL) w->step();
}

static inline void link_say(struct link_world *w, const void *data, size_t size)
{
    for (int i = 0; w->sending && i < 20; i++) link_pass(w, WEFT_MS(5));
    if (w->conn == NULL || w->sending) return;
    w->sending = wf_conn_send(w->conn, &(struct pf_slice){(void *)(uintptr_t)data, size}, 1) == WF_SEND_LATER;
    link_pass(w, WEFT_MS(3));
}

static inline void link_greet(struct link_world *w)
{
    uint8_t bytes[512];
    weft_writer out = weft_writer_on(bytes, sizeof bytes);
    struct wf_hello h = {.version = 1,
                         .newest = w->mode & LINK_OLD ? 1 : 2,
                         .capabilities = w->mode & LINK_OLD ? 0 : WF_CAPABILITIES,
                         .cluster = weft_cstr("weft"),
                         .name = weft_cstr(w->name),
                         .incarnation = w->incarnation,
                         .flags = w->mode & LINK_CLIENT ? WF_HELLO_CLIENT : 0,
                         .heartbeat_ms = 1000};
    wf_put_hello(&out, &h);
    link_say(w, bytes, out.size);
    out = weft_writer_on(bytes, sizeof bytes);
    bool old = (w->mode & (LINK_OLD | LINK_CLIENT)) != 0, resumes = w->number != 0 && !(w->mode & LINK_FOREIGN);
    uint64_t number = resumes ? w->number : w->mode & LINK_LOWER ? 0 : 7;
    if (old) wf_put_welcome(&out);
    else wf_put_welcome_link(&out, number, 0, resumes ? WF_LINK_BROKEN : WF_LINK_OVER);
    link_say(w, bytes, out.size);
    out = weft_writer_on(bytes, sizeof bytes);
    wf_put_number(&out, WF_FRAME_START, 0);
    if (!old) link_say(w, bytes, out.size);
}

static inline void link_dial(struct link_world *w)
{
    char why[WF_REASON_TEXT], url[WF_URL_TEXT];
    wf_sim_url(NODE, url);
    MUST(w->carrier->ops->dial(w->carrier, url, w, why) == WEFT_OK);
    link_pass(w, WEFT_MS(5));
    MUST(w->conn != NULL);
    wf_conn_trust(w->conn, WF_BATCH_MAX);
    if (w->mode & LINK_GREETS) link_greet(w);
}

static inline void link_break(struct link_world *w)
{
    if (w->conn != NULL) wf_conn_close(w->conn, "as the input says");
    link_pass(w, WEFT_MS(20));
}

static inline void link_world_init(struct link_world *w, unsigned mode)
{
    char url[WF_URL_TEXT];
    const char *listen[] = {url};
    memset(w, 0, sizeof *w);
    weft_log_set(WEFT_SILENT, false);
    wf_sim_world_init(&w->world, 1);
    wf_sim_url(NODE, url);
    const weft_node_options o = {.name = "node",
                                 .listen = listen,
                                 .listen_count = 1,
                                 .record_events = mode & LINK_OPERATOR ? 64 : -1,
                                 .actors_max = 64,
                                 .loopback_control = (mode & LINK_OPERATOR) != 0};
    MUST(wf_sim_start(&w->world, NODE, &o) == WEFT_OK);
    MUST(weft_node_spawn(w->world.host[NODE].node, &w->echo, link_echo, NULL, 0, NULL) == WEFT_OK);
    link_pass(w, WEFT_MS(5));
    w->world.host[PEER].worker = w->world.host[NODE].worker; /* the peer has none of its own */
    const struct wf_carrier_options c = {
        .workers = &w->world.host[NODE].node->workers, .user = &peer_user, .owner = w};
    w->carrier = wf_carrier_memory(&w->world, PEER, &c);
    MUST(w->carrier != NULL);
    w->mode = mode;
    w->name = "peer";
    w->incarnation = mode & LINK_LOWER ? 1 : UINT64_MAX;
    link_dial(w);
}

static inline void link_world_finish(struct link_world *w)
{
    w->carrier->ops->destroy(w->carrier);
    (void)wf_sim_stop(&w->world, NODE, WEFT_NOW);
    w->world.host[PEER].worker = NULL;
    wf_sim_world_finish(&w->world);
}

#endif
