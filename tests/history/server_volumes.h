/* tests/history/server_volumes.h -- volumes that are databases of one PostgreSQL server, a real one. Its answers come in real
 * time, during which the simulated world stands still. A node that crashes loses its sessions; besides, the server ends the
 * sessions of owners, also in the middle of their transactions, and crashes itself. So a seed is not the same run again.
 *
 * The clock of the store is that of the simulated world, as for files. */
#ifndef HISTORY_SERVER_VOLUMES_H
#define HISTORY_SERVER_VOLUMES_H

#include <stdint.h>
#include <stdio.h>

#include "../unit/transport/store/faulty_vfs.h"
#include "../unit/transport/store/postgres_server.h"

#include "postgres_connection.h"
#include "postgres_owner.h"

enum { VOLUME_URL = 100 };

enum { JOBS_OF_A_SESSION = 60 }; /* about so many are done before the server ends the sessions of owners */

static PGconn *volume_control;
static uint64_t volume_random;
static bool volume_is_calm;

static int volumes_open(void)
{
    int rc = use_a_server("fsync=off");
    if (rc != 0) return rc;
    run_sql("CREATE DATABASE v0");
    run_sql("CREATE DATABASE v1");
    return 0;
}

static void volumes_close(void)
{
    server_end();
}

static void volume_url(const char *name, char out[VOLUME_URL])
{
    snprintf(out, VOLUME_URL, "postgres:host=%s port=5432 user=weft dbname=%s", server.folder, name);
}

static void volume_await_answers(void)
{
    PGresult *result;
    while ((result = PQgetResult(volume_control)) != NULL) PQclear(result);
}

static void volume_ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

/* The server may recover from a crash. */
static void volume_connect(void)
{
    do {
        PQfinish(volume_control);
        volume_control = PQconnectdb(server.where);
    } while (PQstatus(volume_control) != CONNECTION_OK);
    (void)PQsetNoticeReceiver(volume_control, volume_ignore_notice, NULL);
}

static void volumes_begin(uint64_t seed)
{
    static const char *const names[] = {"v0", "v1"};
    char where[sizeof server.where];
    faulty_begin(seed);
    volume_random = seed;
    volume_is_calm = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(where, sizeof where, "host=%s port=5432 user=weft dbname=%s", server.folder, names[i]);
        run_sql_at(where, "DROP SCHEMA IF EXISTS weft CASCADE", NULL, 0);
    }
    volume_connect();
}

static void volumes_end(void)
{
    volume_await_answers();
    PQfinish(volume_control);
    volume_control = NULL;
    faulty_end();
}

/* Its sessions end with the connections of the node's actors; what was committed stays. */
static void volume_off(const char *name, bool power)
{
    (void)name;
    (void)power;
}

static void volume_on(const char *name, bool power)
{
    (void)name;
    (void)power;
}

/* When one of its processes is killed the server ends all its sessions, and recovers as after a crash. */
static void volume_crash_server(void)
{
    PGresult *result = PQexec(volume_control, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'");
    bool has_owner = PQntuples(result) > 0;
    if (has_owner) kill((pid_t)strtol(PQgetvalue(result, 0, 0), NULL, 10), SIGKILL);
    PQclear(result);
    while (has_owner && (result = PQexec(volume_control, "SELECT 1")) != NULL) {
        has_owner = PQresultStatus(result) == PGRES_TUPLES_OK;
        PQclear(result);
    }
    volume_connect();
}

/* The sessions of owners end while they go on, or before, or all at once with the server. */
static void volume_fault(bool first, uint64_t *random)
{
    volume_await_answers();
    if (!first && random_below(random, 4) == 0) {
        volume_crash_server();
        return;
    }
    (void)PQsendQuery(volume_control, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
    if (!first) volume_await_answers();
}

/* To be called before each job of a store, whose transactions go on while the server gets to it. */
static void volume_disturb(void)
{
    if (!volume_is_calm && random_below(&volume_random, JOBS_OF_A_SESSION) == 0) volume_fault(true, &volume_random);
}

static void volumes_heal(void)
{
    volume_is_calm = true;
    volume_await_answers();
}

/* The linker puts this in the place of pq_lock: the world stands still while a node waits for the lock of another one. */
int __real_pq_lock(struct pq_store *s);
int __wrap_pq_lock(struct pq_store *s);

int __wrap_pq_lock(struct pq_store *s)
{
    int rc = pq_query(&s->writer, "SET lock_timeout TO 50", NULL, 0, NULL);
    if (rc == WEFT_OK) rc = __real_pq_lock(s);
    return rc == WEFT_OK ? pq_query(&s->writer, "SET lock_timeout TO 2000", NULL, 0, NULL) : rc;
}

#endif
