/* transport/store/server/store_states.c -- see store_states.h.
 *
 * Design notes.
 * (1) The engine keeps a state consistent: it refuses each write that does not present the number of the last
 *     opening. This file keeps the owner of each state, so that the state is opened again only when the owner has
 *     ended.
 * (2) An actor is the owner from its request to open on. Openings by other actors wait in its list; when the owner
 *     ends, gives the state up, or its node is lost, the first of them is the next owner. An opening is removed when
 *     the actor that waits for it ends. Thousands may have expired: so the next owner is not found where the last one
 *     leaves, but by wf_states_give_on, which ends its turn in between.
 * (3) A store that was opened again knows no owner. The first write of an actor makes it the owner, unless the write
 *     is refused. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <weft/call.h>
#include <weft/persist.h>

#include "hash.h"
#include "list.h"
#include "store_batch.h"
#include "store_messages.h"
#include "store_states.h"
#include "stored_topic.h"

static_assert((int)WEFT_PERSIST_OWNERS_MAX == (int)WF_OWNERS_MAX, "owners");
static_assert((int)WEFT_PERSIST_WAITING_MAX == (int)WF_OPENINGS_MAX, "openings");

/* An opening that waits. */
struct opening {
    weft_msg *ask;
    weft_monitor_ref monitor;
    struct wf_list_node of_owner; /* wf_state_owner.openings */
    struct wf_state_owner *of;    /* it waits for the end of this one */
    struct wf_chained of_monitor, of_actor;
};

struct wf_state_owner {
    char key[WF_STORE_TOPIC_MAX + 1];
    weft_pid pid;
    weft_monitor_ref monitor;
    struct wf_list openings;
    struct wf_chained in_keys, in_monitors; /* buckets */
    struct wf_list_node in_ownerless;       /* it has left */
};

/* A change that has not been stored yet. */
struct change {
    struct wf_pending_request request;
    struct wf_store_state_change is; /* its key is in `key`, its data points into the request */
    char key[WF_STORE_TOPIC_MAX + 1];
    bool adopts; /* this change has made its actor the owner */
};

static struct change *change_of(struct wf_pending_request *r)
{
    return WF_CONTAINER(r, struct change, request);
}

/* ---- Answers --------------------------------------------------------------------------------------------------- */

/* Answers and consumes the request. */
static void answer(weft_msg *ask, int error, const struct wf_store_state *is)
{
    struct store_state_answer out = {.error = error};
    if (error == WEFT_OK && is != NULL)
        out = (struct store_state_answer){0, is->owner, is->opening, is->first, is->last};
    wf_store_answer(ask, store_state_answer_type(), &out);
    weft_msg_free(ask);
}

/* ---- Owners ---------------------------------------------------------------------------------------------------- */

static struct wf_chained **of_key(struct wf_store_states *s, const char *key)
{
    return &s->by_key[wf_hash(key, strlen(key), s->file->store->secret) % WF_OWNER_BUCKETS];
}

static struct wf_chained **of_monitor(struct wf_store_states *s, weft_monitor_ref monitor)
{
    return &s->by_monitor[wf_mix(monitor.id) % WF_OWNER_BUCKETS];
}

static struct wf_state_owner *find_owner(struct wf_store_states *s, const char *key)
{
    for (struct wf_chained *c = *of_key(s, key); c != NULL; c = c->next) {
        struct wf_state_owner *o = WF_CONTAINER(c, struct wf_state_owner, in_keys);
        if (strcmp(o->key, key) == 0) return o;
    }
    return NULL;
}

static bool is_by(const struct wf_state_owner *o, const weft_msg *m)
{
    return !wf_linked(&o->in_ownerless) && weft_pid_equal(o->pid, weft_from(m));
}

/* Makes that actor the owner, and monitors it. */
static int watch(struct wf_store_states *s, struct wf_state_owner *o, weft_pid pid)
{
    int rc = weft_monitor(pid, &o->monitor);
    if (rc < 0) return rc;
    o->pid = pid;
    wf_chained_push(of_monitor(s, o->monitor), &o->in_monitors);
    return WEFT_OK;
}

static int add_owner(struct wf_store_states *s, const char *key, weft_pid pid)
{
    if (s->owners >= WF_OWNERS_MAX) return WEFT_EFULL;
    struct wf_state_owner *o = calloc(1, sizeof *o);
    int rc = o == NULL ? WEFT_ENOMEM : watch(s, o, pid);
    if (rc < 0) {
        free(o);
        return rc;
    }
    memcpy(o->key, key, strlen(key) + 1);
    wf_list_init(&o->openings);
    wf_chained_push(of_key(s, key), &o->in_keys);
    s->owners++;
    return WEFT_OK;
}

/* Frees an owner that is not monitored any more and for which no opening waits. */
static void free_owner(struct wf_store_states *s, struct wf_state_owner *o)
{
    wf_unlink(&o->in_ownerless);
    wf_chained_remove(&o->in_keys);
    free(o);
    s->owners--;
}

/* ---- Openings that wait ---------------------------------------------------------------------------------------- */

static struct wf_chained **opening_of(struct wf_store_states *s, weft_monitor_ref monitor)
{
    return &s->opening_by_monitor[wf_mix(monitor.id) % WF_OWNER_BUCKETS];
}

/* Of the openings of one actor that wait for one state. */
static struct wf_chained **opening_of_actor(struct wf_store_states *s, const struct wf_state_owner *o, weft_pid who)
{
    uint64_t key = wf_hash(o->key, strlen(o->key), s->file->store->secret) ^ who.node ^ wf_mix(who.actor);
    return &s->opening_by_actor[wf_mix(key) % WF_OWNER_BUCKETS];
}

/* Removes an opening whose monitor has fired, or ends now. */
static weft_msg *take_opening(struct wf_store_states *s, struct opening *w)
{
    weft_msg *ask = w->ask;
    (void)weft_demonitor(w->monitor);
    wf_unlink(&w->of_owner);
    wf_chained_remove(&w->of_monitor);
    wf_chained_remove(&w->of_actor);
    wf_node_counts_remove(&s->openings_of_node, weft_from(ask).node);
    s->openings--;
    free(w);
    return ask;
}

static struct opening *first_opening(const struct wf_state_owner *o)
{
    struct wf_list_node *first = wf_list_first(&o->openings);
    return first == NULL ? NULL : WF_CONTAINER(first, struct opening, of_owner);
}

static void drop_openings(struct wf_store_states *s, struct wf_state_owner *o, weft_pid of)
{
    for (struct wf_chained *c = *opening_of_actor(s, o, of), *next; c != NULL; c = next) {
        struct opening *w = WF_CONTAINER(c, struct opening, of_actor);
        next = c->next;
        if (w->of == o && weft_pid_equal(weft_from(w->ask), of)) weft_msg_free(take_opening(s, w));
    }
}

static int add_opening(struct wf_store_states *s, struct wf_state_owner *o, weft_msg *ask)
{
    if (s->openings >= WF_OPENINGS_MAX) return WEFT_EFULL;
    int rc = wf_node_counts_add(&s->openings_of_node, weft_from(ask).node, WF_OPENINGS_OF_NODE);
    if (rc < 0) return rc;
    struct opening *w = calloc(1, sizeof *w);
    rc = w == NULL ? WEFT_ENOMEM : weft_monitor(weft_from(ask), &w->monitor);
    if (rc < 0) {
        wf_node_counts_remove(&s->openings_of_node, weft_from(ask).node);
        free(w);
        return rc;
    }
    w->ask = ask;
    w->of = o;
    wf_list_push(&o->openings, &w->of_owner);
    wf_chained_push(opening_of_actor(s, o, weft_from(ask)), &w->of_actor);
    wf_chained_push(opening_of(s, w->monitor), &w->of_monitor);
    s->openings++;
    return WEFT_OK;
}

static void wait_for(struct wf_store_states *s, struct wf_state_owner *o, weft_msg *ask)
{
    int rc = add_opening(s, o, ask);
    if (rc < 0) answer(ask, rc, NULL);
}

static bool ends_opening(struct wf_store_states *s, weft_monitor_ref monitor)
{
    for (struct wf_chained *c = *opening_of(s, monitor); c != NULL; c = c->next) {
        struct opening *w = WF_CONTAINER(c, struct opening, of_monitor);
        if (w->monitor.id != monitor.id) continue;
        weft_msg_free(take_opening(s, w));
        return true;
    }
    return false;
}

/* ---- Changes --------------------------------------------------------------------------------------------------- */

static void add_change(struct wf_store_states *s, struct change *w)
{
    w->request.bytes = w->request.data = w->is.size;
    wf_pending_requests_add(&s->requests, &w->request);
}

/* Opens the state for the actor that asks, which becomes its owner. Consumes the request if it returns 0. */
static int start_opening(struct wf_store_states *s, const char *key, weft_msg *ask)
{
    struct change *w = calloc(1, sizeof *w);
    if (w == NULL) return WEFT_ENOMEM;
    w->request.ask = ask;
    w->is.kind = WF_STATE_OPEN;
    memcpy(w->key, key, strlen(key) + 1);
    add_change(s, w);
    return WEFT_OK;
}

/* The owner is not monitored any more. */
static void lose_owner(struct wf_store_states *s, struct wf_state_owner *o)
{
    wf_list_push(&s->ownerless, &o->in_ownerless);
}

static void release(struct wf_store_states *s, struct wf_state_owner *o)
{
    (void)weft_demonitor(o->monitor);
    wf_chained_remove(&o->in_monitors);
    lose_owner(s, o);
}

/* The actor that asks becomes the owner. Consumes the request if it returns 0. */
static int give_to(struct wf_store_states *s, struct wf_state_owner *o, weft_msg *ask)
{
    int rc = watch(s, o, weft_from(ask));
    if (rc < 0) return rc;
    rc = start_opening(s, o->key, ask);
    if (rc == WEFT_OK) {
        wf_unlink(&o->in_ownerless);
    } else {
        (void)weft_demonitor(o->monitor);
        wf_chained_remove(&o->in_monitors);
    }
    return rc;
}

/* Looks at the first opening that waits, which may have expired. Without any the state has no owner. */
static void offer(struct wf_store_states *s, struct wf_state_owner *o)
{
    struct opening *w = first_opening(o);
    if (w == NULL) {
        free_owner(s, o);
        return;
    }
    weft_msg *ask = take_opening(s, w);
    int rc = weft_expired(ask) ? WEFT_ETIMEDOUT : give_to(s, o, ask);
    if (rc == WEFT_ETIMEDOUT) weft_msg_free(ask);
    else if (rc < 0) answer(ask, rc, NULL);
}

bool wf_states_give_on(struct wf_store_states *s)
{
    bool any = false;
    for (struct wf_list_node *k; (k = wf_list_first(&s->ownerless)) != NULL; any = true) {
        offer(s, WF_CONTAINER(k, struct wf_state_owner, in_ownerless));
        wf_effort_count(s->requests.effort, WF_EFFORT_ANSWER);
    }
    return any;
}

bool wf_states_down(struct wf_store_states *s, const struct weft_down *down)
{
    for (struct wf_chained *c = *of_monitor(s, down->ref); c != NULL; c = c->next) {
        struct wf_state_owner *o = WF_CONTAINER(c, struct wf_state_owner, in_monitors);
        if (o->monitor.id != down->ref.id) continue;
        wf_chained_remove(c);
        lose_owner(s, o);
        return true;
    }
    return ends_opening(s, down->ref);
}

static void open_for(struct wf_store_states *s, const char *key, weft_msg *ask)
{
    struct wf_state_owner *o = find_owner(s, key);
    if (o != NULL && !is_by(o, ask)) {
        wait_for(s, o, ask);
        return;
    }
    int rc = o != NULL ? WEFT_OK : add_owner(s, key, weft_from(ask));
    if (rc == WEFT_OK) {
        rc = start_opening(s, key, ask);
        if (rc < 0 && o == NULL) release(s, find_owner(s, key));
    }
    if (rc < 0) answer(ask, rc, NULL);
}

/* ---- Requests -------------------------------------------------------------------------------------------------- */

static bool takes(const struct wf_store_states *s, const char *key)
{
    for (size_t i = 0; i < s->patterns; i++)
        if (wf_store_topic_matches(s->pattern[i], key)) return true;
    return false;
}

static int read_ask(const struct wf_store_states *s, struct change *w, weft_msg *ask)
{
    struct store_state_ask in;
    int rc = weft_typed_read(store_state_ask_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc < 0) return rc;
    if (!weft_text_copy(in.key, w->key, sizeof w->key) || !wf_store_topic_ok(w->key)) return WEFT_EINVAL;
    if (in.kind > WF_STATE_REMOVE || in.tag >= WEFT_TAG_SYSTEM || in.version > UINT32_MAX) return WEFT_EINVAL;
    if (in.body.size > WF_STORE_RECORD_MAX) return WEFT_ETOOBIG;
    if (!takes(s, w->key)) return WEFT_EACCESS;
    w->request.ask = ask;
    w->is = (struct wf_store_state_change){.kind = (enum wf_store_state_kind)in.kind,
                                           .owner = in.owner,
                                           .number = in.number,
                                           .tag = (uint32_t)in.tag,
                                           .version = (uint32_t)in.version,
                                           .data = in.body.data,
                                           .size = in.body.size};
    return WEFT_OK;
}

void wf_states_ask(struct wf_store_states *s, weft_msg *ask)
{
    struct change *w = calloc(1, sizeof *w);
    int rc = w == NULL ? WEFT_ENOMEM : read_ask(s, w, ask);
    if (rc == WEFT_OK && w->is.kind != WF_STATE_OPEN) {
        /* Without memory the actor can write, too, but openings do not wait for its end. */
        w->adopts = find_owner(s, w->key) == NULL && add_owner(s, w->key, weft_from(ask)) == WEFT_OK;
        add_change(s, w);
        return;
    }
    if (rc == WEFT_OK) open_for(s, w->key, ask);
    else answer(ask, rc, NULL);
    free(w);
}

void wf_states_close(struct wf_store_states *s, weft_msg *m)
{
    struct store_state_ask in;
    char key[WF_STORE_TOPIC_MAX + 1];
    int rc = weft_typed_read(store_state_ask_type(), weft_data(m), weft_size(m), &in, NULL);
    struct wf_state_owner *o = rc == WEFT_OK && weft_text_copy(in.key, key, sizeof key) ? find_owner(s, key) : NULL;
    if (o != NULL && is_by(o, m)) release(s, o);
    else if (o != NULL) drop_openings(s, o, weft_from(m));
    weft_msg_free(m);
}

/* ---- Storing --------------------------------------------------------------------------------------------------- */

/* Ends a change, which is the first one of `running`, or in no list. `is` NULL: it was not stored. It leaves
 * `running` here, as the turn may end behind each, and the actor may be killed then. */
static void end_wait(struct wf_store_states *s, struct change *w, int error, const struct wf_store_state *is)
{
    weft_msg *ask = w->request.ask;
    struct wf_state_owner *o = find_owner(s, w->key);
    bool opens = w->is.kind == WF_STATE_OPEN, removes = w->is.kind == WF_STATE_REMOVE;
    bool ends = error == WEFT_OK ? removes : opens || (w->adopts && error == WEFT_ECLOSED);
    if (o != NULL && ends && is_by(o, ask)) release(s, o);
    if (s->requests.running == &w->request) s->requests.running = w->request.next;
    free(w);
    answer(ask, error, is);
}

static void drop_change(void *arg, struct wf_pending_request *r)
{
    end_wait(arg, change_of(r), WEFT_ETIMEDOUT, NULL);
}

static struct wf_store_batch *new_batch(struct wf_store_states *s, size_t count, size_t bytes)
{
    for (struct wf_pending_request *r = s->requests.running; r != NULL; r = r->next)
        bytes += strlen(change_of(r)->key) + 1;
    struct wf_store_batch *b = wf_store_batch_new(s->file, count, sizeof(struct wf_store_state_change), bytes);
    s->requests.batch = b;
    for (struct wf_pending_request *r = s->requests.running; r != NULL && b != NULL; r = r->next) {
        const struct change *w = change_of(r);
        struct wf_store_state_change *to = (struct wf_store_state_change *)b->item + b->count++;
        *to = w->is;
        to->key = wf_store_batch_copy_text(b, w->key);
        to->data = wf_store_batch_copy(b, w->is.data, w->is.size);
        wf_effort_count(s->requests.effort, WF_EFFORT_COMPARE + wf_effort_bytes(w->is.size));
    }
    s->requests.batch = NULL;
    return b;
}

static void run_batch(void *block)
{
    struct wf_store_batch *b = *(struct wf_store_batch **)block;
    struct wf_store_state_change *item = b->item;
    const struct wf_store_engine *engine = b->file->store->engine;
    int64_t now = engine->clock(b->file->store);
    for (size_t i = 0; i < b->count; i++) item[i].now = now;
    (void)engine->change_states(b->file->store, item, b->count); /* each item has its error */
}

/* Consumes `b`. NULL: all have failed with `error`. */
static void answer_all(struct wf_store_states *s, struct wf_store_batch *b, int error)
{
    struct wf_store_state_change *x = b == NULL ? NULL : b->item;
    s->requests.batch = b;
    while (s->requests.running != NULL) {
        struct change *w = change_of(s->requests.running);
        if (x == NULL) end_wait(s, w, error, NULL);
        else end_wait(s, w, x->error, &x->state), x++;
        wf_effort_count(s->requests.effort, WF_EFFORT_ANSWER);
    }
    s->requests.batch = NULL;
    wf_store_batch_free(b);
}

bool wf_states_start(struct wf_store_states *s, weft_job *job)
{
    size_t data, count = wf_pending_requests_choose(&s->requests, WF_STORE_BATCH_MAX, &data, drop_change, s);
    if (count == 0) return false;
    int rc = wf_store_batch_start(new_batch(s, count, data), run_batch, job);
    if (rc < 0) answer_all(s, NULL, rc);
    return rc == WEFT_OK;
}

void wf_states_finish(struct wf_store_states *s, weft_job job)
{
    struct wf_store_batch *b = wf_store_batch_take(job);
    answer_all(s, b, WEFT_ESYSTEM);
}

/* ---- Begin and end --------------------------------------------------------------------------------------------- */

void wf_states_init(struct wf_store_states *s, struct wf_store_file *file, struct wf_effort *effort,
                    char (*pattern)[WF_STORE_TOPIC_MAX + 1], size_t patterns)
{
    s->file = file;
    s->pattern = pattern;
    s->patterns = patterns;
    wf_pending_requests_init(&s->requests, effort);
    wf_list_init(&s->ownerless);
}

/* The actor ends: its messages and monitors end with it. */
void wf_states_free(struct wf_store_states *s)
{
    wf_pending_requests_free(&s->requests);
    for (int i = 0; i < WF_OWNER_BUCKETS; i++)
        for (struct wf_chained *c = s->by_key[i], *next; c != NULL; c = next) {
            struct wf_state_owner *o = WF_CONTAINER(c, struct wf_state_owner, in_keys);
            next = c->next;
            for (struct opening *w; (w = first_opening(o)) != NULL;) {
                (void)take_opening(s, w);
                wf_effort_count(s->requests.effort, WF_EFFORT_ANSWER);
            }
            free(o);
            wf_effort_count(s->requests.effort, WF_EFFORT_FREE);
        }
    wf_node_counts_free(&s->openings_of_node);
    free(s->pattern);
}
