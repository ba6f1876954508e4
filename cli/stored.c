/* cli/stored.c -- see stored.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/store.h>

#include "compat.h"
#include "store_client.h"
#include "store_file.h"
#include "shared_record.h"
#include "store_messages.h"
#include "stored.h"
#include "stored_topic.h"
#include "talk.h"
#include "values.h"

/* The begin of an object. */
static void print_topic(const char *topic)
{
    fputs("{\"topic\": ", stdout);
    cli_print_string(stdout, topic, strlen(topic));
}

static void print_record(const struct cli *c, const char *topic, struct weft_position at, const struct store_row *r)
{
    if (!c->json) {
        printf("%016" PRIx64 ":%" PRIu64 " %" PRIu64 " ", at.epoch, at.offset, r->tag);
        cli_print_body(stdout, r->body.data, r->body.size);
        putchar('\n');
    } else {
        print_topic(topic);
        printf(", \"epoch\": \"%016" PRIx64 "\", \"offset\": %" PRIu64 ", \"time\": %" PRId64 ", \"tag\": %" PRIu64
               ", ",
               at.epoch, at.offset, r->time, r->tag);
        cli_print_json_body(r->body.data, r->body.size);
        puts("}");
    }
}

void cli_print_stored(const struct cli *c, const struct weft_stored *r)
{
    const struct store_row row = {r->at.offset, r->time, r->tag, weft_str(r->data, r->size)};
    if (!c->json) printf("%s ", r->topic);
    print_record(c, r->topic, r->at, &row);
}

/* ---- URLs ------------------------------------------------------------------------------------------------------ */

const char *cli_store_shown(const char *url)
{
    static char text[256];
    wf_store_url_show(url, text, sizeof text);
    return text;
}

static bool check_url(const char *url, char why[CLI_WHY])
{
    struct wf_store_why text;
    if (wf_store_url_check(url, &text) == WEFT_OK) return true;
    snprintf(why, CLI_WHY, "%s", text.text);
    return false;
}

const struct cli_store_rules cli_stored_rules = {check_url, cli_store_shown};

/* The URL is copied, and what `ps` shows becomes what messages say. */
void cli_store_hide(struct cli *c, int count, char **words)
{
    if (c->store == NULL || strcmp(cli_store_shown(c->store), c->store) == 0) return;
    for (int i = 0; i < count; i++) {
        size_t size = strlen(words[i]);
        if (c->store < words[i] || c->store > words[i] + size) continue;
        char *word = words[i] + (c->store - words[i]);
        static char *copy; /* the text is needed for as long as the process runs */
        copy = strdup(word);
        if (copy == NULL) return;
        c->store = copy;
        size = strlen(word);
        memset(word, '\0', size);
        snprintf(word, size + 1, "%s", cli_store_shown(copy));
        return;
    }
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

struct wf_store_file *cli_store_open(const struct cli *c, bool read_only, int *code)
{
    struct wf_store_why why;
    struct wf_store_file *f = NULL;
    *code = CLI_USAGE;
    if (c->store == NULL) {
        (void)cli_fail(c, CLI_USAGE, "no store is given; use --store sqlite:FILE or postgres:URL");
        return NULL;
    }
    int rc = wf_store_file_open(&f, c->store, read_only, &why);
    *code = rc == WEFT_OK ? CLI_OK : cli_fail(c, rc == WEFT_EINVAL ? CLI_USAGE : CLI_FAILED, "%s", why.text);
    return f;
}

static bool print_log(void *arg, const struct wf_store_log *log)
{
    const struct cli *c = arg;
    uint64_t count = log->last + 1 - log->first;
    if (c->json) {
        print_topic(log->topic);
        printf(", \"epoch\": \"%016" PRIx64 "\", \"first\": %" PRIu64 ", \"last\": %" PRIu64 ", \"bytes\": %" PRIu64
               "}\n",
               log->epoch, log->first, log->last, log->bytes);
    } else {
        printf("%-32s %10" PRIu64 " records %14" PRIu64 " bytes   %016" PRIx64 ":%" PRIu64 "-%" PRIu64 "\n",
               log->topic, count, log->bytes, log->epoch, log->first, log->last);
    }
    return true;
}

static int end(const struct cli *c, struct wf_store_file *f, int rc)
{
    wf_store_file_release(f);
    return rc < 0 ? cli_fail(c, CLI_FAILED, "%s: %s", cli_store_shown(c->store), weft_strerror(rc)) : CLI_OK;
}

int cli_store_topics(const struct cli *c)
{
    int rc;
    struct wf_store_file *f = cli_store_open(c, true, &rc);
    if (f == NULL) return rc;
    return end(c, f, f->store->engine->list(f->store, NULL, print_log, (void *)(uintptr_t)c));
}

struct printing {
    const struct cli *c;
    uint64_t epoch, last;
    int64_t left;
};

static bool print_stored(void *arg, const struct wf_store_record *r)
{
    struct printing *p = arg;
    const struct store_row row = {r->offset, r->time, r->tag, weft_str(r->data, r->size)};
    print_record(p->c, p->c->argv[0], (struct weft_position){p->epoch, r->offset}, &row);
    p->last = r->offset;
    return --p->left > 0;
}

/* A position that the log does not have. The next record that is stored may have the place behind the last one. */
static int ends_before(const struct cli *c, uint64_t from, uint64_t first, uint64_t last, const char *what_to_do)
{
    const char *topic = c->argv[0];
    if (last == 0)
        return cli_fail(c, CLI_FAILED, "%s has no record %" PRIu64 ": it has no records yet; %s", topic, from,
                        what_to_do);
    return cli_fail(c, CLI_FAILED, "%s has no record %" PRIu64 ": it has the records %" PRIu64 " to %" PRIu64 "; %s",
                    topic, from, first, last, what_to_do);
}

static void say_removed(const struct cli *c, uint64_t from, uint64_t first)
{
    fprintf(stderr, "weft %s: records %" PRIu64 " to %" PRIu64 " are not stored any more\n", c->verb->name, from,
            first - 1);
}

/* Looks where the reading begins in the log. An exit code. */
static int find_begin(const struct cli *c, const struct wf_store_log *log, struct cli_position from, uint64_t *next)
{
    if (from.epoch != 0 && from.epoch != log->epoch)
        return cli_fail(c, CLI_FAILED, "the log has another epoch: %016" PRIx64, log->epoch);
    if (from.offset > log->last + 1)
        return ends_before(c, from.offset, log->first, log->last, "give one of these to --from");
    if (from.offset == log->last + 1)
        fprintf(stderr, "weft %s: %s has no record %" PRIu64 " yet: its last one is %" PRIu64 "\n", c->verb->name,
                c->argv[0], from.offset, log->last);
    if (from.offset != 0 && from.offset < log->first) say_removed(c, from.offset, log->first);
    *next = from.offset < log->first ? log->first : from.offset;
    return CLI_OK;
}

/* Prints from `from` on, to the end of the log as it is. An exit code. */
static int read_log(struct wf_store_file *f, struct printing *p, struct cli_position from)
{
    const struct cli *c = p->c;
    struct wf_store_log log = {.epoch = 0};
    uint64_t next = 1;
    int rc = f->store->engine->find(f->store, c->argv[0], &log);
    if (rc == WEFT_ENOTFOUND)
        return cli_fail(c, CLI_FAILED, "%s has no topic %s", cli_store_shown(c->store), c->argv[0]);
    int code = rc < 0 ? CLI_OK : find_begin(c, &log, from, &next);
    if (code != CLI_OK) return code;
    p->epoch = log.epoch;
    while (rc >= 0 && p->left > 0 && next <= log.last) {
        rc = f->store->engine->read(f->store, log.topic, next, WF_STORE_PAGE_RECORDS, WF_STORE_PAGE_BYTES,
                                    print_stored, p, NULL);
        if (rc >= 0) next = p->last + 1;
    }
    if (rc == WEFT_EFORMAT)
        return cli_fail(c, CLI_FAILED, "record %" PRIu64 " is damaged or missing; --from %" PRIu64 " reads behind it",
                        next, next + 1);
    return rc < 0 ? cli_fail(c, CLI_FAILED, "%s: %s", cli_store_shown(c->store), weft_strerror(rc)) : CLI_OK;
}

int cli_store_read(const struct cli *c)
{
    struct cli_position from = {0, 0};
    struct printing p = {.c = c, .left = c->has_count ? c->count : INT64_MAX};
    int rc;
    if (!cli_is_topic(c, c->argv[0])) return CLI_USAGE;
    if (c->from != NULL) (void)cli_read_position(c->from, &from);
    if (from.offset == UINT64_MAX)
        return cli_fail(c, CLI_USAGE,
                        "--from now: this prints what is stored; 'weft subscribe --from now' waits for what comes");
    struct wf_store_file *f = cli_store_open(c, true, &rc);
    if (f == NULL) return rc;
    rc = read_log(f, &p, from);
    wf_store_file_release(f);
    return rc;
}

static void print_fault(void *arg, const char *topic, uint64_t offset, const char *text)
{
    const struct cli *c = arg;
    if (c->json) {
        print_topic(topic == NULL ? "" : topic);
        printf(", \"offset\": %" PRIu64 ", \"fault\": ", offset);
        cli_print_string(stdout, text, strlen(text));
        puts("}");
    } else if (topic == NULL) {
        printf("%s: %s\n", cli_store_shown(c->store), text);
    } else {
        printf("%s %" PRIu64 ": %s\n", topic, offset, text);
    }
}

int cli_store_check(const struct cli *c)
{
    int rc;
    struct wf_store_file *f = cli_store_open(c, true, &rc);
    if (f == NULL) return rc;
    int faults = f->store->engine->check(f->store, print_fault, (void *)(uintptr_t)c);
    if (faults < 0) return end(c, f, faults);
    wf_store_file_release(f);
    if (faults > 0) return cli_fail(c, CLI_FAILED, "%s: %d faults", cli_store_shown(c->store), faults);
    if (!c->json) printf("%s: no fault\n", cli_store_shown(c->store));
    return CLI_OK;
}

/* ---- Cursors --------------------------------------------------------------------------------------------------- */

/* The queues of shared cursors, in the order of their names. */
struct shared_counts {
    struct wf_store_queue *of;
    size_t count, max;
};

struct printing_cursors {
    const struct cli *c;
    struct wf_store *store;
    struct shared_counts shared;
    bool has_counted; /* all jobs are counted for that, so only if there is a shared cursor */
    int rc;
};

static bool add_counts(void *arg, const struct wf_store_queue *q)
{
    struct shared_counts *all = arg;
    if (!wf_shared_is(q->name)) return true;
    if (all->count == all->max) {
        size_t max = all->max == 0 ? 16 : all->max * 2;
        struct wf_store_queue *grown = realloc(all->of, max * sizeof *grown);
        if (grown == NULL) return false;
        all->of = grown;
        all->max = max;
    }
    all->of[all->count++] = *q;
    return true;
}

static int by_name(const void *name, const void *queue)
{
    return strcmp(name, ((const struct wf_store_queue *)queue)->name);
}

/* NULL: its queue has no jobs, or `p->rc` is an error. */
static const struct wf_store_queue *counts_of(struct printing_cursors *p, const char *name)
{
    struct shared_counts *all = &p->shared;
    const struct wf_store_engine *engine = p->store->engine;
    if (!p->has_counted) p->rc = engine->queues(p->store, "", engine->clock(p->store), add_counts, all);
    p->has_counted = true;
    return all->count == 0 ? NULL : bsearch(name, all->of, all->count, sizeof *all->of, by_name);
}

static bool print_cursor(void *arg, const char *name, const char *topic, struct wf_store_cursor at)
{
    struct printing_cursors *p = arg;
    struct wf_store_log log;
    bool has_log = p->store->engine->find(p->store, topic, &log) == WEFT_OK;
    uint64_t behind = has_log ? wf_store_behind(&log, at) : 0;
    bool is_shared = wf_shared_is(name);
    const struct wf_store_queue *q = is_shared ? counts_of(p, name) : NULL;
    if (p->rc < 0) return false;
    const uint64_t given = q == NULL ? 0 : q->ready + q->delayed + q->leased, dead = q == NULL ? 0 : q->dead;
    if (is_shared) name += WF_SHARED_PREFIX_SIZE;
    if (p->c->json) {
        fputs("{\"cursor\": ", stdout);
        cli_print_string(stdout, name, strlen(name));
        fputs(", \"topic\": ", stdout);
        cli_print_string(stdout, topic, strlen(topic));
        printf(", \"epoch\": \"%016" PRIx64 "\", \"offset\": %" PRIu64 ", \"behind\": %" PRIu64, at.epoch, at.offset,
               behind);
        if (is_shared) printf(", \"shared\": true, \"unacknowledged\": %" PRIu64 ", \"dead\": %" PRIu64, given, dead);
        puts("}");
    } else {
        printf("%-24s %-32s %016" PRIx64 ":%-10" PRIu64 " %10" PRIu64 " behind", name, topic, at.epoch, at.offset,
               behind);
        if (is_shared) printf("   shared: %" PRIu64 " unacknowledged, %" PRIu64 " dead", given, dead);
        putchar('\n');
    }
    return true;
}

int cli_store_cursors(const struct cli *c)
{
    int rc;
    struct wf_store_file *f = cli_store_open(c, true, &rc);
    if (f == NULL) return rc;
    struct printing_cursors p = {.c = c, .store = f->store};
    rc = f->store->engine->cursors(f->store, "", "", print_cursor, &p);
    if (p.rc < 0) rc = p.rc;
    free(p.shared.of);
    return end(c, f, rc);
}

/* ---- Queues ---------------------------------------------------------------------------------------------------- */

static bool print_queue(void *arg, const struct wf_store_queue *q)
{
    const struct cli *c = arg;
    if (c->json) {
        fputs("{\"queue\": ", stdout);
        cli_print_string(stdout, q->name, strlen(q->name));
        printf(", \"ready\": %" PRIu64 ", \"delayed\": %" PRIu64 ", \"leased\": %" PRIu64 ", \"dead\": %" PRIu64
               "}\n",
               q->ready, q->delayed, q->leased, q->dead);
    } else {
        printf("%-32s %9" PRIu64 " ready %9" PRIu64 " delayed %9" PRIu64 " leased %9" PRIu64 " dead\n", q->name,
               q->ready, q->delayed, q->leased, q->dead);
    }
    return true;
}

int cli_store_queues(const struct cli *c)
{
    int rc;
    struct wf_store_file *f = cli_store_open(c, true, &rc);
    if (f == NULL) return rc;
    const struct wf_store_engine *engine = f->store->engine;
    return end(c, f, engine->queues(f->store, "", engine->clock(f->store), print_queue, (void *)(uintptr_t)c));
}

/* The time without its fraction: 2026-05-01T12:00:00Z. */
static void print_time(int64_t at)
{
    struct tm utc;
    char text[32] = "?";
    cli_utc((time_t)(at / 1000000000), &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    printf("%s", text);
}

static bool print_reminder(void *arg, const struct wf_store_reminder *r)
{
    const struct cli *c = arg;
    if (c->json) {
        fputs("{\"queue\": ", stdout);
        cli_print_string(stdout, r->queue, strlen(r->queue));
        fputs(", \"key\": ", stdout);
        cli_print_string(stdout, r->key, strlen(r->key));
        printf(", \"at\": %" PRId64 ", \"period\": %" PRId64 ", \"attempts\": %" PRIu32 ", \"dead\": %s}\n", r->at,
               r->period, r->job.attempts, r->job.dead ? "true" : "false");
    } else {
        printf("%-24s ", r->queue);
        cli_print_string(stdout, r->key, strlen(r->key));
        putchar(' ');
        print_time(r->at);
        if (r->period > 0) printf("   every %.3f s", (double)r->period / 1e9);
        printf("   %" PRIu32 " attempts%s\n", r->job.attempts, r->job.dead ? ", dead" : "");
    }
    return true;
}

int cli_store_reminders(const struct cli *c)
{
    int rc;
    struct wf_store_file *f = cli_store_open(c, true, &rc);
    if (f == NULL) return rc;
    return end(c, f, f->store->engine->reminders(f->store, "", "", print_reminder, (void *)(uintptr_t)c));
}

struct printing_jobs {
    const struct cli *c;
    int64_t left;
    bool is_shared;
};

/* A record of a shared cursor: its topic and offset, and its own tag and bytes. */
static bool print_shared_job(const struct printing_jobs *p, const struct wf_store_job *j, const void *body)
{
    struct wf_shared_record r;
    if (!p->is_shared || !wf_shared_read(body, j->size, &r)) return false;
    if (p->c->json) {
        printf("{\"id\": %" PRIu64 ", \"attempts\": %" PRIu32 ", \"put\": %" PRId64 ", \"died\": %" PRId64
               ", \"topic\": ",
               j->id, j->attempts, j->time, j->due);
        cli_print_string(stdout, r.topic, r.topic_size);
        printf(", \"epoch\": \"%016" PRIx64 "\", \"offset\": %" PRIu64 ", \"time\": %" PRId64 ", \"tag\": %" PRIu32
               ", ",
               r.epoch, r.offset, r.time, r.tag);
        cli_print_json_body(r.data, r.size);
        puts("}");
    } else {
        printf("%" PRIu64 " %" PRIu32 " %.*s %016" PRIx64 ":%" PRIu64 " %" PRIu32 " ", j->id, j->attempts,
               (int)r.topic_size, r.topic, r.epoch, r.offset, r.tag);
        cli_print_body(stdout, r.data, r.size);
        putchar('\n');
    }
    return true;
}

static bool print_job(void *arg, const struct wf_store_job *j, const void *body)
{
    struct printing_jobs *p = arg;
    if (print_shared_job(p, j, body)) return --p->left > 0;
    if (p->c->json) {
        printf("{\"id\": %" PRIu64 ", \"attempts\": %" PRIu32 ", \"put\": %" PRId64 ", \"died\": %" PRId64
               ", \"tag\": %" PRIu32 ", ",
               j->id, j->attempts, j->time, j->due, j->tag);
        cli_print_json_body(body, j->size);
        puts("}");
    } else {
        printf("%" PRIu64 " %" PRIu32 " %" PRIu32 " ", j->id, j->attempts, j->tag);
        cli_print_body(stdout, body, j->size);
        putchar('\n');
    }
    return --p->left > 0;
}

static int no_queue(const struct cli *c)
{
    return cli_fail(c, CLI_USAGE, "%s is not a name of a queue: a name is words with dots between them",
                    CLI_QUOTE(c->argv[0]));
}

int cli_store_dead(const struct cli *c)
{
    int rc;
    struct printing_jobs p = {
        .c = c, .left = c->has_count ? c->count : INT64_MAX, .is_shared = wf_shared_is(c->argv[0])};
    if (!wf_store_topic_ok(c->argv[0])) return no_queue(c);
    struct wf_store_file *f = cli_store_open(c, true, &rc);
    if (f == NULL) return rc;
    rc = f->store->engine->jobs(f->store, c->argv[0], true, print_job, &p);
    return end(c, f, rc);
}

/* ---- States of actors ------------------------------------------------------------------------------------------ */

static bool print_state(void *arg, const struct wf_store_state *s)
{
    const struct cli *c = arg;
    if (c->json) {
        fputs("{\"state\": ", stdout);
        cli_print_string(stdout, s->key, strlen(s->key));
        printf(", \"snapshot\": ");
        if (s->has_snapshot) printf("%zu", s->size);
        else printf("null");
        printf(", \"events\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"last\": %" PRIu64 ", \"opening\": %" PRIu64
               "}\n",
               s->last + 1 - s->first, s->bytes, s->last, s->opening);
    } else {
        printf("%-32s %9zu bytes %9" PRIu64 " events %9" PRIu64 " bytes   opening %" PRIu64 "\n", s->key, s->size,
               s->last + 1 - s->first, s->bytes, s->opening);
    }
    return true;
}

int cli_store_states(const struct cli *c)
{
    int rc;
    struct wf_store_file *f = cli_store_open(c, true, &rc);
    if (f == NULL) return rc;
    return end(c, f, f->store->engine->states(f->store, NULL, print_state, (void *)(uintptr_t)c));
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

static int refused(const struct cli_client *k, int rc)
{
    if (rc == WEFT_ENOACTOR)
        return cli_fail(k->c, CLI_FAILED, "node %s runs no store; 'weft names --prefix weft.store' says where it is",
                        k->node);
    if (rc == WEFT_EACCESS) return cli_fail(k->c, CLI_FAILED, "the store does not take the topic %s", k->c->argv[0]);
    return cli_fail_with(k->c, rc, k->c->argv[0]);
}

static void store_of(const struct cli_client *k, char out[96])
{
    snprintf(out, 96, "%s@%s", WEFT_STORE_NAME, k->node);
}

int cli_publish_stored(struct cli_client *k)
{
    char name[96];
    struct store_append ask = {weft_cstr(k->c->argv[0]), (uint64_t)k->c->tag, weft_str(k->body.data, k->body.size)};
    struct store_appended got;
    weft_msg *answer;
    store_of(k, name);
    int rc = wf_store_ask(name, WF_STORE_APPEND, store_append_type(), &ask, store_appended_type(), &got, &answer,
                          k->deadline);
    if (rc < 0) return refused(k, rc);
    weft_msg_free(answer);
    if (got.error != 0) return refused(k, wf_store_error(got.error));
    if (k->c->json) {
        print_topic(k->c->argv[0]);
        printf(", \"epoch\": \"%016" PRIx64 "\", \"offset\": %" PRIu64 "}\n", got.epoch, got.offset);
    } else {
        printf("%s: stored as %016" PRIx64 ":%" PRIu64 "\n", k->c->argv[0], got.epoch, got.offset);
    }
    return CLI_OK;
}

static const char wait_for_next[] = "--from now waits for the next one";

/* Finds the position to begin at, with the present state of the log. An exit code. */
static int begin(struct cli_client *k, const char *name, struct cli_position *at)
{
    struct store_read ask = {.topic = weft_cstr(k->c->argv[0])};
    struct store_page log;
    weft_msg *answer;
    int rc = wf_store_ask(name, WF_STORE_FIND, store_read_type(), &ask, store_page_type(), &log, &answer,
                          k->deadline);
    if (rc < 0) return refused(k, rc);
    weft_msg_free(answer);
    if (log.error == WEFT_ENOTFOUND) log = (struct store_page){.first = 1};
    if (log.error != 0) return refused(k, wf_store_error(log.error));
    if (at->offset == UINT64_MAX) at->offset = log.last + 1;
    if (at->offset == 0) at->offset = log.first;
    bool is_other = at->epoch != 0 && log.epoch != 0 && at->epoch != log.epoch; /* the first page tells it */
    bool is_behind = !is_other && (at->offset > log.last + 1 || (at->epoch != 0 && log.epoch == 0));
    return is_behind ? ends_before(k->c, at->offset, log.first, log.last, wait_for_next) : CLI_OK;
}

/* Prints a page; `*at` is the next place. Returns the number of records, or an exit code below 0. */
static int64_t print_page(struct cli_client *k, struct store_page *page, struct cli_position *at, int64_t left)
{
    int64_t count = 0;
    if (at->epoch != 0 && page->epoch != at->epoch)
        return -cli_fail(k->c, CLI_FAILED, "the log has a new epoch: %016" PRIx64, page->epoch);
    at->epoch = page->epoch;
    if (at->offset < page->first) {
        say_removed(k->c, at->offset, page->first);
        at->offset = page->first;
    }
    for (struct store_row row; count < left && store_row_next(&page->rows, &row); count++) {
        print_record(k->c, k->c->argv[0], (struct weft_position){at->epoch, row.offset}, &row);
        at->offset = row.offset + 1;
    }
    return count;
}

int cli_subscribe_stored(struct cli_client *k)
{
    char name[96];
    struct cli_position at;
    (void)cli_read_position(k->c->from, &at);
    store_of(k, name);
    int rc = begin(k, name, &at);
    if (rc != CLI_OK) return rc;
    int64_t left = k->c->has_count ? k->c->count : INT64_MAX;
    while (left > 0) {
        struct store_read ask = {weft_cstr(k->c->argv[0]), at.epoch, at.offset, WF_STORE_PAGE_RECORDS,
                                 WF_STORE_PAGE_BYTES,      true};
        struct store_page page;
        weft_msg *answer;
        rc = wf_store_ask(name, WF_STORE_READ, store_read_type(), &ask, store_page_type(), &page, &answer,
                          k->c->has_timeout ? k->deadline : WEFT_FOREVER);
        if (rc == WEFT_ECANCELED) return CLI_OK;
        if (rc == WEFT_OK && page.error != 0) rc = wf_store_error(page.error);
        int64_t count = rc < 0 ? 0 : print_page(k, &page, &at, left);
        weft_msg_free(answer);
        if (rc == WEFT_ENOTFOUND)
            return cli_fail(k->c, CLI_FAILED, "%s has no record %" PRIu64 " any more: %s", k->c->argv[0], at.offset,
                            wait_for_next);
        if (rc < 0) return refused(k, rc);
        if (count < 0) return (int)-count;
        if (cli_output_failed()) return CLI_OK;
        left -= count;
    }
    return CLI_OK;
}

/* Each request revives or drops a thousand jobs; repeats it until no dead job is left. */
static int change_dead(struct cli_client *k, bool drops)
{
    char name[96];
    struct store_change ask = {.kind = drops ? WF_JOB_DROP : WF_JOB_REVIVE,
                               .queue = weft_cstr(k->c->argv[0]),
                               .id = k->c->argc > 1 ? strtoull(k->c->argv[1], NULL, 10) : 0};
    uint64_t count = 0;
    struct store_changed got = {.error = 0};
    store_of(k, name);
    do {
        weft_msg *answer;
        int rc = wf_store_ask(name, drops ? WF_STORE_DROP : WF_STORE_CHANGE, store_change_type(), &ask,
                              store_changed_type(), &got, &answer, k->deadline);
        if (rc < 0) return refused(k, rc);
        weft_msg_free(answer);
        count += got.error == 0 ? got.count : 0;
    } while (got.error == 0 && ask.id == 0);
    if (got.error == WEFT_ENOTFOUND && ask.id != 0)
        return cli_fail(k->c, CLI_FAILED, "%s has no dead job %s", k->c->argv[0], k->c->argv[1]);
    if (got.error == WEFT_EACCESS)
        return cli_fail(k->c, CLI_FAILED, "the store does not take the queue %s", k->c->argv[0]);
    if (got.error != 0 && got.error != WEFT_ENOTFOUND) return refused(k, wf_store_error(got.error));
    if (k->c->json) printf("{\"%s\": %" PRIu64 "}\n", drops ? "dropped" : "retried", count);
    else printf("%s: %" PRIu64 " jobs %s\n", k->c->argv[0], count, drops ? "are removed" : "can be taken again");
    return CLI_OK;
}

static int retry(struct cli_client *k)
{
    return change_dead(k, false);
}

static int drop(struct cli_client *k)
{
    return change_dead(k, true);
}

static int ask_about_dead(const struct cli *c, int (*ask)(struct cli_client *k))
{
    if (!wf_store_topic_ok(c->argv[0])) return no_queue(c);
    if (c->argc > 1 && (c->argv[1][strspn(c->argv[1], "0123456789")] != '\0' || strlen(c->argv[1]) > 19 ||
                        strtoull(c->argv[1], NULL, 10) == 0))
        return cli_fail(c, CLI_USAGE, "%s is no id of a job", CLI_QUOTE(c->argv[1]));
    return cli_ask_node(c, ask);
}

int cli_store_retry(const struct cli *c)
{
    return ask_about_dead(c, retry);
}

int cli_store_drop(const struct cli *c)
{
    return ask_about_dead(c, drop);
}

/* ---- weft run -------------------------------------------------------------------------------------------------- */

static const struct cli *running;
static weft_actor *module_first;

static void open_and_go_on(const void *arg, size_t size)
{
    struct cli_stored stored[CLI_LIST_MAX];
    struct weft_stored_topics topics[CLI_LIST_MAX];
    for (size_t i = 0; i < running->stored_topics.count; i++) {
        stored[i] = (struct cli_stored){0};
        (void)cli_read_stored(running->stored_topics.item[i], &stored[i]);
        topics[i] = (struct weft_stored_topics){stored[i].pattern, stored[i].count, stored[i].bytes, stored[i].age};
    }
    struct cli_queues named[CLI_LIST_MAX];
    struct weft_stored_queues queues[CLI_LIST_MAX];
    for (size_t i = 0; i < running->queues.count; i++) {
        named[i] = (struct cli_queues){0};
        (void)cli_read_queues(running->queues.item[i], &named[i]);
        queues[i] = (struct weft_stored_queues){named[i].pattern, named[i].lease, (uint32_t)named[i].attempts,
                                                named[i].jobs};
    }
    struct weft_stored_states states[CLI_LIST_MAX];
    for (size_t i = 0; i < running->states.count; i++)
        states[i] = (struct weft_stored_states){running->states.item[i]};
    const weft_store_options options = {.url = running->store,
                                        .topics = topics,
                                        .topic_count = running->stored_topics.count,
                                        .queues = queues,
                                        .queue_count = running->queues.count,
                                        .states = states,
                                        .state_count = running->states.count,
                                        .standby = running->store_standby};
    int rc = weft_store_open(&options, NULL, WEFT_FOREVER);
    if (rc < 0) weft_fail(rc, "--store %s: %s", cli_store_shown(running->store), weft_strerror(rc));
    module_first(arg, size);
}

int cli_store_first(const struct cli *c, weft_actor **first)
{
    size_t patterns = c->stored_topics.count + c->queues.count + c->states.count;
    if (c->store == NULL && c->store_standby)
        return cli_fail(c, CLI_USAGE, "--store-standby needs --store, which says where");
    if (c->store == NULL && patterns == 0) return CLI_OK;
    if (c->store == NULL)
        return cli_fail(c, CLI_USAGE, "--stored, --queues and --states need --store, which says where");
    if (patterns == 0)
        return cli_fail(c, CLI_USAGE, "--store needs --stored, --queues or --states, which say what is stored");
    running = c;
    module_first = *first;
    *first = open_and_go_on;
    return CLI_OK;
}
