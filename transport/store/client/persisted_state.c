/* transport/store/client/persisted_state.c -- weft/persist.h: the calls that open a state, load it, and store
 * changes. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/persist.h>
#include <weft/store.h>

#include "engine.h"
#include "store_client.h"
#include "store_messages.h"
#include "stored_topic.h"

static_assert((int)WEFT_PERSIST_MAX == (int)WF_STORE_RECORD_MAX, "bytes of an event");
static_assert((int)WEFT_PERSIST_EVENTS_MAX == (int)WF_STORE_EVENTS_MAX, "events of a state");
static_assert((int)WEFT_PERSIST_BYTES_MAX == (int)WF_STORE_EVENT_BYTES_MAX, "bytes of events");
static_assert((int)WEFT_PERSIST_STATES_MAX == (int)WF_STORE_STATES_MAX, "states of a store");

static int ask_state(const struct store_state_ask *ask, struct store_state_answer *got, int64_t deadline)
{
    weft_msg *answer;
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_STATE, store_state_ask_type(), ask, store_state_answer_type(),
                          got, &answer, deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    return wf_store_error(got->error);
}

/* The store does not answer this message. If it is lost, the state becomes free when the actor ends. */
static void give_up(const char *key)
{
    struct store_state_ask close = {.key = weft_cstr(key)};
    weft_msg *m = wf_store_message(WF_STORE_STATE_CLOSE, store_state_ask_type(), &close);
    if (m == NULL) return;
    weft_ignore(weft_send_name(WEFT_STORE_NAME, WF_STORE_STATE_CLOSE, weft_msg_body(m), weft_size(m)));
    weft_msg_free(m);
}

/* ---- Loading --------------------------------------------------------------------------------------------------- */

static int load_migrated(const weft_persist_options *o, struct weft_persisted *is)
{
    void *owned = NULL;
    struct weft_handover h = {
        .kind = o->kind == NULL ? "" : o->kind, .version = is->version, .state = is->data, .size = is->size};
    int rc = weft_migrate_stored(o->migrate, &h, &owned);
    if (rc < 0 && h.why[0] != '\0') weft_log(WEFT_ERROR, "a snapshot of version %u: %s", is->version, h.why);
    is->data = h.state;
    is->size = h.size;
    if (rc >= 0) rc = o->load(o->arg, is);
    free(owned);
    return rc;
}

static int load_item(const weft_persist_options *o, const struct store_item *item)
{
    struct weft_persisted is = {.kind = item->is_snapshot ? WEFT_PERSISTED_SNAPSHOT : WEFT_PERSISTED_EVENT,
                                .number = item->number,
                                .time = item->time,
                                .tag = (uint32_t)item->tag,
                                .version = (uint32_t)item->version,
                                .data = item->body.data,
                                .size = item->body.size};
    bool migrates = item->is_snapshot && o->migrate != NULL && is.version != o->version;
    int rc = migrates ? load_migrated(o, &is) : o->load(o->arg, &is);
    return rc > 0 ? WEFT_OK : rc;
}

/* The progress of loading a state. */
struct loading {
    const weft_persist *p;
    const weft_persist_options *options;
    uint64_t from;
    bool is_lost; /* loading failed, but not because the state is damaged */
    bool ends;
};

static int load_page(struct loading *l, int64_t deadline)
{
    struct store_state_from ask = {weft_cstr(l->p->key), l->p->owner, l->from};
    struct store_items got;
    weft_msg *answer;
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_STATE_READ, store_state_from_type(), &ask, store_items_type(),
                          &got, &answer, deadline);
    if (rc == WEFT_OK) rc = wf_store_error(got.error);
    l->is_lost = rc < 0 && rc != WEFT_EFORMAT;
    size_t count = 0;
    for (struct store_item item; rc == WEFT_OK && store_item_next(&got.items, &item); count++) {
        l->from = item.number + 1;
        rc = load_item(l->options, &item);
    }
    weft_msg_free(answer);
    bool has_all = l->from > l->p->last || (l->from == 0 && l->p->first > l->p->last);
    l->ends = rc < 0 || has_all;
    return rc == WEFT_OK && count == 0 && !has_all ? WEFT_EFORMAT : rc;
}

static int load_all(weft_persist *p, const weft_persist_options *options, int64_t deadline)
{
    struct loading l = {.p = p, .options = options};
    int rc = WEFT_OK;
    while (rc == WEFT_OK && !l.ends) rc = load_page(&l, deadline);
    if (l.is_lost) weft_persist_close(p);
    return rc;
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

int weft_persist_open(weft_persist *p, const char *key, const weft_persist_options *options, int64_t deadline)
{
    static const weft_persist_options none;
    struct store_state_answer got;
    if (p == NULL || !wf_store_topic_ok(key)) return WEFT_EINVAL;
    if (options == NULL) options = &none;
    *p = (weft_persist){.version = options->version};
    memcpy(p->key, key, strlen(key) + 1);
    struct store_state_ask ask = {.kind = WF_STATE_OPEN, .key = weft_cstr(p->key)};
    int rc = ask_state(&ask, &got, deadline);
    if (rc == WEFT_ETIMEDOUT || rc == WEFT_ECANCELED) give_up(p->key);
    if (rc < 0) return rc;
    p->opening = got.opening;
    p->owner = got.owner;
    p->first = got.first;
    p->last = got.last;
    if (options->load != NULL) rc = load_all(p, options, deadline);
    p->is_open = rc == WEFT_OK;
    return rc;
}

static void end(weft_persist *p)
{
    p->owner = 0;
    p->is_open = false;
}

void weft_persist_close(weft_persist *p)
{
    if (p == NULL || p->key[0] == '\0') return;
    end(p);
    give_up(p->key);
}

/* ---- Storing --------------------------------------------------------------------------------------------------- */

/* Whether the error means that nothing was stored, so the state is unchanged. */
static bool is_harmless(int rc)
{
    return rc == WEFT_EINVAL || rc == WEFT_ETOOBIG || rc == WEFT_EFULL || rc == WEFT_ENOACTOR || rc == WEFT_ENOSPC ||
           rc == WEFT_ENOMEM;
}

static int change(weft_persist *p, enum wf_store_state_kind kind, uint32_t tag, weft_text body, int64_t deadline)
{
    struct store_state_ask ask = {.kind = kind,
                                  .key = weft_cstr(p->key),
                                  .owner = p->owner,
                                  .number = kind == WF_STATE_APPEND ? p->last + 1 : p->last,
                                  .tag = tag,
                                  .version = p->version,
                                  .body = body};
    struct store_state_answer got;
    int rc = ask_state(&ask, &got, deadline);
    if (rc < 0 && !is_harmless(rc)) end(p);
    if (rc < 0) return rc;
    p->first = got.first;
    p->last = got.last;
    return WEFT_OK;
}

static int store(weft_persist *p, enum wf_store_state_kind kind, uint32_t tag, const void *data, size_t size,
                 int64_t deadline)
{
    if (p == NULL || tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WEFT_PERSIST_MAX) return WEFT_ETOOBIG;
    return p->is_open ? change(p, kind, tag, weft_str(data, size), deadline) : WEFT_ECLOSED;
}

static int store_typed(weft_persist *p, enum wf_store_state_kind kind, uint32_t tag,
                       const struct weft_type_info *type, const void *value, int64_t deadline)
{
    weft_writer measure = weft_writer_on(NULL, 0);
    weft_typed_put(&measure, type, value);
    if (measure.error != 0 || measure.size > WEFT_PERSIST_MAX) return WEFT_ETOOBIG;
    void *data = malloc(measure.size);
    if (data == NULL) return WEFT_ENOMEM;
    weft_writer w = weft_writer_on(data, measure.size);
    weft_typed_put(&w, type, value);
    int rc = store(p, kind, tag, data, measure.size, deadline);
    free(data);
    return rc;
}

int weft_persist_append(weft_persist *p, uint32_t tag, const void *data, size_t size, int64_t deadline)
{
    return store(p, WF_STATE_APPEND, tag, data, size, deadline);
}

int weft_persist_save(weft_persist *p, uint32_t tag, const void *data, size_t size, int64_t deadline)
{
    return store(p, WF_STATE_SAVE, tag, data, size, deadline);
}

int weft_persist_append_typed(weft_persist *p, uint32_t tag, const struct weft_type_info *type, const void *value,
                              int64_t deadline)
{
    return store_typed(p, WF_STATE_APPEND, tag, type, value, deadline);
}

int weft_persist_save_typed(weft_persist *p, uint32_t tag, const struct weft_type_info *type, const void *value,
                            int64_t deadline)
{
    return store_typed(p, WF_STATE_SAVE, tag, type, value, deadline);
}

int weft_persist_remove(weft_persist *p, int64_t deadline)
{
    if (p == NULL) return WEFT_EINVAL;
    if (p->owner == 0) return WEFT_ECLOSED;
    int rc = change(p, WF_STATE_REMOVE, 0, weft_str(NULL, 0), deadline);
    if (rc == WEFT_OK) end(p);
    return rc;
}

/* ---- Listing --------------------------------------------------------------------------------------------------- */

int weft_persist_states(const char *after, struct weft_persist_state *out, size_t max, int64_t deadline)
{
    struct store_list ask = {weft_cstr(after), max};
    struct store_states got;
    weft_msg *answer;
    if (out == NULL && max > 0) return WEFT_EINVAL;
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_STATES, store_list_type(), &ask, store_states_type(), &got,
                          &answer, deadline);
    if (rc < 0) return rc;
    int count = 0;
    for (struct store_state s; (size_t)count < max && got.error == 0 && store_state_next(&got.states, &s); count++) {
        struct weft_persist_state *to = &out[count];
        *to = (struct weft_persist_state){.opening = s.opening,
                                          .last = s.last,
                                          .events = s.last + 1 - s.first,
                                          .bytes = s.bytes,
                                          .snapshot = s.snapshot_bytes,
                                          .has_snapshot = s.has_snapshot};
        if (!weft_text_copy(s.key, to->key, sizeof to->key)) got.error = WEFT_EFORMAT;
    }
    weft_msg_free(answer);
    return got.error != 0 ? wf_store_error(got.error) : count;
}
