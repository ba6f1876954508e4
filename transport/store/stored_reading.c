/* transport/store/stored_reading.c -- an actor that fetches pages of a log from the store for one subscriber.
 *
 * The reader keeps one position, that of the next record. So no record is missed between the stored records and the
 * new ones: at the end of the log its request waits at the store for the next record. */
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/store.h>

#include "store_client.h"
#include "stored_cursor.h"
#include "store_messages.h"
#include "stored_reading.h"

static bool is_stopped(int rc)
{
    return rc == WEFT_ECANCELED || rc == WEFT_ENOACTOR;
}

int wf_stored_tell(weft_pid subscriber, const struct store_news *news)
{
    for (;;) {
        weft_msg *m = wf_store_message(WEFT_STORED, store_news_type(), news);
        if (m == NULL) return WEFT_ENOMEM;
        int rc = weft_send_msg(subscriber, m);
        if (rc != WEFT_EFULL) return rc;
        rc = weft_sleep(weft_after(WEFT_MS(20))); /* the policy of its mailbox does not let senders wait */
        if (rc < 0) return rc;
    }
}

static int tell(const struct wf_stored_reading *r, const struct store_news *news)
{
    return wf_stored_tell(r->subscriber, news);
}

static struct store_news news_of(const struct wf_stored_reading *r, weft_stored_kind kind, uint64_t offset)
{
    return (struct store_news){.kind = kind, .topic = weft_cstr(r->topic), .epoch = r->epoch, .offset = offset};
}

static int tell_rows(struct wf_stored_reading *r, struct store_page *page)
{
    int rc = WEFT_OK;
    for (struct store_row row; rc == WEFT_OK && store_row_next(&page->rows, &row);) {
        if (row.offset != r->next) return WEFT_EFORMAT; /* a correct store never sends that */
        struct store_news news = news_of(r, WEFT_STORED_RECORD, row.offset);
        news.time = row.time;
        news.tag = row.tag;
        news.body = row.body;
        rc = tell(r, &news);
        if (rc == WEFT_OK) r->next++;
    }
    return rc;
}

static int take_page(struct wf_stored_reading *r, struct store_page *page)
{
    int rc = WEFT_OK;
    if (r->epoch != 0 && page->epoch != r->epoch) {
        r->epoch = page->epoch;
        r->next = 0;
        struct store_news news = news_of(r, WEFT_STORED_EPOCH, page->first);
        return tell(r, &news); /* the next page has the records of this log */
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

/* Whether asking the store again would return the same error. */
static bool is_lasting(int64_t error)
{
    return error == WEFT_EFORMAT || error == WEFT_ENOTFOUND || error == WEFT_EACCESS || error == WEFT_EINVAL ||
           error == WEFT_EEXIST;
}

static const char *store_of(const struct wf_stored_reading *r)
{
    return r->store[0] != '\0' ? r->store : WEFT_STORE_NAME;
}

/* Called after an error of the store that was asked: waits for the next store, or returns the error. */
static int await_store(const struct wf_stored_reading *r, weft_pid asked, int error)
{
    return r->store[0] != '\0' ? error : wf_store_await(asked);
}

static int read_on(struct wf_stored_reading *r)
{
    struct store_page page;
    weft_msg *answer;
    struct store_read ask = {.topic = weft_cstr(r->topic),
                             .epoch = r->epoch,
                             .from = r->next == 0 ? 1 : r->next,
                             .count = WF_STORE_PAGE_RECORDS,
                             .bytes = WF_STORE_PAGE_BYTES,
                             .wait = true};
    weft_pid asked = wf_store_pid();
    int rc = wf_store_ask(store_of(r), WF_STORE_READ, store_read_type(), &ask, store_page_type(), &page, &answer,
                          WEFT_FOREVER);
    if (rc == WEFT_ECANCELED || rc == WEFT_EFORMAT) return rc;
    if (rc < 0) return await_store(r, asked, rc);
    rc = page.error == 0 ? take_page(r, &page) : is_lasting(page.error) ? wf_store_error(page.error) : WEFT_OK;
    bool later = page.error != 0 && rc == WEFT_OK;
    int64_t page_error = page.error;
    weft_msg_free(answer);
    return later ? await_store(r, asked, wf_store_error(page_error)) : rc;
}

/* Asks for the position of the cursor, once. */
static int begin_at_cursor(struct wf_stored_reading *r)
{
    struct weft_position at;
    weft_pid asked = wf_store_pid();
    int rc = wf_cursor_find(store_of(r), r->cursor, r->topic, &at, WEFT_FOREVER);
    if (rc == WEFT_ECANCELED || rc == WEFT_ENOTSUP || is_lasting(rc)) return rc;
    if (rc < 0) return await_store(r, asked, rc);
    if (at.epoch != 0) {
        r->epoch = at.epoch;
        r->next = at.offset + 1;
    }
    r->cursor[0] = '\0';
    return WEFT_OK;
}

void wf_stored_reader(const void *arg, size_t size)
{
    (void)size;
    struct wf_stored_reading r;
    int rc = WEFT_OK;
    memcpy(&r, arg, sizeof r);
    while (rc == WEFT_OK && r.cursor[0] != '\0') rc = begin_at_cursor(&r);
    while (rc == WEFT_OK) rc = read_on(&r);
    if (is_stopped(rc)) return;
    struct store_news news = news_of(&r, WEFT_STORED_ENDED, r.next == 0 ? 1 : r.next);
    news.error = rc;
    (void)tell(&r, &news);
}
