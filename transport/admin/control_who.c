/* transport/admin/control_who.c -- WHO of docs/wire.md: the names of some actors, and for whose reply each of them
 * waits.
 *
 * Actors of this node are looked up on their workers. Another actor asks each other node, as for TOP, so that a node
 * that does not answer delays the result only for the time limit. Each node is asked about its own actors only, so that
 * two nodes never pass a question back and forth. */
#include "control_who.h"
#include "answer.h"
#include "tool_actors.h"
#include "control.h"

#include "inspect_worker.h"
#include "links.h"
#include "peers.h"
#include "peer_link.h"
#include "rows.h"
#include "text.h"
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/local.h>

#define LOOK_WITHIN WEFT_SEC(2)
#define ANSWER_WITHIN WEFT_SEC(2)

enum {
    ASKED_MAX = 2 * WF_NAME_MAX + 2, /* bytes of "name@node", or of a pid's text */
    ROW_MAX = 1024,
    NODES_MAX = 64,
};

static const char no_tool[] = "(tool)", no_node[] = "(gone)";

/* An actor that was asked for. */
struct asked {
    char text[ASKED_MAX];
    char node[WF_NODE_NAME_MAX + 1]; /* the node that owns it; no_tool, no_node */
    weft_pid pid;                    /* its actor is 0: it is not known on this node */
    const char *why;                 /* not NULL: no node can be asked, for this reason */
    bool own, done;
};

struct who {
    struct wf_transport *t;
    bool everywhere;
    uint32_t count;
    struct asked *asked;
    struct wf_rows rows;
};

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static void put_ask(weft_writer *w, const struct wf_who *one)
{
    if (one->asks > 0 && one->ask.actor == 0) wf_put_text(w, one->ask_name);
    else wf_put_pid(w, one->asks > 0 ? one->ask : weft_nobody());
}

/* `one` NULL: only the reason is known. */
static int put_row(weft_writer *w, const char *asked, const char *node, const char *why, const struct wf_who *one)
{
    static const struct wf_who nothing;
    const struct wf_who *k = one == NULL ? &nothing : one;
    weft_put_array(w, 12);
    wf_put_text(w, asked);
    wf_put_text(w, node);
    wf_put_text(w, why);
    wf_put_pid(w, k->info.pid);
    wf_put_text(w, k->info.kind);
    wf_put_text(w, k->info.name);
    wf_put_text(w, k->info.state);
    wf_put_text(w, k->info.waits_for);
    weft_put_int(w, k->waits_ns);
    weft_put_bool(w, k->needs_all);
    weft_put_uint(w, k->asks);
    put_ask(w, k);
    return w->error;
}

static int add_row(struct who *who, const struct asked *a, const char *why, const struct wf_who *one)
{
    uint8_t row[ROW_MAX];
    weft_writer w = weft_writer_on(row, sizeof row);
    int rc = put_row(&w, a->text, a->node, why, one);
    return rc < 0 ? rc : wf_rows_add(&who->rows, row, w.size, 1);
}

/* ---- The nodes that own them ------------------------------------------------------------------------------------- */

static void name_of_node(const struct wf_transport *t, struct asked *a)
{
    pf_mutex_lock(t->lock);
    const struct wf_peer *p = wf_peers_find(t->cluster, a->pid.node);
    const struct wf_link *l = p == NULL ? wf_links_find(t->cluster, a->pid.node) : NULL;
    snprintf(a->node, sizeof a->node, "%s", p != NULL ? p->name : l != NULL && l->client ? no_tool : no_node);
    if (p == NULL) a->why = "";
    else if (p->link == NULL) a->why = "its node is not linked";
    pf_mutex_unlock(t->lock);
}

/* A pid; or a name, perhaps with that of its node. */
static void find(const struct wf_transport *t, struct asked *a)
{
    const weft_node *n = t->node;
    const char *at = strrchr(a->text, '@');
    if (weft_pid_parse(a->text, &a->pid) == WEFT_OK) {
        a->own = a->pid.node == n->incarnation;
        if (a->own) snprintf(a->node, sizeof a->node, "%s", n->name);
        else name_of_node(t, a);
        return;
    }
    a->pid = weft_nobody();
    snprintf(a->node, sizeof a->node, "%s", at == NULL ? n->name : at + 1);
    a->own = strcmp(a->node, n->name) == 0;
    weft_text name = weft_str(a->text, at == NULL ? strlen(a->text) : (size_t)(at - a->text));
    if (a->own && wf_read_actor(name, &a->pid) && a->pid.node != n->incarnation) a->pid = weft_nobody();
    if (a->own && a->pid.actor == 0) a->why = "no actor has that name";
}

static const char *read_request(const weft_msg *ask, struct who *who)
{
    weft_reader r = weft_reader_on(weft_data(ask), weft_size(ask));
    uint32_t fields = weft_get_array(&r);
    who->everywhere = weft_get_bool(&r);
    who->count = weft_get_array(&r);
    if (r.error < 0 || fields < 2 || who->count > WF_WHOS_MAX) return "the request is malformed";
    who->asked = calloc(who->count + 1, sizeof *who->asked);
    if (who->asked == NULL) return "out of memory";
    for (uint32_t i = 0; i < who->count; i++) {
        weft_text text = weft_get_str(&r);
        if (r.error < 0 || text.size >= ASKED_MAX) return "the request is malformed";
        if (text.size > 0) memcpy(who->asked[i].text, text.data, text.size);
        find(who->t, &who->asked[i]);
    }
    return NULL;
}

/* ---- Actors of this node --------------------------------------------------------------------------------------- */

/* Looks up the actors of one worker. If it does not answer, each of them gets that as its reason. */
static int look_at_worker(struct who *who, uint32_t worker)
{
    /* The actor may be killed while it waits for the worker. */
    struct wf_whos *some = weft_alloc(sizeof *some + who->count * sizeof some->of[0]);
    if (some == NULL) return WEFT_ENOMEM;
    for (uint32_t i = 0; i < who->count; i++) {
        const struct asked *a = &who->asked[i];
        if (a->own && a->pid.actor != 0 && wf_id_worker(a->pid.actor) == worker)
            some->of[some->count++].id = a->pid.actor;
    }
    int rc = some->count == 0
                 ? WEFT_OK
                 : wf_worker_inspect(who->t->node, worker, wf_inspect_whos, some,
                                     sizeof *some + some->count * sizeof some->of[0], weft_after(LOOK_WITHIN));
    bool silent = rc == WEFT_ETIMEDOUT;
    if (silent) rc = WEFT_OK;
    for (uint32_t i = 0, at = 0; i < who->count && rc == WEFT_OK && at < some->count; i++) {
        struct asked *a = &who->asked[i];
        if (!a->own || a->pid.actor != some->of[at].id) continue;
        const struct wf_who *one = &some->of[at++];
        a->done = true;
        rc = add_row(who, a,
                     silent       ? "its worker does not answer"
                     : one->found ? ""
                                  : "has ended",
                     silent || !one->found ? NULL : one);
    }
    (void)weft_release(some);
    return rc;
}

static int look_here(struct who *who)
{
    int rc = WEFT_OK;
    for (uint32_t i = 0; i < who->t->node->workers.count && rc == WEFT_OK; i++) rc = look_at_worker(who, i);
    for (uint32_t i = 0; i < who->count && rc == WEFT_OK; i++) {
        struct asked *a = &who->asked[i];
        if (a->done || (a->why == NULL && !a->own && who->everywhere)) continue;
        a->done = true;
        rc = add_row(who, a, a->why != NULL ? a->why : a->own ? "has ended" : "is of another node", NULL);
    }
    return rc;
}

/* ---- Actors of another node -------------------------------------------------------------------------------------- */

/* A request to one node; the texts of the actors are behind it. */
struct errand {
    weft_pid sender;
    char node[WF_NODE_NAME_MAX + 1];
    uint32_t count;
    char asked[][ASKED_MAX];
};

/* The rows of an answer, without their head. False: it is something else. */
static bool rows_of(const weft_msg *answer, uint32_t most, uint32_t *count, weft_text *out)
{
    weft_reader r = weft_reader_on(weft_data(answer), weft_size(answer));
    *count = weft_get_array(&r);
    const uint8_t *start = r.at, *end = (const uint8_t *)weft_data(answer) + weft_size(answer);
    if (weft_tag(answer) != WF_CONTROL_WHO || *count > most) return false;
    for (uint32_t i = 0; i < *count && r.error == 0; i++) {
        weft_reader row = r;
        weft_skip(&r);
        if (weft_get_array(&row) < 12) return false;
    }
    *out = weft_str((const char *)start, (size_t)(end - start));
    return r.error == 0 && r.at == end;
}

static void send_silent(const struct errand *e, const char *why, uint8_t *body, size_t space)
{
    weft_writer w = weft_writer_on(body, space);
    weft_put_array(&w, e->count);
    for (uint32_t i = 0; i < e->count; i++) (void)put_row(&w, e->asked[i], e->node, why, NULL);
    /* If it cannot be sent, the tool gets no rows for these actors, and shows only what it knows of them. */
    if (w.error == 0) weft_ignore(weft_send(e->sender, WF_CONTROL_WHO, body, w.size));
}

static void errand_main(const void *arg, size_t size)
{
    const struct errand *e = arg;
    char name[WF_NODE_NAME_MAX + 8];
    weft_msg *answer;
    weft_text rows;
    uint32_t count;
    (void)size;
    size_t space = 64 + e->count * (size_t)(2 * ASKED_MAX + 64);
    uint8_t *body = weft_alloc(space);
    if (body == NULL) return;
    weft_writer w = weft_writer_on(body, space);
    weft_put_array(&w, 2);
    weft_put_bool(&w, false);
    weft_put_array(&w, e->count);
    for (uint32_t i = 0; i < e->count; i++) wf_put_text(&w, e->asked[i]);
    snprintf(name, sizeof name, "$node@%s", e->node);
    int rc = w.error;
    if (rc == 0) rc = weft_call_name(name, WF_CONTROL_WHO, body, w.size, &answer, weft_after(ANSWER_WITHIN));
    if (rc != 0) {
        send_silent(e, rc == WEFT_ENONODE ? "its node is not linked" : "its node does not answer", body, space);
        return;
    }
    if (rows_of(answer, e->count, &count, &rows))
        weft_ignore(weft_send(e->sender, WF_CONTROL_WHO, weft_data(answer), weft_size(answer)));
    else send_silent(e, "its node is of a version that does not report it", body, space);
    weft_msg_free(answer);
}

/* Asks the node of that actor, about all its actors. */
static bool go(struct who *who, const char *node)
{
    size_t size = sizeof(struct errand) + who->count * (size_t)ASKED_MAX;
    struct errand *e = calloc(1, size);
    if (e == NULL) return false;
    e->sender = weft_self();
    snprintf(e->node, sizeof e->node, "%s", node);
    for (uint32_t i = 0; i < who->count; i++) {
        struct asked *a = &who->asked[i];
        if (a->done || strcmp(a->node, node) != 0) continue;
        memcpy(e->asked[e->count++], a->text, ASKED_MAX);
        a->done = true;
    }
    size = sizeof *e + e->count * (size_t)ASKED_MAX;
    int rc = weft_spawn(NULL, errand_main, e, size, &(weft_spawn_options){.kind = "$who"});
    free(e);
    return rc == WEFT_OK;
}

static int ask_others(struct who *who)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < who->count && left < NODES_MAX; i++)
        if (!who->asked[i].done) left += go(who, who->asked[i].node);
    int64_t deadline = weft_after(ANSWER_WITHIN + WEFT_SEC(1));
    for (; left > 0; left--) {
        weft_msg *m;
        weft_text rows;
        uint32_t count;
        int rc = weft_recv_tag(&m, WF_CONTROL_WHO, deadline);
        if (rc == WEFT_ETIMEDOUT) return WEFT_OK;
        if (rc < 0) return rc;
        rc = rows_of(m, WF_WHOS_MAX, &count, &rows) ? wf_rows_add(&who->rows, rows.data, rows.size, count) : WEFT_OK;
        weft_msg_free(m);
        if (rc < 0) return rc;
    }
    return WEFT_OK;
}

/* ---- The answer ------------------------------------------------------------------------------------------------ */

static int answer(struct who *who, const weft_msg *ask)
{
    int rc = wf_rows_init(&who->rows);
    if (rc == WEFT_OK) rc = look_here(who);
    if (rc == WEFT_OK) rc = ask_others(who);
    return rc < 0 ? rc : wf_rows_reply(&who->rows, ask, WF_CONTROL_WHO);
}

static void free_who(void *arg)
{
    struct who *who = arg;
    free(who->asked);
    wf_rows_free(&who->rows);
    free(who);
}

static void who_main(const void *arg, size_t size)
{
    struct wf_transport *t = *(struct wf_transport *const *)arg;
    weft_msg *ask;
    (void)size;
    struct who *who = calloc(1, sizeof *who);
    int rc = who == NULL ? WEFT_ENOMEM : weft_defer(free_who, who);
    if (weft_recv(&ask, WEFT_FOREVER) < 0) return;
    const char *why = who == NULL ? "out of memory" : rc < 0 ? weft_strerror(rc) : NULL;
    if (why == NULL) {
        who->t = t;
        why = read_request(ask, who);
    }
    if (why == NULL && (rc = answer(who, ask)) < 0) why = weft_strerror(rc);
    if (why != NULL) (void)weft_reply(ask, WF_CONTROL_ERROR, why, strlen(why));
    weft_msg_free(ask);
}

const char *wf_who_begin(struct wf_transport *t, weft_msg *ask, bool *handed)
{
    return wf_hand_to(ask, &(struct wf_tool_work){.body = who_main, .kind = "$who", .arg = &t, .size = sizeof t},
                      handed);
}
