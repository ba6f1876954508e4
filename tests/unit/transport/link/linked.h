/* tests/unit/transport/link/linked.h -- a node that is linked with the peer of script.h. */
#ifndef LINKED_H
#define LINKED_H

#include "frame_tables.h"
#include "links.h"
#include "peer_link.h"
#include "../script.h"

enum { PLENTY = 1024 * 1024 };

static struct line *peer;
static weft_pid there;                         /* an actor of the peer's */
__attribute__((unused)) static int result[16]; /* what calls of the node's actors have returned */
static bool over;                              /* the actor is through */
__attribute__((unused)) static char large[PLENTY];

/* A peer that can all but `without`; links, and knows an actor. */
__attribute__((unused)) static void open_with(uint64_t without, bool above)
{
    struct wf_hello h = hello("peer", above);
    h.capabilities &= ~without;
    open_plainly();
    memset(result, 0, sizeof result);
    over = false;
    peer = link_up(&h);
    there = (weft_pid){h.incarnation, 5};
}

__attribute__((unused)) static void say_entry(struct line *l, enum wf_table_op op, struct wf_entry e)
{
    wf_put_entry(&out, op, &e);
    speak(l);
}

__attribute__((unused)) static void acknowledge(struct line *l)
{
    struct wf_link *s = wf_links_find(cluster(), there.node);
    ck_assert_ptr_nonnull(s);
    say_number(l, WF_FRAME_ACK, s->most_taken);
}

__attribute__((unused)) static struct line *second_peer(uint64_t incarnation, uint64_t without)
{
    char name[16];
    struct wf_hello h = hello("", false);
    snprintf(name, sizeof name, "peer-%d", (int)incarnation);
    h.name = weft_cstr(name);
    h.incarnation = incarnation;
    h.capabilities &= ~without;
    return link_up(&h);
}

#endif
