/* tests/unit/transport/store/postgres_test.c -- the engine for PostgreSQL, with a server of the test's own. */
#include "postgres_server.h"

int main(void)
{
    int rc = use_a_server("fsync=off");
    if (rc != 0) return rc;
    Suite *suite = suite_create("the store in PostgreSQL");
    suite_add_tcase(suite, conformance_case("conformance"));
    rc = run_suite(suite);
    server_end();
    return rc;
}
