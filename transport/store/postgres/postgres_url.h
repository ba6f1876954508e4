/* transport/store/postgres/postgres_url.h -- what comes after "postgres:". */
#ifndef WF_STORE_POSTGRES_URL_H
#define WF_STORE_POSTGRES_URL_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

enum { PQ_ANSWER_TIMEOUT = 30 }; /* seconds, if the URL does not say something else */

#define PQ_CONNECT_TIMEOUT "5" /* seconds for each host; connect_timeout in the URL can change it */

struct pq_url {
    char *where; /* what libpq connects to; has a password, perhaps: never shown */
    int silence; /* for how many ms the server may be silent while an answer is awaited; -1: no limit */
};

/* Reads what stands behind the scheme: "//HOST/DB" is the end of a URL, anything else is given to libpq as it is. One word
 * is not libpq's, "answer_timeout": seconds up to a day; 0: no limit. It is taken out; a value that is no such number stays,
 * and is refused by libpq. Returns 0 or WEFT_ENOMEM; then there is nothing to be freed. */
int pq_url_read(const char *text, struct pq_url *out);
void pq_url_free(struct pq_url *url);
/* The words of a URL, for PQconninfoFree. NULL: it is not a valid URL. That includes a URL with an '@' or '/' that is not
 * escaped in its password: libpq would take a part of the password for a host or a name, which is shown. */
PQconninfoOption *pq_words(const char *where);
/* What is wrong with a text that pq_url_read takes; NULL: nothing. */
const char *pq_wrong(const char *text);
#define PQ_WRONG \
    "is no URL of PostgreSQL (in a password, '@' is %40 and '/' is %2F; answer_timeout has seconds up to 86400)"
bool pq_has_several_hosts(const PQconninfoOption *words);
/* What messages say of it, without passwords: "postgres:USER@HOST:PORT/DB". */
void pq_show(const char *text, char *out, size_t size);

#endif
