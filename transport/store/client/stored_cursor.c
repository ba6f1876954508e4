/* transport/store/client/stored_cursor.c -- the functions for cursors of weft/store.h. */
#include <stdio.h>
#include <string.h>

#include <weft.h>

#include "engine.h"
#include "shared_record.h"
#include "store_client.h"
#include "store_messages.h"
#include "stored_cursor.h"
#include "stored_topic.h"

int wf_cursor_find(const char *store, const char *name, const char *topic, struct weft_position *out,
                   int64_t deadline)
{
    struct store_cursors_from ask = {.name = weft_cstr(name), .topic = weft_cstr(topic)};
    struct store_appended got;
    weft_msg *answer;
    int rc = wf_store_ask(store, WF_STORE_CURSOR, store_cursors_from_type(), &ask, store_appended_type(), &got,
                          &answer, deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    *out = (struct weft_position){got.epoch, got.offset};
    return wf_store_error(got.error);
}

int wf_cursor_advance(const char *store, const char *name, const char *topic, struct weft_position to,
                      int64_t deadline)
{
    struct store_advance ask = {weft_cstr(name), weft_cstr(topic), to.epoch, to.offset};
    struct store_appended got;
    weft_msg *answer;
    int rc = wf_store_ask(store, WF_STORE_ADVANCE, store_advance_type(), &ask, store_appended_type(), &got, &answer,
                          deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    return wf_store_error(got.error);
}

int weft_cursor_advance(const char *name, const char *topic, struct weft_position upto, int64_t deadline)
{
    if (!wf_store_cursor_ok(name) || !wf_store_topic_ok(topic)) return WEFT_EINVAL;
    if (upto.epoch == 0 || upto.offset == 0 || upto.offset > WF_STORE_OFFSET_MAX) return WEFT_EINVAL;
    return wf_cursor_advance(WEFT_STORE_NAME, name, topic, upto, deadline);
}

int weft_cursor_remove(const char *name, const char *topic, int64_t deadline)
{
    if (!wf_store_cursor_ok(name) || !wf_store_topic_ok(topic)) return WEFT_EINVAL;
    return wf_cursor_advance(WEFT_STORE_NAME, name, topic, weft_position_of(0, 0), deadline);
}

int weft_cursors(const struct weft_cursor *after, struct weft_cursor *out, size_t max, int64_t deadline)
{
    char from[WF_SHARED_PREFIX_SIZE + WEFT_CURSOR_NAME_MAX + 1];
    struct store_cursors_from ask = {.count = max};
    struct store_cursors got;
    weft_msg *answer;
    if (out == NULL && max > 0) return WEFT_EINVAL;
    if (after != NULL) snprintf(from, sizeof from, "%s%s", after->shared ? WF_SHARED_PREFIX : "", after->name);
    if (after != NULL) ask.name = weft_cstr(from);
    if (after != NULL) ask.topic = weft_cstr(after->topic);
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_CURSORS, store_cursors_from_type(), &ask, store_cursors_type(),
                          &got, &answer, deadline);
    if (rc < 0) return rc;
    int count = 0;
    for (struct store_cursor c; (size_t)count < max && got.error == 0 && store_cursor_next(&got.cursors, &c);
         count++) {
        struct weft_cursor *to = &out[count];
        to->shared = c.name.size > WF_SHARED_PREFIX_SIZE &&
                     memcmp(c.name.data, WF_SHARED_PREFIX, WF_SHARED_PREFIX_SIZE) == 0;
        if (to->shared)
            c.name = weft_str((const char *)c.name.data + WF_SHARED_PREFIX_SIZE, c.name.size - WF_SHARED_PREFIX_SIZE);
        if (!weft_text_copy(c.name, to->name, sizeof to->name) ||
            !weft_text_copy(c.topic, to->topic, sizeof to->topic))
            got.error = WEFT_EFORMAT;
        to->at = (struct weft_position){c.epoch, c.offset};
        to->behind = c.behind;
    }
    weft_msg_free(answer);
    return got.error != 0 ? wf_store_error(got.error) : count;
}
