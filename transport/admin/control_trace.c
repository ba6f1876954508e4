/* transport/admin/control_trace.c -- messages as they pass, for tools, on all nodes. */
#include "control_trace.h"
#include "answer.h"
#include "control.h"
#include "frame.h"
#include "relay.h"
#include "tool_actors.h"

#include "deliver.h"
#include "trace.h"

#include <weft/local.h>
#include <weft/monitor.h>
#include <weft/wait.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_EVERY WEFT_MS(50)
#define ANSWER_WITHIN WEFT_SEC(5)
enum { AT_ONCE = 64, REQUEST_MAX = 512, NODES_MAX = 1024 };
enum { TRACES_MAX = 16 }; /* at a node: each looks at every message that passes */

/* A decoded request; its texts point into the message. */
struct request {
    uint32_t tag;
    bool has_tag, everywhere;
    weft_pid actor;
    char topic[WF_TOPIC_MAX + 1];
};

struct tracer {
    weft_node *node;
    weft_pid tool;
    uint32_t verb;
    struct request asked;
    uint64_t missed; /* number of missed messages that the tool has not been sent yet */
    uint32_t node_count;
    uint64_t nodes[NODES_MAX]; /* the nodes that have an errand */
    struct wf_tap tap;
};

/* NULL, or the text of an error. */
static const char *read_request(const weft_msg *ask, struct request *q)
{
    static const char malformed[] = "the request to trace is malformed";
    weft_reader in = weft_reader_on(weft_data(ask), weft_size(ask));
    memset(q, 0, sizeof *q);
    uint32_t fields = weft_get_array(&in);
    q->has_tag = !weft_get_nil(&in);
    uint64_t tag = q->has_tag ? weft_get_uint(&in) : 0;
    weft_text actor = weft_get_str(&in), topic = weft_get_str(&in);
    q->everywhere = weft_get_bool(&in);
    if (in.error < 0 || fields != 4 || tag > UINT32_MAX) return malformed;
    if (topic.size > 0 && wf_pattern_check(topic) < 0) return "the topic pattern is malformed";
    if (actor.size > 0 && !wf_read_actor(actor, &q->actor))
        return "that is no pid, and no actor there has that name; 'weft ps' lists its actors";
    memcpy(q->topic, topic.data, topic.size);
    q->tag = (uint32_t)tag;
    return NULL;
}

static size_t put_request(uint8_t out[REQUEST_MAX], const struct request *q)
{
    char actor[WEFT_PID_TEXT];
    weft_writer w = weft_writer_on(out, REQUEST_MAX);
    weft_put_array(&w, 4);
    if (q->has_tag) weft_put_uint(&w, q->tag);
    else weft_put_nil(&w);
    weft_put_str(&w, weft_cstr(weft_pid_is_nobody(q->actor) ? "" : weft_pid_format(q->actor, actor)));
    weft_put_str(&w, weft_cstr(q->topic));
    weft_put_bool(&w, false);
    WF_ASSERT(w.error == 0);
    return w.size;
}

/* ---- Messages to the tool -------------------------------------------------------------------------------------- */

static void put_passed(weft_writer *w, const struct wf_passed *p, bool bodies)
{
    char id[WEFT_TRACE_TEXT];
    weft_put_array(w, 11);
    weft_put_int(w, p->at);
    weft_put_uint(w, p->what);
    wf_put_pid(w, p->actor);
    wf_put_pid(w, p->other);
    weft_put_uint(w, p->tag);
    weft_put_str(w, weft_cstr(weft_trace_format(p->trace.id, id)));
    weft_put_bool(w, p->wanted);
    weft_put_str(w, weft_str(p->data, p->name_size));
    weft_put_str(w, weft_cstr(p->what == WF_PASSED_DROPPED  ? wf_drop_names[p->why]
                              : p->what == WF_PASSED_FAILED ? weft_error_name(p->why)
                                                            : ""));
    weft_put_uint(w, p->size);
    if (bodies) weft_put_bin(w, p->data + p->name_size, p->kept);
    else weft_put_nil(w);
}

/* Writes the head of an array of that many values, and its first two values. */
static void put_node(weft_writer *w, const struct tracer *t, uint32_t count)
{
    weft_put_array(w, count);
    weft_put_str(w, weft_cstr(weft_node_name(t->node)));
    weft_put_uint(w, weft_node_incarnation(t->node));
}

static void put_all(weft_writer *w, const struct tracer *t, const struct wf_passed *p, uint32_t count,
                    uint64_t missed)
{
    put_node(w, t, count + 3);
    weft_put_uint(w, missed);
    for (; count > 0; count--, p = p->next) put_passed(w, p, t->verb == WF_CONTROL_TRACE_BODIES);
}

/* If there is no memory, they are added to t->missed. False: the tool is gone. */
static bool hand_on(struct tracer *t, const struct wf_passed *p, uint32_t count)
{
    weft_writer w = weft_writer_on(NULL, 0);
    put_all(&w, t, p, count, t->missed);
    weft_msg *m = weft_msg_new(WF_CONTROL_TRACED, w.size);
    if (m == NULL) {
        t->missed += count;
        return true;
    }
    w = weft_writer_on(weft_msg_body(m), w.size);
    put_all(&w, t, p, count, t->missed);
    t->missed = 0;
    return wf_tool_send(t->tool, m); /* the tap is bounded, and meanwhile waits */
}

static bool look(struct tracer *t)
{
    uint64_t missed;
    struct wf_passed *p = wf_tap_take(t->node, &t->tap, &missed);
    bool there = true;
    t->missed += missed;
    while (p != NULL || missed > 0) {
        uint32_t count = 0;
        struct wf_passed *next = p;
        for (; next != NULL && count < AT_ONCE; next = next->next) count++;
        there = there && hand_on(t, p, count);
        for (missed = 0; p != next;) {
            struct wf_passed *done = p;
            p = p->next;
            free(done);
        }
    }
    return there;
}

/* ---- Other nodes ----------------------------------------------------------------------------------------------- */

struct errand {
    weft_pid tool;
    uint32_t verb;
    uint32_t size;
    uint8_t request[REQUEST_MAX];
    char name[WF_NODE_NAME_MAX + 8];
};

static void errand_main(const void *arg, size_t size)
{
    struct errand e;
    weft_msg *m;
    (void)size;
    memcpy(&e, arg, sizeof e);
    int rc = weft_call_name(e.name, e.verb, e.request, e.size, &m, weft_after(ANSWER_WITHIN));
    if (rc < 0) return; /* it has gone again */
    bool there = weft_tag(m) == e.verb && weft_monitor(weft_from(m), NULL) == WEFT_OK;
    if (!there) weft_log(WEFT_INFO, "%s does not trace: %.*s", e.name, (int)weft_size(m), (const char *)weft_data(m));
    weft_msg_free(m);
    while (there && weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        uint32_t tag = weft_tag(m);
        if (tag == WF_CONTROL_HOLD) continue; /* kept until this errand ends: that ends the $trace there */
        there = tag != WEFT_TAG_DOWN;
        if (tag == WF_CONTROL_TRACED || tag == WF_CONTROL_TRACE) there = wf_tool_send(e.tool, m);
        else weft_msg_free(m);
    }
}

/* Starts an errand. A link that is resumed is reported as up again: then its errand still exists. */
static void go_to(struct tracer *t, uint64_t incarnation, const char *node)
{
    struct errand e = {.tool = t->tool, .verb = t->verb};
    weft_spawn_options quiet = {.kind = "$trace", .link = true};
    for (uint32_t i = 0; i < t->node_count; i++)
        if (t->nodes[i] == incarnation) return;
    if (t->node_count == NODES_MAX) return;
    t->nodes[t->node_count++] = incarnation;
    e.size = (uint32_t)put_request(e.request, &t->asked);
    snprintf(e.name, sizeof e.name, "$node@%s", node);
    int rc = weft_spawn(NULL, errand_main, &e, sizeof e, &quiet);
    if (rc < 0) weft_log(WEFT_WARN, "messages on node %s are not traced: %s", node, weft_strerror(rc));
}

/* ---- On one node ----------------------------------------------------------------------------------------------- */

static void close_tap(void *arg)
{
    struct tracer *t = arg;
    wf_tap_close(t->node, &t->tap);
}

static int send_begun(const struct tracer *t)
{
    uint8_t body[WF_NODE_NAME_MAX + 16];
    weft_writer w = weft_writer_on(body, sizeof body);
    put_node(&w, t, 2);
    return weft_send(t->tool, WF_CONTROL_TRACE, body, w.size);
}

static int begin(struct tracer *t)
{
    t->tap.actor = t->asked.actor;
    t->tap.tag = t->asked.tag;
    t->tap.has_tag = t->asked.has_tag;
    memcpy(t->tap.topic, t->asked.topic, sizeof t->tap.topic);
    int rc = weft_event_open(&t->tap.filled);
    if (rc == WEFT_OK) rc = wf_tap_open(t->node, &t->tap);
    if (rc == WEFT_OK) rc = weft_defer(close_tap, t);
    if (rc == WEFT_OK) rc = wf_guard_begin(t->tool);
    if (rc == WEFT_OK) rc = send_begun(t);
    if (rc == WEFT_OK && t->asked.everywhere) rc = weft_watch_nodes();
    return rc;
}

static void on_node_event(struct tracer *t, const weft_msg *m)
{
    struct weft_node_news news;
    if (weft_node_news_read(m, &news) < 0) return;
    if (weft_tag(m) == WEFT_TAG_NODE_UP) go_to(t, news.incarnation, news.name);
    if (weft_tag(m) != WEFT_TAG_NODE_DOWN) return;
    for (uint32_t i = 0; i < t->node_count; i++)
        if (t->nodes[i] == news.incarnation) t->nodes[i] = t->nodes[--t->node_count];
}

static void tracer_main(const void *arg, size_t size)
{
    struct tracer *t = weft_alloc(sizeof *t); /* it is allocated so that clean-ups can use it */
    weft_msg *m;
    if (t == NULL) return;
    memcpy(t, arg, size);
    (void)weft_trap_exits(true); /* an errand ends with its node */
    bool there = begin(t) == WEFT_OK;
    int64_t next = WEFT_FOREVER, looked = WEFT_NOW;
    const weft_wait sources[] = {weft_on_mailbox(), weft_on_event(t->tap.filled)};
    while (there) {
        int rc = weft_wait_any(sources, next == WEFT_FOREVER ? 2 : 1, next);
        if (rc == 0 && weft_recv(&m, WEFT_NOW) == WEFT_OK) {
            on_node_event(t, m);
            weft_msg_free(m);
        } else if (rc == 1) {
            (void)weft_event_take(t->tap.filled);
            next = WF_MAX(weft_now(), looked + LOOK_EVERY); /* together with messages that come until then */
        } else if (rc == WEFT_ETIMEDOUT) {
            there = look(t);
            looked = weft_now();
            next = WEFT_FOREVER;
        } else if (rc != 0) {
            there = false;
        }
    }
    weft_exit(WEFT_EXIT_STOPPED); /* its errands end, too */
}

const char *wf_trace_begin(const weft_msg *ask)
{
    struct tracer t = {.node = weft_here(), .tool = weft_from(ask), .verb = weft_tag(ask)};
    const char *why = read_request(ask, &t.asked);
    if (why != NULL) return why;
    struct wf_tool_work work = {.body = tracer_main,
                                .kind = "$trace",
                                .arg = &t,
                                .size = offsetof(struct tracer, node_count),
                                .most = TRACES_MAX};
    return wf_tool_actor_begin(ask, &work, NULL);
}
