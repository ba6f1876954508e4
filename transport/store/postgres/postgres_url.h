/* transport/store/postgres/postgres_url.h -- what comes after "postgres:". */
#ifndef WF_STORE_POSTGRES_URL_H
#define WF_STORE_POSTGRES_URL_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

/* What libpq connects to: "//HOST/DB" is the end of a URL, anything else is given to libpq as it is. NULL: no memory. */
char *pq_where(const char *text);
/* The words of a URL, for PQconninfoFree. NULL: it is not a valid URL. That includes a URL with an '@' or '/' that is not
 * escaped in its password: libpq would take a part of the password for a host or a name, which is shown. */
PQconninfoOption *pq_words(const char *where);
bool pq_has_several_hosts(const PQconninfoOption *words);
/* What messages say of it, without passwords: "postgres:USER@HOST:PORT/DB". */
void pq_show(const char *text, char *out, size_t size);

#endif
