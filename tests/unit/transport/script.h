/* tests/unit/transport/script.h -- a real node in a simulated world, and one or more peers, for which a test writes
 * every frame. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "../../suite.h"
#include "carrier_memory.h"

#include "cluster.h"
#include "links.h"
#include "sim_world.h"
#include "transport.h"

#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { NODE, PEER };
enum { LINES = 64, HEARD = 400, WORDS = 4 * 1024 * 1024 };

/* A frame that the node has said. */
struct heard {
    uint32_t kind, tag;
    uint64_t number, ref, to, from;
    size_t size;
    char text[200]; /* the reason of a REFUSED, a name */
    int reason;     /* of a DOWN or an EXIT: the first four bytes of its body */
};

/* A connection, as the peer has it. */
struct line {
    struct wf_conn *conn; /* NULL: not yet, or no more */
    bool was_up, sending, deaf;
    struct heard heard[HEARD]; /* the latest */
    unsigned count;
    void (*hears)(struct line *l, const struct heard *h); /* NULL, or called for each frame */
};

static struct wf_sim_world world;
static struct wf_carrier *carrier; /* the peer's, and its worker, which does nothing */
static struct wf_worker peer_worker;
static struct wf_workers peer_workers = {.count = 1, .at = {&peer_worker}};
static struct line line[LINES];
static unsigned lines;
static weft_node *node;
static uint8_t words[WORDS];
static weft_writer out; /* what is to be said next */
static char news[4096]; /* what actors of the node heard of others: "up peer; down peer: left; " */

/* ---- What the peer's carrier says ------------------------------------------------------------------------------ */

static void script_up(void *owner, struct wf_conn *c)
{
    (void)owner;
    struct line *l = c->dial_tag;
    if (l == NULL) {
        ck_assert_uint_lt(lines, LINES);
        l = &line[lines++];
    }
    wf_conn_trust(c, WF_BATCH_MAX);
    c->user = l;
    l->conn = c;
    l->was_up = true;
}

static enum wf_receive script_message(void *owner, struct wf_conn *c, const uint8_t *data, size_t size, size_t *left)
{
    struct line *l = c->user;
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    int got;
    (void)left, (void)owner;
    while (f.name = weft_str(NULL, 0), (got = wf_frame_next(&r, &f)) == 1) {
        struct heard *h = &l->heard[l->count++ % HEARD];
        *h = (struct heard){f.kind, f.tag, f.number, f.ref, f.to, f.from, f.body.size, "", 0};
        if (wf_frame_message(f.kind) >= 0 && f.body.size >= 4)
            h->reason = (int)wf_get_u32((const uint8_t *)f.body.data);
        if (f.name.data != NULL)
            snprintf(h->text, sizeof h->text, "%.*s", (int)WF_MIN(f.name.size, (size_t)199), f.name.data);
        if (l->hears != NULL) l->hears(l, h);
    }
    ck_assert_int_eq(got, 0); /* the node itself says what is well-formed, whatever it hears */
    return l->deaf ? WF_RECEIVE_PAUSE : WF_RECEIVE_ON;
}

static enum wf_receive script_chunk(void *owner, struct wf_conn *c)
{
    (void)owner;
    return ((struct line *)c->user)->deaf ? WF_RECEIVE_PAUSE : WF_RECEIVE_ON;
}

static void script_sent(void *owner, struct wf_conn *c, bool ok)
{
    (void)owner, (void)ok;
    ((struct line *)c->user)->sending = false;
}

static void script_down(void *owner, struct wf_conn *c, const char *reason)
{
    struct line *l = c->user;
    (void)owner, (void)reason;
    l->conn = NULL;
    l->sending = false;
    wf_conn_release(c);
}

static void script_dial_failed(void *owner, void *tag, const char *reason)
{
    (void)owner, (void)tag, (void)reason;
}

static const struct wf_carrier_user script_user = {.on_up = script_up,
                                                   .on_message = script_message,
                                                   .on_chunk = script_chunk,
                                                   .on_sent = script_sent,
                                                   .on_down = script_down,
                                                   .on_dial_failed = script_dial_failed};

/* ---- Time, and words ------------------------------------------------------------------------------------------- */

__attribute__((unused)) static void pass(int64_t span)
{
    wf_sim_run(&world, span);
}

/* Says what has been written to `out`; it is under way. */
__attribute__((unused)) static void send_words(struct line *l)
{
    ck_assert_int_eq(out.error, 0);
    for (int i = 0; l->sending && i < 100; i++) pass(WEFT_MS(1));
    if (l->conn != NULL && out.size > 0)
        l->sending = wf_conn_send(l->conn, &(struct pf_slice){words, out.size}, 1) == WF_SEND_LATER;
    out = weft_writer_on(words, sizeof words);
}

/* The same, and it comes. */
__attribute__((unused)) static void speak(struct line *l)
{
    send_words(l);
    pass(WEFT_MS(5));
}

/* The last frame of that kind that it has received; NULL: there is none. */
__attribute__((unused)) static const struct heard *heard(const struct line *l, uint32_t kind)
{
    for (unsigned i = l->count; i > 0 && l->count - i < HEARD; i--)
        if (l->heard[(i - 1) % HEARD].kind == kind) return &l->heard[(i - 1) % HEARD];
    return NULL;
}

__attribute__((unused)) static bool is_over(const struct line *l)
{
    return l->was_up && l->conn == NULL;
}

#define REFUSED(l, code_, text_)                                                           \
    do {                                                                                   \
        const struct heard *h_ = heard(l, WF_FRAME_REFUSED);                               \
        ck_assert_ptr_nonnull(h_);                                                         \
        ck_assert_uint_eq(h_->number, code_);                                              \
        ck_assert_msg(strstr(h_->text, text_) != NULL, "%s, and not %s", h_->text, text_); \
    } while (0)

__attribute__((unused)) static struct wf_cluster *cluster(void)
{
    return ((struct wf_transport *)node->transport)->cluster;
}

/* Whether the node has closed a connection for that reason, and logged it. */
__attribute__((unused)) static bool rejected(const char *reason)
{
    for (unsigned i = 0; i < WF_REJECT_SLOTS; i++)
        if (strstr(cluster()->rejects[i].reason, reason) != NULL) return true;
    return false;
}

/* ---- Connections ----------------------------------------------------------------------------------------------- */

static struct line *dial_only(void)
{
    char why[WF_REASON_TEXT], url[WF_URL_TEXT];
    ck_assert_uint_lt(lines, LINES);
    struct line *l = &line[lines++];
    wf_sim_url(NODE, url);
    ck_assert_int_eq(carrier->ops->dial(carrier, url, l, why), WEFT_OK);
    return l;
}

/* The peer dials. */
__attribute__((unused)) static struct line *dial(void)
{
    struct line *l = dial_only();
    pass(WEFT_MS(5));
    ck_assert(l->conn != NULL && heard(l, WF_FRAME_HELLO) != NULL);
    return l;
}

/* The node has dialled: the `i`-th line there has ever been. */
__attribute__((unused)) static struct line *dialled(unsigned i)
{
    for (int k = 0; lines <= i && k < 400; k++) pass(WEFT_MS(25));
    ck_assert_uint_gt(lines, i);
    for (int k = 0; heard(&line[i], WF_FRAME_HELLO) == NULL && k < 100; k++) pass(WEFT_MS(5));
    return &line[i];
}

/* A node that can do all this one can; the higher one of two if `above`. */
__attribute__((unused)) static struct wf_hello hello(const char *name, bool above)
{
    return (struct wf_hello){.version = 1,
                             .newest = 2,
                             .capabilities = WF_CAPABILITIES & ~WF_CAN_GOSSIP,
                             .cluster = weft_cstr("weft"),
                             .name = weft_cstr(name),
                             .incarnation = above ? UINT64_MAX : 1,
                             .heartbeat_ms = 60000};
}

__attribute__((unused)) static void say_hello(struct line *l, const struct wf_hello *h)
{
    wf_put_hello(&out, h);
    speak(l);
}

__attribute__((unused)) static void say_number(struct line *l, uint32_t kind, uint64_t number)
{
    wf_put_number(&out, kind, number);
    speak(l);
}

static uint64_t link_number; /* of the last link of `link_up` */

/* Its WELCOME: of a link of that number, which has got so far. */
__attribute__((unused)) static void say_welcome(struct line *l, const struct wf_hello *h, uint64_t number,
                                                uint64_t received, enum wf_welcome_state state)
{
    if ((h->capabilities & WF_CAN_RESUME) != 0 && (h->flags & WF_HELLO_CLIENT) == 0)
        wf_put_welcome_link(&out, number, received, state);
    else wf_put_welcome(&out);
    speak(l);
}

/* A link, from the beginning. */
__attribute__((unused)) static struct line *link_up(const struct wf_hello *h)
{
    struct line *l = dial();
    bool above = h->incarnation > node->incarnation, resumes = (h->capabilities & WF_CAN_RESUME) != 0;
    link_number = above ? 0 : 7;
    say_hello(l, h);
    ck_assert(above || heard(l, WF_FRAME_WELCOME) != NULL);
    say_welcome(l, h, link_number, 0, WF_LINK_OVER);
    ck_assert_ptr_nonnull(heard(l, WF_FRAME_WELCOME));
    if (above) link_number = heard(l, WF_FRAME_WELCOME)->number;
    if (resumes && (h->flags & WF_HELLO_CLIENT) == 0) say_number(l, WF_FRAME_START, 0);
    ck_assert(wf_links_is_up(cluster(), h->incarnation));
    return l;
}

/* ---- The node -------------------------------------------------------------------------------------------------- */

__attribute__((unused)) static void watcher(const void *arg, size_t size)
{
    weft_msg *m;
    struct weft_node_news n;
    (void)arg, (void)size;
    (void)weft_watch_nodes();
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_node_news_read(m, &n) < 0) continue;
        const char *what = weft_tag(m) == WEFT_TAG_NODE_UP     ? "up"
                           : weft_tag(m) == WEFT_TAG_NODE_DOWN ? "down"
                                                               : "suspect";
        size_t used = strlen(news);
        snprintf(news + used, sizeof news - used, "%s %s%s%s; ", what, n.name, n.reason[0] == 0 ? "" : ": ",
                 n.reason);
    }
}

#define NEWS(text) ck_assert_msg(strstr(news, text) != NULL, "%s, and not %s", news, text)

__attribute__((unused)) static weft_pid run_on_node(weft_actor *body)
{
    weft_pid pid;
    ck_assert_int_eq(weft_node_spawn(node, &pid, body, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_MS(5));
    return pid;
}

/* Uses the options of `o` that are not zero; if it has seeds, the peer listens. */
__attribute__((unused)) static void open_script(weft_node_options o)
{
    char url[WF_URL_TEXT], bound[WF_URL_TEXT], why[WF_REASON_TEXT];
    const char *listen[] = {url};
    memset(line, 0, sizeof line);
    lines = 0;
    news[0] = '\0';
    out = weft_writer_on(words, sizeof words);
    weft_log_set(getenv("SCRIPT_LOG") != NULL ? WEFT_DEBUG : WEFT_SILENT, false);
    wf_sim_world_init(&world, 1);
    world.delay_min = world.delay_max = WEFT_US(100); /* what is sent at the same time comes so */
    wf_sim_url(NODE, url);
    if (o.name == NULL) o.name = "node";
    o.listen = listen;
    o.listen_count = 1;
    o.record_events = -1;
    ck_assert_int_eq(wf_sim_start(&world, NODE, &o), WEFT_OK);
    node = world.host[NODE].node;
    world.host[PEER].worker = &peer_worker;
    const struct wf_carrier_options c = {.workers = &peer_workers, .user = &script_user};
    carrier = wf_carrier_memory(&world, PEER, &c);
    world.host[PEER].carrier = (struct wf_memory_carrier *)carrier;
    wf_sim_url(PEER, url);
    ck_assert_int_eq(carrier->ops->listen(carrier, url, 0, bound, why), WEFT_OK);
    carrier->ops->accept(carrier);
    pass(WEFT_MS(5));
}

__attribute__((unused)) static void open_plainly(void)
{
    open_script((weft_node_options){.name = "node"});
    (void)run_on_node(watcher);
}

/* The node dials the peer, as one of its seeds. */
__attribute__((unused)) static void open_with_seed(void)
{
    char url[WF_URL_TEXT];
    const char *join[] = {url};
    wf_sim_url(PEER, url);
    open_script((weft_node_options){.name = "node", .join = join, .join_count = 1});
    (void)run_on_node(watcher);
}

__attribute__((unused)) static void close_script(void)
{
    if (node != NULL) (void)wf_sim_stop(&world, NODE, weft_after(WEFT_SEC(1)));
    node = NULL;
    carrier->ops->destroy(carrier);
    world.host[PEER].worker = NULL;
    wf_sim_world_finish(&world);
}

#endif
