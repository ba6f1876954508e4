/* transport/admin/control_list.c -- the lists of $node: actors, names and members of groups, in pages of some hundred
 * rows.
 *
 * Each page is one message, and the work for it is bounded, so a long list delays neither the node nor its other tools:
 * a worker looks at some thousand slots of its actors in a turn, and a table is locked for as many of its slots. A page
 * says where the next one begins; the node stores nothing in between. All memory is the actor's own, as it may be killed
 * while it waits for a worker. */
#include "control_list.h"
#include "answer.h"
#include "cluster.h"
#include "control.h"

#include "actor_list.h"
#include "group_table.h"
#include "names.h"
#include "peers.h"
#include "transport.h"

#include <weft/local.h>

#include <stdio.h>
#include <string.h>

#define ANSWER_WITHIN WEFT_SEC(2)

enum {
    ROWS_MAX = 4096,             /* a page costs a question and an answer: few pages make a long list quick */
    AT_ONCE = 512,               /* rows of a table that are added in one turn */
    ROW_BYTES = 1024,            /* bytes of a row at most: each of its texts has at most 65 bytes */
    LOOKS_MAX = 16,              /* parts of a table that are read for one page */
    ALL_BYTES = 8 * 1024 * 1024, /* bytes of an answer that is not a page */
    CURSOR_MAX = 32,
};

/* The name of a node. */
struct called {
    uint64_t incarnation;
    char name[WF_NODE_NAME_MAX + 1];
};

struct listing {
    const struct wf_transport *t;
    uint32_t verb;
    uint32_t most; /* rows */
    uint32_t full; /* rows after which this turn adds no more */
    char kind[32];
    char prefix[WF_NODE_NAME_MAX + 1];
    /* The position at which it continues: for actors the worker and the slot, else wf_hash_part, and for groups
     * whether those of this node have been listed. */
    uint64_t at;
    uint32_t inner;
    bool last;
    /* Rows, one behind the other. */
    uint32_t count;
    uint8_t *rows;
    size_t size, capacity;
    bool failed; /* no memory */
    struct called *nodes;
    size_t node_count, last_node; /* the node whose name was asked for last */
};

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static weft_writer begin_row(struct listing *l)
{
    if (l->capacity - l->size < ROW_BYTES) {
        size_t capacity = 2 * l->capacity + ROW_BYTES;
        uint8_t *more = weft_alloc(capacity);
        if (more == NULL) {
            l->failed = true;
            return weft_writer_on(NULL, 0);
        }
        if (l->size > 0) memcpy(more, l->rows, l->size);
        (void)weft_release(l->rows);
        l->rows = more;
        l->capacity = capacity;
    }
    return weft_writer_on(l->rows + l->size, ROW_BYTES);
}

/* Whether there may be more. */
static bool end_row(struct listing *l, const weft_writer *w)
{
    if (l->failed) return false;
    WF_ASSERT(w->error == 0);
    l->size += w->size;
    return ++l->count < l->full;
}

static bool list_nodes(struct listing *l)
{
    const struct wf_transport *t = l->t;
    pf_mutex_lock(t->lock);
    l->nodes = weft_alloc((t->cluster->peer_count + 1) * sizeof *l->nodes);
    struct called *at = l->nodes;
    if (at != NULL) {
        *at = (struct called){.incarnation = t->node->incarnation};
        snprintf(at->name, sizeof at->name, "%s", t->node->name);
        WF_LIST_EACH(k, &t->cluster->peers) {
            const struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
            at++;
            at->incarnation = p->incarnation;
            snprintf(at->name, sizeof at->name, "%s", p->name);
        }
        l->node_count = (size_t)(at - l->nodes) + 1;
    }
    pf_mutex_unlock(t->lock);
    return l->nodes != NULL;
}

/* The node's name. The previous row is likely to have the same node. */
static const char *node_of(struct listing *l, uint64_t incarnation)
{
    for (size_t i = 0; i < l->node_count; i++) {
        size_t at = (l->last_node + i) % l->node_count;
        if (l->nodes[at].incarnation != incarnation) continue;
        l->last_node = at;
        return l->nodes[at].name;
    }
    return "";
}

static bool is_wanted(const struct listing *l, weft_text name)
{
    size_t size = strlen(l->prefix);
    return name.size >= size && memcmp(name.data, l->prefix, size) == 0;
}

static void put_who(weft_writer *w, struct listing *l, weft_text name, weft_pid pid)
{
    char text[WEFT_PID_TEXT];
    weft_put_str(w, name);
    wf_put_text(w, weft_pid_format(pid, text));
    wf_put_text(w, node_of(l, pid.node));
}

static bool add_name(weft_text name, weft_pid pid, uint64_t stamp, bool holds, void *arg)
{
    struct listing *l = arg;
    if (!is_wanted(l, name)) return true;
    weft_writer w = begin_row(l);
    weft_put_array(&w, 5);
    put_who(&w, l, name, pid);
    weft_put_bool(&w, stamp != 0);
    weft_put_bool(&w, holds);
    return end_row(l, &w);
}

static bool add_member(weft_text group, weft_pid who, void *arg)
{
    struct listing *l = arg;
    if (!is_wanted(l, group)) return true;
    weft_writer w = begin_row(l);
    weft_put_array(&w, 3);
    put_who(&w, l, group, who);
    return end_row(l, &w);
}

static void add_actor(struct listing *l, const struct wf_actor_info *info)
{
    char pid[WEFT_PID_TEXT];
    weft_writer w = begin_row(l);
    weft_put_array(&w, 15);
    wf_put_text(&w, weft_pid_format(info->pid, pid));
    wf_put_text(&w, info->kind);
    wf_put_text(&w, info->name);
    wf_put_text(&w, info->state);
    wf_put_text(&w, info->waits_for);
    weft_put_uint(&w, info->mailbox);
    weft_put_uint(&w, info->mailbox_max);
    weft_put_uint(&w, info->received);
    weft_put_uint(&w, info->dropped);
    weft_put_uint(&w, info->stack_most);
    weft_put_uint(&w, info->held);
    weft_put_uint(&w, info->memory.held);
    weft_put_uint(&w, info->memory.mailbox);
    weft_put_uint(&w, info->memory.stack);
    weft_put_uint(&w, info->memory.heap);
    (void)end_row(l, &w);
}

/* ---- Parts of a list ------------------------------------------------------------------------------------------- */

static int look_at_actors(struct listing *l)
{
    struct wf_actor_page *p = weft_alloc(sizeof *p);
    if (p == NULL) return WEFT_ENOMEM;
    wf_actor_page_begin(p, l->most - l->count);
    p->worker = (uint32_t)l->at;
    p->slot = l->inner;
    memcpy(p->kind, l->kind, sizeof p->kind);
    int rc = wf_node_page_actors(l->t->node, p, weft_after(ANSWER_WITHIN));
    if (rc == WEFT_OK) {
        for (uint32_t i = 0; i < p->count && rc == WEFT_OK; i++) {
            add_actor(l, &p->at[i]);
            if (i % AT_ONCE == AT_ONCE - 1) rc = weft_yield();
        }
        l->at = p->worker;
        l->inner = p->slot;
        l->last = p->last;
    }
    (void)weft_release(p);
    return rc;
}

static int look_at_names(struct listing *l)
{
    l->last = !wf_names_some(wf_names_of(l->t->node), &l->at, add_name, l);
    return WEFT_OK;
}

static int look_at_groups(struct listing *l)
{
    struct wf_groups_part part = {.at = l->at, .copies = l->inner != 0};
    l->last = !wf_groups_some(wf_groups_of(l->t->node), &part, add_member, l);
    l->at = part.at;
    l->inner = part.copies;
    return WEFT_OK;
}

/* One page more. */
static int look(struct listing *l)
{
    int rc = WEFT_OK;
    for (int i = 0; i < LOOKS_MAX && rc == WEFT_OK && !l->last && l->count < l->most; i++) {
        if (i > 0) rc = weft_yield();
        if (rc < 0) break;
        l->full = l->most - l->count > AT_ONCE ? l->count + AT_ONCE : l->most;
        rc = l->verb == WF_CONTROL_PS      ? look_at_actors(l)
             : l->verb == WF_CONTROL_NAMES ? look_at_names(l)
                                           : look_at_groups(l);
        if (l->failed) rc = WEFT_ENOMEM;
    }
    return rc;
}

static int begin(struct listing *l)
{
    return l->verb == WF_CONTROL_PS || list_nodes(l) ? WEFT_OK : WEFT_ENOMEM;
}

static void end(struct listing *l)
{
    (void)weft_release(l->rows);
    (void)weft_release(l->nodes);
}

/* Answers with the rows; if `paged`, with the place where the next page begins before them. */
static const char *answer(const weft_msg *ask, const struct listing *l, bool paged)
{
    enum { HEAD_BYTES = 64 };
    uint8_t cursor[CURSOR_MAX];
    weft_writer c = weft_writer_on(cursor, sizeof cursor);
    weft_put_uint(&c, l->at);
    weft_put_uint(&c, l->inner);
    WF_ASSERT(c.error == 0);
    uint8_t *body = weft_alloc(HEAD_BYTES + l->size);
    if (body == NULL) return "out of memory";
    weft_writer w = weft_writer_on(body, HEAD_BYTES);
    if (paged) {
        weft_put_array(&w, 2);
        weft_put_bin(&w, cursor, l->last ? 0 : c.size);
    }
    weft_put_array(&w, l->count);
    WF_ASSERT(w.error == 0);
    if (l->size > 0) memcpy(body + w.size, l->rows, l->size);
    (void)weft_reply(ask, weft_tag(ask), body, w.size + l->size);
    (void)weft_release(body);
    return NULL;
}

/* ---- Requests -------------------------------------------------------------------------------------------------- */

static bool copy(char *out, size_t size, weft_text text)
{
    if (text.size >= size) return false;
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return true;
}

static bool read_request(const weft_msg *ask, struct listing *l)
{
    weft_reader r = weft_reader_on(weft_data(ask), weft_size(ask));
    uint32_t fields = weft_get_array(&r);
    l->verb = (uint32_t)weft_get_uint(&r);
    weft_text cursor = weft_get_bin(&r);
    uint64_t most = weft_get_uint(&r);
    weft_text kind = weft_get_str(&r), prefix = weft_get_str(&r);
    if (r.error < 0 || fields < 5 || cursor.size > CURSOR_MAX) return false;
    if (l->verb != WF_CONTROL_PS && l->verb != WF_CONTROL_NAMES && l->verb != WF_CONTROL_GROUPS) return false;
    if (!copy(l->kind, sizeof l->kind, kind) || !copy(l->prefix, sizeof l->prefix, prefix)) return false;
    l->most = (uint32_t)WF_MIN(WF_MAX(most, (uint64_t)1), (uint64_t)ROWS_MAX);
    if (cursor.size == 0) return true;
    weft_reader c = weft_reader_on(cursor.data, cursor.size);
    l->at = weft_get_uint(&c);
    uint64_t inner = weft_get_uint(&c);
    l->inner = (uint32_t)inner;
    return c.error == 0 && inner <= UINT32_MAX && l->at <= UINT32_MAX;
}

const char *wf_list_page(const struct wf_transport *t, const weft_msg *ask)
{
    struct listing l = {.t = t};
    if (!read_request(ask, &l)) return "the request is malformed";
    int rc = begin(&l);
    if (rc == WEFT_OK) rc = look(&l);
    const char *why = rc < 0 ? weft_strerror(rc) : answer(ask, &l, true);
    end(&l);
    return why;
}

const char *wf_list_all(const struct wf_transport *t, const weft_msg *ask)
{
    struct listing l = {.t = t, .verb = weft_tag(ask), .most = UINT32_MAX};
    int rc = begin(&l);
    while (rc == WEFT_OK && !l.last && l.size < ALL_BYTES) {
        rc = look(&l);
        if (rc == WEFT_OK) rc = weft_yield();
    }
    const char *why = rc < 0    ? weft_strerror(rc)
                      : !l.last ? "the list is longer than one answer can be; use the command line of this node's "
                                  "version, which asks for pages"
                                : answer(ask, &l, false);
    end(&l);
    return why;
}
