/* transport/store/client/shared_member.c -- the functions for shared cursors of weft/store.h, and the actor that
 * takes records for a member.
 *
 * The actor asks for one record at a time and sends it on. How many its subscriber has and has not acknowledged is
 * known to the store, which lets the request wait. So a record may be acknowledged by any actor, and nothing has to
 * be told here. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <weft.h>
#include <weft/queue.h>
#include <weft/store.h>

#include "engine.h"
#include "shared_member.h"
#include "shared_record.h"
#include "store_client.h"
#include "store_messages.h"
#include "stored_reading.h"
#include "stored_topic.h"

enum { QUEUE_NAME = WF_SHARED_PREFIX_SIZE + WEFT_CURSOR_NAME_MAX + 1 };

struct member {
    weft_pid subscriber;
    char store[97]; /* "": the store that has the name */
    char name[WEFT_CURSOR_NAME_MAX + 1];
    char pattern[WF_STORE_TOPIC_MAX + 1];
    uint32_t bound;
};

bool wf_shared_name_ok(const char *name)
{
    char queue[QUEUE_NAME];
    if (!wf_store_cursor_ok(name)) return false;
    snprintf(queue, sizeof queue, WF_SHARED_PREFIX "%s", name);
    return wf_store_topic_ok(queue);
}

static int ask(const struct member *m, uint64_t ticket, struct store_shared *got, weft_msg **answer, int64_t deadline)
{
    const struct store_share in = {weft_cstr(m->name), weft_cstr(m->pattern), ticket, m->bound};
    int rc = wf_store_ask(wf_store_named(m->store), WF_STORE_SHARE, store_share_type(), &in, store_shared_type(), got,
                          answer, deadline);
    if (rc < 0 || got->error == 0) return rc;
    weft_msg_free(*answer);
    return wf_store_error(got->error);
}

static int bring(const struct member *m, const struct store_shared *got)
{
    const struct store_news news = {.kind = got->kind,
                                    .topic = got->topic,
                                    .epoch = got->epoch,
                                    .offset = got->offset,
                                    .time = got->time,
                                    .tag = got->tag,
                                    .body = got->body,
                                    .missing = got->missing,
                                    .shared = weft_cstr(m->name),
                                    .id = got->id,
                                    .lease = got->lease,
                                    .attempts = got->attempts};
    return wf_stored_tell(m->subscriber, &news);
}

/* Returns 0 when the next record can be taken. */
static int take(const struct member *m)
{
    struct store_shared got;
    weft_msg *answer;
    weft_pid asked = wf_store_pid();
    int rc = ask(m, wf_store_random(), &got, &answer, WEFT_FOREVER);
    if (rc == WEFT_OK) {
        rc = bring(m, &got);
        weft_msg_free(answer);
        return rc;
    }
    bool ends = rc == WEFT_ECANCELED || rc == WEFT_ENOTSUP || wf_store_error_lasts(rc) || m->store[0] != '\0';
    return ends ? rc : wf_store_await(asked);
}

static void take_records(const void *arg, size_t size)
{
    struct member m;
    int rc = WEFT_OK;
    (void)size;
    memcpy(&m, arg, sizeof m);
    while (rc == WEFT_OK) rc = take(&m);
    if (rc == WEFT_ECANCELED || rc == WEFT_ENOACTOR) return;
    const struct store_news news = {
        .kind = WEFT_STORED_ENDED, .topic = weft_cstr(m.pattern), .error = rc, .shared = weft_cstr(m.name)};
    (void)wf_stored_tell(m.subscriber, &news);
}

int wf_shared_member_start(const char *store, const char *name, const char *pattern, uint32_t bound, weft_pid *out,
                           int64_t deadline)
{
    struct member m = {.subscriber = weft_self(), .bound = bound};
    struct store_shared got;
    weft_msg *answer;
    if (!weft_text_copy(weft_cstr(store), m.store, sizeof m.store)) return WEFT_EINVAL;
    memcpy(m.name, name, strlen(name) + 1);
    memcpy(m.pattern, pattern, strlen(pattern) + 1);
    int rc = ask(&m, 0, &got, &answer, deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    return weft_spawn(out, take_records, &m, sizeof m, &(weft_spawn_options){.kind = "shared subscription"});
}

/* ---- Acknowledging --------------------------------------------------------------------------------------------- */

static int end_record(const char *store, const struct weft_stored *got, enum wf_store_change_kind kind, int64_t delay,
                      bool upto, int64_t deadline)
{
    char queue[QUEUE_NAME];
    struct store_changed out;
    weft_msg *answer;
    if (got == NULL || got->id == 0 || !wf_shared_name_ok(got->shared) || delay < 0) return WEFT_EINVAL;
    snprintf(queue, sizeof queue, WF_SHARED_PREFIX "%s", got->shared);
    const struct store_change in = {
        .kind = kind, .queue = weft_cstr(queue), .id = got->id, .lease = got->lease, .delay = delay, .upto = upto};
    int rc = wf_store_ask(store, WF_STORE_CHANGE, store_change_type(), &in, store_changed_type(), &out, &answer,
                          deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    return wf_store_error(out.error);
}

int wf_shared_done_upto(const char *store, const struct weft_stored *got, int64_t deadline)
{
    return end_record(store, got, WF_JOB_DONE, 0, true, deadline);
}

int weft_shared_done(const struct weft_stored *got, int64_t deadline)
{
    return end_record(WEFT_STORE_NAME, got, WF_JOB_DONE, 0, false, deadline);
}

int weft_shared_done_upto(const struct weft_stored *got, int64_t deadline)
{
    return wf_shared_done_upto(WEFT_STORE_NAME, got, deadline);
}

int weft_shared_return(const struct weft_stored *got, int64_t delay, int64_t deadline)
{
    if (got != NULL && delay == WEFT_QUEUE_BACKOFF) delay = wf_backoff(got->attempts);
    return end_record(WEFT_STORE_NAME, got, WF_JOB_RETURN, delay, false, deadline);
}

int weft_shared_extend(const struct weft_stored *got, int64_t time, int64_t deadline)
{
    return end_record(WEFT_STORE_NAME, got, WF_JOB_EXTEND, time, false, deadline);
}
