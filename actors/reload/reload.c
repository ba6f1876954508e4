/* actors/reload/reload.c -- see reload.h. */
#include "reload.h"

#include "actor_life.h"
#include "actor_list.h"
#include "call.h"

#include <weft/local.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_STAYS, ANSWER_MOVED }; /* tags of answers; the body of STAYS says why */

struct life {
    struct wf_owned owned;
    weft_msg *ask;             /* until it is answered, as the life begins */
    struct wf_handling *given; /* the state from the old code */
    struct wf_handling *fresh; /* the state that the hook has made of it; NULL: unchanged */
    size_t size;               /* the size of the valid one of the two */
    weft_actor *body;          /* NULL: a handler */
};

static struct life *life_of(struct wf_owned *o)
{
    return WF_CONTAINER(o, struct life, owned);
}

/* Frees a life, but not the request: the actor holds that. */
static void close_life(struct wf_owned *o)
{
    struct life *l = life_of(o);
    if (l->given != NULL) wf_block_free(l->given);
    if (l->fresh != NULL) wf_block_free(l->fresh);
    free(l);
}

static void end_life(struct life *l)
{
    wf_unlink(&l->owned.on_task);
    close_life(&l->owned);
}

/* The last life that has begun, or the one that will begin. */
static struct life *last_life(const struct wf_actor *a)
{
    WF_LIST_EACH(k, &a->task.owned) {
        struct wf_owned *o = WF_CONTAINER(k, struct wf_owned, on_task);
        if (o->close == close_life && life_of(o)->ask != NULL) return life_of(o);
    }
    return NULL;
}

static struct wf_handling *block_with(const void *state, size_t size)
{
    struct wf_handling *h = wf_block_new(WF_POOL_LARGE, sizeof *h + size);
    if (h == NULL) return NULL;
    h->handle = NULL;
    h->given = size == 0 ? NULL : h->state;
    if (size > 0) memcpy(h->state, state, size);
    return h;
}

static void take_reply(struct life *l, uint32_t tag, const char *why)
{
    weft_msg *ask = l->ask;
    l->ask = NULL;
    (void)weft_reply(ask, tag, why, strlen(why));
    weft_msg_free(ask);
}

/* ---- In the actor ---------------------------------------------------------------------------------------------- */

int weft_trap_reload(bool on)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    self->traps_reload = on;
    return WEFT_OK;
}

int weft_handover_state(struct weft_handover *h, const void *state, size_t size)
{
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    if (h == NULL || h->life == NULL || (state == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WEFT_HANDOVER_MAX) return WEFT_ETOOBIG;
    struct life *l = h->life;
    struct wf_handling *fresh = block_with(state, size);
    if (fresh == NULL) return WEFT_ENOMEM;
    if (l->fresh != NULL) wf_block_free(l->fresh);
    l->fresh = fresh;
    l->size = size;
    return WEFT_OK;
}

int weft_migrate_stored(weft_migrate *hook, struct weft_handover *h, void **owned)
{
    struct life l = {.size = h->size};
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    *owned = NULL;
    h->life = &l;
    int rc = hook(h);
    h->life = NULL;
    h->why[sizeof h->why - 1] = '\0';
    if (rc >= 0 && l.fresh != NULL) *owned = malloc(l.size + 1);
    bool is_whole = l.fresh == NULL || *owned != NULL;
    if (*owned != NULL) {
        if (l.size > 0) memcpy(*owned, l.fresh->state, l.size);
        h->state = *owned;
        h->size = l.size;
    }
    if (l.fresh != NULL) wf_block_free(l.fresh);
    return rc < 0 ? rc : is_whole ? WEFT_OK : WEFT_ENOMEM;
}

/* Calls the hook in the request. `why` gets the reason if it refuses. */
static int migrate(struct wf_actor *self, struct life *l, uint32_t version, char why[160])
{
    struct weft_handover h = {.kind = self->kind,
                              .version = version,
                              .state = l->size == 0 ? NULL : l->given->state,
                              .size = l->size,
                              .life = l};
    weft_migrate *hook;
    memcpy(&hook, weft_data(l->ask), sizeof hook);
    int rc = hook(&h);
    h.why[sizeof h.why - 1] = '\0';
    if (rc < 0) {
        snprintf(why, 160, "%s", h.why[0] != '\0' ? h.why : weft_strerror(rc));
    } else if ((h.body == NULL) == (h.handle == NULL) || (h.body != NULL && self->handles)) {
        rc = WEFT_EINVAL;
        snprintf(why, 160, "the migrate hook of the new module %s",
                 h.body == NULL && h.handle == NULL ? "names neither a body nor a handler to continue with"
                 : h.handle != NULL                 ? "names both a body and a handler"
                                                    : "gives a body to a handler");
    } else {
        l->body = h.body;
        (l->fresh != NULL ? l->fresh : l->given)->handle = h.handle;
        rc = WEFT_OK;
    }
    return rc;
}

/* A life for the running actor, with the request and a copy of the state. */
static struct life *new_life(struct wf_actor *self, weft_msg *ask, const void *state, size_t size)
{
    struct life *l = calloc(1, sizeof *l);
    if (l == NULL) return NULL;
    *l = (struct life){.owned = {.close = close_life}, .ask = ask, .given = block_with(state, size), .size = size};
    if (l->given == NULL) {
        free(l);
        return NULL;
    }
    wf_list_push(&self->task.owned, &l->owned.on_task);
    return l;
}

static int refuse(weft_msg *ask, int error)
{
    const char *why = weft_strerror(error);
    (void)weft_reply(ask, ANSWER_STAYS, why, strlen(why));
    weft_msg_free(ask);
    return error;
}

int weft_hand_over(weft_msg *reload, uint32_t version, const void *state, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (reload == NULL) return WEFT_EINVAL;
    if (weft_tag(reload) != WEFT_TAG_RELOAD || !weft_wants_reply(reload)) {
        weft_msg_free(reload);
        return WEFT_EINVAL;
    }
    if (self->handing || self->cleaning || (state == NULL && size > 0)) return refuse(reload, WEFT_EINVAL);
    if (size > WEFT_HANDOVER_MAX) return refuse(reload, WEFT_ETOOBIG);
    if (weft_expired(reload)) return refuse(reload, WEFT_ETIMEDOUT);
    struct life *l = new_life(self, reload, state, size);
    if (l == NULL) return refuse(reload, WEFT_ENOMEM);
    (void)weft_msg_keep(reload); /* in a handler, it would be freed when the handler returns */
    char why[160];
    self->handing = true;
    int rc = migrate(self, l, version, why);
    if (rc == WEFT_OK) return WEFT_OK;
    self->handing = false;
    take_reply(l, ANSWER_STAYS, why);
    end_life(l);
    return rc;
}

/* The running actor, between two bodies or two calls of its handler: it has handed over. Returns when the next body
 * has, or when it is the handler it is to be. */
static void go_on(struct wf_actor *a)
{
    struct life *l = last_life(a);
    WF_ASSERT(l != NULL);
    struct wf_handling *block = l->fresh != NULL ? l->fresh : l->given;
    a->handing = false;
    take_reply(l, ANSWER_MOVED, "");
    if (l->body != NULL) {
        l->body(block->given, l->size);
    } else {
        wf_actor_free_arg(a, a->task.worker);
        a->arg = block;
        a->arg_size = (uint32_t)l->size;
        a->handles = true;
        if (block == l->fresh) l->fresh = NULL;
        else l->given = NULL;
    }
    end_life(l);
}

/* ---- Asking them ----------------------------------------------------------------------------------------------- */

static void read_answer(struct wf_reloaded *r, const struct weft_answer *a)
{
    r->moved = a->answer != NULL && weft_tag(a->answer) == ANSWER_MOVED;
    if (r->moved) return;
    if (a->answer != NULL) {
        snprintf(r->why, sizeof r->why, "%.*s", (int)weft_size(a->answer), (const char *)weft_data(a->answer));
        return;
    }
    snprintf(r->why, sizeof r->why, "%s",
             a->error == WEFT_ENOREPLY    ? "it freed the request without an answer, or ended"
             : a->error == WEFT_ETIMEDOUT ? "it has not received the request in time, and stays as it is"
                                          : weft_strerror(a->error));
}

static bool is_willing(const struct wf_actor_info *info)
{
    return info->traps_reload;
}

static int ask(const struct wf_actor_info *who, struct wf_reloaded *out, size_t count, weft_migrate *hook,
               int64_t deadline)
{
    struct weft_answer *answers = weft_alloc(count * sizeof *answers);
    if (answers == NULL) return WEFT_ENOMEM;
    for (size_t i = 0; i < count; i++) answers[i] = (struct weft_answer){.from = who[i].pid};
    int rc = wf_gather_control(answers, count, WEFT_TAG_RELOAD, &hook, sizeof hook, deadline);
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        out[i].info = who[i];
        read_answer(&out[i], &answers[i]);
    }
    if (rc >= 0) weft_answers_free(answers, count);
    (void)weft_release(answers);
    return rc < 0 ? rc : WEFT_OK;
}

int wf_reload_actors(weft_node *node, weft_migrate *hook, struct wf_reloaded **out, size_t *count, int64_t deadline)
{
    struct wf_actor_info *all;
    int rc = wf_node_list_actors(node, is_willing, &all, count, deadline);
    if (rc < 0) return rc;
    *out = weft_alloc((*count + 1) * sizeof **out);
    rc = *out == NULL ? WEFT_ENOMEM : *count == 0 ? WEFT_OK : ask(all, *out, *count, hook, deadline);
    (void)weft_release(all);
    if (rc < 0) (void)weft_release(*out);
    return rc;
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

static bool takes_control(const struct wf_actor *a, uint32_t tag)
{
    return tag == WEFT_TAG_RELOAD && a->traps_reload && !a->cleaning;
}

const struct wf_feature wf_reload_feature = {
    .name = "reload", .actor_goes_on = go_on, .takes_control = takes_control};
