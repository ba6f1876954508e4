/* transport/store/stored_subscription.c -- subscriptions from a position: an actor beside each subscriber fetches
 * pages.
 *
 * The reader knows one position, that of the next record. So there is no moment between the past and the live: at
 * the end of the log its request waits at the store until there is more. */
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/store.h>

#include "engine.h"
#include "store_client.h"
#include "store_messages.h"
#include "stored_topic.h"

/* The argument of a reader. */
struct reading {
    char topic[256];
    weft_pid subscriber;
    uint64_t epoch; /* 0: that of the first page */
    uint64_t next;  /* 0: the first that is there */
};

/* ---- The reader ------------------------------------------------------------------------------------------------ */

static bool is_stopped(int rc)
{
    return rc == WEFT_ECANCELED || rc == WEFT_ENOACTOR;
}

/* Waits for space in the subscriber's mailbox. An error: there is no subscriber any more, or no memory. */
static int tell(const struct reading *r, const struct store_news *news)
{
    for (;;) {
        weft_msg *m = wf_store_message(WEFT_STORED, store_news_type(), news);
        if (m == NULL) return WEFT_ENOMEM;
        int rc = weft_send_msg(r->subscriber, m);
        if (rc != WEFT_EFULL) return rc;
        rc = weft_sleep(weft_after(WEFT_MS(20))); /* its policy does not let senders wait */
        if (rc < 0) return rc;
    }
}

static struct store_news news_of(const struct reading *r, weft_stored_kind kind, uint64_t offset)
{
    return (struct store_news){.kind = kind, .topic = weft_cstr(r->topic), .epoch = r->epoch, .offset = offset};
}

static int tell_rows(struct reading *r, struct store_page *page)
{
    int rc = WEFT_OK;
    for (struct store_row row; rc == WEFT_OK && store_row_next(&page->rows, &row);) {
        if (row.offset != r->next) return WEFT_EFORMAT; /* no store of ours says that */
        struct store_news news = news_of(r, WEFT_STORED_RECORD, row.offset);
        news.time = row.time;
        news.tag = row.tag;
        news.body = row.body;
        rc = tell(r, &news);
        if (rc == WEFT_OK) r->next++;
    }
    return rc;
}

static int take_page(struct reading *r, struct store_page *page)
{
    int rc = WEFT_OK;
    if (r->epoch != 0 && page->epoch != r->epoch) {
        r->epoch = page->epoch;
        r->next = 0;
        struct store_news news = news_of(r, WEFT_STORED_EPOCH, page->first);
        return tell(r, &news); /* its records come with the next page */
    }
    r->epoch = page->epoch;
    if (r->next < page->first) {
        struct store_news news = news_of(r, WEFT_STORED_GAP, page->first);
        news.missing = page->first - r->next;
        if (r->next > 0) rc = tell(r, &news);
        r->next = page->first;
    }
    return rc < 0 ? rc : tell_rows(r, page);
}

/* The store is not there, or cannot answer now. */
static int wait_for_store(void)
{
    weft_pid pid;
    int rc = weft_await_name(WEFT_STORE_NAME, &pid, WEFT_FOREVER);
    return rc == WEFT_ECANCELED ? rc
                                : weft_sleep(weft_after(WEFT_MS(100))); /* its name may outlive it for a moment */
}

/* An error of the store after which asking again would bring the same one. */
static bool is_lasting(int64_t error)
{
    return error == WEFT_EFORMAT || error == WEFT_ENOTFOUND || error == WEFT_EACCESS || error == WEFT_EINVAL;
}

static int read_on(struct reading *r)
{
    struct store_page page;
    weft_msg *answer;
    struct store_read ask = {.topic = weft_cstr(r->topic),
                             .epoch = r->epoch,
                             .from = r->next == 0 ? 1 : r->next,
                             .count = WF_STORE_PAGE_RECORDS,
                             .bytes = WF_STORE_PAGE_BYTES,
                             .wait = true};
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_READ, store_read_type(), &ask, store_page_type(), &page, &answer,
                          WEFT_FOREVER);
    if (rc == WEFT_ECANCELED || rc == WEFT_EFORMAT) return rc;
    if (rc < 0) return wait_for_store();
    rc = page.error == 0 ? take_page(r, &page) : is_lasting(page.error) ? wf_store_error(page.error) : WEFT_OK;
    bool later = page.error != 0 && rc == WEFT_OK;
    weft_msg_free(answer);
    return later ? weft_sleep(weft_after(WEFT_SEC(1))) : rc;
}

static void read_for_subscriber(const void *arg, size_t size)
{
    (void)size;
    struct reading r;
    int rc = WEFT_OK;
    memcpy(&r, arg, sizeof r);
    while (rc == WEFT_OK) rc = read_on(&r);
    if (is_stopped(rc)) return;
    struct store_news news = news_of(&r, WEFT_STORED_ENDED, r.next == 0 ? 1 : r.next);
    news.error = rc;
    (void)tell(&r, &news);
}

/* ---- For subscribers ------------------------------------------------------------------------------------------- */

static void end_reader(void *arg)
{
    weft_pid *pid = arg;
    (void)weft_kill(*pid);
    free(pid);
}

/* What the store has of the topic, and where to begin. */
static int begin_reading(struct reading *r, struct weft_position from, int64_t deadline)
{
    struct store_read ask = {.topic = weft_cstr(r->topic)};
    struct store_page log;
    weft_msg *answer;
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_FIND, store_read_type(), &ask, store_page_type(), &log, &answer,
                          deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    if (log.error != 0 && log.error != WEFT_ENOTFOUND) return wf_store_error(log.error);
    bool exists = log.error == 0;
    r->epoch = from.epoch != 0 ? from.epoch : log.epoch;
    r->next = from.offset != UINT64_MAX ? from.offset : exists ? log.last + 1 : 1;
    return WEFT_OK;
}

int weft_subscribe_from(const char *topic, struct weft_position from, weft_stored_subscription *out, int64_t deadline)
{
    struct reading r = {.subscriber = weft_self()};
    if (!wf_store_topic_ok(topic)) return WEFT_EINVAL;
    memcpy(r.topic, topic, strlen(topic) + 1);
    int rc = begin_reading(&r, from, deadline);
    if (rc < 0) return rc;
    weft_pid *pid = malloc(sizeof *pid);
    if (pid == NULL) return WEFT_ENOMEM;
    rc = weft_spawn(pid, read_for_subscriber, &r, sizeof r, &(weft_spawn_options){.kind = "stored subscription"});
    if (rc < 0) {
        free(pid);
        return rc;
    }
    if (out != NULL) out->reader = *pid;
    return weft_defer(end_reader, pid);
}

int weft_unsubscribe_stored(weft_stored_subscription s)
{
    int rc = weft_kill(s.reader);
    return rc == WEFT_ENOACTOR ? WEFT_ECLOSED : rc;
}

int weft_stored_read(const weft_msg *m, struct weft_stored *out)
{
    struct store_news in;
    *out = (struct weft_stored){0};
    if (weft_tag(m) != WEFT_STORED) return WEFT_EFORMAT;
    if (weft_typed_read(store_news_type(), weft_data(m), weft_size(m), &in, NULL) < 0) return WEFT_EFORMAT;
    if (in.kind > WEFT_STORED_ENDED || in.tag > UINT32_MAX ||
        !weft_text_copy(in.topic, out->topic, sizeof out->topic))
        return WEFT_EFORMAT;
    out->kind = (weft_stored_kind)in.kind;
    out->error = (int)in.error;
    out->at = (struct weft_position){in.epoch, in.offset};
    out->missing = in.missing;
    out->time = in.time;
    out->tag = (uint32_t)in.tag;
    out->data = in.body.data;
    out->size = in.body.size;
    return WEFT_OK;
}
