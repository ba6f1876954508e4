/* actors/remote/remote_spawn.c -- starting actors on other nodes, and for them.
 *
 * Design notes.
 * (1) A request to start an actor (WF_MSG_SPAWN) is a call: its answer (WF_MSG_SPAWNED) fills the place of an answer.
 *     The worker on which the actor will live handles the request, so later messages of the actor follow the answer
 *     on the same way: no actor is notified of the end before it gets the answer.
 * (2) Monitor and link are made on both sides before the actor first runs: here the caller keeps them with an
 *     incomplete pid (actor 0), which the arriving answer completes, on the caller's worker, before anything that
 *     follows is delivered; there they are tied to the new actor before its worker runs it.
 * (3) If the caller no longer waits when the answer comes, the new actor is killed, so that a caller that gave up or
 *     ended leaves no actor behind.
 * (4) Fields: SPAWN: `from` is the caller, `ref` as in a request, body [name, arguments, monitor, link]; SPAWNED:
 *     `from` is the new actor, the tag 0 or an error code without its sign, the body a text that says why. */
#include "actor_life.h"
#include "call.h"
#include "deliver.h"
#include "end.h"
#include "export.h"
#include "monitors.h"
#include "stopping.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Who has started how many here ----------------------------------------------------------------------------- */

struct peer {
    struct peer *next;
    struct wf_remote *remote;
    uint64_t incarnation;
    uint32_t alive; /* never 0 */
};

enum { SLOT = 5 }; /* in a node: struct wf_remote */

struct wf_remote {
    pf_mutex *lock;
    struct peer *peers;
    uint32_t limit; /* the limit for each peer */
};

static struct peer **find_peer(struct wf_remote *f, uint64_t incarnation)
{
    struct peer **at = &f->peers;
    while (*at != NULL && (*at)->incarnation != incarnation) at = &(*at)->next;
    return at;
}

static int count_one(struct wf_remote *f, uint64_t incarnation, struct peer **out)
{
    int rc = WEFT_OK;
    pf_mutex_lock(f->lock);
    struct peer **at = find_peer(f, incarnation), *p = *at;
    if (p == NULL && (p = calloc(1, sizeof *p)) != NULL) {
        p->remote = f;
        p->incarnation = incarnation;
        *at = p;
    }
    if (p == NULL) rc = WEFT_ENOMEM;
    else if (p->alive >= f->limit) rc = WEFT_EFULL;
    else p->alive++;
    pf_mutex_unlock(f->lock);
    *out = p;
    return rc;
}

/* A clean-up of each such actor. */
static void uncount_one(void *arg)
{
    struct peer *p = arg;
    struct wf_remote *f = p->remote;
    pf_mutex_lock(f->lock);
    bool last = --p->alive == 0;
    if (last) *find_peer(f, p->incarnation) = p->next;
    pf_mutex_unlock(f->lock);
    if (last) free(p);
}

/* ---- For others ------------------------------------------------------------------------------------------------ */

struct order {
    weft_text actor, args;
    uint64_t monitor, link;
};

static bool read_order(const weft_msg *m, struct order *o)
{
    weft_reader r = weft_reader_on(weft_data(m), m->size);
    uint32_t count = weft_get_array(&r);
    o->actor = weft_get_str(&r);
    o->args = weft_get_bin(&r);
    o->monitor = weft_get_uint(&r);
    o->link = weft_get_uint(&r);
    return r.error == 0 && count >= 4 && o->link <= UINT32_MAX;
}

static int fault(struct weft_why *why, int error, const char *format, ...) WEFT_PRINTF(3, 4);
static int fault(struct weft_why *why, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    why->error = error;
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return error;
}

static int minority(const weft_node *node, struct weft_why *why)
{
    return fault(why, WEFT_EMINORITY, "node %.40s is in a minority of its cluster", node->name);
}

/* The export with that name, if it takes these arguments. NULL: `why` has the reason. */
static const struct weft_export *check(weft_node *node, weft_text actor, const void *args, size_t size,
                                       struct weft_why *why)
{
    const struct weft_export *e = wf_export_find(actor);
    if (e == NULL) {
        fault(why, WEFT_ENOACTOR, "node %.40s exports no actor %.*s", node->name,
              (int)wf_utf8_whole(actor.data, WF_MIN(actor.size, (size_t)WEFT_REMOTE_NAME_MAX)), actor.data);
        return NULL;
    }
    if (e->type != NULL && weft_typed_read(e->type(), args, size, NULL, why) < 0) return NULL;
    return e;
}

/* Ties the new actor `pid`, which has not run, on its own worker. */
static int tie(struct wf_worker *w, weft_pid pid, weft_pid caller, const struct order *o, struct peer *counted)
{
    struct wf_actor *a = wf_actor_find(w, pid.actor);
    int rc = wf_actor_defer(a, uncount_one, counted);
    if (rc == WEFT_OK) rc = wf_tie_remote(w, a, caller, o->monitor, (uint32_t)o->link);
    if (rc < 0) wf_actor_kill(a);
    return rc;
}

static int carry_out(struct wf_worker *w, const weft_msg *m, weft_pid *out, struct weft_why *why)
{
    weft_node *node = wf_node_of(w);
    struct order o;
    struct peer *counted;
    if (wf_node_in_minority(node)) return minority(node, why);
    if (wf_node_is_draining(node)) return fault(why, WEFT_EDRAINING, "node %.40s drains", node->name);
    if (!read_order(m, &o)) return fault(why, WEFT_EFORMAT, "malformed order");
    const struct weft_export *e = check(node, o.actor, o.args.data, o.args.size, why);
    if (e == NULL) return why->error;
    struct wf_remote *remote = node->slots[SLOT];
    int rc = count_one(remote, m->from.node, &counted);
    if (rc == WEFT_EFULL)
        return fault(why, rc, "%u actors that it has started live on node %.40s", remote->limit, node->name);
    if (rc < 0) return rc;
    weft_spawn_options options = e->options;
    options.worker = (int)w->index + 1;
    options.link = false;
    options.monitor = NULL;
    rc = wf_actor_spawn(node, w, out, e->body, o.args.data, o.args.size, &options, false);
    if (rc < 0) {
        uncount_one(counted);
        return rc;
    }
    return tie(w, *out, m->from, &o, counted);
}

static void answer(struct wf_worker *w, const weft_msg *ask, weft_pid child, const struct weft_why *why)
{
    size_t size = strlen(why->text);
    weft_msg *m = wf_msg_new(w, (uint32_t)-why->error, size);
    struct wf_actor *a = why->error == 0 ? wf_actor_find(w, child.actor) : NULL;
    if (m == NULL) { /* the caller's deadline will pass; an actor that no one knows must not run */
        WF_SOMETIMES("remote spawn: there is no memory for the answer", true);
        if (a != NULL) wf_actor_kill(a);
        return;
    }
    memcpy(m + 1, why->text, size);
    m->post.flags = WF_MSG_SPAWNED;
    m->from = why->error == 0 ? child : weft_nobody();
    m->ref = ask->ref;
    if (wf_send_signal(w, ask->from, m) < 0 && a != NULL) wf_actor_kill(a);
}

/* Chooses the worker of the new actor. */
static struct wf_worker *place(weft_node *node, const weft_msg *m)
{
    struct order o;
    const struct weft_export *e = read_order(m, &o) ? wf_export_find(o.actor) : NULL;
    int wanted = e == NULL ? 0 : e->options.worker;
    uint32_t turn = atomic_fetch_add_explicit(&node->next_worker, 1, memory_order_relaxed); /* any order will do */
    if (wanted > 0 && wanted <= (int)node->workers.users) turn = (uint32_t)wanted - 1;
    return node->workers.at[turn % node->workers.users];
}

/* A SPAWN has come. It is for a worker, not for an actor. Consumes. */
static void spawn_came(struct wf_worker *w, weft_msg *m)
{
    weft_node *node = wf_node_of(w);
    if (m->to_actor == 0 && !weft_pid_is_nobody(m->from)) {
        struct wf_worker *to = place(node, m);
        m->to_actor = (uint64_t)to->index << 24 | 1; /* an id that no actor has, and not 0 */
        if (to != w) {
            wf_msg_send_to(w, to->index, m);
            return;
        }
    }
    weft_pid child = weft_nobody();
    struct weft_why why = {0};
    /* An order without a sender, or from this node itself, is ignored. */
    if (node->route != NULL && m->from.actor != 0 && m->from.node != node->incarnation) {
        why.error = carry_out(w, m, &child, &why);
        answer(w, m, child, &why);
    }
    wf_msg_free(w, m);
}

/* ---- By others ------------------------------------------------------------------------------------------------- */

/* A SPAWNED has come for `a`, which is NULL if the caller is gone. Consumes. */
static void spawned_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    const struct weft_answer *at = a == NULL ? NULL : wf_answer_place(a, m->ref);
    if (at != NULL && (m->post.word != 0 || at->from.node == m->from.node)) {
        if (m->post.word == 0) wf_tie_bind(a, m->from);
        wf_on_answer(a, m);
        return;
    }
    if (m->post.word == 0 && !weft_pid_is_nobody(m->from)) { /* the caller has given up: note (3) */
        WF_SOMETIMES("remote spawn: the answer comes when the caller no longer waits", true);
        weft_pid orphan = m->from;
        m->post.flags = WF_MSG_KILL;
        m->from = weft_nobody();
        (void)wf_send_signal(w, orphan, m);
        return;
    }
    wf_msg_free(w, m);
}

static weft_msg *order_new(struct wf_actor *self, const struct order *o)
{
    weft_writer w = weft_writer_on(NULL, 0);
    weft_msg *m = NULL;
    for (int pass = 0; pass < 2; pass++) {
        weft_put_array(&w, 4);
        weft_put_str(&w, o->actor);
        weft_put_bin(&w, o->args.data, o->args.size);
        weft_put_uint(&w, o->monitor);
        weft_put_uint(&w, o->link);
        if (pass == 1 || (m = wf_msg_new(self->task.worker, 0, w.size)) == NULL) break;
        w = weft_writer_on(m + 1, w.size);
    }
    if (m == NULL) return NULL;
    m->post.flags = WF_MSG_SPAWN;
    m->from = wf_actor_pid(self);
    return m;
}

/* Checks that the answer tells of a new actor on that node. Consumes. */
static int take_answer(weft_msg *m, uint64_t peer, weft_pid *out, struct weft_why *why)
{
    bool born = m->post.flags == WF_MSG_SPAWNED; /* a peer may also answer with a REPLY */
    int rc = m->post.word > INT16_MAX ? WEFT_EFORMAT : -(int)m->post.word;
    if (!born || (rc == WEFT_OK && m->from.node != peer)) rc = WEFT_EFORMAT;
    if (rc == WEFT_OK) *out = m->from;
    else if (born)
        fault(why, rc, "%.*s", (int)wf_utf8_whole(weft_data(m), WF_MIN(m->size, sizeof why->text - 1)),
              (const char *)weft_data(m));
    weft_msg_free(m);
    return rc;
}

static int spawn_there(struct wf_actor *self, uint64_t peer, struct order *o, weft_pid *out,
                       const weft_remote_options *f, struct weft_why *why)
{
    weft_pid there = {peer, 0};
    int rc = wf_tie_pend(self, there, f->monitor, f->link, &o->link);
    if (rc < 0) return rc;
    if (f->monitor != NULL) o->monitor = f->monitor->id;
    weft_msg *m = order_new(self, o), *answer = NULL;
    rc = WEFT_ENOMEM;
    int64_t deadline = f->deadline != 0 ? f->deadline
                                        : weft_after(wf_node_of(self->task.worker)->options.send_timeout);
    if (m != NULL) rc = wf_call_spawn(self, there, m, &answer, deadline);
    if (rc == WEFT_OK) rc = take_answer(answer, peer, out, why);
    wf_tie_pend_end(self, there); /* ends what wf_tie_bind has not bound */
    return rc;
}

static int spawn_here(struct wf_actor *self, const struct order *o, weft_pid *out, const weft_remote_options *f,
                      struct weft_why *why)
{
    struct wf_worker *w = self->task.worker;
    const struct weft_export *e = check(wf_node_of(w), o->actor, o->args.data, o->args.size, why);
    if (e == NULL) return why->error;
    weft_spawn_options options = e->options;
    options.link = f->link;
    options.monitor = f->monitor;
    return wf_actor_spawn(wf_node_of(w), w, out, e->body, o->args.data, o->args.size, &options, self->service);
}

static int spawn_on(struct wf_actor *self, const char *node, struct order *o, weft_pid *out,
                    const weft_remote_options *f, struct weft_why *why)
{
    struct wf_worker *w = self->task.worker;
    const struct wf_route *route = wf_node_of(w)->route;
    if (node == NULL || strcmp(node, wf_node_of(w)->name) == 0) return spawn_here(self, o, out, f, why);
    if (wf_node_in_minority(wf_node_of(w))) return minority(wf_node_of(w), why);
    bool can = false;
    uint64_t peer = route == NULL ? 0 : route->find(w, node, strlen(node), &can);
    if (o->actor.size > WEFT_REMOTE_NAME_MAX)
        return fault(why, WEFT_ENOACTOR, "no actor is exported under a name of %zu bytes", o->actor.size);
    if (peer == 0) return fault(why, WEFT_ENONODE, "not linked with a node %.64s", node);
    if (!can) return fault(why, WEFT_ENOACTOR, "node %.64s is of a version that starts no actors for others", node);
    return spawn_there(self, peer, o, out, f, why);
}

/* Returns an error before anything was tried. */
static int refuse(const weft_remote_options *f, int error)
{
    if (f != NULL && f->why != NULL) *f->why = (struct weft_why){0}, fault(f->why, error, "%s", weft_strerror(error));
    return error;
}

int weft_spawn_packed_on(const char *node, const char *actor, weft_pid *out, const void *packed, size_t size,
                         const weft_remote_options *options)
{
    static const weft_remote_options defaults;
    const weft_remote_options *f = options == NULL ? &defaults : options;
    struct wf_actor *self = wf_actor_self();
    struct weft_why why = {0};
    weft_pid pid = weft_nobody();
    if (self == NULL) return refuse(f, WEFT_ENOTACTOR);
    if (actor == NULL || (packed == NULL && size > 0)) return refuse(f, WEFT_EINVAL);
    wf_task_tick(&self->task);
    struct order o = {.actor = weft_cstr(actor), .args = weft_str(packed, size)};
    int rc = size > WEFT_REMOTE_ARGS_MAX ? WEFT_ETOOBIG : spawn_on(self, node, &o, &pid, f, &why);
    if (rc < 0 && why.text[0] == 0) fault(&why, rc, "%s", weft_strerror(rc));
    if (f->why != NULL) *f->why = why;
    if (rc == WEFT_OK && out != NULL) *out = pid;
    return rc;
}

int weft_spawn_on(const char *node, const char *actor, weft_pid *out, const struct weft_type_info *type,
                  const void *args, const weft_remote_options *options)
{
    if (type == NULL || args == NULL) return weft_spawn_packed_on(node, actor, out, NULL, 0, options);
    if (wf_actor_self() == NULL) return refuse(options, WEFT_ENOTACTOR);
    weft_writer w = weft_writer_on(NULL, 0);
    weft_typed_put(&w, type, args);
    size_t size = w.error != 0 || w.size > WEFT_REMOTE_ARGS_MAX ? SIZE_MAX : w.size;
    if (size == SIZE_MAX) return weft_spawn_packed_on(node, actor, out, "", size, options); /* sets the reason */
    /* The arguments are in a message, so that a kill meanwhile leaks nothing. */
    weft_msg *m = weft_msg_new(0, size);
    if (m == NULL) return refuse(options, WEFT_ENOMEM);
    w = weft_writer_on(weft_msg_body(m), size);
    weft_typed_put(&w, type, args);
    int rc = weft_spawn_packed_on(node, actor, out, weft_msg_body(m), size, options);
    weft_msg_free(m);
    return rc;
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

static int node_init(weft_node *n)
{
    struct wf_remote *f = calloc(1, sizeof *f);
    if (f == NULL) return WEFT_ENOMEM;
    int rc = pf_mutex_create(&f->lock);
    if (rc < 0) {
        free(f);
        return rc;
    }
    f->limit = n->options.remote_actors_max;
    n->slots[SLOT] = f;
    return WEFT_OK;
}

static void node_finish(weft_node *n)
{
    struct wf_remote *f = n->slots[SLOT];
    if (f == NULL) return;
    for (struct peer *p; (p = f->peers) != NULL; free(p)) f->peers = p->next; /* entries of actors that never ended */
    pf_mutex_destroy(f->lock);
    free(f);
}

static void deliver_spawn(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    (void)a;
    spawn_came(w, m);
}

static void drop_spawn(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    spawn_came(w, m);
}

static void drop_spawned(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    spawned_came(w, NULL, m);
}

static const struct wf_message_row messages[] = {
    {.kind = WF_MSG_SPAWN, .deliver = deliver_spawn, .drop = drop_spawn},
    {.kind = WF_MSG_SPAWNED, .deliver = spawned_came, .drop = drop_spawned}};
const struct wf_feature wf_remote_feature = {.name = "remote",
                                             .slot = SLOT,
                                             .node_init = node_init,
                                             .node_finish = node_finish,
                                             .messages = messages,
                                             .message_count = WF_COUNT(messages)};
