/* transport/store/postgres/postgres_owner.c -- see postgres_owner.h. */
#include <string.h>

#include <weft/log.h>

#include "postgres_connection.h"
#include "postgres_owner.h"
#include "sql_store.h"

int pq_lock(struct pq_store *s)
{
    /* The number is "weft_sto" in ASCII. The session before may still end, so this waits for as long as lock_timeout. */
    return pq_query(&s->writer, "SELECT pg_advisory_lock(8603395313164842095)", NULL, 0, NULL);
}

int pq_read_mark(struct pq_connection *c, struct wf_store_mark *out)
{
    PGresult *result;
    int rc = pq_query(c, "SELECT owner, commits FROM store WHERE id = 1", NULL, 0, &result);
    if (rc < 0) return rc == WEFT_EFORMAT ? WEFT_ENOTFOUND : rc;
    *out = (struct wf_store_mark){(uint64_t)pq_number(result, 0, 0), (uint64_t)pq_number(result, 0, 1)};
    rc = PQntuples(result) == 1 ? WEFT_OK : WEFT_ENOTFOUND;
    PQclear(result);
    return rc;
}

int pq_own(struct pq_store *s)
{
    PGresult *result;
    int64_t owner = 0;
    while (owner == 0) {
        sqlite3_randomness(sizeof owner, &owner);
        owner &= INT64_MAX; /* as databases have integers */
    }
    int rc = pq_query(&s->writer, "UPDATE store SET owner = $1 WHERE id = 1 RETURNING commits", &owner, 1, &result);
    if (rc < 0) return rc;
    s->owner = (uint64_t)owner;
    s->commits = (uint64_t)pq_number(result, 0, 0);
    rc = PQntuples(result) == 1 ? WEFT_OK : WEFT_EFORMAT;
    PQclear(result);
    return rc;
}

/* ---- A new connection ------------------------------------------------------------------------------------------ */

/* It is not known what others have written, or what the database has lost: nothing is written from now on. */
static int give_up(struct pq_store *s, const char *text)
{
    weft_log(WEFT_ERROR, "store %s: %s: nothing is stored until it is opened again", s->base.name, text);
    s->base.broken = true;
    return WEFT_ESYSTEM;
}

/* Whether the store is as this owner has left it. */
static int compare_owner(struct pq_store *s)
{
    struct wf_store_mark is;
    int rc = pq_read_mark(&s->writer, &is);
    if (rc == WEFT_ENOTFOUND) return give_up(s, "the database has no store any more");
    if (rc < 0) return rc;
    if (is.commits < s->commits) return give_up(s, "the database lacks commits that were acknowledged");
    if (is.owner != s->owner) return give_up(s, "another node has had this store open meanwhile");
    if (is.commits != s->commits && !(s->base.in_doubt && is.commits == s->commits + 1))
        return give_up(s, "the database has other commits than those that were acknowledged");
    s->commits = is.commits;
    s->base.in_doubt = false;
    return WEFT_OK;
}

static int connect_again(struct pq_store *s)
{
    struct wf_store_why why = {.text = ""};
    pq_disconnect(&s->writer);
    int rc = pq_connect(&s->writer, &s->url, false, &why);
    if (rc < 0) {
        weft_log(WEFT_WARN, "store %s: %s", s->base.name, why.text);
        return WEFT_ESYSTEM;
    }
    rc = pq_lock(s);
    if (rc == WEFT_EINUSE) weft_log(WEFT_WARN, "store %s: another node has this store open", s->base.name);
    if (rc == WEFT_OK) rc = compare_owner(s);
    if (rc == WEFT_OK) rc = sql_load(&s->base, &why);
    if (rc == WEFT_EFORMAT) return give_up(s, why.text);
    if (rc == WEFT_OK) weft_log(WEFT_INFO, "store %s is connected again", s->base.name);
    else pq_disconnect(&s->writer);
    return rc == WEFT_OK || rc == WEFT_ENOMEM ? rc : WEFT_ESYSTEM;
}

/* ---- Transactions ---------------------------------------------------------------------------------------------- */

int pq_begin(struct sql_store *base)
{
    struct pq_store *s = (struct pq_store *)base;
    struct pq_connection *c = &s->writer;
    if (!pq_is_alive(c)) {
        int rc = connect_again(s);
        s->base.away = rc < 0 && rc != WEFT_ENOMEM;
        if (rc < 0) return rc;
        sql_server_changed(base);
    }
    c->failed = WEFT_OK;
    c->fenced = false;
    c->in_transaction = c->begin_due = c->fence_due = true;
    c->owner = (int64_t)s->owner;
    c->commits = (int64_t)s->commits;
    return WEFT_OK;
}

int pq_before(struct pq_connection *c, bool changes)
{
    const int64_t known[] = {c->owner, c->commits};
    int rc = WEFT_OK;
    if (c->begin_due) rc = pq_send(c, "BEGIN");
    c->begin_due = false;
    if (rc < 0 || !changes || !c->fence_due) return rc;
    c->fence_due = false;
    return pq_send_numbers(c, "UPDATE store SET commits = commits + 1 WHERE id = 1 AND owner = $1 AND commits = $2",
                           known, 2, PQ_FENCE);
}

static int commit(struct pq_store *s)
{
    PGresult *result;
    struct pq_connection *c = &s->writer;
    bool changes_nothing = c->fence_due, has_begun = !c->begin_due;
    c->begin_due = c->fence_due = false;
    if (changes_nothing) {
        if (has_begun) (void)pq_send(c, "ROLLBACK");
        if (has_begun) pq_push(c);
        return c->failed;
    }
    int rc = pq_wait(c, NULL); /* whether each statement did what it had to do */
    if (rc < 0) return rc;
    s->base.in_doubt = true;
    c->has_warned = false;
    rc = pq_query(c, "COMMIT", NULL, 0, &result);
    if (rc < 0) return rc;
    bool committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    /* The wait for a standby was cancelled: this server has the commit, and perhaps no other one. */
    if (committed && c->has_warned) return WEFT_ESYSTEM;
    s->base.in_doubt = false;
    s->commits += committed;
    return committed ? WEFT_OK : WEFT_ESYSTEM;
}

int pq_finish(struct sql_store *base, int rc)
{
    struct pq_store *s = (struct pq_store *)base;
    struct pq_connection *c = &s->writer;
    if (rc == WEFT_OK) rc = commit(s);
    c->in_transaction = false;
    if (rc == WEFT_OK) return rc;
    c->begin_due = c->fence_due = false;
    (void)pq_wait(c, NULL);
    pq_forget_answers(c);
    bool fenced = c->fenced;
    /* After a COMMIT without its answer the next connection looks at what became of it. */
    if (s->base.in_doubt || pq_query(c, "ROLLBACK", NULL, 0, NULL) < 0) {
        pq_disconnect(c);
        atomic_store(&base->base.is_doubted, true);
    }
    if (fenced) return give_up(s, "another node has had this store open meanwhile");
    return rc == WEFT_EINUSE ? WEFT_ESYSTEM : rc; /* somebody has locked a table for long */
}

/* The numbers of commits are the writer's alone. */
int pq_confirm_beside(struct sql_store *base, struct sql_connection *reader)
{
    struct wf_store_mark is;
    int rc = pq_read_mark((struct pq_connection *)reader, &is);
    bool is_owner = rc == WEFT_OK && is.owner == ((struct pq_store *)base)->owner;
    return is_owner || rc == WEFT_ENOMEM ? rc : WEFT_ESYSTEM;
}

/* A second time if the connection was lost: then it is made again, or the store is away. */
int pq_confirm(struct wf_store *base)
{
    struct pq_store *s = (struct pq_store *)base;
    struct wf_store_mark is;
    int rc = WEFT_ESYSTEM;
    for (int i = 0; i < 2 && rc == WEFT_ESYSTEM && !s->base.broken; i++) {
        rc = pq_begin(&s->base);
        if (rc == WEFT_OK) rc = pq_finish(&s->base, pq_read_mark(&s->writer, &is));
    }
    return rc;
}
