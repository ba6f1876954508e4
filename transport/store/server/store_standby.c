/* transport/store/server/store_standby.c -- see store_standby.h.
 *
 * Design notes.
 * (1) While the cluster has a store, nothing is asked of the database, and nothing polls: the end of that store, or the loss
 *     of its node, wakes this actor. A session that waits for the owner's lock all the time would hold a snapshot, and the
 *     server could not remove the old versions of the row that each commit changes.
 * (2) When there is no store, each standby tries to open it. The engine's lock decides: one serves, and the others find its
 *     name. So there is one owner, also if the cluster was cut in two, as the parts share the lock. An engine may wait for
 *     the lock within its opening; besides, each standby tries once in a second at most.
 * (3) Two nodes may have been given different databases by mistake, and would take turns in serving different data. So the
 *     numbers of the last opening are compared before a standby waits. SQLite's files have no such number.
 * (4) What the store has acknowledged is known here as of a second ago, or as of its end (standby_marks.h). A database that
 *     has less is not opened. */
#include <stdlib.h>
#include <string.h>

#include <weft/call.h>
#include <weft/local.h>
#include <weft/log.h>
#include <weft/monitor.h>
#include <weft/names.h>
#include <weft/offload.h>
#include <weft/store.h>
#include <weft/wait.h>

#include "store_actor.h"
#include "store_file.h"
#include "store_messages.h"
#include "store_standby.h"

const weft_spawn_options wf_store_standby_options = {.kind = "store standby", .stack_bytes = 64 * 1024};

struct standby {
    struct store_config config; /* its views point into the argument */
    char url[1024];
    weft_pid store;    /* that this actor has started last */
    weft_pid compared; /* the one that has the same data */
    bool is_named;
};

/* ---- Messages -------------------------------------------------------------------------------------------------- */

static void take_mark(struct standby *s, const weft_msg *m)
{
    struct store_mark mark;
    if (weft_typed_read(store_mark_type(), weft_data(m), weft_size(m), &mark, NULL) < 0) return;
    if (mark.commits > s->config.commits) s->config.commits = mark.commits;
}

static void take_messages(struct standby *s)
{
    static const struct store_appended fine = {.error = WEFT_OK}, unknown = {.error = WEFT_ENOTSUP};
    weft_msg *m;
    for (; weft_recv(&m, WEFT_NOW) == WEFT_OK; weft_msg_free(m)) {
        if (weft_wants_reply(m))
            wf_store_answer(m, store_appended_type(), weft_tag(m) == WF_STORE_STATUS ? &fine : &unknown);
        else if (weft_tag(m) == WF_STORE_MARK) take_mark(s, m);
    }
}

/* [A, W] Until that store has ended. Returns 0 or WEFT_ECANCELED. */
static int await_end(struct standby *s, weft_pid store)
{
    for (;;) {
        const weft_wait on[] = {weft_on_end(store), weft_on_mailbox()};
        int which = weft_wait_any(on, 2, WEFT_FOREVER);
        take_messages(s); /* its last mark came before its end */
        if (which == WEFT_ECANCELED || which == 0) return which;
        if (which < 0 && weft_sleep(weft_after(WEFT_SEC(1))) < 0) return WEFT_ECANCELED; /* no memory */
    }
}

static void set_name(struct standby *s, bool waits)
{
    if (waits && !s->is_named) s->is_named = weft_register(WF_STORE_STANDBY_NAME) == WEFT_OK;
    if (!waits && s->is_named) s->is_named = weft_unregister(WF_STORE_STANDBY_NAME) < 0;
}

/* ---- While another store serves -------------------------------------------------------------------------------- */

struct looking {
    char url[1024];
    struct wf_store_mark is;
    struct wf_store_why why;
    int rc;
};

static void look_blocking(void *block)
{
    struct looking *l = *(struct looking **)block;
    l->rc = wf_store_file_look(l->url, &l->is, &l->why);
}

static void free_looking(void *block)
{
    free(*(struct looking **)block);
}

/* Reads the mark in the database that this node has been given. */
static int look(const struct standby *s, struct looking *out)
{
    struct looking *l = calloc(1, sizeof *l);
    weft_job job;
    if (l == NULL) return WEFT_ENOMEM;
    memcpy(l->url, s->url, sizeof l->url);
    int rc = weft_offload_start(&job, look_blocking, free_looking, &l, sizeof(void *), WEFT_FOREVER);
    if (rc < 0) {
        free(l);
        return rc;
    }
    rc = weft_offload_take(job, &l, sizeof(void *), WEFT_FOREVER);
    if (rc < 0) {
        (void)weft_offload_drop(job);
        return rc;
    }
    *out = *l;
    free(l);
    return out->rc;
}

/* The mark of the store that serves, which tells later ones from now on. */
static int ask_mark(struct standby *s, weft_pid store, struct store_mark *out)
{
    weft_msg *answer;
    int rc = weft_call(store, WF_STORE_MARK, NULL, 0, &answer, weft_after(WEFT_SEC(10)));
    if (rc < 0) return rc;
    rc = weft_typed_read(store_mark_type(), weft_data(answer), weft_size(answer), out, NULL);
    if (rc == WEFT_OK) rc = wf_store_error(out->error);
    if (rc == WEFT_OK) take_mark(s, answer);
    weft_msg_free(answer);
    return rc;
}

/* Whether the store that serves has the same data. WEFT_EEXIST: it has other data. Another error: the database cannot be
 * looked at. */
static int compare(struct standby *s, weft_pid store)
{
    struct store_mark serving;
    struct looking l;
    if (ask_mark(s, store, &serving) < 0) return WEFT_OK; /* it ends, or is of an earlier version */
    int rc = look(s, &l);
    if (rc == WEFT_ECANCELED || rc == WEFT_ENOMEM) return rc;
    bool differs = rc == WEFT_OK ? l.is.owner != serving.owner : rc == WEFT_ENOTFOUND || serving.owner != 0;
    if (rc < 0 && rc != WEFT_ENOTFOUND && rc != WEFT_ENOTSUP) {
        weft_log(WEFT_ERROR, "%s", l.why.text);
        return rc;
    }
    if (!differs) s->compared = store;
    if (!differs) return WEFT_OK;
    char shown[256];
    wf_store_url_show(s->url, shown, sizeof shown);
    weft_log(WEFT_ERROR,
             "store %s: the cluster has a store with other data: give all nodes that stand by the same --store",
             shown);
    return WEFT_EEXIST;
}

static void note_wait(const struct standby *s, weft_pid store)
{
    char shown[256], text[WEFT_PID_TEXT];
    wf_store_url_show(s->url, shown, sizeof shown);
    weft_log(WEFT_INFO, "store %s stands by: %s serves it", shown, weft_pid_format(store, text));
}

/* ---- Serving --------------------------------------------------------------------------------------------------- */

static int open_store(struct standby *s)
{
    weft_writer measure = weft_writer_on(NULL, 0);
    store_config_put(&measure, &s->config);
    void *config = weft_alloc(measure.size);
    if (config == NULL) return WEFT_ENOMEM;
    weft_writer w = weft_writer_on(config, measure.size);
    store_config_put(&w, &s->config);
    int rc = wf_store_start(&s->store, wf_store_actor, config, measure.size, &wf_store_actor_options, WEFT_FOREVER);
    (void)weft_release(config);
    struct store_mark mark;
    if (rc == WEFT_OK) weft_ignore(ask_mark(s, s->store, &mark)); /* which is told the later ones, too */
    return rc;
}

/* ---- Turns ----------------------------------------------------------------------------------------------------- */

/* Another store serves, or ours. */
static int await_turn(struct standby *s, weft_pid serving)
{
    bool ours = weft_pid_equal(s->store, serving), is_known = weft_pid_equal(s->compared, serving);
    int rc = ours || is_known ? WEFT_OK : compare(s, serving);
    if (rc == WEFT_EEXIST || rc == WEFT_ECANCELED) return rc;
    set_name(s, !ours);
    if (!ours) note_wait(s, serving);
    return await_end(s, serving);
}

static int try_once(struct standby *s)
{
    weft_pid serving;
    int64_t began = weft_now();
    int rc = open_store(s);
    take_messages(s);
    if (rc == WEFT_OK || rc == WEFT_ECANCELED) return rc;
    return weft_whereis(WEFT_STORE_NAME, &serving) == WEFT_OK ? WEFT_OK : weft_sleep(began + WEFT_SEC(1));
}

static int go_on(struct standby *s)
{
    weft_pid serving;
    if (weft_whereis(WEFT_STORE_NAME, &serving) == WEFT_OK) return await_turn(s, serving);
    set_name(s, true);
    return try_once(s);
}

/* What is wrong from the beginning is an error, as for a store without standbys. */
static int begin(struct standby *s)
{
    weft_pid serving;
    if (weft_whereis(WEFT_STORE_NAME, &serving) == WEFT_OK) return compare(s, serving);
    int rc = open_store(s);
    return rc == WEFT_EINUSE || rc == WEFT_EEXIST ? WEFT_OK : rc;
}

static void free_standby(void *arg)
{
    struct standby *s = arg;
    if (!weft_pid_is_nobody(s->store) && weft_stop(s->store) == WEFT_OK) {
        weft_wait on = weft_on_end(s->store);
        weft_ignore(weft_wait_any(&on, 1, WEFT_FOREVER));
    }
    free(s);
}

void wf_store_standby(const void *config, size_t size)
{
    struct standby *s = calloc(1, sizeof *s);
    int rc = s == NULL ? WEFT_ENOMEM : weft_typed_read(store_config_type(), config, size, &s->config, NULL);
    if (s != NULL) s->store = s->compared = weft_nobody();
    if (s != NULL && weft_defer(free_standby, s) < 0) return;
    if (rc == WEFT_OK && !weft_text_copy(s->config.url, s->url, sizeof s->url)) rc = WEFT_EINVAL;
    if (rc == WEFT_OK) rc = begin(s);
    if (rc < 0) {
        wf_store_report(rc);
        return;
    }
    take_messages(s);
    while (rc == WEFT_OK) rc = go_on(s);
    if (rc != WEFT_ECANCELED) weft_fail(rc, "the store does not stand by any more: %s", weft_strerror(rc));
}
