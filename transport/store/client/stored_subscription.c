/* transport/store/client/stored_subscription.c -- the subscriptions from a position of weft/store.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/store.h>

#include "engine.h"
#include "shared_member.h"
#include "shared_record.h"
#include "store_client.h"
#include "store_messages.h"
#include "stored_cursor.h"
#include "stored_pattern.h"
#include "stored_reading.h"
#include "stored_topic.h"

static void end_reader(void *arg)
{
    weft_pid *pid = arg;
    (void)weft_kill(*pid);
    free(pid);
}

/* Finds the log of the topic, and the position to begin at. */
static int begin_reading(struct wf_stored_reading *r, struct weft_position from, int64_t deadline)
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

static int start_reader(const char *topic, struct weft_position from, weft_pid *out, int64_t deadline)
{
    struct wf_stored_reading r = {.subscriber = weft_self()};
    memcpy(r.topic, topic, strlen(topic) + 1);
    int rc = begin_reading(&r, from, deadline);
    if (rc < 0) return rc;
    return weft_spawn(out, wf_stored_reader, &r, sizeof r, &(weft_spawn_options){.kind = "stored subscription"});
}

/* Adds a clean-up, so that the subscription ends with the calling actor. */
static int keep(weft_pid pid, weft_stored_subscription *out)
{
    if (out != NULL) out->reader = pid;
    weft_pid *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        (void)weft_kill(pid);
        return WEFT_ENOMEM;
    }
    *kept = pid;
    int rc = weft_defer(end_reader, kept);
    if (rc < 0) end_reader(kept);
    return rc;
}

static_assert((int)WEFT_STORED_RECORD == (int)WF_SHARED_RECORD, "what members are sent");
static_assert((int)WEFT_STORED_GAP == (int)WF_SHARED_GAP, "what members are sent");
static_assert((int)WEFT_STORED_EPOCH == (int)WF_SHARED_EPOCH, "what members are sent");

int weft_subscribe_from(const char *topic, struct weft_position from, weft_stored_subscription *out, int64_t deadline)
{
    bool one = wf_store_topic_ok(topic), now = from.epoch == 0 && from.offset == UINT64_MAX;
    bool all = from.epoch == 0 && from.offset == 0;
    if (!one && (!wf_store_pattern_ok(topic) || !(now || all))) return WEFT_EINVAL;
    weft_pid pid;
    int rc = one ? start_reader(topic, from, &pid, deadline)
                 : wf_stored_pattern_start(NULL, topic, now, NULL, &pid, deadline);
    return rc < 0 ? rc : keep(pid, out);
}

static int start_at_cursor(const char *name, const char *topic, weft_pid *out, int64_t deadline)
{
    struct weft_position at;
    int rc = wf_cursor_find(WEFT_STORE_NAME, name, topic, &at, deadline);
    if (rc < 0) return rc;
    return start_reader(topic, at.epoch == 0 ? WEFT_FROM_START : weft_position_after(at), out, deadline);
}

int weft_subscribe_cursor(const char *name, const char *topic, weft_stored_subscription *out, int64_t deadline)
{
    bool one = wf_store_topic_ok(topic);
    if (!wf_store_cursor_ok(name) || !(one || wf_store_pattern_ok(topic))) return WEFT_EINVAL;
    weft_pid pid;
    int rc = one ? start_at_cursor(name, topic, &pid, deadline)
                 : wf_stored_pattern_start(NULL, topic, false, name, &pid, deadline);
    return rc < 0 ? rc : keep(pid, out);
}

/* Whether the store takes the topic, and has no plain cursor of that name. */
static int try_shared(const char *name, const char *topic, int64_t deadline)
{
    struct wf_stored_reading r = {.next = 0};
    struct weft_position at;
    memcpy(r.topic, topic, strlen(topic) + 1);
    int rc = begin_reading(&r, WEFT_FROM_START, deadline);
    if (rc == WEFT_OK) rc = wf_cursor_find(WEFT_STORE_NAME, name, topic, &at, deadline);
    if (rc == WEFT_EEXIST) return WEFT_OK; /* it is a shared one */
    return rc == WEFT_OK && at.epoch != 0 ? WEFT_EEXIST : rc;
}

int weft_subscribe_shared(const char *name, const char *topic, const weft_shared_options *options,
                          weft_stored_subscription *out, int64_t deadline)
{
    uint32_t bound = options == NULL || options->bound == 0 ? 32 : options->bound;
    bool one = wf_store_topic_ok(topic);
    if (!wf_shared_name_ok(name) || !(one || wf_store_pattern_ok(topic)) || bound > WEFT_SHARED_BOUND_MAX)
        return WEFT_EINVAL;
    weft_pid pid = weft_nobody();
    int rc = one ? try_shared(name, topic, deadline) : WEFT_OK;
    if (rc == WEFT_OK) rc = wf_shared_member_start(NULL, name, topic, bound, &pid, deadline);
    return rc < 0 ? rc : keep(pid, out);
}

int weft_unsubscribe_stored(weft_stored_subscription s)
{
    int rc = weft_kill(s.reader);
    return rc == WEFT_ENOACTOR ? WEFT_ECLOSED : rc;
}

/* Reads the fields that a message of a plain record has: those behind its body are all zero. False: it is another message,
 * or no well-formed one, for which the description of the fields is needed. */
static bool read_plain(const weft_msg *m, struct store_news *out)
{
    static const uint8_t zeroes[] = {0, 0, 0xa0, 0, 0, 0}; /* error, missing, shared, id, lease, attempts */
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    if (weft_get_array(&r) != store_news_type()->count) return false;
    *out = (struct store_news){.kind = weft_get_uint(&r)};
    out->topic = weft_get_str(&r);
    out->epoch = weft_get_uint(&r);
    out->offset = weft_get_uint(&r);
    out->time = weft_get_int(&r);
    out->tag = weft_get_uint(&r);
    out->body = weft_get_bin(&r);
    return r.error == 0 && (size_t)(r.end - r.at) == sizeof zeroes && memcmp(r.at, zeroes, sizeof zeroes) == 0;
}

int weft_stored_read(const weft_msg *m, struct weft_stored *out)
{
    struct store_news in;
    if (m == NULL || out == NULL) return WEFT_EFORMAT;
    *out = (struct weft_stored){0};
    if (weft_tag(m) != WEFT_STORED) return WEFT_EFORMAT;
    if (!read_plain(m, &in) && weft_typed_read(store_news_type(), weft_data(m), weft_size(m), &in, NULL) < 0)
        return WEFT_EFORMAT;
    if (in.kind > WEFT_STORED_ENDED || in.tag > UINT32_MAX || in.attempts > UINT32_MAX ||
        !weft_text_copy(in.topic, out->topic, sizeof out->topic) ||
        !weft_text_copy(in.shared, out->shared, sizeof out->shared))
        return WEFT_EFORMAT;
    out->kind = (weft_stored_kind)in.kind;
    out->error = (int)in.error;
    out->at = (struct weft_position){in.epoch, in.offset};
    out->missing = in.missing;
    out->time = in.time;
    out->tag = (uint32_t)in.tag;
    out->data = in.body.data;
    out->size = in.body.size;
    out->id = in.id;
    out->lease = in.lease;
    out->attempts = (uint32_t)in.attempts;
    return WEFT_OK;
}
