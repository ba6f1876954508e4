/* chat_store.h -- the lines of the rooms on disk: the owner of "room.lobby" stores them under the topic
 * "history.lobby" (weft/store.h). The store may be on any node. A record has all lines since the record before it. */
#ifndef CHAT_STORE_H
#define CHAT_STORE_H

#include <weft/store.h>

enum {
    OPENED = 1,      /* the tag of a record without lines: what was stored before it is the past of a new owner */
    RECORDS = 200,   /* that the store keeps of a room: these have at least HISTORY lines */
    LINE_SPACE = 64, /* the space that a line takes in a record, besides its texts */
    RECORD_BYTES = HISTORY * (TEXT_BYTES + NAME_MAX_BYTES + LINE_SPACE),
};

/* Opens a store in that file, unless the cluster has one; "cluster": waits for that of another node. NULL: does nothing.
 */
static int open_history(const char *file)
{
    char url[1024];
    weft_pid store;
    if (file == NULL) return WEFT_OK;
    if (strcmp(file, "cluster") == 0) return weft_await_name(WEFT_STORE_NAME, &store, weft_after(WEFT_SEC(30)));
    const struct weft_stored_topics topics = {.pattern = "history.>", .count = RECORDS};
    const weft_store_options options = {.url = url, .topics = &topics, .topic_count = 1};
    if (snprintf(url, sizeof url, "sqlite:%s", file) >= (int)sizeof url) return WEFT_ETOOBIG;
    int rc = weft_store_open(&options, NULL, weft_after(WEFT_SEC(30)));
    return rc == WEFT_EEXIST ? WEFT_OK : rc;
}

/* Returns whether it was stored. If not the log says so, unless there has never been a store. */
static bool store(struct room *r, uint32_t tag, const void *data, size_t size, struct weft_position *at)
{
    char topic[sizeof "history." + NAME_MAX_BYTES];
    snprintf(topic, sizeof topic, "history.%s", r->name + strlen("room."));
    int rc = weft_publish_stored(topic, tag, data, size, at, weft_after(WEFT_SEC(5)));
    bool none = (rc == WEFT_ENOACTOR || rc == WEFT_EACCESS) && !r->loaded;
    if (rc < 0 && !none) weft_log(WEFT_ERROR, "%s: the last lines are not on disk: %s", r->name, weft_strerror(rc));
    return rc == WEFT_OK;
}

/* Inserts its lines before the last `newer` ones. */
static void take_record(struct room *r, const struct weft_stored *record, uint64_t newer)
{
    struct old line;
    weft_reader reader = weft_reader_on(record->data, record->size);
    while (record->tag == OLD_TAG && newer < HISTORY && reader.at < reader.end) {
        old_get(&reader, &line, NULL);
        if (reader.error != 0) return;
        keep(r, line.nick, line.text, line.id, newer);
    }
}

/* By the owner, once: what was stored before now. Without --history, lines may have been said before the store is known. */
static void load(struct room *r)
{
    char topic[sizeof "history." + NAME_MAX_BYTES];
    struct weft_position now, from;
    weft_stored_subscription records;
    uint64_t newer = r->count, at = 0, lines_at = 0;
    weft_msg *m;
    if (r->loaded || !store(r, OPENED, "", 0, &now)) return;
    r->loaded = true;
    int64_t by = weft_after(WEFT_SEC(10));
    snprintf(topic, sizeof topic, "history.%s", r->name + strlen("room."));
    from = weft_position_of(now.epoch, now.offset > RECORDS ? now.offset - RECORDS : 1);
    int rc = weft_subscribe_from(topic, from, &records, by);
    bool subscribed = rc == 0;
    while (rc == 0 && at < now.offset && (rc = weft_recv_tag(&m, WEFT_STORED, by)) == 0) {
        struct weft_stored got;
        rc = weft_stored_read(m, &got);
        if (rc == 0 && got.kind == WEFT_STORED_ENDED) rc = got.error;
        if (rc == 0 && got.kind == WEFT_STORED_RECORD) {
            take_record(r, &got, newer);
            at = got.at.offset;
            if (got.tag == OLD_TAG && lines_at == 0) lines_at = at;
        }
        weft_msg_free(m);
    }
    if (subscribed) weft_unsubscribe_stored(records);
    if (rc < 0) weft_log(WEFT_ERROR, "%s: not all earlier lines were read: %s", r->name, weft_strerror(rc));
    r->saved = r->count - newer;
    /* Records that are about to be removed, as others follow that have no lines: the lines are stored again. */
    if (lines_at > 0 && now.offset - lines_at > RECORDS / 2 && r->count <= HISTORY) r->saved = 0;
}

static void save(struct room *r)
{
    weft_pid at;
    if (weft_whereis(WEFT_STORE_NAME, &at) == 0) load(r);
    uint8_t *data = r->loaded ? malloc(RECORD_BYTES) : NULL;
    weft_writer w = weft_writer_on(data, data == NULL ? 0 : RECORD_BYTES);
    for (uint64_t i = r->saved; data != NULL && i < r->count; i++) {
        const struct line *l = &r->lines[i % HISTORY];
        old_put(&w, &(struct old){weft_cstr(l->nick), weft_cstr(l->text), l->id, weft_cstr("")});
    }
    if (data != NULL) store(r, OLD_TAG, data, w.size, NULL);
    free(data);
    r->saved = r->count; /* otherwise the log says that they are not */
}

#endif
