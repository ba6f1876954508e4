/* tests/unit/transport/store/postgres_programs_test.c -- the programs of programs.h on a server that ends the sessions of
 * the writer at any time, and crashes itself now and then. After that the same store goes on, or another one is opened. */
#include "postgres.h"
#include "postgres_server.h"
#include "programs.h"
#include "suite.h"

#include "../../actors/random.h"

static PGconn *control;
static uint64_t state;

static uint64_t next_random(uint64_t below)
{
    return random_next(&state) % below;
}

static void wait_for_control(void)
{
    PGresult *result;
    while ((result = PQgetResult(control)) != NULL) PQclear(result);
}

static void connect_control(void)
{
    PQfinish(control);
    control = PQconnectdb(server.where);
    MUST(PQstatus(control) == CONNECTION_OK, "%s", PQerrorMessage(control));
}

static void begin_program(uint64_t seed)
{
    state = seed;
    begin_empty();
    connect_control();
}

/* The session ends at the time when the server gets to it: the writer goes on meanwhile. */
static void trouble(void)
{
    wait_for_control();
    if (next_random(2) == 0)
        (void)PQsendQuery(control, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
}

static bool is_lost(void)
{
    return false;
}

/* One in 40 is the server's own. */
static void crash_some(void)
{
    wait_for_control();
    if (next_random(40) == 0) {
        server_stop();
        MUST(server_start(), "the server does not start again");
        connect_control();
    }
    if (next_random(2) == 0) return;
    engine->close(m.store);
    m.store = NULL;
}

static void end_program(void)
{
    wait_for_control();
}

int main(void)
{
    int rc = use_a_server("fsync=off");
    if (rc != 0) return rc;
    engine = &wf_store_postgres;
    program.where = server.where;
    program.random = next_random;
    program.begin = begin_program;
    program.end = end_program;
    program.trouble = trouble;
    program.is_lost = is_lost;
    program.crash = crash_some;
    program.seconds = 6;
    rc = run_suite(program_suite("programs of the store in PostgreSQL"));
    server_end();
    return rc;
}
