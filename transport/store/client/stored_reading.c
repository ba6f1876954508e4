/* transport/store/client/stored_reading.c -- an actor that fetches pages of a log from the store for one subscriber.
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

/* What the messages of all records of a page have in common, packed: the fields of struct store_news in front of those
 * of a record, and those behind. */
struct frame {
    uint8_t before[300], after[8];
    size_t before_size, after_size;
};

/* The fields of a record, packed, in a page of the store. They are the same in struct store_news. */
struct packed_row {
    const uint8_t *at;
    size_t size; /* 0: the store's version is another one, and the row has other fields, too */
};

static void make_frame(struct frame *f, const struct store_news *news)
{
    weft_writer before = weft_writer_on(f->before, sizeof f->before),
                after = weft_writer_on(f->after, sizeof f->after);
    weft_put_array(&before, (uint32_t)store_news_type()->count);
    weft_put_uint(&before, news->kind);
    weft_put_str(&before, news->topic);
    weft_put_uint(&before, news->epoch);
    weft_put_int(&after, news->error);
    weft_put_uint(&after, news->missing);
    weft_put_str(&after, news->shared);
    weft_put_uint(&after, news->id);
    weft_put_uint(&after, news->lease);
    weft_put_uint(&after, news->attempts);
    f->before_size = before.size;
    f->after_size = after.size;
}

static weft_msg *framed(const struct frame *f, const struct packed_row *row)
{
    weft_msg *m = weft_msg_new(WEFT_STORED, f->before_size + row->size + f->after_size);
    if (m == NULL) return NULL;
    uint8_t *to = weft_msg_body(m);
    memcpy(to, f->before, f->before_size);
    memcpy(to + f->before_size, row->at, row->size);
    memcpy(to + f->before_size + row->size, f->after, f->after_size);
    return m;
}

/* Waits for space in the subscriber's mailbox. Errors: the subscriber has ended, or there is no memory. */
static int tell_framed(weft_pid subscriber, const struct store_news *news, const struct frame *f,
                       const struct packed_row *row)
{
    for (;;) {
        weft_msg *m = row != NULL && row->size > 0 ? framed(f, row)
                                                   : wf_store_message(WEFT_STORED, store_news_type(), news);
        if (m == NULL) return WEFT_ENOMEM;
        int rc = weft_send_msg(subscriber, m);
        if (rc != WEFT_EFULL) return rc;
        rc = weft_sleep(weft_after(WEFT_MS(20))); /* the policy of its mailbox does not let senders wait */
        if (rc < 0) return rc;
    }
}

int wf_stored_tell(weft_pid subscriber, const struct store_news *news)
{
    return tell_framed(subscriber, news, NULL, NULL);
}

static int tell(const struct wf_stored_reading *r, const struct store_news *news)
{
    return wf_stored_tell(r->subscriber, news);
}

static struct store_news news_of(const struct wf_stored_reading *r, weft_stored_kind kind, uint64_t offset)
{
    return (struct store_news){.kind = kind, .topic = weft_cstr(r->topic), .epoch = r->epoch, .offset = offset};
}

/* The description of the fields is used only for a row of another version, or a malformed one. False: it is malformed. */
static bool next_row(weft_reader *rows, struct store_row *row, struct packed_row *packed)
{
    weft_reader r = *rows;
    bool is_ours = weft_get_array(&r) == store_row_type()->count;
    *packed = (struct packed_row){.at = r.at};
    row->offset = weft_get_uint(&r);
    row->time = weft_get_int(&r);
    row->tag = weft_get_uint(&r);
    row->body = weft_get_bin(&r);
    if (is_ours && r.error == 0) {
        packed->size = (size_t)(r.at - packed->at);
        *rows = r;
        return true;
    }
    store_row_get(rows, row, NULL);
    return rows->error == 0;
}

static int tell_rows(struct wf_stored_reading *r, struct store_page *page)
{
    struct store_news news = news_of(r, WEFT_STORED_RECORD, 0);
    struct frame frame;
    int rc = WEFT_OK;
    make_frame(&frame, &news);
    weft_reader rows = weft_reader_on(page->rows.packed, (size_t)(page->rows.end - page->rows.packed));
    for (size_t left = page->rows.count; rc == WEFT_OK && left > 0; left--) {
        struct store_row row;
        struct packed_row packed;
        /* A correct store never sends that. */
        if (!next_row(&rows, &row, &packed) || row.offset != r->next) return WEFT_EFORMAT;
        news.offset = row.offset;
        news.time = row.time;
        news.tag = row.tag;
        news.body = row.body;
        rc = tell_framed(r->subscriber, &news, &frame, &packed);
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

static bool is_lasting(int64_t error)
{
    return error == WEFT_ENOTFOUND || wf_store_error_lasts(error);
}

/* Called after an error of the store that was asked: waits for the next store, or returns the error. */
static int await_store(const struct wf_stored_reading *r, weft_pid asked, int error)
{
    return r->store[0] != '\0' ? error : wf_store_await(asked);
}

/* Reads all but the rows, which are read one by one. False: the answer has other fields, or is malformed. */
static bool read_head(const weft_msg *answer, struct store_page *out)
{
    weft_reader r = weft_reader_on(weft_data(answer), weft_size(answer));
    if (weft_get_array(&r) != store_page_type()->count) return false;
    out->error = weft_get_int(&r);
    out->epoch = weft_get_uint(&r);
    out->first = weft_get_uint(&r);
    out->last = weft_get_uint(&r);
    out->rows = (weft_list_store_row){.count = weft_get_array(&r)};
    out->rows.packed = r.at;
    out->rows.end = r.end;
    return r.error == 0;
}

static int read_answer(const weft_msg *answer, struct store_page *out)
{
    return read_head(answer, out)
               ? WEFT_OK
               : weft_typed_read(store_page_type(), weft_data(answer), weft_size(answer), out, NULL);
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
    int rc = wf_store_ask(wf_store_named(r->store), WF_STORE_READ, store_read_type(), &ask, NULL, NULL, &answer,
                          WEFT_FOREVER);
    if (rc == WEFT_ECANCELED || rc == WEFT_EFORMAT) return rc;
    if (rc < 0) return await_store(r, asked, rc);
    rc = read_answer(answer, &page);
    if (rc < 0) {
        weft_msg_free(answer);
        return rc;
    }
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
    int rc = wf_cursor_find(wf_store_named(r->store), r->cursor, r->topic, &at, WEFT_FOREVER);
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
