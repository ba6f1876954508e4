/* transport/store/server/store_shares.c -- see store_shares.h.
 *
 * Design notes.
 * (1) The records behind a shared cursor become jobs of its queue when a member waits and the queue has none. So
 *     members pull: what nobody asks for stays in the topic. The members are workers of that queue, so leases,
 *     attempts, monitors and dead jobs are those of queues, and all that must survive a crash is on disk as jobs.
 * (2) A scan finds the topics that have records behind the cursor when the first member comes. After that each
 *     record that is stored names its topic. A topic that has no place is found by another scan, when the list is
 *     empty.
 * (3) A scan looks at a limited number of topics, as nothing else is stored meanwhile. The next one goes on behind them.
 * (4) A job has a copy of its record, so the limits of the topic do not take what a member has, or what is dead. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "store_shares.h"
#include "stored_topic.h"

enum {
    SCAN_PAGE = 256,   /* topics that one scan finds */
    SCAN_LOOKS = 4096, /* topics of the store that it looks at */
};

struct topic {
    struct wf_list_node in_topics;
    char text[];
};

/* A scan owns copies of all its data, because another thread runs it. */
struct wf_share_scan {
    struct wf_store_file *file;
    char queue[WF_STORE_TOPIC_MAX + 1], pattern[WF_STORE_TOPIC_MAX + 1], after[WF_STORE_TOPIC_MAX + 1];
    char found[SCAN_PAGE][WF_STORE_TOPIC_MAX + 1];
    size_t count, looks;
    bool is_cut; /* there may be more */
    int rc;
};

void wf_shares_init(struct wf_store_shares *s, struct wf_store_file *file)
{
    s->file = file;
    wf_list_init(&s->all);
    wf_list_init(&s->to_move);
    wf_list_init(&s->to_scan);
    wf_list_init(&s->failed);
}

/* The bucket of the patterns whose words in front of the first wildcard are the first `size` bytes of the text. */
static struct wf_chained **bucket_of(struct wf_store_shares *s, const char *text, size_t size)
{
    return &s->by_begin[wf_hash(text, size, s->file->store->secret) % WF_SHARE_BUCKETS];
}

/* Where the words in front of the first wildcard end, with their dot. */
static size_t begin_of(const char *pattern)
{
    return strcspn(pattern, "*>");
}

int wf_shares_join(struct wf_store_shares *s, struct wf_work_queue *w, const char *pattern, uint64_t node)
{
    if (w->share != NULL) return strcmp(w->share->pattern, pattern) == 0 ? WEFT_OK : WEFT_EEXIST;
    if (s->count >= WF_SHARES_MAX) return WEFT_EFULL;
    int rc = wf_node_counts_add(&s->of_node, node, WF_SHARES_OF_NODE);
    if (rc < 0) return rc;
    struct wf_share *share = calloc(1, sizeof *share);
    if (share == NULL) {
        wf_node_counts_remove(&s->of_node, node);
        return WEFT_ENOMEM;
    }
    share->node = node;
    memcpy(share->pattern, pattern, strlen(pattern) + 1);
    share->queue = w;
    share->hungry = true;
    share->known.secret = s->file->store->secret;
    wf_list_init(&share->topics);
    wf_list_push(&s->all, &share->in_all);
    wf_chained_push(bucket_of(s, pattern, begin_of(pattern)), &share->in_bucket);
    s->count++;
    w->share = share;
    return WEFT_OK;
}

static struct topic *topic_of(struct wf_list_node *k)
{
    return k == NULL ? NULL : WF_CONTAINER(k, struct topic, in_topics);
}

size_t wf_shares_leave(struct wf_store_shares *s, struct wf_work_queue *w)
{
    struct wf_share *share = w->share;
    if (share == NULL) return 0;
    const size_t work = share->known.count * WF_EFFORT_COMPARE;
    for (struct topic *t; (t = topic_of(wf_list_pop(&share->topics))) != NULL; s->topics--) free(t);
    wf_topic_set_free(&share->known);
    wf_unlink(&share->in_all);
    wf_unlink(&share->in_to_move);
    wf_unlink(&share->in_to_scan);
    wf_unlink(&share->in_failed);
    if (s->scanned == share) s->scanned = NULL;
    wf_chained_remove(&share->in_bucket);
    s->count--;
    wf_node_counts_remove(&s->of_node, share->node);
    w->share = NULL;
    free(share);
    return work;
}

static bool waits(const struct wf_share *share)
{
    return share->hungry && share->queue->taker_count > 0;
}

static bool can_move(const struct wf_share *share)
{
    return waits(share) && !share->full && !wf_list_empty(&share->topics);
}

static bool needs_scan(const struct wf_share *share)
{
    return waits(share) && (!share->scanned || share->missed) && wf_list_empty(&share->topics) && share->changes == 0;
}

void wf_share_changed(struct wf_store_shares *s, struct wf_share *share)
{
    if (share == NULL) return;
    if (can_move(share) && !wf_linked(&share->in_to_move)) wf_list_push(&s->to_move, &share->in_to_move);
    if (needs_scan(share) && !wf_linked(&share->in_to_scan)) wf_list_push(&s->to_scan, &share->in_to_scan);
}

/* ---- Topics ---------------------------------------------------------------------------------------------------- */

/* The topic may have records behind the cursor. */
static void note(struct wf_store_shares *s, struct wf_share *share, const char *topic)
{
    size_t size = strlen(topic) + 1;
    if (wf_topic_set_has(&share->known, topic)) return;
    bool has_place = share->known.count < WF_SHARE_TOPICS_LEAST ||
                     (share->known.count < WF_SHARE_TOPICS_MAX && s->topics < WF_SHARES_TOPICS_MAX);
    struct topic *t = has_place ? malloc(sizeof *t + size) : NULL;
    if (t == NULL || wf_topic_set_add(&share->known, topic) < 0) {
        share->missed = true;
        free(t);
        wf_share_changed(s, share);
        return;
    }
    *t = (struct topic){.in_topics = {NULL, NULL}};
    memcpy(t->text, topic, size);
    wf_list_push(&share->topics, &t->in_topics);
    s->topics++;
    wf_share_changed(s, share);
}

/* Those in one bucket. */
static size_t compare(struct wf_store_shares *s, const struct wf_chained *c, const char *topic)
{
    size_t work = 0;
    for (; c != NULL; c = c->next, work += WF_EFFORT_COMPARE) {
        struct wf_share *share = WF_CONTAINER(c, struct wf_share, in_bucket);
        if (!wf_store_topic_matches(share->pattern, topic)) continue;
        note(s, share, topic);
        work += WF_EFFORT_NOTE;
    }
    return work;
}

/* A pattern that matches has no wildcard, or begins with some words of the topic. */
size_t wf_shares_appended(struct wf_store_shares *s, const char *topic)
{
    if (s->count == 0) return 0;
    size_t work = compare(s, *bucket_of(s, topic, 0), topic), size = 0;
    for (const char *dot; (dot = strchr(topic + size, '.')) != NULL;) {
        size = (size_t)(dot - topic) + 1;
        work += compare(s, *bucket_of(s, topic, size), topic);
    }
    return work + compare(s, *bucket_of(s, topic, strlen(topic)), topic);
}

static void take_topic(struct wf_store_shares *s, struct wf_share *share, char topic[WF_STORE_TOPIC_MAX + 1])
{
    struct topic *t = topic_of(wf_list_pop(&share->topics));
    assert(t != NULL); /* can_move */
    memcpy(topic, t->text, strlen(t->text) + 1);
    wf_topic_set_remove(&share->known, t->text);
    free(t);
    s->topics--;
    share->changes++;
    s->changes++;
}

bool wf_shares_next(struct wf_store_shares *s, struct wf_share **out, char topic[WF_STORE_TOPIC_MAX + 1])
{
    if (s->changes >= WF_SHARE_CHANGES_MAX) return false;
    for (struct wf_list_node *k; (k = wf_list_pop(&s->to_move)) != NULL;) {
        struct wf_share *share = WF_CONTAINER(k, struct wf_share, in_to_move);
        if (!can_move(share)) continue;
        take_topic(s, share, topic);
        wf_share_changed(s, share);
        *out = share;
        return true;
    }
    return false;
}

void wf_share_moved(struct wf_store_shares *s, struct wf_share *share, const char *topic, int error,
                    const struct wf_store_change *x)
{
    share->changes--;
    s->changes--;
    if (error < 0 || x->more) note(s, share, topic); /* behind the other topics */
    if (error == WEFT_OK && x->count > 0) share->hungry = false;
    if (error == WEFT_OK && x->count == 0 && x->more && x->skipped == 0) share->full = true;
    wf_share_changed(s, share);
}

void wf_share_failed(struct wf_store_shares *s, struct wf_share *share, int error)
{
    share->failed = error;
    if (!wf_linked(&share->in_failed)) wf_list_push(&s->failed, &share->in_failed);
}

struct wf_share *wf_shares_next_failed(struct wf_store_shares *s)
{
    struct wf_list_node *k = wf_list_pop(&s->failed);
    return k == NULL ? NULL : WF_CONTAINER(k, struct wf_share, in_failed);
}

/* ---- Scans ----------------------------------------------------------------------------------------------------- */

/* The next scan goes on behind this topic. */
static bool pass(struct wf_share_scan *scan, const struct wf_store_log *log)
{
    memcpy(scan->after, log->topic, sizeof scan->after);
    return true;
}

static bool look_at(void *arg, const struct wf_store_log *log)
{
    struct wf_share_scan *scan = arg;
    struct wf_store_cursor at;
    scan->is_cut = ++scan->looks > SCAN_LOOKS;
    if (scan->is_cut) return false;
    if (!wf_store_topic_matches(scan->pattern, log->topic)) return pass(scan, log);
    int rc = scan->file->store->engine->cursor(scan->file->store, scan->queue, log->topic, &at);
    if (rc == WEFT_OK && wf_store_behind(log, at) == 0) return pass(scan, log);
    if (rc < 0 && rc != WEFT_EFORMAT) scan->rc = rc; /* of a damaged cursor, the members get the error */
    scan->is_cut = scan->count == SCAN_PAGE || scan->rc < 0;
    if (scan->is_cut) return false;
    memcpy(scan->found[scan->count++], log->topic, sizeof scan->after);
    return pass(scan, log);
}

static void run_scan(void *block)
{
    struct wf_share_scan *scan = *(struct wf_share_scan **)block;
    const struct wf_store_engine *engine = scan->file->store->engine;
    int rc = engine->list(scan->file->store, scan->after[0] == '\0' ? NULL : scan->after, look_at, scan);
    if (rc < 0) scan->rc = rc;
}

static void free_scan(struct wf_share_scan *scan)
{
    if (scan == NULL) return;
    wf_store_file_release(scan->file);
    free(scan);
}

static void drop_scan(void *block)
{
    free_scan(*(struct wf_share_scan **)block);
}

static struct wf_share_scan *new_scan(struct wf_store_file *file, struct wf_share *share)
{
    struct wf_share_scan *scan = calloc(1, sizeof *scan);
    if (scan == NULL) return NULL;
    if (share->scanned) { /* one was missed: from the first one on */
        share->scanned = share->missed = false;
        share->after[0] = '\0';
    }
    scan->file = wf_store_file_share(file);
    memcpy(scan->queue, share->queue->name, sizeof scan->queue);
    memcpy(scan->pattern, share->pattern, sizeof scan->pattern);
    memcpy(scan->after, share->after, sizeof scan->after);
    return scan;
}

int wf_shares_start_scan(struct wf_store_shares *s, weft_job *job, struct wf_work_queue **w)
{
    for (struct wf_list_node *k; (k = wf_list_pop(&s->to_scan)) != NULL;) {
        struct wf_share *share = WF_CONTAINER(k, struct wf_share, in_to_scan);
        if (!needs_scan(share)) continue;
        struct wf_share_scan *scan = new_scan(s->file, share);
        int rc = scan == NULL ? WEFT_ENOMEM
                              : weft_offload_start(job, run_scan, drop_scan, &scan, sizeof(void *), WEFT_FOREVER);
        *w = share->queue;
        if (rc < 0) {
            free_scan(scan);
            return rc;
        }
        s->scan = scan;
        s->scanned = share;
        return 1;
    }
    return 0;
}

int wf_shares_finish_scan(struct wf_store_shares *s, weft_job job, struct wf_work_queue **w)
{
    struct wf_share_scan *scan = NULL;
    struct wf_share *share = s->scanned;
    int rc = weft_offload_take(job, &scan, sizeof(void *), WEFT_FOREVER);
    s->scan = NULL;
    s->scanned = NULL;
    *w = NULL;
    if (rc == WEFT_OK && share != NULL) {
        for (size_t i = 0; i < scan->count; i++) note(s, share, scan->found[i]);
        memcpy(share->after, scan->after, sizeof share->after);
        share->scanned = !scan->is_cut && scan->rc == WEFT_OK;
        *w = share->queue;
    }
    wf_share_changed(s, share);
    if (rc < 0) return rc;
    rc = scan->rc;
    free_scan(scan);
    return rc;
}

/* It may never have begun: its file was not opened. */
void wf_shares_free(struct wf_store_shares *s, struct wf_effort *effort)
{
    for (struct wf_list_node *k; (k = wf_list_first(&s->all)) != NULL;)
        wf_effort_count(effort, WF_EFFORT_FREE + wf_shares_leave(s, WF_CONTAINER(k, struct wf_share, in_all)->queue));
    wf_node_counts_free(&s->of_node);
}
