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
/* A part of the list. An actor that exists while all pages are read, one after the other, is on one of them. */
enum { WF_PAGE_ACTORS = 4096, WF_PAGE_SLICES = 16 };
struct wf_actor_page {
    uint32_t worker, slot; /* where it begins; afterwards, where the next one does */
    bool last;             /* there is no next one */
    bool held_up;          /* an actor holds a worker up, so its actors are left out. It stays true */
    char kind[32];         /* only actors of this kind; "": of any */
    uint32_t most;         /* at most so many, WF_PAGE_ACTORS at most */
    uint32_t count;
    uint32_t slices; /* turns of the worker that it took, WF_PAGE_SLICES at most */
    int64_t until;   /* the worker begins no further slice after this time */
    struct wf_actor_info at[WF_PAGE_ACTORS];
};
/* The first page of all actors. The caller may change where it begins, and `kind`. */
void wf_actor_page_begin(struct wf_actor_page *page, uint32_t most);
/* [A, W] Looks at a limited number of slots of one worker, so a page may be empty and not the last one.
 * WEFT_ETIMEDOUT, WEFT_ENOMEM, WEFT_ECANCELED. */
int wf_node_page_actors(weft_node *node, struct wf_actor_page *page, int64_t deadline);
/* [A, W] Lists the actors of this node, of all workers, that are wanted; NULL: all. `*out` has `*count` entries and is
 * released with weft_release; NULL if there are none. WEFT_ETIMEDOUT, also if a worker is held up; WEFT_ENOMEM,
 * WEFT_ECANCELED. */
int wf_node_list_actors(weft_node *node, bool (*wanted)(const struct wf_actor_info *info), struct wf_actor_info **out,
                        size_t *count, int64_t deadline);
/* [A, W] How many there are, weft's own included. Each worker has `within` ns to answer; one that an actor holds up is
 * left out. The same errors. */
int wf_node_count_actors(weft_node *node, uint64_t *count, int64_t within);
/* Of one actor, on the owner's thread: all but memory.stack. */
void wf_actor_info_of(const struct wf_actor *a, struct wf_actor_info *out);
/* Looks at its stack; the most bytes that actors of its kind were seen to use on this worker. */
size_t wf_actor_stack_most(struct wf_actor *a);

#endif
