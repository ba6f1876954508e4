/* cli/stored_follow.c -- weft subscribe --cursor and --shared: prints the records of a pattern, and acknowledges
 * what was printed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weft.h>
#include <weft/store.h>

#include "stored.h"
#include "shared_member.h"
#include "stored_cursor.h"
#include "stored_pattern.h"
#include "stored_topic.h"
#include "talk.h"

enum { UNSAID_MAX = 256 }; /* records that were printed and not acknowledged, at most */

/* The records of one topic that were printed since the last advance. */
struct following {
    struct cli_client *k;
    char store[97];
    char topic[256];
    struct weft_stored upto; /* the last one; its bytes are freed */
    int64_t left;
    int unsaid;
};

static int refused(const struct following *f, int rc)
{
    if (rc == WEFT_ENOACTOR || rc == WEFT_ENOREPLY)
        return cli_fail(f->k->c, CLI_FAILED,
                        "node %s runs no store; 'weft names --prefix weft.store' says where it is", f->k->node);
    if (rc == WEFT_EEXIST)
        return cli_fail(f->k->c, CLI_FAILED,
                        f->k->c->cursor != NULL ? "%s is the name of a shared cursor: give --shared"
                                                : "%s has plain cursors, or members with another pattern",
                        f->k->c->cursor != NULL ? f->k->c->cursor : f->k->c->shared);
    return cli_fail_with(f->k->c, rc, f->k->c->argv[0]);
}

/* Bytes in the buffer of the standard output are not printed yet. */
static int acknowledge(struct following *f)
{
    if (f->unsaid == 0) return WEFT_OK;
    if (cli_output_failed()) return WEFT_ESYSTEM;
    f->unsaid = 0;
    const int64_t by = weft_after(WEFT_SEC(30));
    if (f->k->c->cursor != NULL) return wf_cursor_advance(f->store, f->k->c->cursor, f->topic, f->upto.at, by);
    int rc = wf_shared_done_upto(f->store, &f->upto, by);
    return rc == WEFT_ECLOSED ? WEFT_OK : rc; /* its lease was over: another member gets it */
}

/* A record that comes again is not acknowledged with those that came before it. */
static int print(struct following *f, const struct weft_stored *got)
{
    bool follows = strcmp(got->topic, f->topic) == 0 && got->at.offset > f->upto.at.offset;
    int rc = follows ? WEFT_OK : acknowledge(f);
    if (rc < 0) return rc;
    if (got->kind == WEFT_STORED_RECORD) cli_print_stored(f->k->c, got);
    memcpy(f->topic, got->topic, sizeof f->topic);
    f->upto = *got;
    f->left -= got->kind == WEFT_STORED_RECORD;
    return ++f->unsaid == UNSAID_MAX ? acknowledge(f) : WEFT_OK;
}

/* Takes a message, and frees it. Returns 0 or an error. */
static int take(struct following *f, weft_msg *m)
{
    struct weft_stored got;
    struct weft_down down;
    int rc = WEFT_OK;
    if (weft_stored_read(m, &got) == WEFT_OK) {
        bool is_shared = got.shared[0] != '\0' && got.kind != WEFT_STORED_ENDED;
        if (got.kind == WEFT_STORED_RECORD || is_shared) rc = print(f, &got);
        if (got.kind == WEFT_STORED_GAP)
            fprintf(stderr, "weft subscribe: %s: %" PRIu64 " records before %" PRIu64 " are not stored any more\n",
                    got.topic, got.missing, got.at.offset);
        if (got.kind == WEFT_STORED_EPOCH)
            fprintf(stderr, "weft subscribe: %s: the log has a new epoch, %016" PRIx64 "\n", got.topic, got.at.epoch);
        if (got.kind == WEFT_STORED_ENDED) rc = got.error;
    } else if (weft_tag(m) == WEFT_TAG_DOWN && weft_down_read(m, &down) == WEFT_OK) {
        rc = WEFT_ENOREPLY; /* the watcher ends when the store does not answer */
    }
    weft_msg_free(m);
    return rc;
}

static int follow(struct following *f)
{
    const struct cli *c = f->k->c;
    int rc = WEFT_OK;
    while (rc == WEFT_OK && f->left > 0) {
        weft_msg *m;
        rc = weft_recv(&m, f->unsaid > 0 ? WEFT_NOW : c->has_timeout ? f->k->deadline : WEFT_FOREVER);
        if (rc == WEFT_OK) rc = take(f, m);
        else if (rc == WEFT_ETIMEDOUT && f->unsaid > 0) rc = acknowledge(f); /* nothing more for now */
    }
    int last = f->unsaid > 0 ? acknowledge(f) : WEFT_OK;
    return rc == WEFT_OK || rc == WEFT_ECANCELED ? last : rc;
}

int cli_follow_cursor(struct cli_client *k)
{
    struct following f = {.k = k, .left = k->c->has_count ? k->c->count : INT64_MAX};
    weft_pid watcher;
    snprintf(f.store, sizeof f.store, "%s@%s", WEFT_STORE_NAME, k->node);
    const uint32_t bound = f.left < UNSAID_MAX ? (uint32_t)f.left : UNSAID_MAX;
    int rc = k->c->shared != NULL
                 ? wf_shared_member_start(f.store, k->c->shared, k->c->argv[0], bound, &watcher, k->deadline)
                 : wf_stored_pattern_start(f.store, k->c->argv[0], false, k->c->cursor, &watcher, k->deadline);
    if (rc < 0) return refused(&f, rc);
    rc = weft_monitor(watcher, NULL);
    if (rc == WEFT_OK) rc = follow(&f);
    (void)weft_kill(watcher);               /* its readers are linked to it and end, too */
    if (cli_output_failed()) return CLI_OK; /* main says so */
    return rc < 0 ? refused(&f, rc) : CLI_OK;
}
