/* transport/admin/control_top.c -- TOP of docs/wire.md: this node in figures, and if it is wanted all other nodes
 * that are up.
 *
 * It takes a while, and nodes ask each other, so another actor answers instead of $node. It starts one more actor for
 * each node, so that a node that does not answer delays the result only for the time limit; the answer then has the
 * reason in its place. */
#include "control_top.h"
#include "answer.h"
#include "tool_actors.h"
#include "control.h"

#include "metrics_rows.h"
#include "rows.h"
#include "snapshot.h"
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_WITHIN WEFT_SEC(3)

enum { NODES_MAX = 64, REQUEST_MAX = 256 };

struct request {
    struct wf_top_want pick;
    bool everywhere;
};

static const char *read_request(const weft_msg *ask, struct request *q)
{
    weft_reader r = weft_reader_on(weft_data(ask), weft_size(ask));
    uint32_t fields = weft_get_array(&r);
    weft_text by = weft_get_str(&r);
    uint64_t most = weft_get_uint(&r);
    weft_text filter = weft_get_str(&r);
    bool everywhere = weft_get_bool(&r);
    *q = (struct request){.everywhere = everywhere, .pick.exact = fields > 4 && weft_get_bool(&r)};
    if (r.error < 0 || fields < 4 || filter.size >= sizeof q->pick.filter) return "the request is malformed";
    q->pick.by = by.size == 8 && memcmp(by.data, "received", 8) == 0  ? WF_TOP_BY_RECEIVED
                 : by.size == 7 && memcmp(by.data, "dropped", 7) == 0 ? WF_TOP_BY_DROPPED
                                                                      : WF_TOP_BY_MAILBOX;
    q->pick.most = (uint32_t)WF_MIN(most, WF_TOP_MOST);
    memcpy(q->pick.filter, filter.data, filter.size);
    return NULL;
}

/* The request to other nodes: the same, but only about themselves. */
static size_t put_request(uint8_t out[REQUEST_MAX], const struct wf_top_want *pick)
{
    static const char *const by[] = {"mailbox", "received", "dropped"};
    weft_writer w = weft_writer_on(out, REQUEST_MAX);
    weft_put_array(&w, 5);
    weft_put_str(&w, weft_cstr(by[pick->by]));
    weft_put_uint(&w, pick->most);
    weft_put_str(&w, weft_cstr(pick->filter));
    weft_put_bool(&w, false);
    weft_put_bool(&w, pick->exact);
    return w.size;
}

/* ---- Another node ---------------------------------------------------------------------------------------------- */

struct errand {
    weft_pid sender;
    char node[WF_NODE_NAME_MAX + 1];
    size_t size;
    uint8_t request[REQUEST_MAX];
};

static void send_why_not(const struct errand *e, weft_text why)
{
    uint8_t body[512];
    weft_writer w = weft_writer_on(body, sizeof body);
    weft_put_map(&w, 2);
    weft_put_str(&w, weft_cstr("node"));
    weft_put_str(&w, weft_cstr(e->node));
    weft_put_str(&w, weft_cstr("error"));
    weft_put_str(&w, weft_str(why.data, WF_MIN(why.size, 300)));
    weft_ignore(
        weft_send(e->sender, WF_CONTROL_TOP, body, w.size)); /* else the node is shown as one that is silent */
}

/* The one map of an answer, whole. False: it is something else. */
static bool map_of(const weft_msg *answer, weft_text *out)
{
    weft_reader r = weft_reader_on(weft_data(answer), weft_size(answer));
    uint32_t maps = weft_get_array(&r);
    const uint8_t *start = r.at, *end = (const uint8_t *)weft_data(answer) + weft_size(answer);
    weft_reader inside = r;
    weft_skip(&r);
    (void)weft_get_map(&inside);
    *out = weft_str((const char *)start, (size_t)(end - start));
    return weft_tag(answer) == WF_CONTROL_TOP && maps == 1 && r.error == 0 && inside.error == 0 && r.at == end;
}

static void errand_main(const void *arg, size_t size)
{
    struct errand e;
    char name[WF_NODE_NAME_MAX + 8];
    weft_msg *answer;
    weft_text map;
    (void)size;
    memcpy(&e, arg, sizeof e);
    snprintf(name, sizeof name, "$node@%s", e.node);
    int rc = weft_call_name(name, WF_CONTROL_TOP, e.request, e.size, &answer, weft_after(ANSWER_WITHIN));
    if (rc < 0) {
        send_why_not(&e, weft_cstr(weft_strerror(rc)));
        return;
    }
    /* If it cannot be sent the node is shown as one that is silent. */
    if (map_of(answer, &map)) weft_ignore(weft_send(e.sender, WF_CONTROL_TOP, map.data, map.size));
    else if (weft_tag(answer) == WF_CONTROL_ERROR) send_why_not(&e, weft_str(weft_data(answer), weft_size(answer)));
    else send_why_not(&e, weft_cstr("an answer that cannot be read"));
    weft_msg_free(answer);
}

/* ---- The answer ------------------------------------------------------------------------------------------------ */

struct top {
    struct wf_snapshot snapshot;
    struct wf_rows maps; /* one of each node */
};

static void free_top(void *arg)
{
    struct top *top = arg;
    wf_snapshot_clear(&top->snapshot);
    wf_rows_free(&top->maps);
    free(top);
}

static int add_own(struct top *top)
{
    weft_writer w = weft_writer_on(NULL, 0);
    wf_snapshot_put(&w, &top->snapshot);
    size_t size = w.size + 1024; /* counters grow */
    uint8_t *at = wf_rows_reserve(&top->maps, size);
    if (at == NULL) return WEFT_ENOMEM;
    w = weft_writer_on(at, size);
    wf_snapshot_put(&w, &top->snapshot);
    if (w.error == 0) wf_rows_added(&top->maps, w.size, 1);
    return w.error;
}

static uint32_t go_to_others(const struct wf_snapshot *s, const struct request *q)
{
    weft_spawn_options quiet = {.kind = "$top"};
    struct errand e = {.sender = weft_self(), .size = put_request(e.request, &q->pick)};
    uint32_t gone = 0;
    for (uint32_t i = 0; i < s->link_count && gone < NODES_MAX; i++) {
        if (!s->link[i].linked) continue;
        memcpy(e.node, s->link[i].peer, sizeof e.node);
        gone += weft_spawn(NULL, errand_main, &e, sizeof e, &quiet) == WEFT_OK;
    }
    return gone;
}

static int gather(struct top *top, uint32_t left)
{
    int64_t deadline = weft_after(ANSWER_WITHIN + WEFT_SEC(1));
    weft_msg *m;
    for (; left > 0; left--) {
        int rc = weft_recv(&m, deadline);
        if (rc == WEFT_ETIMEDOUT) return WEFT_OK;
        if (rc < 0) return rc;
        rc = wf_rows_add(&top->maps, weft_data(m), weft_size(m), 1);
        weft_msg_free(m);
        if (rc < 0) return rc;
    }
    return WEFT_OK;
}

static int answer(struct top *top, struct wf_transport *t, const weft_msg *ask, const struct request *q)
{
    int rc = wf_rows_init(&top->maps);
    if (rc == WEFT_OK) rc = wf_snapshot_take(&top->snapshot, t, &q->pick);
    if (rc == WEFT_OK) top->snapshot.queues = wf_metrics_queues(t);
    if (rc == WEFT_OK) rc = add_own(top);
    if (rc == WEFT_OK && q->everywhere) rc = gather(top, go_to_others(&top->snapshot, q));
    return rc < 0 ? rc : wf_rows_reply(&top->maps, ask, WF_CONTROL_TOP);
}

static void top_main(const void *arg, size_t size)
{
    struct wf_transport *t = *(struct wf_transport *const *)arg;
    struct request q;
    weft_msg *ask;
    (void)size;
    struct top *top = calloc(1, sizeof *top);
    int rc = top == NULL ? WEFT_ENOMEM : weft_defer(free_top, top);
    if (weft_recv(&ask, WEFT_FOREVER) < 0) return;
    if (rc == WEFT_OK && read_request(ask, &q) == NULL) rc = answer(top, t, ask, &q);
    if (rc < 0) (void)weft_reply(ask, WF_CONTROL_ERROR, weft_strerror(rc), strlen(weft_strerror(rc)));
    weft_msg_free(ask);
}

const char *wf_top_begin(struct wf_transport *t, weft_msg *ask, bool *handed)
{
    struct request q;
    const char *why = read_request(ask, &q);
    return why != NULL
               ? why
               : wf_hand_to(ask,
                            &(struct wf_tool_work){.body = top_main, .kind = "$top", .arg = &t, .size = sizeof t},
                            handed);
}
