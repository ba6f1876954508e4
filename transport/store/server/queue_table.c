/* transport/store/server/queue_table.c -- see queue_table.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "queue_table.h"
#include "shared_record.h"
#include "stored_topic.h"

void wf_queue_table_init(struct wf_queue_table *t, struct wf_queue_rule *rule, size_t rules, uint64_t secret)
{
    t->rule = rule;
    t->rules = rules;
    t->secret = secret;
    wf_list_init(&t->to_look);
}

void wf_queue_table_free(struct wf_queue_table *t, struct wf_effort *effort)
{
    for (int i = 0; i < WF_QUEUE_BUCKETS; i++)
        for (struct wf_chained *c = t->bucket[i], *next; c != NULL; c = next) {
            next = c->next;
            free(WF_CONTAINER(c, struct wf_work_queue, in_bucket));
            wf_effort_count(effort, WF_EFFORT_FREE);
        }
    free(t->by_due);
    free(t->rule);
}

/* ---- Jobs that are due later ----------------------------------------------------------------------------------- */

static void put_at(struct wf_queue_table *t, struct wf_work_queue *w, size_t place)
{
    t->by_due[place] = w;
    w->place = place;
}

/* Moves the queue to its place in the heap, up or down. */
static void sift(struct wf_queue_table *t, struct wf_work_queue *w, size_t place)
{
    for (; place > 1 && t->by_due[place / 2]->due > w->due; place /= 2) put_at(t, t->by_due[place / 2], place);
    for (size_t child; (child = place * 2) <= t->due_count; place = child) {
        if (child < t->due_count && t->by_due[child + 1]->due < t->by_due[child]->due) child++;
        if (t->by_due[child]->due >= w->due) break;
        put_at(t, t->by_due[child], place);
    }
    put_at(t, w, place);
}

static void leave_due(struct wf_queue_table *t, struct wf_work_queue *w)
{
    size_t place = w->place;
    if (place == 0) return;
    struct wf_work_queue *last = t->by_due[t->due_count--];
    w->place = 0;
    if (last != w) sift(t, last, place);
}

void wf_queue_set_due(struct wf_queue_table *t, struct wf_work_queue *w, int64_t due)
{
    leave_due(t, w);
    if (due == INT64_MAX) return;
    assert(t->due_count < t->due_max);
    w->due = due;
    sift(t, w, ++t->due_count);
}

void wf_queue_due_by(struct wf_queue_table *t, struct wf_work_queue *w, int64_t due)
{
    const bool is_awaited = w->taker_count > 0 || !wf_list_empty(&w->held);
    if (is_awaited && (w->place == 0 || due < w->due)) wf_queue_set_due(t, w, due);
}

int64_t wf_queue_table_next_due(const struct wf_queue_table *t)
{
    return t->due_count == 0 ? INT64_MAX : t->by_due[1]->due;
}

struct wf_work_queue *wf_queue_table_tick(struct wf_queue_table *t, int64_t now)
{
    if (t->due_count == 0 || t->by_due[1]->due > now) return NULL;
    struct wf_work_queue *w = t->by_due[1];
    leave_due(t, w);
    wf_queue_look_again(t, w);
    return w;
}

/* Reserves space, so that each queue of the table can always be put into the heap. */
static int reserve_due(struct wf_queue_table *t)
{
    if (t->count < t->due_max) return WEFT_OK;
    size_t max = t->due_max == 0 ? 16 : t->due_max * 2;
    struct wf_work_queue **grown = realloc(t->by_due, (max + 1) * sizeof(struct wf_work_queue *));
    if (grown == NULL) return WEFT_ENOMEM;
    t->by_due = grown;
    t->due_max = max;
    return WEFT_OK;
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

/* Of the queues of shared cursors, if the store has no rule for them. */
static const struct wf_queue_rule of_shared = {
    .pattern = WF_SHARED_PREFIX ">", .lease = WEFT_SEC(60), .jobs = WF_STORE_JOBS_MAX};

static const struct wf_queue_rule *rule_of(const struct wf_queue_table *t, const char *name)
{
    for (size_t i = 0; i < t->rules; i++)
        if (wf_store_topic_matches(t->rule[i].pattern, name)) return &t->rule[i];
    return wf_shared_is(name) ? &of_shared : NULL;
}

static int add(struct wf_queue_table *t, const char *name, struct wf_chained **bucket, struct wf_work_queue **out)
{
    const struct wf_queue_rule *rule = rule_of(t, name);
    if (rule == NULL) return WEFT_EACCESS;
    struct wf_work_queue *w = reserve_due(t) < 0 ? NULL : calloc(1, sizeof *w);
    if (w == NULL) return WEFT_ENOMEM;
    memcpy(w->name, name, strlen(name) + 1);
    w->rule = rule;
    w->users = 1;
    wf_list_init(&w->takers);
    wf_list_init(&w->held);
    w->scan = &w->takers.head;
    wf_chained_push(bucket, &w->in_bucket);
    t->count++;
    *out = w;
    return WEFT_OK;
}

int wf_queue_use(struct wf_queue_table *t, weft_text name, struct wf_work_queue **out)
{
    char text[WF_STORE_TOPIC_MAX + 1];
    if (!weft_text_copy(name, text, sizeof text) || !wf_store_topic_ok(text)) return WEFT_EINVAL;
    struct wf_chained **bucket = &t->bucket[wf_hash(text, strlen(text), t->secret) % WF_QUEUE_BUCKETS];
    for (struct wf_chained *c = *bucket; c != NULL; c = c->next) {
        struct wf_work_queue *w = WF_CONTAINER(c, struct wf_work_queue, in_bucket);
        if (strcmp(w->name, text) != 0) continue;
        w->users++;
        *out = w;
        return WEFT_OK;
    }
    return add(t, text, bucket, out);
}

void wf_queue_release(struct wf_queue_table *t, struct wf_work_queue *w)
{
    if (--w->users > 0) return;
    assert(wf_list_empty(&w->takers) && wf_list_empty(&w->held) && w->share == NULL);
    leave_due(t, w);
    wf_unlink(&w->in_to_look);
    wf_chained_remove(&w->in_bucket);
    t->count--;
    free(w);
}

void wf_queue_look_again(struct wf_queue_table *t, struct wf_work_queue *w)
{
    w->may_have = true;
    if (!wf_linked(&w->in_to_look) && w->taker_count > 0) wf_list_push(&t->to_look, &w->in_to_look);
}

struct wf_work_queue *wf_queue_next_to_look(struct wf_queue_table *t)
{
    struct wf_list_node *k = wf_list_pop(&t->to_look);
    struct wf_work_queue *w = WF_CONTAINER(k, struct wf_work_queue, in_to_look);
    if (!w->may_have || w->taker_count == 0) return NULL;
    wf_list_push(&t->to_look, k);
    return w;
}
