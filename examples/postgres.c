/* postgres.c -- a descriptor that belongs to another library: PostgreSQL's client library, libpq, in an actor.
 *
 *     $ CFLAGS="-Wl,--no-as-needed $(pkg-config --cflags --libs libpq)" weft run postgres.c --name a -- \
 *           'host=/var/run/postgresql dbname=shop' orders
 *     connected to PostgreSQL 15.18
 *
 * and from another terminal
 *
 *     $ weft call db '["SELECT $1::int * 2", ["21"]]' --tag 1
 *     ["", [[["42"]]]]
 *     $ psql -h /var/run/postgresql shop -c "NOTIFY orders, '7 tea'"
 *                                                     the first one says: orders: 7 tea
 *
 * The arguments after "--" are libpq's connection string and the channels to LISTEN to. A query is a call to the
 * actor "db", from any node; notifications of a channel are published under "pg.CHANNEL", to all nodes.
 *
 * libpq reports when it needs its socket to be readable or writable, and the actor waits for that as for any source:
 * for the socket and its mailbox in one call, with a deadline. Nothing polls; there is no thread for the database.
 * The one call of libpq that blocks, PQcancel, runs on a thread of weft_offload. A query is given up when its caller
 * gives up. When the connection breaks the actor makes a new one; notifications of the meantime are lost, as with any
 * LISTEN. However the actor ends, a deferred clean-up closes the session at the server.
 *
 * Host names would be looked up by libpq, which blocks the worker: give a folder of Unix sockets, or hostaddr=. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#define QUERY(F) F(str, text) F(list(str), values)
WEFT_MESSAGE(query, 1, QUERY) /* a call; $1, $2, ... in the text are the values */
#define ROW(F) F(list(str), cells)
WEFT_STRUCT(row, ROW) /* NULL is "" */
#define ROWS(F) F(str, error) F(list(row), rows)
WEFT_MESSAGE(rows, 2, ROWS) /* the answer */

enum {
    NEWS = 3,          /* published: the payload of a NOTIFY */
    VALUES_MAX = 16,   /* the values of one query */
    CELLS_MAX = 65536, /* the cells of one answer */
    TEXT_MAX_BYTES = 8192,
};
#define PATIENCE WEFT_SEC(10)  /* the time for a connection, and for a query whose caller sets no deadline */
#define QUIET_MAX WEFT_SEC(60) /* after this time without traffic the connection is tested */
#define PAUSE WEFT_SEC(1)      /* between attempts to connect */

/* The state of the actor "db"; its clean-up frees it. */
struct store {
    PGconn *db;
    PGresult *result;
    PGcancel *cancel;
    const struct weft_args *args;
};

static void close_store(void *arg)
{
    struct store *s = arg;
    PQclear(s->result);
    PQfreeCancel(s->cancel);
    PQfinish(s->db);
}

static const char *problem(const struct store *s)
{
    char *text = PQerrorMessage(s->db);
    text[strcspn(text, "\n")] = 0;
    return text;
}

/* ---- Waiting for libpq ----------------------------------------------------------------------------------------- */

static int connect_store(struct store *s, bool again)
{
    int64_t deadline = weft_after(PATIENCE);
    if (again && !PQresetStart(s->db)) return WEFT_EREFUSED;
    for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;) {
        if (next == PGRES_POLLING_FAILED || PQstatus(s->db) == CONNECTION_BAD) return WEFT_EREFUSED;
        const weft_wait socket = weft_on_fd(PQsocket(s->db), next == PGRES_POLLING_WRITING);
        int rc = weft_wait_any(&socket, 1, deadline);
        if (rc < 0) return rc;
        next = again ? PQresetPoll(s->db) : PQconnectPoll(s->db);
    }
    return PQsetnonblocking(s->db, 1) == 0 ? 0 : WEFT_EREFUSED;
}

/* Waits until the query has been sent: a server that is busy sending may have to be read first. */
static int flush(struct store *s, int64_t deadline)
{
    int left;
    while ((left = PQflush(s->db)) == 1) {
        const weft_wait either[] = {weft_on_fd(PQsocket(s->db), false), weft_on_fd(PQsocket(s->db), true)};
        int which = weft_wait_any(either, 2, deadline);
        if (which < 0) return which;
        if (which == 0 && !PQconsumeInput(s->db)) return WEFT_ERESET;
    }
    return left < 0 ? WEFT_ERESET : 0;
}

/* Waits until the query has no more results. The first result is kept in s->result. */
static int collect(struct store *s, int64_t deadline)
{
    for (;;) {
        while (PQisBusy(s->db)) {
            const weft_wait socket = weft_on_fd(PQsocket(s->db), false);
            int rc = weft_wait_any(&socket, 1, deadline);
            if (rc < 0) return rc;
            if (!PQconsumeInput(s->db)) return WEFT_ERESET;
        }
        PGresult *result = PQgetResult(s->db);
        if (result == NULL) return 0;
        if (s->result == NULL) s->result = result;
        else PQclear(result);
    }
}

struct cancel {
    PGcancel *of;
    char why[256];
};

static void run_cancel(void *block)
{
    struct cancel *c = block;
    PQcancel(c->of, c->why, sizeof c->why);
}

static void drop_cancel(void *block)
{
    PQfreeCancel(((struct cancel *)block)->of);
}

/* The caller has given up, so the server is asked to cancel. If this returns 0 the connection can be used again. */
static int abandon(struct store *s)
{
    int64_t deadline = weft_after(WEFT_SEC(10));
    struct cancel c = {.of = PQgetCancel(s->db)};
    weft_job job;
    if (c.of == NULL) return WEFT_ENOMEM;
    s->cancel = c.of; /* it belongs to this actor until the job has it */
    int rc = weft_offload_start(&job, run_cancel, drop_cancel, &c, sizeof c, deadline);
    if (rc == 0) s->cancel = NULL;
    PQfreeCancel(s->cancel);
    s->cancel = NULL;
    if (rc == 0) rc = weft_offload_take(job, &c, sizeof c, deadline);
    if (rc == 0) PQfreeCancel(c.of);
    return rc == 0 ? collect(s, deadline) : rc;
}

/* Leaves the result, also a failed one, in s->result. */
static int ask(struct store *s, const char *text, int count, const char *const *values, int64_t deadline)
{
    PQclear(s->result);
    s->result = NULL;
    int rc = PQsendQueryParams(s->db, text, count, NULL, values, NULL, NULL, 0) ? flush(s, deadline) : WEFT_ERESET;
    if (rc == 0) rc = collect(s, deadline);
    return rc == 0 && s->result == NULL ? WEFT_ERESET : rc;
}

/* ---- Queries of other actors ----------------------------------------------------------------------------------- */

static void reply_error(const weft_msg *m, const char *why)
{
    rows_reply(m, &(struct rows){.error = weft_str(why, strcspn(why, "\n"))});
}

static void reply_rows(const weft_msg *m, const PGresult *result)
{
    size_t count = (size_t)PQntuples(result), width = (size_t)PQnfields(result);
    if (count * width > CELLS_MAX) {
        reply_error(m, "too many rows");
        return;
    }
    struct row *rows = weft_alloc(count * sizeof *rows + count * width * sizeof(weft_text));
    weft_text *cells = (weft_text *)(rows + count);
    for (size_t i = 0; rows != NULL && i < count; i++) {
        for (size_t k = 0; k < width; k++)
            cells[i * width + k] = weft_str(PQgetvalue(result, (int)i, (int)k),
                                            (size_t)PQgetlength(result, (int)i, (int)k));
        rows[i].cells = weft_str_list(cells + i * width, (uint32_t)width);
    }
    if (rows == NULL || rows_reply(m, &(struct rows){.rows = row_list(rows, (uint32_t)count)}) < 0)
        reply_error(m, "the answer is too large");
    weft_release(rows);
}

/* Copies the query into `buffer`, with a NUL after each text for libpq. Returns the number of values, or an error. */
static int unpack(const weft_msg *m, char *buffer, size_t size, const char *values[VALUES_MAX])
{
    struct query q;
    weft_text value;
    size_t used;
    int count = 0;
    if (query_read(m, &q) < 0 || q.text.size == 0 || q.text.size >= size) return WEFT_EFORMAT;
    used = (size_t)snprintf(buffer, size, "%.*s", WEFT_STR(q.text)) + 1;
    while (weft_str_next(&q.values, &value)) {
        if (count == VALUES_MAX || used + value.size >= size) return WEFT_EFORMAT;
        values[count++] = buffer + used;
        used += (size_t)snprintf(buffer + used, size - used, "%.*s", WEFT_STR(value)) + 1;
    }
    return count;
}

/* Negative: the connection cannot be used any more, or the actor is to end. */
static int answer(struct store *s, const weft_msg *m)
{
    char buffer[TEXT_MAX_BYTES];
    const char *values[VALUES_MAX];
    int64_t deadline = weft_deadline(m), longest = weft_after(PATIENCE);
    int count = unpack(m, buffer, sizeof buffer, values);
    if (count < 0) {
        reply_error(m, "not a query");
        return 0;
    }
    int rc = ask(s, buffer, count, values, deadline < longest ? deadline : longest);
    if (rc == WEFT_ETIMEDOUT) {
        reply_error(m, "the query took too long");
        return abandon(s);
    }
    if (rc < 0) reply_error(m, problem(s));
    else if (PQresultStatus(s->result) == PGRES_TUPLES_OK || PQresultStatus(s->result) == PGRES_COMMAND_OK)
        reply_rows(m, s->result);
    else reply_error(m, PQresultErrorMessage(s->result));
    return rc;
}

/* ---- The actor ------------------------------------------------------------------------------------------------- */

static void pass_on_news(struct store *s)
{
    char topic[256];
    for (PGnotify *n; (n = PQnotifies(s->db)) != NULL; PQfreemem(n)) {
        snprintf(topic, sizeof topic, "pg.%s", n->relname);
        int rc = weft_publish(topic, NEWS, n->extra, strlen(n->extra));
        if (rc < 0) weft_log(WEFT_WARN, "%s: %s", topic, weft_strerror(rc));
    }
}

static int listen_to_channels(struct store *s)
{
    int rc = 0;
    for (int i = 2; i < s->args->argc && rc == 0; i++) {
        char text[256], *name = PQescapeIdentifier(s->db, s->args->argv[i], strlen(s->args->argv[i]));
        snprintf(text, sizeof text, "LISTEN %s", name != NULL ? name : "\"\"");
        PQfreemem(name);
        rc = ask(s, text, 0, NULL, weft_after(PATIENCE));
        if (rc == 0 && PQresultStatus(s->result) != PGRES_COMMAND_OK) rc = WEFT_EINVAL;
    }
    return rc;
}

/* Serves until the connection is lost, or the actor is asked to stop. */
static int serve(struct store *s)
{
    int rc = listen_to_channels(s);
    weft_msg *m;
    while (rc == 0) {
        const weft_wait sources[] = {weft_on_fd(PQsocket(s->db), false), weft_on_mailbox()};
        pass_on_news(s);
        int which = weft_wait_any(sources, 2, weft_after(QUIET_MAX));
        if (which == 0) rc = PQconsumeInput(s->db) ? 0 : WEFT_ERESET;
        else if (which == WEFT_ETIMEDOUT) rc = ask(s, "SELECT", 0, NULL, weft_after(PATIENCE));
        else if (which < 0) rc = which;
        else if (weft_recv(&m, WEFT_NOW) == 0) rc = answer(s, m), weft_msg_free(m);
    }
    return rc;
}

static void store(const void *arg, size_t size)
{
    struct store *s = weft_alloc(sizeof *s); /* not on the stack: the clean-up needs it */
    (void)size;
    if (s == NULL) weft_exit(WEFT_ENOMEM);
    s->args = arg;
    s->db = PQconnectStart(s->args->argv[1]);
    if (s->db == NULL || weft_defer(close_store, s) < 0 || weft_register("db") < 0) weft_exit(WEFT_ENOMEM);
    for (bool again = false;; again = true) {
        int rc = connect_store(s, again);
        if (rc == 0) {
            int v = PQserverVersion(s->db);
            printf("connected to PostgreSQL %d.%d\n", v / 10000, v % 10000);
            fflush(stdout);
            rc = serve(s);
        }
        if (rc == WEFT_ECANCELED) return;
        weft_log(WEFT_WARN, "no connection: %s; %s", weft_strerror(rc), problem(s));
        if (weft_sleep(weft_after(PAUSE)) < 0) return; /* queries of the meantime wait in the mailbox */
    }
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    weft_msg *m;
    (void)size;
    if (args->argc < 2) {
        fprintf(stderr, "usage: postgres CONNECTION [CHANNEL...]\n");
        weft_exit(WEFT_EINVAL);
    }
    if (weft_subscribe("pg.*", NULL) < 0) weft_exit(WEFT_EXIT_FAILED);
    /* libpq, and the libraries that it uses, were not written for small stacks. */
    const weft_spawn_options options = {.kind = "store", .stack_bytes = 256 * 1024, .link = true};
    if (weft_spawn(NULL, store, args, sizeof *args, &options) < 0) weft_exit(WEFT_EXIT_FAILED);
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_tag(m) == NEWS)
            printf("%s: %.*s\n", weft_topic(m) + strlen("pg."), (int)weft_size(m), (const char *)weft_data(m));
        fflush(stdout);
        weft_msg_free(m);
    }
}

WEFT_MODULE(first) /* for `weft run` */

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, first, &args, sizeof args);
}
