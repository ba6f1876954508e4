/* transport/store/client/stored_pattern.c -- see stored_pattern.h.
 *
 * The watcher lists the logs of a store once. Then the store reports the topics that get a log, one message for each, or
 * for several. It lists them again after a store was opened again, and when it has missed more than the store knows. */
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/store.h>

#include "store_client.h"
#include "store_messages.h"
#include "stored_pattern.h"
#include "stored_reading.h"
#include "stored_topic.h"
#include "topic_set.h"

enum { FOUND_PRESENT = 1 }; /* a request to the watcher */
enum { PAGE = 64 };         /* logs that are asked for at a time */

/* The argument of a watcher. */
struct pattern {
    char text[256];
    weft_pid subscriber;
    bool now;
    char store[97];  /* "": the store that has the name */
    char cursor[65]; /* "": none */
};

/* All resources of the watcher are here, because it may be killed while it waits. */
struct watcher {
    struct pattern is;
    bool listed;               /* the topics that exist were found */
    struct wf_topic_set known; /* topics that have a reader */
    struct weft_stored_log log[PAGE];
};

static int start_reader(const struct watcher *w, const struct weft_stored_log *log)
{
    struct wf_stored_reading r = {.subscriber = w->is.subscriber};
    memcpy(r.topic, log->topic, sizeof r.topic);
    memcpy(r.store, w->is.store, sizeof r.store);
    memcpy(r.cursor, w->is.cursor, sizeof r.cursor);
    if (w->is.now && !w->listed) {
        r.epoch = log->epoch;
        r.next = log->last + 1;
    }
    return weft_spawn(NULL, wf_stored_reader, &r, sizeof r,
                      &(weft_spawn_options){.kind = "stored subscription", .link = true});
}

/* Starts a reader for the topic, if it matches and has none. */
static int take_log(struct watcher *w, const struct weft_stored_log *log)
{
    if (!wf_store_topic_matches(w->is.text, log->topic) || wf_topic_set_has(&w->known, log->topic)) return WEFT_OK;
    int rc = wf_topic_set_add(&w->known, log->topic);
    if (rc < 0) return rc;
    rc = start_reader(w, log);
    if (rc < 0) wf_topic_set_remove(&w->known, log->topic);
    return rc;
}

static int find_topics(struct watcher *w)
{
    char after[256] = "";
    int rc = WEFT_OK, count = 1;
    while (rc == WEFT_OK && count > 0) {
        count = wf_stored_logs(wf_store_named(w->is.store), after, w->log, PAGE, WEFT_FOREVER);
        if (count < 0) rc = count;
        if (count > 0) memcpy(after, w->log[count - 1].topic, sizeof after);
        for (int i = 0; i < count && rc == WEFT_OK; i++) rc = take_log(w, &w->log[i]);
    }
    return rc;
}

static int take_topics(struct watcher *w, struct store_watched *got)
{
    int rc = WEFT_OK;
    for (weft_text topic; rc == WEFT_OK && weft_str_next(&got->topics, &topic);) {
        struct weft_stored_log log = {.first = 1};
        if (!weft_text_copy(topic, log.topic, sizeof log.topic)) return WEFT_EFORMAT;
        rc = take_log(w, &log);
    }
    return rc;
}

/* Answers the actor that subscribes, once. */
static int say_found(struct watcher *w)
{
    weft_msg *m;
    if (w->listed) return WEFT_OK;
    w->listed = true;
    int rc = weft_recv_tag(&m, FOUND_PRESENT, WEFT_FOREVER);
    if (rc < 0) return rc;
    weft_reply(m, FOUND_PRESENT, NULL, 0);
    weft_msg_free(m);
    return WEFT_OK;
}

static int watch_on(struct watcher *w, uint64_t *seen)
{
    struct store_watch ask = {*seen};
    struct store_watched got;
    weft_msg *answer;
    weft_pid asked = wf_store_pid();
    int rc = wf_store_ask(wf_store_named(w->is.store), WF_STORE_WATCH, store_watch_type(), &ask, store_watched_type(),
                          &got, &answer, WEFT_FOREVER);
    if (rc == WEFT_OK) {
        bool has_all = *seen != 0 && got.since == *seen;
        rc = got.error != 0 ? wf_store_error(got.error) : has_all ? take_topics(w, &got) : find_topics(w);
        weft_msg_free(answer);
        if (rc == WEFT_OK) *seen = got.number;
    }
    if (rc == WEFT_OK) return say_found(w);
    return rc == WEFT_ECANCELED || w->is.store[0] != '\0' ? rc : wf_store_await(asked); /* then it lists all again */
}

static void free_watcher(void *arg)
{
    struct watcher *w = arg;
    wf_topic_set_free(&w->known);
    free(w);
}

static void watcher(const void *arg, size_t size)
{
    struct watcher *w = calloc(1, sizeof *w);
    uint64_t seen = 0;
    (void)size;
    if (w == NULL) return;
    memcpy(&w->is, arg, sizeof w->is);
    w->known.secret = wf_store_random();
    if (weft_defer(free_watcher, w) < 0) return;
    while (watch_on(w, &seen) == WEFT_OK) continue;
}

int wf_stored_pattern_start(const char *store, const char *pattern, bool now, const char *cursor, weft_pid *out,
                            int64_t deadline)
{
    struct pattern p = {.subscriber = weft_self(), .now = now};
    weft_msg *answer;
    int rc;
    if (store == NULL && weft_pid_equal(wf_store_pid(), weft_nobody())) return WEFT_ENOACTOR;
    if (!weft_text_copy(weft_cstr(store), p.store, sizeof p.store)) return WEFT_EINVAL;
    memcpy(p.text, pattern, strlen(pattern) + 1);
    if (cursor != NULL) memcpy(p.cursor, cursor, strlen(cursor) + 1);
    /* The watcher is linked until the caller has its clean-up: if the caller is killed before, the watcher ends. */
    rc = weft_spawn(out, watcher, &p, sizeof p, &(weft_spawn_options){.kind = "stored pattern", .link = true});
    if (rc < 0) return rc;
    rc = weft_call(*out, FOUND_PRESENT, NULL, 0, &answer, deadline);
    (void)weft_unlink(*out);
    if (rc < 0) (void)weft_kill(*out);
    else weft_msg_free(answer);
    return rc;
}
