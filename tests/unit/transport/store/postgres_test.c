/* tests/unit/transport/store/postgres_test.c -- the engine for PostgreSQL, with a server of the test's own. */
#include "conformance.h"
#include "postgres_server.h"

static void end(void)
{
}

int main(void)
{
    int rc = use_a_server("fsync=off");
    if (rc != 0) return rc;
    fixture.engine = &wf_store_postgres;
    fixture.where = server.where;
    fixture.begin = begin;
    fixture.end = end;
    fixture.threads = true;
    Suite *suite = suite_create("the store in PostgreSQL");
    suite_add_tcase(suite, conformance_case("conformance"));
    rc = run_suite(suite);
    server_end();
    return rc;
}
