/* actors/lifecycle/connecting.c -- connecting while an actor does other things: a second actor, on the same worker,
 * calls weft_connect, and the first one waits for the end of the second. So names, several addresses, time shares,
 * cancelling and clean-up work as in weft_connect.
 *
 * Design notes.
 * (1) Only these two actors touch a slot, and both are on one worker. The slot is given back when the result was
 *     taken or dropped and the second actor has ended, whichever comes last. */
#include "connecting.h"

#include "actor.h"
#include "end.h"
#include "socket.h"
#include "stopping.h"

#include <weft/connect.h>

#include <string.h>

enum { ADDRESS_MAX = 1024 };

struct connecting {
    struct wf_slot slot; /* wf_connecting_of */
    struct wf_owned owned;
    const struct wf_task *starter;
    weft_stream stream;
    uint64_t by; /* the actor that connects */
    int result;
    bool over, dropped;
};

struct attempt {
    struct connecting *c;
    int64_t deadline;
    char address[ADDRESS_MAX];
};

static void give_back(struct connecting *c)
{
    if (c->result == WEFT_OK) (void)wf_socket_close(wf_here, WF_STREAM, c->stream.id);
    wf_slab_give(wf_connecting_of(wf_actors_of(wf_here)), c);
}

/* A clean-up of the second actor: it runs however that actor ends, even before it has run. */
static void is_over(void *arg)
{
    struct connecting *c = arg;
    c->over = true;
    if (c->dropped) give_back(c);
}

static void drop(struct connecting *c)
{
    wf_unlink(&c->owned.on_task);
    c->dropped = true;
    if (c->over) give_back(c);
    else wf_actor_cancel(wf_slab_find(&wf_actors_of(wf_here)->slab, c->by), WEFT_EXIT_STOPPED, NULL);
}

static void close_owned(struct wf_owned *o)
{
    drop(WF_CONTAINER(o, struct connecting, owned));
}

static void connect_main(const void *arg, size_t size)
{
    const struct attempt *a = arg;
    (void)size;
    a->c->result = weft_connect(&a->c->stream, a->address, a->deadline);
}

static int start_actor(struct connecting *c, weft_connecting *out, const char *address, int64_t deadline)
{
    struct attempt arg = {.c = c, .deadline = deadline};
    const weft_spawn_options beside = {.kind = "connect", .worker = WEFT_BESIDE};
    size_t length = strlen(address) + 1;
    memcpy(arg.address, address, length);
    int rc = weft_spawn(&out->by, connect_main, &arg, offsetof(struct attempt, address) + length, &beside);
    if (rc < 0) return rc;
    struct wf_actor *a = wf_slab_find(&wf_actors_of(wf_here)->slab, out->by.actor);
    rc = wf_actor_defer(a, is_over, c);
    if (rc < 0) wf_actor_kill(a); /* it has not run yet */
    c->by = out->by.actor;
    c->over = rc < 0;
    return rc;
}

int weft_connect_start(weft_connecting *out, const char *address, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || address == NULL) return WEFT_EINVAL;
    if (strlen(address) >= ADDRESS_MAX) return WEFT_EADDRESS;
    struct wf_slab *slab = wf_connecting_of(wf_actors_of(t->worker));
    struct connecting *c = wf_slab_take(slab);
    if (c == NULL) return WEFT_ENOMEM;
    c->owned = (struct wf_owned){.close = close_owned};
    c->starter = t;
    c->result = WEFT_ECANCELED;
    c->over = true; /* the second actor has not started */
    c->dropped = false;
    wf_list_push(&t->owned, &c->owned.on_task); /* before the spawn, which may yield: the caller may be killed then */
    int rc = start_actor(c, out, address, deadline);
    if (rc < 0) drop(c);
    else out->id = wf_slot_id(&c->slot);
    return rc;
}

weft_wait weft_on_connect(weft_connecting c)
{
    return weft_on_end(c.by);
}

/* NULL: there is none, or it is not the caller's. */
static struct connecting *find(weft_connecting handle, const struct wf_task *t)
{
    if (handle.id == 0 || wf_id_worker(handle.id) != t->worker->index) return NULL;
    struct connecting *c = wf_slab_find(wf_connecting_of(wf_actors_of(t->worker)), handle.id);
    return c == NULL || c->starter != t || c->dropped ? NULL : c;
}

int weft_connect_take(weft_connecting handle, weft_stream *out)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    struct connecting *c = find(handle, t);
    if (c == NULL) return WEFT_ECLOSED;
    if (!c->over) return WEFT_EBUSY;
    int rc = c->result;
    if (rc == WEFT_OK) *out = c->stream;
    c->result = WEFT_ECLOSED; /* the caller owns the stream now */
    drop(c);
    return rc;
}

int weft_connect_drop(weft_connecting handle)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct connecting *c = find(handle, t);
    if (c == NULL) return WEFT_ECLOSED;
    drop(c);
    return WEFT_OK;
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

static int worker_init(struct wf_actors *wa)
{
    wf_slab_init(wf_connecting_of(wa), sizeof(struct connecting), WF_SLAB_MAX, wa->worker->index);
    return WEFT_OK;
}

static void worker_finish(struct wf_worker *w)
{
    wf_slab_finish(wf_connecting_of(wf_actors_of(w)));
}

const struct wf_feature wf_connecting_feature = {.name = "connecting",
                                                 .slot = WF_CONNECTING_SLOT,
                                                 .worker_bytes = sizeof(struct wf_slab),
                                                 .worker_init = worker_init,
                                                 .worker_finish = worker_finish};
