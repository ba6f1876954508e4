/* Messages that another node may send about stored topics: requests and answers of the store as typed messages, and
 * messages for a subscriber; also topics and patterns, for which two functions must agree. */
#include "fuzz.h"

#include <weft.h>
#include <weft/store.h>

#include "shared_record.h"
#include "store_messages.h"
#include "stored_topic.h"
#include "topic_trie.h"

static void read_messages(const void *data, size_t size)
{
    struct store_page page;
    struct store_logs logs;
    struct store_read ask;
    struct store_append append;
    struct store_row row;
    struct store_log log;
    struct store_change change;
    struct store_changed changed;
    struct store_queues queues;
    struct store_queue queue;
    struct store_advance advance;
    struct store_reminders_from reminders_from;
    struct store_reminders reminders;
    struct store_reminder reminder;
    struct store_job job;
    struct store_cursors_from from;
    struct store_cursors cursors;
    struct store_cursor cursor;
    struct store_state_ask state_ask;
    struct store_items items;
    struct store_item item;
    struct store_states states;
    struct store_state state;
    struct store_share share;
    struct store_shared shared;
    struct wf_shared_record record;
    if (wf_shared_read(data, size, &record)) MUST(record.size <= size && record.topic_size <= size);
    if (weft_typed_read(store_share_type(), data, size, &share, NULL) == 0)
        MUST(share.name.size <= size && share.pattern.size <= size);
    if (weft_typed_read(store_shared_type(), data, size, &shared, NULL) == 0)
        MUST(shared.topic.size <= size && shared.body.size <= size);
    if (weft_typed_read(store_state_ask_type(), data, size, &state_ask, NULL) == 0)
        MUST(state_ask.key.size <= size && state_ask.body.size <= size);
    if (weft_typed_read(store_items_type(), data, size, &items, NULL) == 0)
        while (store_item_next(&items.items, &item)) MUST(item.body.size <= size);
    if (weft_typed_read(store_states_type(), data, size, &states, NULL) == 0)
        while (store_state_next(&states.states, &state)) MUST(state.key.size <= size);
    if (weft_typed_read(store_page_type(), data, size, &page, NULL) == 0)
        while (store_row_next(&page.rows, &row)) MUST(row.body.size <= size);
    if (weft_typed_read(store_logs_type(), data, size, &logs, NULL) == 0)
        while (store_log_next(&logs.logs, &log)) MUST(log.topic.size <= size);
    if (weft_typed_read(store_read_type(), data, size, &ask, NULL) == 0) MUST(ask.topic.size <= size);
    if (weft_typed_read(store_append_type(), data, size, &append, NULL) == 0) MUST(append.body.size <= size);
    if (weft_typed_read(store_change_type(), data, size, &change, NULL) == 0)
        MUST(change.body.size <= size && change.key.size <= size && change.queue.size <= size);
    if (weft_typed_read(store_changed_type(), data, size, &changed, NULL) == 0) MUST(changed.body.size <= size);
    if (weft_typed_read(store_queues_type(), data, size, &queues, NULL) == 0)
        while (store_queue_next(&queues.queues, &queue)) MUST(queue.name.size <= size);
    if (weft_typed_read(store_reminders_from_type(), data, size, &reminders_from, NULL) == 0)
        MUST(reminders_from.queue.size <= size && reminders_from.key.size <= size);
    if (weft_typed_read(store_reminders_type(), data, size, &reminders, NULL) == 0)
        while (store_reminder_next(&reminders.reminders, &reminder))
            MUST(reminder.queue.size <= size && reminder.key.size <= size);
    if (weft_typed_read(store_job_type(), data, size, &job, NULL) == 0)
        MUST(job.body.size <= size && job.key.size <= size && job.queue.size <= size);
    if (weft_typed_read(store_advance_type(), data, size, &advance, NULL) == 0)
        MUST(advance.name.size <= size && advance.topic.size <= size);
    if (weft_typed_read(store_cursors_from_type(), data, size, &from, NULL) == 0)
        MUST(from.name.size <= size && from.topic.size <= size);
    if (weft_typed_read(store_cursors_type(), data, size, &cursors, NULL) == 0)
        while (store_cursor_next(&cursors.cursors, &cursor))
            MUST(cursor.name.size <= size && cursor.topic.size <= size);
}

static void read_news(const void *data, size_t size)
{
    struct weft_stored got;
    weft_msg *m = weft_msg_new(WEFT_STORED, size);
    if (m == NULL) return;
    memcpy(weft_msg_body(m), data, size);
    if (weft_stored_read(m, &got) == 0) {
        MUST(got.kind <= WEFT_STORED_ENDED && got.size <= size);
        MUST(memchr(got.topic, '\0', sizeof got.topic) != NULL);
    }
    weft_msg_free(m);
}

/* A pattern, and behind a blank a topic: the library has the rules of libweft, and no way to ask it. */
static void match(const char *text)
{
    char pattern[300];
    size_t size = strcspn(text, " ");
    snprintf(pattern, sizeof pattern, "%.*s", (int)size, text);
    const char *topic = text[size] == ' ' ? text + size + 1 : pattern;
    MUST(wf_store_topic_ok(topic) == (wf_topic_check(weft_cstr(topic)) == 0));
    MUST(wf_store_pattern_ok(pattern) == (wf_pattern_check(weft_cstr(pattern)) == 0));
    if (wf_store_topic_ok(topic)) MUST(wf_store_pattern_ok(topic) && wf_store_topic_matches(topic, topic));
    if (!wf_store_pattern_ok(pattern) || !wf_store_topic_ok(topic)) return;
    if (wf_store_topic_ok(pattern)) MUST(wf_store_topic_matches(pattern, topic) == (strcmp(pattern, topic) == 0));
    MUST(wf_store_topic_matches(">", topic));
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    read_messages(data, size);
    read_news(data, size);
    char text[600];
    snprintf(text, sizeof text, "%.*s", (int)(size < 590 ? size : 590), (const char *)data);
    match(text);
    return 0;
}
