/* transport/store/postgres/postgres_url.c -- see postgres_url.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres_url.h"

char *pq_where(const char *text)
{
    static const char scheme[] = "postgres:";
    bool is_end = strncmp(text, "//", 2) == 0;
    size_t size = strlen(text) + 1, before = is_end ? sizeof scheme - 1 : 0;
    char *where = malloc(before + size);
    if (where == NULL) return NULL;
    memcpy(where, scheme, before);
    memcpy(where + before, text, size);
    return where;
}

static const char *option(const PQconninfoOption *options, const char *name)
{
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, name) == 0) return options->val == NULL ? "" : options->val;
    return "";
}

PQconninfoOption *pq_words(const char *where)
{
    static const char *const shown[] = {"user", "host", "port", "dbname"};
    PQconninfoOption *options = PQconninfoParse(where, NULL);
    bool is_url = strncmp(where, "postgres", 8) == 0, fine = true;
    for (size_t i = 0; i < sizeof shown / sizeof *shown && options != NULL && is_url; i++)
        fine = fine && strchr(option(options, shown[i]), '@') == NULL;
    if (fine) return options;
    PQconninfoFree(options);
    return NULL;
}

bool pq_has_several_hosts(const PQconninfoOption *words)
{
    return strchr(option(words, "host"), ',') != NULL || strchr(option(words, "hostaddr"), ',') != NULL;
}

/* libpq's own words about a text that it cannot parse may quote it, with a password. So nothing of such a text is shown. */
void pq_show(const char *text, char *out, size_t size)
{
    char *where = pq_where(text);
    PQconninfoOption *options = where == NULL ? NULL : pq_words(where);
    free(where);
    snprintf(out, size, "postgres:");
    if (options == NULL) return;
    const char *user = option(options, "user"), *host = option(options, "host"), *port = option(options, "port"),
               *name = option(options, "dbname");
    snprintf(out, size, "postgres:%s%s%s%s%s%s%s", user, user[0] != '\0' ? "@" : "", host, port[0] != '\0' ? ":" : "",
             port, name[0] != '\0' ? "/" : "", name);
    PQconninfoFree(options);
}
