/* actors/lifecycle/supervisor.h -- what supervisor.c, child.c and kept_actor.c share. */
#ifndef WF_SUPERVISOR_H
#define WF_SUPERVISOR_H

#include "actor.h"
#include "text.h"

#include <weft/supervisor.h>

/* What a supervisor is told and asked. The first two come in its system lane, so that no mail can keep them out; the
 * others are requests, taken only from actors of this node: one that starts a child carries a function's address. */
#define WF_TAG_CHILD_STARTED (WEFT_TAG_SYSTEM + 0x80)
#define WF_TAG_CHILD_SUPERVISES (WEFT_TAG_SYSTEM + 0x81)
#define WF_TAG_START_CHILD (WEFT_TAG_SYSTEM - 1)
#define WF_TAG_STOP_CHILD (WEFT_TAG_SYSTEM - 2)
#define WF_TAG_LIST_CHILDREN (WEFT_TAG_SYSTEM - 3)

/* Body of WF_TAG_START_CHILD; the child's argument follows. Pointers of `spec` but for `body` and options.kind mean
 * nothing. The body of WF_TAG_STOP_CHILD is a name with its NUL. */
struct wf_start_request {
    alignas(16) weft_child_spec spec;
    char name[WF_NAME_MAX + 1];
};
/* The answer to both; to WF_TAG_LIST_CHILDREN it is an array of struct weft_child_info. */
struct wf_child_answer {
    int rc;
    weft_pid pid;
};

/* ---- child.c --------------------------------------------------------------------------------------------------- */
/* What a child's actor is started with; the child's own argument follows. */
struct wf_charge {
    alignas(16) weft_pid supervisor;
    weft_actor *body;
    bool await_ready, unregistered;
    char name[WF_NAME_MAX + 1];
};
_Static_assert(sizeof(struct wf_charge) % 16 == 0, "what follows is aligned for any type");

void wf_child_main(const void *arg, size_t size); /* the body of every child's actor */
/* Tells the supervisor of the calling actor, if it has one, and if it is the first time. */
int wf_child_tell(uint32_t tag);
/* WEFT_EINVAL, and the log says which field of which child is wrong. */
int wf_child_check(const weft_child_spec *spec, const char *of);

/* ---- kept_actor.c ---------------------------------------------------------------------------------------------- */
/* An actor's slot, pid, mailbox and name, kept from one life to the next by its supervisor. */
struct wf_keep;
/* By the supervisor, which owns it until it lets it go. NULL: no memory. */
struct wf_keep *wf_keep_new(weft_pid supervisor, const char *name /* that stays, or "" */);
/* The first life, and each other one after the news (a WEFT_TAG_EXIT message) that the one before has ended. As
 * weft_spawn; a failure leaves everything as it was. */
int wf_keep_start(struct wf_worker *w, struct wf_keep *k, weft_pid *out, weft_actor *body, const void *arg,
                  size_t size, const weft_spawn_options *options);
/* No further life; if one still runs it is asked to stop and nobody is told of its end. `k` is gone. */
void wf_keep_let_go(struct wf_worker *w, struct wf_keep *k);
/* On the actor's worker: the envelope for the news of this life's end, and who gets it. */
weft_msg *wf_keep_take_news(struct wf_keep *k, weft_pid *to);

#endif
