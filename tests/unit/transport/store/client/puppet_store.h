/* tests/unit/transport/store/client/puppet_store.h -- an actor with the name of the store that answers as a test
 * determines, for tests in virtual time. */
#ifndef PUPPET_STORE_H
#define PUPPET_STORE_H

#include <weft.h>
#include <weft/queue.h>
#include <weft/store.h>

#include "store_messages.h"

enum puppet_way {
    PUPPET_HOLDS,   /* requests to read wait */
    PUPPET_LETS_GO, /* they are freed without a reply */
    PUPPET_IS_FULL, /* they are answered with WEFT_EFULL */
};

enum {
    PUPPET_WAS_ASKED = 77,  /* a message to its parent, about each request to read or to watch */
    PUPPET_WAS_LISTED = 78, /* the same, about each request to list logs */
    PUPPET_TELLS = 79,      /* a message to it, a struct puppet_news: it answers the request to watch that waits */
    PUPPET_ANSWERS = 80,    /* a message to it: it answers the request to read that waits with the same bytes */
};

struct puppet_news {
    char topic[32];
    uint64_t since, number;
};

struct puppet {
    weft_pid parent;
    enum puppet_way way;
    weft_msg *watch, *read; /* the last request to watch, and to read, that waits */
};

/* The first request to watch is answered at once, as by a store. */
static bool puppet_waits(const weft_msg *m)
{
    struct store_watch watch = {.seen = 0};
    if (weft_tag(m) == WF_STORE_WATCH)
        (void)weft_typed_read(store_watch_type(), weft_data(m), weft_size(m), &watch, NULL);
    return weft_tag(m) == WF_STORE_READ || watch.seen != 0;
}

static void puppet_tell(struct puppet *p, const weft_msg *m)
{
    struct puppet_news news;
    memcpy(&news, weft_data(m), sizeof news);
    weft_text topic = weft_cstr(news.topic);
    struct store_watched watched = {.number = news.number, .since = news.since, .topics = weft_str_list(&topic, 1)};
    wf_store_answer(p->watch, store_watched_type(), &watched);
    weft_msg_free(p->watch);
    p->watch = NULL;
}

static void puppet_give(struct puppet *p, const weft_msg *m)
{
    weft_msg *answer = weft_msg_new(WF_STORE_READ, weft_size(m));
    memcpy(weft_msg_body(answer), weft_data(m), weft_size(m));
    weft_ignore(weft_reply_msg(p->read, answer));
    weft_msg_free(p->read);
    p->read = NULL;
}

static void puppet_answer(struct puppet *p, weft_msg *m)
{
    if (weft_tag(m) == PUPPET_ANSWERS) {
        puppet_give(p, m);
        weft_msg_free(m);
        return;
    }
    if (weft_tag(m) == PUPPET_TELLS) {
        puppet_tell(p, m);
        weft_msg_free(m);
        return;
    }
    bool waits = puppet_waits(m);
    int error = waits && p->way == PUPPET_IS_FULL ? WEFT_EFULL : 0;
    struct store_page page = {.error = error, .epoch = 5, .first = 1, .last = 0};
    struct store_watched watched = {.error = error, .number = 1};
    struct store_logs logs = {.error = 0};
    if (waits) weft_ignore(weft_send(p->parent, PUPPET_WAS_ASKED, NULL, 0));
    if (weft_tag(m) == WF_STORE_LIST) weft_ignore(weft_send(p->parent, PUPPET_WAS_LISTED, NULL, 0));
    if (waits && p->way == PUPPET_HOLDS && weft_tag(m) == WF_STORE_WATCH) p->watch = m;
    if (waits && p->way == PUPPET_HOLDS && weft_tag(m) == WF_STORE_READ) p->read = m;
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
    struct puppet p = {weft_self(), way, NULL, NULL};
    weft_pid pid;
    if (weft_spawn(&pid, puppet_store, &p, sizeof p, NULL) < 0 || weft_settle() < 0) weft_fail(1, "no puppet");
    return pid;
}

#endif
