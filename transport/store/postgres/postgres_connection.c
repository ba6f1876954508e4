/* transport/store/postgres/postgres_connection.c -- see postgres_connection.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/log.h>

#include "postgres_connection.h"
#include "postgres_driver.h"
#include "postgres_hosts.h"
#include "postgres_relay.h"

/* ---- Connecting ------------------------------------------------------------------------------------------------ */

/* A commit is acknowledged when it is on the server's disk. Sequential scans are never what these statements need, also
 * when the server knows nothing yet of new tables; plans are made once. The server ends the session of a client that is
 * silent for 25 seconds, also when an answer is on its way: then keep-alives do not count. */
static const char settings[] =
    "SET search_path TO weft; SET client_min_messages TO warning; "
    "SET enable_seqscan TO off; SET plan_cache_mode TO force_generic_plan;"
    "SET tcp_keepalives_idle TO 10; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 3;"
    "SELECT set_config('tcp_user_timeout', '25000', false) WHERE current_setting('tcp_user_timeout', true) <> '';"
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';";

/* A session that the server ends gets a last message, as an error or a warning of the class 57P. */
static void look_at_notice(void *arg, const PGresult *result)
{
    struct pq_connection *c = arg;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (state != NULL && strncmp(state, "57P", 3) == 0) c->is_ending = true;
    if (severity != NULL && strcmp(severity, "WARNING") == 0) c->has_warned = true;
}

/* As PQgetResult, which waits without end, and keeps what comes without a limit. Nothing is awaited a second time of a server
 * that was silent, or sends more than any answer has. */
static PGresult *next_result(struct pq_connection *c)
{
    enum pq_waited waited = c->is_given_up ? PQ_SILENT : pq_relay_wait(c->relay, c->pg, c->silence, &c->space);
    if (!c->is_given_up && waited == PQ_SILENT)
        weft_log(WEFT_WARN, "the PostgreSQL server at %s has sent no answer for %d s (answer_timeout)", PQhost(c->pg),
                 c->silence / 1000);
    if (waited == PQ_TOO_MUCH)
        weft_log(WEFT_ERROR,
                 "the PostgreSQL server at %s sends more than %d MiB, which is no answer to this store: the"
                 " connection is given up",
                 PQhost(c->pg), PQ_ANSWERS_MAX >> 20);
    if (waited == PQ_SETTINGS)
        weft_log(WEFT_ERROR,
                 "the PostgreSQL server at %s has reported more than %d MiB of settings, for which nobody asked: the"
                 " connection is given up",
                 PQhost(c->pg), PQ_SETTINGS_MAX >> 20);
    c->is_given_up |= waited != PQ_CAME;
    c->is_endless |= waited == PQ_TOO_MUCH || waited == PQ_SETTINGS;
    return c->is_given_up ? NULL : PQgetResult(c->pg);
}

/* Before the pipeline mode. */
static int run_settings(struct pq_connection *c, const char *text)
{
    int rc = PQsendQuery(c->pg, text) == 1 ? WEFT_OK : WEFT_ESYSTEM;
    c->space = PQ_ANSWERS_MAX;
    for (PGresult *result; (result = next_result(c)) != NULL; PQclear(result))
        if (rc == WEFT_OK) rc = pq_error(result);
    return c->is_given_up ? WEFT_ESYSTEM : rc;
}

/* A server that waits for a lock sends nothing: it gives up before it seems to be silent. */
static int set_lock_timeout(struct pq_connection *c)
{
    char text[48];
    bool is_short = c->silence >= 0 && c->silence / 2 < PQ_LOCK_TIMEOUT;
    snprintf(text, sizeof text, "SET lock_timeout TO %d", is_short ? c->silence / 2 : PQ_LOCK_TIMEOUT);
    return run_settings(c, text);
}

static int settle(struct pq_connection *c, bool read_only)
{
    int rc = PQsetnonblocking(c->pg, 1) == 0 ? WEFT_OK : WEFT_ESYSTEM;
    if (rc == WEFT_OK) c->relay = pq_relay_new(c->pg);
    if (rc == WEFT_OK && c->relay == NULL) rc = WEFT_ENOMEM;
    if (rc == WEFT_OK) rc = run_settings(c, settings);
    if (rc == WEFT_OK) rc = set_lock_timeout(c);
    return rc < 0 || !read_only ? rc : run_settings(c, "SET default_transaction_read_only TO on");
}

const char *pq_error_text(const struct pq_connection *c)
{
    if (c->is_endless) return "the server sends more than any answer has";
    if (c->is_given_up) return "the server sends no answer (answer_timeout says for how long it is awaited)";
    if (c->pg != NULL && c->relay == NULL && PQstatus(c->pg) == CONNECTION_OK)
        return "no memory, or no descriptor, is left";
    return c->pg == NULL ? "out of memory" : PQerrorMessage(c->pg);
}

/* The first line of what libpq says. */
static void say(struct wf_store_why *why, const struct pq_connection *c)
{
    const char *text = pq_error_text(c);
    if (why != NULL) snprintf(why->text, sizeof why->text, "%.*s", (int)strcspn(text, "\n"), text);
}

/* What stands before `dbname` are defaults, which the URL can change; what stands behind it was found out about the URL. A
 * server that cannot be reached is lost after some time. Of several servers one is the primary; standbys may be behind, also
 * for readers. */
static PGconn *connect_to(const struct pq_url *url, bool has_several, const struct pq_hosts *hosts)
{
    static const char *const words[] = {"fallback_application_name",
                                        "connect_timeout",
                                        "keepalives_idle",
                                        "keepalives_interval",
                                        "keepalives_count",
                                        "tcp_user_timeout",
                                        "target_session_attrs",
                                        "dbname",
                                        "host",
                                        "hostaddr",
                                        "port",
                                        NULL};
    const char *values[] = {"weft",
                            PQ_CONNECT_TIMEOUT,
                            "10",
                            "5",
                            "3",
                            "30000",
                            has_several ? "read-write" : "any",
                            url->where,
                            hosts->host,
                            hosts->hostaddr,
                            hosts->port,
                            NULL};
    return PQconnectdbParams(words, values, 1);
}

int pq_connect(struct pq_connection *c, const struct pq_url *url, bool read_only, struct wf_store_why *why)
{
    struct pq_hosts hosts;
    *c = (struct pq_connection){.base = {.driver = &pq_driver}, .silence = url->silence};
    PQconninfoOption *options = pq_words(url->where);
    if (options == NULL) {
        if (why != NULL) snprintf(why->text, sizeof why->text, "%s", PQ_WRONG);
        return WEFT_EINVAL;
    }
    const bool has_several = pq_has_several_hosts(options);
    PQconninfoFree(options);
    int rc = pq_hosts_find(url, &hosts, why);
    if (rc < 0) return rc;
    c->pg = connect_to(url, has_several, &hosts);
    pq_hosts_free(&hosts);
    rc = c->pg == NULL ? WEFT_ENOMEM : PQstatus(c->pg) != CONNECTION_OK ? WEFT_ESYSTEM : WEFT_OK;
    if (rc == WEFT_OK) {
        PQsetNoticeReceiver(c->pg, look_at_notice, c);
        rc = settle(c, read_only);
    }
    if (rc == WEFT_OK && PQenterPipelineMode(c->pg) != 1) rc = WEFT_ESYSTEM;
    if (rc == WEFT_OK) return WEFT_OK;
    say(why, c);
    pq_disconnect(c);
    return rc;
}

void pq_forget_answers(struct pq_connection *c)
{
    for (; c->taken < c->answered; c->taken++) PQclear(c->answer[c->taken]);
    c->asked_count = c->answered = c->taken = 0;
    c->asked = NULL;
}

void pq_disconnect(struct pq_connection *c)
{
    pq_forget_answers(c);
    for (int i = 0; i < SQL_STATEMENTS; i++) PQclear(c->row[i].result);
    PQfinish(c->pg);
    pq_relay_free(c->relay);
    *c = (struct pq_connection){.base = {.driver = &pq_driver}};
}

bool pq_is_alive(struct pq_connection *c)
{
    if (c->pg == NULL || c->is_given_up) return false;
    if (c->sent_count > 0) (void)pq_wait(c, NULL);
    c->space = PQ_ANSWERS_MAX;
    if (!pq_relay_take(c->relay, &c->space)) return false;
    if (PQconsumeInput(c->pg) == 1) (void)PQisBusy(c->pg); /* which looks at what has come */
    return PQstatus(c->pg) == CONNECTION_OK && !c->is_ending && !c->is_given_up;
}

/* ---- Errors ---------------------------------------------------------------------------------------------------- */

int pq_error(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result); /* of NULL: a fatal error */
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_PIPELINE_SYNC) return WEFT_OK;
    const char *state = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (state == NULL) return WEFT_ESYSTEM; /* the connection is lost */
    static const struct {
        const char *state; /* or its beginning, a class of errors */
        int error;
    } known[] = {
        {"53100", WEFT_ENOSPC},  {"53200", WEFT_ENOMEM}, {"25006", WEFT_EACCESS},
        {"42501", WEFT_EACCESS}, {"55P03", WEFT_EINUSE}, {"54", WEFT_ETOOBIG},
        {"XX00", WEFT_EFORMAT},  {"42", WEFT_EFORMAT}, /* the statements are right, so the tables are not ours any more */
        {"23", WEFT_EFORMAT},    {"22", WEFT_EFORMAT},   {"3F", WEFT_EFORMAT},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(state, known[i].state, strlen(known[i].state)) == 0) return known[i].error;
    return WEFT_ESYSTEM;
}

static void fail(struct pq_connection *c, int error)
{
    if (c->failed == WEFT_OK) c->failed = error;
}

/* ---- Sending, and answers -------------------------------------------------------------------------------------- */

int pq_sent(struct pq_connection *c, int was_sent, enum pq_kind kind, struct pq_row *row)
{
    if (was_sent != 1) fail(c, WEFT_ESYSTEM);
    if (was_sent != 1) return c->failed;
    assert(c->sent_count < PQ_QUEUE_MAX);
    c->sent[c->sent_count++] = (struct pq_sent){kind, row};
    if (kind != PQ_SYNC && c->sent_count >= PQ_QUEUE_MAX - 2) return pq_wait(c, NULL); /* which sends a sync */
    return c->failed;
}

int pq_send(struct pq_connection *c, const char *text)
{
    return pq_send_numbers(c, text, NULL, 0, PQ_PLAIN);
}

void pq_push(struct pq_connection *c)
{
    (void)pq_sent(c, PQpipelineSync(c->pg), PQ_SYNC, NULL);
    if (c->relay != NULL) pq_relay_send(c->relay);
}

static void check_answer(struct pq_connection *c, const struct pq_sent *sent, const PGresult *result)
{
    int rc = pq_error(result);
    if (sent->kind == PQ_PREPARE && rc < 0) sent->row->prepared = false;
    bool is_one = rc < 0 || strcmp(PQcmdTuples((PGresult *)result), "1") == 0;
    if (sent->kind == PQ_ONE && !is_one) rc = WEFT_EFORMAT;
    if (sent->kind == PQ_FENCE && !is_one) {
        rc = WEFT_ESYSTEM;
        c->fenced = c->failed == WEFT_OK;
    }
    /* Of what is skipped behind an error that error is known. */
    if (rc < 0) fail(c, rc);
}

/* The answer to one statement is one result, and then NULL; that to a sync has no NULL. */
static PGresult *take_answer(struct pq_connection *c, const struct pq_sent *sent)
{
    PGresult *result = next_result(c), *more;
    check_answer(c, sent, result);
    while (sent->kind != PQ_SYNC && result != NULL && (more = next_result(c)) != NULL) {
        PQclear(result);
        result = more;
        if (pq_error(result) < 0) check_answer(c, sent, result);
    }
    return result;
}

/* libpq keeps what others notify of until it is asked for. */
static void forget_notifications(struct pq_connection *c)
{
    for (PGnotify *n; c->pg != NULL && (n = PQnotifies(c->pg)) != NULL;) PQfreemem(n);
}

int pq_wait(struct pq_connection *c, PGresult **last)
{
    PGresult *result = NULL;
    if (last != NULL) *last = NULL;
    c->space = PQ_ANSWERS_MAX;
    if (c->sent_count == 0 || c->sent[c->sent_count - 1].kind != PQ_SYNC) pq_push(c);
    for (int i = 0; i < c->sent_count; i++) {
        const enum pq_kind kind = c->sent[i].kind;
        PGresult *answer = take_answer(c, &c->sent[i]);
        if (kind == PQ_ASKED) c->answer[c->answered++] = answer;
        else PQclear(kind == PQ_SYNC ? answer : result);
        if (kind != PQ_ASKED && kind != PQ_SYNC) result = answer;
    }
    c->sent_count = 0;
    forget_notifications(c);
    if (last != NULL && c->failed == WEFT_OK) *last = result;
    else PQclear(result);
    return c->failed;
}

int pq_send_numbers(struct pq_connection *c, const char *text, const int64_t *numbers, int count, enum pq_kind kind)
{
    const char *values[PQ_PARAMETERS];
    int lengths[PQ_PARAMETERS], binary[PQ_PARAMETERS];
    Oid types[PQ_PARAMETERS];
    char bytes[PQ_PARAMETERS][8];
    assert(count <= PQ_PARAMETERS);
    for (int i = 0; i < count; i++) {
        pq_put_number(bytes[i], numbers[i]);
        values[i] = bytes[i];
        lengths[i] = 8;
        binary[i] = 1;
        types[i] = PQ_BIGINT;
    }
    return pq_sent(c, PQsendQueryParams(c->pg, text, count, types, values, lengths, binary, 1), kind, NULL);
}

int pq_query(struct pq_connection *c, const char *text, const int64_t *numbers, int count, PGresult **out)
{
    if (!c->in_transaction) c->failed = WEFT_OK;
    int rc = pq_send_numbers(c, text, numbers, count, PQ_PLAIN);
    return rc < 0 ? rc : pq_wait(c, out);
}

void pq_put_number(char bytes[8], int64_t number)
{
    for (int k = 0; k < 8; k++) bytes[k] = (char)((uint64_t)number >> (56 - 8 * k));
}

int64_t pq_number(const PGresult *result, int row, int column)
{
    if (row < 0 || row >= PQntuples(result) || column >= PQnfields(result)) return 0;
    const unsigned char *bytes = (const unsigned char *)PQgetvalue(result, row, column);
    int length = PQgetlength(result, row, column);
    uint64_t value = length > 0 && bytes[0] >= 0x80 ? UINT64_MAX : 0;
    for (int i = 0; i < length && i < 8; i++) value = value << 8 | bytes[i];
    return (int64_t)value;
}
