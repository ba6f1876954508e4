/* transport/admin/relay.c -- topics for tools. A tool is linked with one node only, so that node publishes and
 * subscribes for it.
 *
 * A subscription is two actors: the relay, which is an ordinary subscriber and passes its messages on, and its guard,
 * which waits for a reply that the tool never gives. When the tool is gone, or frees the request, the guard's call
 * fails and the guard stops the relay. So no actor has to poll whether the tool still exists.
 *
 * The relay waits until the tool has space. Messages that are published meanwhile wait in the relay's mailbox; if that
 * is full they are dropped and counted as for any slow subscriber, and the relay tells the tool their number. */
#include "relay.h"
#include "control.h"
#include "tool_actors.h"

#include "actor.h"
#include "answer.h"
#include "deliver.h"
#include "send.h"

#include <weft/topic.h>

#include <stdlib.h>
#include <string.h>

struct relay {
    weft_pid tool;
    char pattern[WF_TOPIC_MAX + 1];
};

struct guard {
    weft_pid tool, guarded;
};

static void guard_main(const void *arg, size_t size)
{
    struct guard g;
    weft_msg *never;
    memcpy(&g, arg, size);
    if (weft_call(g.tool, WF_CONTROL_HOLD, NULL, 0, &never, WEFT_FOREVER) == WEFT_OK) weft_msg_free(never);
    (void)weft_stop(g.guarded);
}

int wf_guard_begin(weft_pid tool)
{
    struct guard g = {tool, weft_self()};
    weft_spawn_options quiet = {.kind = "$guard"};
    return weft_spawn(NULL, guard_main, &g, sizeof g, &quiet);
}

static void put_news(weft_writer *w, const weft_msg *m)
{
    char from[WEFT_PID_TEXT];
    weft_put_array(w, 4);
    weft_put_str(w, weft_cstr(weft_topic(m)));
    weft_put_uint(w, weft_tag(m));
    weft_put_str(w, weft_cstr(weft_pid_format(weft_from(m), from)));
    weft_put_bin(w, weft_data(m), weft_size(m));
}

bool wf_tool_send(weft_pid tool, weft_msg *m)
{
    int rc = wf_send_given(tool, m, WEFT_FOREVER);
    return rc != WEFT_ENONODE && rc != WEFT_ENOACTOR && rc != WEFT_ECANCELED;
}

/* NULL: no memory; the message is lost for the tool, and counted. */
static weft_msg *news_of(const weft_msg *m)
{
    weft_writer measure = weft_writer_on(NULL, 0);
    put_news(&measure, m);
    weft_msg *news = weft_msg_new(WF_CONTROL_NEWS, measure.size);
    if (news == NULL) {
        enum wf_drop why = measure.size > WEFT_MESSAGE_MAX ? WF_DROP_TOO_BIG : WF_DROP_MEMORY;
        wf_note_drop(wf_here, why, weft_self().actor, weft_from(m), weft_tag(m));
        return NULL;
    }
    weft_writer w = weft_writer_on(weft_msg_body(news), measure.size);
    put_news(&w, m);
    return news;
}

/* If there is no memory, the tool is told with the next loss. False: the tool is gone. */
static bool notify_missed(weft_pid tool, uint64_t *missed)
{
    uint8_t body[16];
    weft_writer w = weft_writer_on(body, sizeof body);
    weft_put_uint(&w, *missed);
    weft_msg *m = weft_msg_new(WF_CONTROL_MISSED, w.size);
    if (m == NULL) return true;
    memcpy(weft_msg_body(m), body, w.size);
    *missed = 0;
    return wf_tool_send(tool, m);
}

/* False: the tool is gone. */
static bool hand_on(weft_pid tool, const weft_msg *m, uint64_t *missed)
{
    struct weft_subscription_news lost;
    if (weft_subscription_news_read(m, &lost) == WEFT_OK) {
        *missed += lost.lost;
    } else {
        weft_msg *news = news_of(m);
        if (news != NULL) return wf_tool_send(tool, news);
        ++*missed;
    }
    return notify_missed(tool, missed);
}

static void relay_main(const void *arg, size_t size)
{
    struct relay r;
    memcpy(&r, arg, size);
    weft_subscribe_options told = {.slow = WEFT_SLOW_DROP};
    int rc = weft_subscribe_with(r.pattern, &told, NULL);
    if (rc == WEFT_OK) rc = wf_guard_begin(r.tool);
    if (rc == WEFT_OK) rc = weft_send(r.tool, WF_CONTROL_SUBSCRIBE, NULL, 0);
    bool there = rc == WEFT_OK;
    weft_msg *m;
    uint64_t missed = 0;
    while (there && weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        there = hand_on(r.tool, m, &missed);
        weft_msg_free(m);
    }
}

const char *wf_relay_subscribe(const weft_msg *ask)
{
    struct relay r = {.tool = weft_from(ask)};
    weft_reader in = weft_reader_on(weft_data(ask), weft_size(ask));
    weft_text pattern = weft_get_str(&in);
    if (in.error < 0 || wf_pattern_check(pattern) < 0) return "the topic pattern is malformed";
    memcpy(r.pattern, pattern.data, pattern.size);
    return wf_tool_actor_begin(
        ask, &(struct wf_tool_work){.body = relay_main, .kind = "$relay", .arg = &r, .size = sizeof r}, NULL);
}

/* A decoded PUBLISH; `ms` 0: do not wait. */
struct publication {
    char topic[WF_TOPIC_MAX + 1];
    uint32_t tag, ms;
    weft_text body;
};

static const char *read_publication(const weft_msg *ask, struct publication *p)
{
    weft_reader in = weft_reader_on(weft_data(ask), weft_size(ask));
    uint32_t fields = weft_get_array(&in);
    weft_text topic = weft_get_str(&in);
    uint64_t tag = weft_get_uint(&in);
    p->body = weft_get_bin(&in);
    uint64_t ms = fields > 3 ? weft_get_uint(&in) : 0;
    if (in.error < 0 || fields < 3 || fields > 4 || tag >= WEFT_TAG_SYSTEM)
        return "the request to publish is malformed";
    if (wf_topic_check(topic) < 0) return "the topic is malformed";
    memcpy(p->topic, topic.data, topic.size);
    p->topic[topic.size] = 0;
    p->tag = (uint32_t)tag;
    p->ms = (uint32_t)WF_MIN(ms, UINT32_MAX);
    return NULL;
}

/* Waits and answers instead of $node. */
static void reporter_main(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *ask;
    struct publication p;
    if (weft_recv(&ask, WEFT_FOREVER) < 0 || read_publication(ask, &p) != NULL) return;
    struct weft_reach r = {.nodes = 0};
    int rc = weft_publish_reach(p.topic, p.tag, p.body.data, p.body.size, &r, weft_after(WEFT_MS((int64_t)p.ms)));
    uint8_t answer[32];
    weft_writer w = weft_writer_on(answer, sizeof answer);
    weft_put_array(&w, 3);
    weft_put_uint(&w, r.nodes);
    weft_put_uint(&w, r.subscribers);
    weft_put_uint(&w, r.silent);
    if (rc == WEFT_OK) (void)weft_reply(ask, WF_CONTROL_PUBLISH, answer, w.size);
    else (void)weft_reply(ask, WF_CONTROL_ERROR, weft_strerror(rc), strlen(weft_strerror(rc)));
    weft_msg_free(ask);
}

const char *wf_relay_publish(weft_msg *ask, bool *handed)
{
    struct publication p;
    const char *why = read_publication(ask, &p);
    if (why != NULL) return why;
    if (p.ms > 0) return wf_hand_to(ask, &(struct wf_tool_work){.body = reporter_main, .kind = "$reporter"}, handed);
    int reached = weft_publish(p.topic, p.tag, p.body.data, p.body.size);
    if (reached < 0) return weft_strerror(reached);
    uint8_t answer[16];
    weft_writer w = weft_writer_on(answer, sizeof answer);
    weft_put_int(&w, reached);
    (void)weft_reply(ask, WF_CONTROL_PUBLISH, answer, w.size);
    return NULL;
}
