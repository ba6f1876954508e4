/* actors/trace/trace.c -- see trace.h. */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deliver.h"
#include "local.h"
#include "worker_query.h"
#include "mailbox.h"
#include "stuck.h"

/* ---- Ids ------------------------------------------------------------------------------------------------------- */

static bool is_none(weft_trace id)
{
    return id.high == 0 && id.low == 0;
}

static weft_trace new_id(struct pf_env *env)
{
    weft_trace id;
    do env->random(env, &id, sizeof id);
    while (is_none(id));
    return id;
}

weft_trace weft_trace_new(void)
{
    struct pf_env *env = wf_here != NULL ? wf_here->set->env : wf_env_here;
    return new_id(env == NULL ? pf_env_native() : env);
}

char *weft_trace_format(weft_trace id, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        out[i] = digits[id.high >> (60 - 4 * i) & 15];
        out[16 + i] = digits[id.low >> (60 - 4 * i) & 15];
    }
    out[WEFT_TRACE_TEXT - 1] = '\0';
    return out;
}

/* Whether this node passes this id on: note (4). */
static bool lives_on(const weft_node *node, const struct wf_trace *t)
{
    return (t->flags & WF_TRACE_BY_TOOL) == 0 || wf_is_tapped(node);
}

/* ---- What an actor handles ------------------------------------------------------------------------------------- */

/* On the worker's thread, whenever one of the three has changed. */
static void look_again(struct wf_worker *w)
{
    struct wf_actors *wa = wf_actors_of(w);
    wa->tracing = wf_tracing_of(wa)->traced > 0 || wf_is_tapped(wa->node);
    w->unrecorded = wa->tracing || w->set->record_sends ? w->set->nowhere : w->identity;
}

static void leave(struct wf_actor *a)
{
    if (!a->traced) return;
    a->traced = false;
    wf_actor_set_slow_path(a);
    wf_tracing_of(wf_actors_of(a->task.worker))->traced--;
    look_again(a->task.worker);
}

static void at_end(void *block)
{
    (void)block;
    leave(wf_actor_self());
}

static const weft_local_key handled = {sizeof(struct wf_trace), at_end};

/* The running actor. */
static int enter(struct wf_actor *a, const struct wf_trace *t)
{
    struct wf_trace *mine = weft_local(&handled);
    if (mine == NULL) {
        leave(a);
        return WEFT_ENOMEM;
    }
    *mine = *t;
    if (a->traced) return WEFT_OK;
    a->traced = true;
    wf_actor_set_slow_path(a);
    wf_tracing_of(wf_actors_of(a->task.worker))->traced++;
    look_again(a->task.worker);
    return WEFT_OK;
}

/* Of what it sends; NULL: none. */
static const struct wf_trace *of_actor(const struct wf_actor *a)
{
    const struct wf_trace *t = a != NULL && a->traced ? wf_local_find(a, &handled) : NULL;
    return t != NULL && lives_on(wf_node_of(a->task.worker), t) ? t : NULL;
}

weft_trace weft_trace_now(void)
{
    const struct wf_trace *t = of_actor(wf_actor_self());
    return t == NULL ? (weft_trace){0, 0} : t->id;
}

int weft_trace_set(weft_trace id)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (!is_none(id)) return enter(self, &(struct wf_trace){.id = id});
    leave(self);
    return WEFT_OK;
}

/* ---- Taps ------------------------------------------------------------------------------------------------------ */

static bool look_at_taps(struct wf_worker *w, void *data)
{
    (void)data;
    look_again(w);
    return false;
}

int wf_tap_open(weft_node *node, struct wf_tap *tap)
{
    int rc = WEFT_OK;
    tap->first = tap->last = NULL;
    tap->bytes = tap->missed = 0;
    pf_mutex_lock(node->taps_lock);
    wf_list_push(&node->taps, &tap->on_node);
    atomic_fetch_add_explicit(&node->tap_count, 1, memory_order_relaxed);
    pf_mutex_unlock(node->taps_lock);
    for (uint32_t i = 0; i < node->workers.count && rc == WEFT_OK; i++) {
        rc = wf_worker_inspect(node, i, look_at_taps, &(char){0}, 1, weft_after(WEFT_SEC(2)));
        if (rc == WEFT_ETIMEDOUT && wf_stuck_at(&node->workers, i, NULL)) rc = WEFT_OK; /* it looks when it goes on */
    }
    if (rc < 0) wf_tap_close(node, tap);
    return rc;
}

static void tap_closed(struct wf_worker *w, struct wf_call *c)
{
    struct wf_worker_tracing *t = WF_CONTAINER(c, struct wf_worker_tracing, tap_closed);
    /* Pairs with the exchange by the closing thread: either this one sees that the tap is gone, or it is called
     * again. */
    (void)atomic_exchange_explicit(&t->tap_closing, false, memory_order_acq_rel);
    look_again(w);
}

void wf_tap_close(weft_node *node, struct wf_tap *tap)
{
    pf_mutex_lock(node->taps_lock);
    wf_unlink(&tap->on_node);
    atomic_fetch_sub_explicit(&node->tap_count, 1, memory_order_relaxed);
    pf_mutex_unlock(node->taps_lock);
    for (struct wf_passed *p = tap->first, *next; p != NULL; p = next) {
        next = p->next;
        free(p);
    }
    tap->first = tap->last = NULL;
    for (uint32_t i = 0; i < node->workers.count; i++) {
        struct wf_worker *w = node->workers.at[i];
        struct wf_worker_tracing *t = wf_tracing_of(wf_actors_of(w));
        if (atomic_exchange_explicit(&t->tap_closing, true, memory_order_acq_rel)) continue; /* it is on its way */
        t->tap_closed = (struct wf_call){.post.kind = WF_POST_CALL, .call = tap_closed};
        wf_worker_post(w, &t->tap_closed.post);
    }
}

struct wf_passed *wf_tap_take(weft_node *node, struct wf_tap *tap, uint64_t *missed)
{
    pf_mutex_lock(node->taps_lock);
    struct wf_passed *all = tap->first;
    *missed = tap->missed;
    tap->first = tap->last = NULL;
    tap->bytes = tap->missed = 0;
    pf_mutex_unlock(node->taps_lock);
    return all;
}

/* A message that passes. `topic` is empty if `name` is not a topic. */
struct passage {
    enum wf_passing what;
    int why;
    weft_pid actor, other;
    uint32_t tag;
    weft_text name, topic;
};

static bool is_its(const struct wf_tap *t, const struct passage *p)
{
    return weft_pid_is_nobody(t->actor) || weft_pid_equal(t->actor, p->actor) || weft_pid_equal(t->actor, p->other);
}

static bool fits(const struct wf_tap *t, const struct passage *p)
{
    if (t->has_tag && t->tag != p->tag) return false;
    return t->topic[0] == '\0' || (p->topic.size > 0 && wf_pattern_matches(weft_cstr(t->topic), p->topic));
}

/* Whether a tap wants to see it. A message for many receivers may be for the actor that a tap wants: that is checked
 * when it arrives. */
static bool is_wanted(weft_node *node, const struct passage *p)
{
    bool wanted = false;
    pf_mutex_lock(node->taps_lock);
    WF_LIST_EACH(k, &node->taps) {
        const struct wf_tap *t = WF_CONTAINER(k, struct wf_tap, on_node);
        wanted = wanted || (fits(t, p) && (is_its(t, p) || weft_pid_is_nobody(p->other)));
    }
    pf_mutex_unlock(node->taps_lock);
    return wanted;
}

static void put(struct wf_tap *tap, const struct passage *p, const struct wf_trace *t, const void *bytes, size_t size,
                int64_t at)
{
    size_t kept = WF_MIN(size, (size_t)WF_PASSED_BYTES), all = sizeof(struct wf_passed) + p->name.size + kept;
    if (tap->first == NULL && tap->missed == 0) (void)weft_event_set(tap->filled);
    struct wf_passed *r = tap->bytes + all > WF_TAP_BYTES ? NULL : malloc(all);
    if (r == NULL) {
        tap->missed++;
        return;
    }
    *r = (struct wf_passed){.at = at,
                            .actor = p->actor,
                            .other = p->other,
                            .trace = *t,
                            .what = p->what,
                            .why = p->why,
                            .tag = p->tag,
                            .size = (uint32_t)size,
                            .name_size = (uint32_t)p->name.size,
                            .kept = (uint32_t)kept,
                            .wanted = is_its(tap, p) && fits(tap, p)};
    if (p->name.size > 0) memcpy(r->data, p->name.data, p->name.size);
    if (kept > 0) memcpy(r->data + p->name.size, bytes, kept);
    if (tap->last == NULL) tap->first = r;
    else tap->last->next = r;
    tap->last = r;
    tap->bytes += all;
}

static void copy_to_taps(weft_node *node, const struct passage *p, struct wf_body *b)
{
    struct pf_env *env = node->workers.env;
    if (!wf_is_tapped(node)) return;
    int64_t at = env->wall(env);
    pf_mutex_lock(node->taps_lock);
    WF_LIST_EACH(k, &node->taps)
        put(WF_CONTAINER(k, struct wf_tap, on_node), p, wf_trace_of(b), wf_body_bytes(b), b->size, at);
    pf_mutex_unlock(node->taps_lock);
}

/* ---- On the way ------------------------------------------------------------------------------------------------ */

/* weft's own, of this node. */
static bool is_service(weft_node *node, weft_pid who)
{
    uint32_t i = wf_id_worker(who.actor);
    if (who.node != node->incarnation || i >= node->workers.count) return false;
    const struct wf_actor *a = wf_slab_find(&wf_actors_of(node->workers.at[i])->slab, who.actor);
    return a != NULL && atomic_load_explicit(&a->service, memory_order_relaxed);
}

static bool may_have_one(const weft_msg *m)
{
    return m->post.flags == WF_MSG_SEND || m->post.flags == WF_MSG_CALL || m->post.flags == WF_MSG_REPLY;
}

/* The same message with that id; without memory it stays as it is. */
static weft_msg *with_id(struct wf_worker *w, weft_msg *m, const struct wf_trace *t)
{
    struct wf_body *b = wf_trace_body_new(w, NULL, 0, wf_msg_bytes(m), m->size, t);
    if (b == NULL) return m;
    bool call = m->post.flags == WF_MSG_CALL;
    weft_msg *n = call ? wf_request_share(w, m->post.word, b, wf_terms(m)->deadline)
                       : wf_msg_share(w, m->post.word, b);
    wf_body_drop(NULL, b);
    if (n == NULL) return m;
    if (call) wf_terms(n)->moved_on = wf_terms(m)->moved_on;
    n->post.kind = m->post.kind;
    n->post.flags = m->post.flags;
    n->to_actor = m->to_actor;
    n->from = m->from;
    n->ref = m->ref;
    wf_msg_free(w, m);
    return n;
}

/* Which id, if any. */
static bool choose(weft_node *node, const struct wf_actor *self, const struct passage *p, struct wf_trace *out)
{
    const struct wf_trace *t = of_actor(self);
    if (t == NULL && !(wf_is_tapped(node) && is_wanted(node, p))) return false;
    *out = t != NULL ? *t : (struct wf_trace){new_id(node->workers.env), WF_TRACE_BY_TOOL};
    return true;
}

weft_msg *wf_trace_out(struct wf_worker *w, struct wf_actor *self, weft_pid to, const char *name, weft_msg *m)
{
    weft_node *node = wf_node_of(w);
    struct wf_trace t;
    struct passage p = {.what = WF_PASSED_SENT,
                        .actor = self != NULL ? wf_actor_pid(self) : m->from,
                        .other = to,
                        .tag = m->post.word,
                        .name = weft_cstr(name)};
    if (!may_have_one(m) || (self != NULL && self->service) || is_service(node, to)) return m;
    if (name != NULL && name[0] == '$') return m;
    if (!wf_is_traced(m) && choose(node, self, &p, &t)) m = with_id(w, m, &t);
    if (wf_is_traced(m)) copy_to_taps(node, &p, m->shared);
    return m;
}

static void failed(struct wf_worker *w, const struct wf_actor *self, weft_pid to, const char *name, const weft_msg *m,
                   int error)
{
    struct passage p = {.what = WF_PASSED_FAILED,
                        .why = error,
                        .actor = wf_actor_pid(self),
                        .other = to,
                        .tag = m->post.word,
                        .name = weft_cstr(name)};
    if (may_have_one(m) && !self->service) copy_to_taps(wf_node_of(w), &p, m->shared);
}

weft_msg *wf_trace_carry(struct wf_actor *self, weft_msg *m)
{
    const struct wf_trace *t = of_actor(self);
    return t == NULL ? m : with_id(self->task.worker, m, t);
}

struct wf_body *wf_trace_publish(struct wf_actor *self, weft_text name, bool topic, uint32_t tag, const void *data,
                                 size_t size)
{
    struct wf_worker *w = self->task.worker;
    weft_node *node = wf_node_of(w);
    struct wf_trace t;
    struct passage p = {.what = WF_PASSED_SENT, .actor = wf_actor_pid(self), .tag = tag, .name = name};
    if (topic) p.topic = name;
    if (!choose(node, self, &p, &t)) return NULL;
    struct wf_body *b = wf_trace_body_new(w, name.data, topic ? name.size : 0, data, size, &t);
    if (b != NULL) copy_to_taps(node, &p, b);
    return b;
}

void wf_trace_arrived(struct wf_actor *a, const weft_msg *m)
{
    struct passage p = {.what = WF_PASSED_RECEIVED, .actor = wf_actor_pid(a), .other = m->from, .tag = m->post.word};
    p.name = p.topic = wf_body_topic_text(m->shared);
    if (!a->service) copy_to_taps(wf_node_of(a->task.worker), &p, m->shared);
}

static void took(struct wf_actor *a, const weft_msg *m)
{
    if (!wf_is_traced(m) || a->service || !lives_on(wf_node_of(a->task.worker), wf_trace_of(m->shared))) {
        leave(a);
        return;
    }
    (void)enter(a, wf_trace_of(m->shared));
    wf_trace_arrived(a, m);
}

static void dropped(struct wf_worker *w, const weft_msg *m, enum wf_drop why)
{
    weft_node *node = wf_node_of(w);
    struct passage p = {.what = WF_PASSED_DROPPED,
                        .why = (int)why,
                        .actor = m->to_actor == 0 ? weft_nobody() : (weft_pid){node->incarnation, m->to_actor},
                        .other = m->from,
                        .tag = m->post.word};
    p.name = p.topic = wf_body_topic_text(m->shared);
    if (may_have_one(m)) copy_to_taps(node, &p, m->shared);
}

/* ---- From other nodes ------------------------------------------------------------------------------------------ */

static weft_msg *in(weft_node *node, struct wf_worker *w, weft_msg *m)
{
    struct wf_trace t;
    struct passage p = {
        .what = WF_PASSED_SENT, .actor = m->from, .other = {node->incarnation, m->to_actor}, .tag = m->post.word};
    if (wf_is_traced(m) || !may_have_one(m) || is_service(node, p.other) || !choose(node, NULL, &p, &t)) return m;
    return with_id(w, m, &t);
}

bool wf_trace_in_for_all(weft_node *node, weft_pid from, uint32_t tag, weft_text topic, struct wf_trace *out)
{
    struct passage p = {.what = WF_PASSED_SENT, .actor = from, .tag = tag, .name = topic, .topic = topic};
    return choose(node, NULL, &p, out);
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

static void text(char *out, size_t size)
{
    char hex[WEFT_TRACE_TEXT];
    const weft_trace id = weft_trace_now();
    if (!is_none(id)) snprintf(out, size, " trace=%s", weft_trace_format(id, hex));
}

static int node_init(weft_node *n)
{
    static const struct wf_tracing tracing = {
        .out = wf_trace_out, .failed = failed, .took = took, .dropped = dropped, .in = in, .text = text};
    n->tracing = &tracing;
    return WEFT_OK;
}

const struct wf_feature wf_tracing_feature = {.name = "tracing",
                                              .slot = WF_TRACING_SLOT,
                                              .worker_bytes = sizeof(struct wf_worker_tracing),
                                              .node_init = node_init};
