/* transport/store/postgres/postgres_url.c -- see postgres_url.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

#include "postgres_url.h"

static char *copy_where(const char *text)
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

/* The end of a word "answer_timeout=SECONDS"; NULL: `at` is no such word. `separator` stands behind it if more words do. */
static const char *read_timeout(const char *at, char separator, int *silence)
{
    static const char name[] = "answer_timeout=";
    enum { DAY = 86400 };
    if (strncmp(at, name, sizeof name - 1) != 0) return NULL;
    const char *digits = at + sizeof name - 1, *end = digits + strspn(digits, "0123456789");
    if (end == digits || end > digits + 5 || (*end != '\0' && *end != separator)) return NULL;
    long seconds = strtol(digits, NULL, 10);
    if (seconds > DAY) return NULL;
    *silence = seconds == 0 ? -1 : (int)seconds * 1000;
    return *end == separator ? end + 1 : end;
}

static bool is_url(const char *where)
{
    return strncmp(where, "postgres", 8) == 0;
}

/* Within quotes nothing is a word of its own. */
static void take_timeout(char *where, int *silence)
{
    const bool url = is_url(where);
    bool begins = !url, quoted = false;
    for (char *at = where; *at != '\0'; at++) {
        const char *end = begins ? read_timeout(at, url ? '&' : ' ', silence) : NULL;
        if (end != NULL) {
            memmove(at, end, strlen(end) + 1);
            return;
        }
        if (!url && *at == '\\' && at[1] != '\0') at++;
        else if (!url && *at == '\'') quoted = !quoted;
        begins = !quoted && (url ? *at == '?' || *at == '&' : *at == ' ');
    }
}

int pq_url_read(const char *text, struct pq_url *out)
{
    *out = (struct pq_url){.where = copy_where(text), .silence = PQ_ANSWER_TIMEOUT * 1000};
    if (out->where == NULL) return WEFT_ENOMEM;
    take_timeout(out->where, &out->silence);
    return WEFT_OK;
}

void pq_url_free(struct pq_url *url)
{
    free(url->where);
    url->where = NULL;
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
    bool fine = true;
    for (size_t i = 0; i < sizeof shown / sizeof *shown && options != NULL && is_url(where); i++)
        fine = fine && strchr(option(options, shown[i]), '@') == NULL;
    if (fine) return options;
    PQconninfoFree(options);
    return NULL;
}

const char *pq_wrong(const char *text)
{
    struct pq_url url;
    if (pq_url_read(text, &url) < 0) return "cannot be read: out of memory";
    PQconninfoOption *options = pq_words(url.where);
    bool fine = options != NULL;
    PQconninfoFree(options);
    pq_url_free(&url);
    return fine ? NULL : PQ_WRONG;
}

bool pq_has_several_hosts(const PQconninfoOption *words)
{
    return strchr(option(words, "host"), ',') != NULL || strchr(option(words, "hostaddr"), ',') != NULL;
}

/* libpq's own words about a text that it cannot parse may quote it, with a password. So nothing of such a text is shown. */
void pq_show(const char *text, char *out, size_t size)
{
    struct pq_url url;
    PQconninfoOption *options = pq_url_read(text, &url) < 0 ? NULL : pq_words(url.where);
    pq_url_free(&url);
    snprintf(out, size, "postgres:");
    if (options == NULL) return;
    const char *user = option(options, "user"), *host = option(options, "host"), *port = option(options, "port"),
               *name = option(options, "dbname");
    snprintf(out, size, "postgres:%s%s%s%s%s%s%s", user, user[0] != '\0' ? "@" : "", host, port[0] != '\0' ? ":" : "",
             port, name[0] != '\0' ? "/" : "", name);
    PQconninfoFree(options);
}
