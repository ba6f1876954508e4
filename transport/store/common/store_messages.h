/* transport/store/common/store_messages.h -- the messages between actors and the store's actor. They may change only
 * by the rules of weft/typed.h, because the two may have different versions. */
#ifndef WF_STORE_MESSAGES_H
#define WF_STORE_MESSAGES_H

#include <weft/typed.h>

enum {
    WF_STORE_PAGE_RECORDS = 1024,     /* records of a page, at most */
    WF_STORE_PAGE_ITEMS = 256,        /* a state's snapshot and events of a page, at most */
    WF_STORE_PAGE_BYTES = 256 * 1024, /* bytes of its bodies, if it has more than one record */
    WF_STORE_PAGE_LOGS = 200,
};

/* Requests. An answer has the tag of its request. */
enum wf_store_request {
    WF_STORE_APPEND = 1,   /* struct store_append; answered by a struct store_appended */
    WF_STORE_READ = 2,     /* struct store_read; struct store_page */
    WF_STORE_FIND = 3,     /* struct store_read; struct store_page without rows */
    WF_STORE_LIST = 4,     /* struct store_list; struct store_logs */
    WF_STORE_STATUS = 5,   /* no body; struct store_appended, once the store is open or has failed to open */
    WF_STORE_WATCH = 7,    /* struct store_watch; struct store_watched, once the number has changed */
    WF_STORE_CHANGE = 8,   /* struct store_change; struct store_changed. A request to take waits for a job */
    WF_STORE_UNTAKE = 9,   /* a message: struct store_change with a ticket: that taker has given up */
    WF_STORE_QUEUES = 10,  /* struct store_list; struct store_queues */
    WF_STORE_CURSOR = 11,  /* struct store_cursors_from; struct store_appended: the position of that cursor */
    WF_STORE_ADVANCE = 12, /* struct store_advance; struct store_appended */
    WF_STORE_CURSORS = 13, /* struct store_cursors_from; struct store_cursors: the cursors after it */
    WF_STORE_STATE = 20, /* struct store_state_ask; struct store_state_answer. An opening waits for the owner's end */
    WF_STORE_STATE_CLOSE = 21, /* a message: struct store_state_ask: its owner, or a waiting actor, gives it up */
    WF_STORE_STATE_READ = 22,  /* struct store_state_from; struct store_items */
    WF_STORE_STATES = 23,      /* struct store_list; struct store_states */
    WF_STORE_REMIND = 14,      /* struct store_change, to set or to cancel a reminder; struct store_changed */
    WF_STORE_REMINDERS = 15,   /* struct store_reminders_from; struct store_reminders: the reminders after it */
    WF_STORE_SHARE = 16,       /* struct store_share; struct store_shared, once there is a record */
    WF_STORE_DROP = 17,        /* struct store_change, to remove dead jobs; struct store_changed */
    WF_STORE_MARK = 18,        /* struct store_mark of a store that stands by; the same, now and as messages later */
    WF_STORE_CONFIRM = 19,     /* a message: a reader cannot reach the server. Is this store its owner still? */
    WF_STORE_QUIT = 6,         /* a message: a reader ends after it has answered the requests before */
};

#define STORE_APPEND(F) F(str, topic) F(uint, tag) F(bin, body)
WEFT_STRUCT(store_append, STORE_APPEND)
#define STORE_APPENDED(F) F(int, error) F(uint, epoch) F(uint, offset)
WEFT_STRUCT(store_appended, STORE_APPENDED)

/* `wait`: if the log has no record from `from` on, the answer comes when it has one. `epoch` 0: any epoch. */
#define STORE_READ(F) F(str, topic) F(uint, epoch) F(uint, from) F(uint, count) F(uint, bytes) F(bool, wait)
WEFT_STRUCT(store_read, STORE_READ)
#define STORE_ROW(F) F(uint, offset) F(int, time) F(uint, tag) F(bin, body)
WEFT_STRUCT(store_row, STORE_ROW)
#define STORE_PAGE(F) F(int, error) F(uint, epoch) F(uint, first) F(uint, last) F(list(store_row), rows)
WEFT_STRUCT(store_page, STORE_PAGE)

#define STORE_LIST(F) F(str, after) F(uint, count)
WEFT_STRUCT(store_list, STORE_LIST)
#define STORE_LOG(F) F(str, topic) F(uint, epoch) F(uint, first) F(uint, last) F(uint, bytes)
WEFT_STRUCT(store_log, STORE_LOG)
#define STORE_LOGS(F) F(int, error) F(list(store_log), logs)
WEFT_STRUCT(store_logs, STORE_LOGS)

/* `number` grows by 1 whenever the store has a new log, and is another one when it is opened. If `since` is the number
 * that was seen, `topics` are the new ones up to `number`; else the watcher lists all. */
#define STORE_WATCH(F) F(uint, seen)
WEFT_STRUCT(store_watch, STORE_WATCH)
#define STORE_WATCHED(F) F(int, error) F(uint, number) F(uint, since) F(list(str), topics)
WEFT_STRUCT(store_watched, STORE_WATCHED)

/* `kind` is a wf_store_change_kind. `ticket` is a random number of the taker. `delay` 0 extends a lease by the lease
 * time of the queue. `upto`, of a job of a shared cursor that is done: so are those of the same topic that
 * come before it and that the same member was given before it. */
#define STORE_CHANGE(F) \
    F(uint, kind)       \
    F(str, queue)       \
    F(uint, id)         \
    F(uint, lease)      \
    F(int, delay) F(uint, tag) F(bin, body) F(str, key) F(uint, ticket) F(int, at) F(int, period) F(bool, upto)
WEFT_STRUCT(store_change, STORE_CHANGE)
#define STORE_CHANGED(F) \
    F(int, error)        \
    F(uint, id)          \
    F(uint, lease)       \
    F(int, time) F(uint, attempts) F(uint, tag) F(bin, body) F(uint, count) F(str, key) F(int, at) F(int, period)
WEFT_STRUCT(store_changed, STORE_CHANGED)
#define STORE_QUEUE(F) F(str, name) F(uint, ready) F(uint, delayed) F(uint, leased) F(uint, dead)
WEFT_STRUCT(store_queue, STORE_QUEUE)
#define STORE_QUEUES(F) F(int, error) F(list(store_queue), queues)
WEFT_STRUCT(store_queues, STORE_QUEUES)

/* The body of a WEFT_JOB message. */
#define STORE_JOB(F) \
    F(str, queue)    \
    F(uint, id)      \
    F(uint, lease) F(int, time) F(uint, attempts) F(uint, tag) F(bin, body) F(str, key) F(int, at) F(int, period)
WEFT_STRUCT(store_job, STORE_JOB)
#define STORE_REMINDERS_FROM(F) F(str, queue) F(str, key) F(uint, count)
WEFT_STRUCT(store_reminders_from, STORE_REMINDERS_FROM)
#define STORE_REMINDER(F) F(str, queue) F(str, key) F(int, at) F(int, period) F(uint, attempts) F(bool, dead)
WEFT_STRUCT(store_reminder, STORE_REMINDER)
#define STORE_REMINDERS(F) F(int, error) F(list(store_reminder), reminders)
WEFT_STRUCT(store_reminders, STORE_REMINDERS)

/* A member of a shared cursor takes a record, as a worker takes a job. It waits while it has `bound` records.
 * Ticket 0: it only asks whether it may do that. */
#define STORE_SHARE(F) F(str, name) F(str, pattern) F(uint, ticket) F(uint, bound)
WEFT_STRUCT(store_share, STORE_SHARE)
/* `kind` is a wf_shared_kind. */
#define STORE_SHARED(F) \
    F(int, error)       \
    F(uint, id)         \
    F(uint, lease)      \
    F(uint, attempts)   \
    F(uint, kind)       \
    F(str, topic)       \
    F(uint, epoch) F(uint, offset) F(uint, missing) F(int, time) F(uint, tag) F(bin, body)
WEFT_STRUCT(store_shared, STORE_SHARED)
/* What the store has acknowledged: a struct wf_store_mark. A standby that takes over wants a database that has it. */
#define STORE_MARK(F) F(int, error) F(uint, owner) F(uint, commits)
WEFT_STRUCT(store_mark, STORE_MARK)

/* Position 0, 0: the cursor is removed. */
#define STORE_ADVANCE(F) F(str, name) F(str, topic) F(uint, epoch) F(uint, offset)
WEFT_STRUCT(store_advance, STORE_ADVANCE)
#define STORE_CURSORS_FROM(F) F(str, name) F(str, topic) F(uint, count)
WEFT_STRUCT(store_cursors_from, STORE_CURSORS_FROM)
#define STORE_CURSOR(F) F(str, name) F(str, topic) F(uint, epoch) F(uint, offset) F(uint, behind)
WEFT_STRUCT(store_cursor, STORE_CURSOR)
#define STORE_CURSORS(F) F(int, error) F(list(store_cursor), cursors)
WEFT_STRUCT(store_cursors, STORE_CURSORS)

/* `kind` is a wf_store_state_kind. */
#define STORE_STATE_ASK(F) \
    F(uint, kind)          \
    F(str, key) F(uint, owner) F(uint, number) F(uint, tag) F(uint, version) F(bin, body)
WEFT_STRUCT(store_state_ask, STORE_STATE_ASK)
#define STORE_STATE_ANSWER(F) F(int, error) F(uint, owner) F(uint, opening) F(uint, first) F(uint, last)
WEFT_STRUCT(store_state_answer, STORE_STATE_ANSWER)
#define STORE_STATE_FROM(F) F(str, key) F(uint, owner) F(uint, from)
WEFT_STRUCT(store_state_from, STORE_STATE_FROM)
#define STORE_ITEM(F) F(bool, is_snapshot) F(uint, number) F(int, time) F(uint, tag) F(uint, version) F(bin, body)
WEFT_STRUCT(store_item, STORE_ITEM)
#define STORE_ITEMS(F) F(int, error) F(list(store_item), items)
WEFT_STRUCT(store_items, STORE_ITEMS)
#define STORE_STATE(F) \
    F(str, key)        \
    F(uint, opening) F(uint, first) F(uint, last) F(uint, bytes) F(bool, has_snapshot) F(uint, snapshot_bytes)
WEFT_STRUCT(store_state, STORE_STATE)
#define STORE_STATES(F) F(int, error) F(list(store_state), states)
WEFT_STRUCT(store_states, STORE_STATES)

/* The body of a WEFT_STORED message: `kind` is a weft_stored_kind. `shared` is the name of a shared cursor; "": it
 * is of none. */
#define STORE_NEWS(F) \
    F(uint, kind)     \
    F(str, topic)     \
    F(uint, epoch)    \
    F(uint, offset)   \
    F(int, time)      \
    F(uint, tag)      \
    F(bin, body) F(int, error) F(uint, missing) F(str, shared) F(uint, id) F(uint, lease) F(uint, attempts)
WEFT_STRUCT(store_news, STORE_NEWS)

/* The argument of the store's actor, and of one that stands by. `standby`: the store ends when it cannot store any more, so
 * that another one can. `commits`: how many are known to be acknowledged. */
#define STORE_KEEP(F) F(str, pattern) F(uint, count) F(uint, bytes) F(int, age)
WEFT_STRUCT(store_keep, STORE_KEEP)
#define STORE_RULE(F) F(str, pattern) F(int, lease) F(uint, attempts) F(uint, jobs)
WEFT_STRUCT(store_rule, STORE_RULE)
#define STORE_CONFIG(F) \
    F(str, url)         \
    F(list(store_keep), keep) F(list(store_rule), queues) F(list(str), states) F(bool, standby) F(uint, commits)
WEFT_STRUCT(store_config, STORE_CONFIG)

/* Makes a message of the value; NULL: no memory. */
static inline weft_msg *wf_store_message(uint32_t tag, const struct weft_type_info *type, const void *value)
{
    weft_writer measure = weft_writer_on(NULL, 0);
    weft_typed_put(&measure, type, value);
    weft_msg *m = measure.error != 0 ? NULL : weft_msg_new(tag, measure.size);
    if (m == NULL) return NULL;
    weft_writer w = weft_writer_on(weft_msg_body(m), measure.size);
    weft_typed_put(&w, type, value);
    return m;
}

/* Answers a request. Without memory its caller gets WEFT_ENOREPLY when the request is freed. */
static inline void wf_store_answer(const weft_msg *ask, const struct weft_type_info *type, const void *value)
{
    weft_msg *m = wf_store_message(weft_tag(ask), type, value);
    if (m != NULL) (void)weft_reply_msg(ask, m);
}

/* The error of an answer, which another node may have written. */
static inline int wf_store_error(int64_t error)
{
    return error == 0 ? WEFT_OK : error < 0 && error > -1000 ? (int)error : WEFT_EFORMAT;
}

#endif
