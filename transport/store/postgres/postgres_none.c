/* transport/store/postgres/postgres_none.c -- a build without libpq. */
#include <stdio.h>

#include "postgres.h"

static const char *wrong(const char *where)
{
    (void)where;
    return "needs libpq, without which this weft was built: install libpq-dev and build weft again";
}

static int open_store(struct wf_store **out, const char *where, const struct wf_store_opening *how,
                      struct wf_store_why *why)
{
    (void)how;
    *out = NULL;
    snprintf(why->text, sizeof why->text, "postgres: %s", wrong(where));
    return WEFT_ENOTSUP;
}

static void show(const char *where, char *out, size_t size)
{
    (void)where;
    if (size > 0) out[0] = '\0';
}

const struct wf_store_engine wf_store_postgres = {
    .scheme = "postgres", .usage = "postgres:URL", .wrong = wrong, .open = open_store, .show = show};
