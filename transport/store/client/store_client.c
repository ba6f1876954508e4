/* transport/store/client/store_client.c -- the calls of weft/store.h that are one request to the store. */
#include <weft.h>
#include <weft/store.h>

#include "engine.h"
#include "store_client.h"
#include "store_messages.h"
#include "stored_topic.h"

int wf_store_ask(const char *name, uint32_t request, const struct weft_type_info *type, const void *value,
                 const struct weft_type_info *answer_type, void *out, weft_msg **answer, int64_t deadline)
{
    *answer = NULL;
    weft_msg *m = wf_store_message(request, type, value);
    if (m == NULL) return WEFT_ENOMEM;
    int rc = weft_call_name(name, request, weft_msg_body(m), weft_size(m), answer, deadline);
    weft_msg_free(m);
    if (rc < 0) return rc;
    if (weft_tag(*answer) == request &&
        (answer_type == NULL || weft_typed_read(answer_type, weft_data(*answer), weft_size(*answer), out, NULL) == 0))
        return WEFT_OK;
    weft_msg_free(*answer);
    *answer = NULL;
    return WEFT_EFORMAT;
}

const char *wf_store_named(const char *store)
{
    return store[0] != '\0' ? store : WEFT_STORE_NAME;
}

bool wf_store_error_lasts(int64_t error)
{
    return error == WEFT_EFORMAT || error == WEFT_EACCESS || error == WEFT_EINVAL || error == WEFT_EEXIST;
}

/* Trace ids are drawn from the randomness of the system. */
uint64_t wf_store_random(void)
{
    return weft_trace_new().low | 1;
}

int64_t wf_backoff(uint32_t attempts)
{
    return attempts <= 12 ? WEFT_SEC(1) << (attempts > 0 ? attempts - 1 : 0) : WEFT_SEC(3600);
}

weft_pid wf_store_pid(void)
{
    weft_pid pid;
    return weft_whereis(WEFT_STORE_NAME, &pid) < 0 ? weft_nobody() : pid;
}

/* The names of an actor are removed before its end is known. So if the store that was asked has ended, this waits for
 * another one. */
int wf_store_await(weft_pid asked)
{
    weft_pid now = wf_store_pid();
    int rc = WEFT_OK;
    if (!weft_pid_equal(now, weft_nobody()) && weft_pid_equal(now, asked)) {
        weft_wait on = weft_on_end(asked);
        rc = weft_wait_any(&on, 1, weft_after(WEFT_SEC(1)));
        if (rc == WEFT_ETIMEDOUT) return WEFT_OK; /* the store lives: it had no memory, or no free place */
    }
    if (rc >= 0) rc = weft_await_name(WEFT_STORE_NAME, &now, WEFT_FOREVER);
    return rc >= 0 || rc == WEFT_ECANCELED ? rc : weft_sleep(weft_after(WEFT_SEC(1))); /* no memory */
}

/* ---- Publishing and listing ------------------------------------------------------------------------------------ */

int weft_publish_stored(const char *topic, uint32_t tag, const void *data, size_t size, struct weft_position *out,
                        int64_t deadline)
{
    if (!wf_store_topic_ok(topic) || tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WEFT_STORE_RECORD_MAX) return WEFT_ETOOBIG;
    struct store_append ask = {.topic = weft_cstr(topic), .tag = tag, .body = weft_str(data, size)};
    struct store_appended got;
    weft_msg *answer;
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_APPEND, store_append_type(), &ask, store_appended_type(), &got,
                          &answer, deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    if (got.error != 0) return wf_store_error(got.error);
    if (out != NULL) *out = (struct weft_position){got.epoch, got.offset};
    weft_ignore(weft_publish(topic, tag, data,
                             size)); /* the record is stored: a subscriber that misses this reads it from the store */
    return WEFT_OK;
}

int weft_stored_logs(const char *after, struct weft_stored_log *out, size_t max, int64_t deadline)
{
    return wf_stored_logs(WEFT_STORE_NAME, after, out, max, deadline);
}

int wf_stored_logs(const char *store, const char *after, struct weft_stored_log *out, size_t max, int64_t deadline)
{
    struct store_list ask = {weft_cstr(after), max};
    struct store_logs got;
    weft_msg *answer;
    if (out == NULL && max > 0) return WEFT_EINVAL;
    int rc = wf_store_ask(store, WF_STORE_LIST, store_list_type(), &ask, store_logs_type(), &got, &answer, deadline);
    if (rc < 0) return rc;
    int count = 0;
    for (struct store_log l; (size_t)count < max && got.error == 0 && store_log_next(&got.logs, &l); count++) {
        struct weft_stored_log *to = &out[count];
        if (!weft_text_copy(l.topic, to->topic, sizeof to->topic)) got.error = WEFT_EFORMAT;
        to->epoch = l.epoch;
        to->first = l.first;
        to->last = l.last;
        to->bytes = l.bytes;
    }
    weft_msg_free(answer);
    return got.error != 0 ? wf_store_error(got.error) : count;
}
