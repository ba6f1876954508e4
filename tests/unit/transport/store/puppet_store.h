/* tests/unit/transport/store/puppet_store.h -- an actor with the name of the store that answers as a test determines,
 * for tests in virtual time. */
#ifndef PUPPET_STORE_H
#define PUPPET_STORE_H

#include <weft.h>
#include <weft/queue.h>
#include <weft/store.h>

#include "store_messages.h"

enum puppet_way {
    PUPPET_HOLDS,   /* requests to read wait */
    PUPPET_LETS_GO, /* they are let go without an answer */
    PUPPET_IS_FULL, /* they are answered with WEFT_EFULL */
};

enum { PUPPET_WAS_ASKED = 77 }; /* a message to its parent, about each request to read or to watch */

struct puppet {
    weft_pid parent;
    enum puppet_way way;
};

/* The first request to watch is answered at once, as by a store. */
static bool puppet_waits(const weft_msg *m)
{
    struct store_watch watch = {.seen = 0};
    if (weft_tag(m) == WF_STORE_WATCH)
        (void)weft_typed_read(store_watch_type(), weft_data(m), weft_size(m), &watch, NULL);
    return weft_tag(m) == WF_STORE_READ || watch.seen != 0;
}

static void puppet_answer(const struct puppet *p, weft_msg *m)
{
    bool waits = puppet_waits(m);
    int error = waits && p->way == PUPPET_IS_FULL ? WEFT_EFULL : 0;
    struct store_page page = {.error = error, .epoch = 5, .first = 1, .last = 0};
    struct store_watched watched = {.error = error, .number = 1};
    struct store_logs logs = {.error = 0};
    if (waits) weft_ignore(weft_send(p->parent, PUPPET_WAS_ASKED, NULL, 0));
    if (waits && p->way == PUPPET_HOLDS) return; /* it is freed with this actor */
    bool lets_go = waits && p->way == PUPPET_LETS_GO;
    if (!lets_go && weft_tag(m) == WF_STORE_WATCH) wf_store_answer(m, store_watched_type(), &watched);
    else if (weft_tag(m) == WF_STORE_LIST) wf_store_answer(m, store_logs_type(), &logs);
    else if (!lets_go) wf_store_answer(m, store_page_type(), &page);
    weft_msg_free(m);
}

static void puppet_store(const void *arg, size_t size)
{
    struct puppet p;
    weft_msg *m;
    (void)size;
    memcpy(&p, arg, sizeof p);
    if (weft_register_global(WEFT_STORE_NAME) < 0) weft_fail(1, "there is a store");
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) puppet_answer(&p, m);
}

/* Returns when it has the name. */
__attribute__((unused)) static weft_pid puppet_up(enum puppet_way way)
{
    struct puppet p = {weft_self(), way};
    weft_pid pid;
    if (weft_spawn(&pid, puppet_store, &p, sizeof p, NULL) < 0 || weft_settle() < 0) weft_fail(1, "no puppet");
    return pid;
}

#endif
