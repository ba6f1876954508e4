/* actors/inspect/actor_list.h -- the actors of a node, as `weft ps` shows them. */
#ifndef WF_ACTOR_LIST_H
#define WF_ACTOR_LIST_H

#include "node.h"

/* The memory of an actor, in bytes. */
struct wf_actor_memory {
    size_t mailbox; /* messages in its mailbox */
    size_t held;    /* messages that it received or made, and has not freed or sent; an estimate if many */
    size_t stack;   /* in whole pages; of a parked actor, the block with its contents. 0: it has no stack now */
    /* Other data of the runtime for it: its record, its start argument or state, its blocks of weft/local.h, its
     * subscriptions. Names, groups, monitors and links are not counted. */
    size_t heap;
};
/* One line of `weft ps`, for one actor, collected on its worker's thread. */
struct wf_actor_info {
    weft_pid pid;
    char kind[32];
    char name[65];      /* its first registered name, or "" */
    char state[12];     /* "running", "ready", "waiting" */
    char waits_for[24]; /* "mailbox", "read", "" */
    uint32_t mailbox, mailbox_max;
    uint64_t received;
    uint64_t dropped; /* at its mailbox */
    /* bytes of stack, in pages, that an actor of its kind was seen to use on its worker; 0: none */
    size_t stack_most;
    uint32_t held; /* messages that it received or made, and has not freed or sent */
    struct wf_actor_memory memory;
    bool traps_reload;
};
/* [A, W] Lists the actors of this node, all workers. `*out` is malloc'ed, `*count` entries. WEFT_ETIMEDOUT,
 * WEFT_ENOMEM. */
int wf_node_list_actors(weft_node *node, struct wf_actor_info **out, size_t *count, int64_t deadline);
/* A part of the list. An actor that exists while all pages are read, one after the other, is on one of them. */
enum { WF_PAGE_ACTORS = 512, WF_PAGE_SLOTS = 4096 };
struct wf_actor_page {
    uint32_t worker, slot; /* where it begins; afterwards, where the next one does */
    bool last;             /* there is no next one */
    char kind[32];         /* only actors of this kind; "": of any */
    uint32_t most;         /* at most so many, and WF_PAGE_ACTORS */
    uint32_t count;
    struct wf_actor_info at[WF_PAGE_ACTORS];
};
/* [A, W] Looks at WF_PAGE_SLOTS places of one worker at most, so a page may be empty and not the last one.
 * WEFT_ETIMEDOUT, WEFT_ENOMEM, WEFT_ECANCELED. */
int wf_node_page_actors(weft_node *node, struct wf_actor_page *page, int64_t deadline);
/* [A, W] How many there are, weft's own included. Each worker has `within` ns to answer; one that an actor holds up is
 * left out. The same errors. */
int wf_node_count_actors(weft_node *node, uint64_t *count, int64_t within);
/* Of one actor, on the owner's thread: all but memory.stack. */
void wf_actor_info_of(const struct wf_actor *a, struct wf_actor_info *out);
/* Looks at its stack; the most bytes that actors of its kind were seen to use on this worker. */
size_t wf_actor_stack_most(struct wf_actor *a);

#endif
